#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import HandstampCore

/// An open file or folder, closed on `deinit`. All system calls of a vault are here and in `PosixFile+folder.swift`.
/// Descriptors are not inherited by child processes, and every failure states its cause.
final class PosixFile: Sendable {
  let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Opens the file at `path`. Returns `nil` if there is none.
  static func open(_ path: String, flags: Int32) throws(VaultError) -> PosixFile? {
    do throws(PosixError) {
      return PosixFile(
        descriptor: try retried("opening \(lastComponent(path))") { openAnywhere(path, flags | O_CLOEXEC) })
    } catch {
      if error.code == ENOENT { return nil }
      throw error.vaultError
    }
  }

  /// Returns the file's metadata.
  func status() throws(VaultError) -> FileStatus {
    var status = stat()
    try checked("looking at a file") { fstat(descriptor, &status) }
    return FileStatus(status)
  }

  func setMode(_ mode: UInt32) throws(VaultError) {
    try checked("setting a file's mode") { fchmod(descriptor, mode_t(mode)) }
  }

  /// Reads at most `limit` + 1 bytes; the extra byte reveals a file that is too large.
  func readAll(limit: Int) throws(VaultError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: min(try status().size, limit) + 1)
    var count = 0
    while count < bytes.count {
      let read = try checked("reading a file") {
        bytes.withUnsafeMutableBytes {
          pread(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count, off_t(count))
        }
      }
      if read == 0 { break }
      count += read
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// Reads at most `limit` bytes of a file that does not report its size.
  func readStream(limit: Int) throws(VaultError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < limit {
      let count = try checked("reading a file") {
        chunk.withUnsafeMutableBytes { readNext(descriptor, $0.baseAddress, $0.count) }
      }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  /// Writes all of `bytes` at the beginning of the file.
  func write(_ bytes: [UInt8], attempt: String) throws(VaultError) {
    var count = 0
    while count < bytes.count {
      count += try checked(attempt) {
        bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count, off_t(count)) }
      }
    }
  }

  func truncate(to count: Int, attempt: String) throws(VaultError) {
    try checked(attempt) { ftruncate(descriptor, off_t(count)) }
  }

  /// Makes a file's content, or the names in a folder, durable. On Apple platforms `fsync` leaves them in the disk's
  /// cache, hence `F_FULLFSYNC`, which some network volumes lack.
  func sync(attempt: String) throws(VaultError) {
    #if canImport(Darwin)
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    try checked(attempt) { fsync(descriptor) }
  }

  /// Takes the exclusive lock of the file. Returns `false` if another process or descriptor holds it.
  func tryLock() throws(VaultError) -> Bool {
    do throws(PosixError) {
      _ = try retried("locking a file") { flock(descriptor, LOCK_EX | LOCK_NB) }
      return true
    } catch {
      if error.code == EWOULDBLOCK { return false }
      throw error.vaultError
    }
  }

  /// Releases the lock. Closing is not enough after a fork: the child has a copy of the descriptor, and with it the
  /// lock.
  func unlock() { flock(descriptor, LOCK_UN) }
}

/// The metadata of a file.
struct FileStatus: Hashable {
  var isRegular: Bool
  /// The permission bits only.
  var mode: UInt32
  var size: Int
  /// Identifies the file, whatever its name.
  var place: Place
  /// Changes whenever the file is replaced or written.
  var identity: [[UInt8]]

  struct Place: Hashable {
    var device: UInt64
    var inode: UInt64
  }

  /// Returns `nil` if the file does not exist or cannot be examined.
  init?(at path: String) {
    var status = stat()
    guard fstatat(AT_FDCWD, path, &status, 0) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    isRegular = status.st_mode & S_IFMT == S_IFREG
    mode = UInt32(status.st_mode) & 0o7777
    size = Int(status.st_size)
    place = Place(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    #if canImport(Darwin)
    let times = [status.st_mtimespec, status.st_ctimespec]
    #else
    let times = [status.st_mtim, status.st_ctim]
    #endif
    // As bytes: under MemberImportVisibility the fields of `timespec` belong to no module that can be imported.
    identity = times.map { withUnsafeBytes(of: $0) { Array($0) } }
    identity.append(withUnsafeBytes(of: (status.st_ino, status.st_size)) { Array($0) })
  }
}

/// A failed system call: the attempt, and `errno`.
struct PosixError: Error {
  var attempt: String
  var code: Int32

  var vaultError: VaultError {
    let text = "\(reason) (\(attempt))"
    return switch code {
    case ENOSPC, EDQUOT: .full(text)
    case EACCES, EPERM, EROFS: .permissions(text)
    default: .unavailable(text)
    }
  }

  private var reason: String {
    switch code {
    case ENOSPC, EDQUOT: "disk full"
    case EACCES, EPERM: "no permission"
    case EROFS: "read-only file system"
    case EMFILE, ENFILE: "too many open files"
    case EIO: "input or output error"
    case ELOOP: "a symbolic link in place of a file"
    case ENOTDIR: "a file in place of a folder"
    case ENOENT: "not found"
    case ENOLCK, EOPNOTSUPP: "the file system lacks what a vault needs"
    default: "error \(code)"
    }
  }
}

func lastComponent(_ path: String) -> Substring { path.split(separator: "/").last ?? "/" }

/// Repeats the call if a signal interrupted it.
func retried<Result: BinaryInteger>(
  _ attempt: @autoclosure () -> String, _ call: () -> Result
) throws(PosixError) -> Result {
  while true {
    let result = call()
    if result >= 0 { return result }
    let code = errno
    if code != EINTR { throw PosixError(attempt: attempt(), code: code) }
  }
}

@discardableResult
func checked<Result: BinaryInteger>(
  _ attempt: @autoclosure () -> String, _ call: () -> Result
) throws(VaultError) -> Result {
  do throws(PosixError) { return try retried(attempt(), call) } catch { throw error.vaultError }
}

/// `read`, under a name that does not collide with a method.
private func readNext(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}

private func openAnywhere(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
