#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import HandstampCore

/// What a folder can do. Names are relative to the folder as it was opened, so that nobody can put another one in its place
/// between two steps.
extension PosixFile {
  /// The folder at `path`; nothing when there is none.
  static func folder(_ path: String) throws(VaultTrouble) -> PosixFile? {
    try open(path, flags: O_RDONLY | O_DIRECTORY)
  }

  /// The folder at `path`, made for its owner alone where it is missing, as well as what is above it.
  static func makeFolder(_ path: String) throws(VaultTrouble) -> PosixFile {
    if let folder = try folder(path) { return folder }
    if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      let parent = try makeFolder(String(path[..<slash]))
      do throws(PosixError) {
        _ = try retried("making \(lastComponent(path))") { mkdir(path, 0o700) }
        try parent.sync(syncing: path)
      } catch {
        // Made by another process meanwhile is as good.
        if error.code != EEXIST { throw error.trouble }
      }
    }
    guard let folder = try folder(path) else { throw PosixError(attempt: "opening \(path)", code: ENOENT).trouble }
    return folder
  }

  private func sync(syncing path: String) throws(PosixError) {
    _ = try retried("syncing the folder of \(lastComponent(path))") { fsync(descriptor) }
  }

  /// Opens a file, never what a symbolic link points to; nothing when there is none. A pipe in its place blocks nobody.
  func open(_ name: String, flags: Int32) throws(VaultTrouble) -> PosixFile? {
    do throws(PosixError) { return try openAlways(name, flags: flags) } catch {
      if error.code == ENOENT { return nil }
      throw error.trouble
    }
  }

  /// Makes a file that was not there, readable by its owner alone whatever the process's umask is.
  func create(_ name: String) throws(VaultTrouble) -> PosixFile {
    do throws(PosixError) {
      let file = try openAlways(name, flags: O_WRONLY | O_CREAT | O_EXCL)
      _ = try retried("setting the mode of \(name)") { fchmod(file.descriptor, 0o600) }
      return file
    } catch {
      throw error.trouble
    }
  }

  /// Opens a file to read and write it, and makes it when it is not there.
  func openOrCreate(_ name: String, flags: Int32 = 0) throws(VaultTrouble) -> PosixFile {
    do throws(PosixError) { return try openAlways(name, flags: O_RDWR | O_CREAT | flags) } catch { throw error.trouble }
  }

  private func openAlways(_ name: String, flags: Int32) throws(PosixError) -> PosixFile {
    PosixFile(
      descriptor: try retried("opening \(name)") {
        openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
      })
  }

  /// Puts `name` in the place of `target`, in one step.
  func rename(_ name: String, to target: String) throws(VaultTrouble) {
    try checked("replacing \(target)") { renameat(descriptor, name, descriptor, target) }
  }

  /// Gives `name` a second name; false, and nothing done, when that is taken.
  func link(_ name: String, as second: String) throws(VaultTrouble) -> Bool {
    do throws(PosixError) {
      _ = try retried("linking \(second)") { linkat(descriptor, name, descriptor, second, 0) }
      return true
    } catch {
      if error.code == EEXIST { return false }
      throw error.trouble
    }
  }

  /// Removes `name`, if it is there.
  func remove(_ name: String) throws(VaultTrouble) {
    do throws(PosixError) {
      _ = try retried("removing \(name)") { unlinkat(descriptor, name, 0) }
    } catch {
      if error.code != ENOENT { throw error.trouble }
    }
  }

  /// The names of all in the folder.
  func names() throws(VaultTrouble) -> [String] {
    let own = try checked("listing a folder") { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard let stream = fdopendir(own) else {
      let code = errno
      close(own)
      throw PosixError(attempt: "listing a folder", code: code).trouble
    }
    defer { closedir(stream) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(stream) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) { tuple in
          tuple.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) {
            String(cString: $0)
          }
        })
      errno = 0
    }
    if errno != 0 { throw PosixError(attempt: "listing a folder", code: errno).trouble }
    return names
  }
}
