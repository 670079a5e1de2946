import HandstampSupport

/// The result of reading a small file. Reading never blocks: a pipe in the file's place is not read. Symbolic links are
/// followed.
package enum PlainFile: Sendable, Hashable {
  case content([UInt8])
  case absent
  /// Something exists but cannot be read, for this reason.
  case unreadable(String)

  package static func read(_ path: String, limit: Int = 8 << 20) -> PlainFile {
    do throws(SystemError) {
      let descriptor = try SystemCall.retried(path) { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
      let file = PosixFile(descriptor: descriptor)
      do {
        guard try file.status().isRegular else {
          return .unreadable(FileStatus.isFolder(path) ? "it is a folder" : "it is not a file")
        }
        let bytes = try file.readAll(limit: limit)
        return bytes.count > limit ? .unreadable("it is too large") : .content(bytes)
      } catch {
        return .unreadable("input or output error")
      }
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR:
        return FileStatus.isAnything(path) ? .unreadable("it is a broken symbolic link") : .absent
      case EACCES, EPERM: return .unreadable("no permission")
      case ELOOP: return .unreadable("it is a symbolic link to itself")
      case ENXIO: return .unreadable("it is not a file")
      default: return .unreadable("error \(error.code)")
      }
    }
  }
}

extension FileStatus {
  fileprivate static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return fstatat(AT_FDCWD, path, &status, 0) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Whether anything exists at `path`, including a broken symbolic link.
  fileprivate static func isAnything(_ path: String) -> Bool {
    var status = stat()
    return fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0
  }
}
