#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import HandstampCore

/// An open file or folder, closed when it goes away; every call of the operating system that a vault makes is here and in
/// `PosixFile+folder.swift`. Nothing is inherited by programs that are started, and what fails says why.
final class PosixFile: Sendable {
  let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Opens what is at `path`; nothing when there is no such file.
  static func open(_ path: String, flags: Int32) throws(VaultTrouble) -> PosixFile? {
    do throws(PosixError) {
      return PosixFile(
        descriptor: try retried("opening \(lastComponent(path))") { openAnywhere(path, flags | O_CLOEXEC) })
    } catch {
      if error.code == ENOENT { return nil }
      throw error.trouble
    }
  }

  /// What is known of the file without reading it.
  func status() throws(VaultTrouble) -> FileStatus {
    var status = stat()
    try checked("looking at a file") { fstat(descriptor, &status) }
    return FileStatus(status)
  }

  func setMode(_ mode: UInt32) throws(VaultTrouble) {
    try checked("setting a file's mode") { fchmod(descriptor, mode_t(mode)) }
  }

  /// Reads to the end, at most `limit` bytes and one more, by which too much is recognised.
  func readAll(limit: Int) throws(VaultTrouble) -> [UInt8] {
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

  /// Reads to the end of a file that does not tell its size, at most `limit` bytes.
  func readStream(limit: Int) throws(VaultTrouble) -> [UInt8] {
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

  /// Writes all of `bytes` from the file's beginning.
  func write(_ bytes: [UInt8], attempt: String) throws(VaultTrouble) {
    var count = 0
    while count < bytes.count {
      count += try checked(attempt) {
        bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count, off_t(count)) }
      }
    }
  }

  func truncate(to count: Int, attempt: String) throws(VaultTrouble) {
    try checked(attempt) { ftruncate(descriptor, off_t(count)) }
  }

  /// Returns when a file's content, or the names in a folder, have reached the disk itself. On Apple's systems `fsync`
  /// leaves them in the disk's cache, hence `F_FULLFSYNC`, which some network volumes lack.
  func sync(attempt: String) throws(VaultTrouble) {
    #if canImport(Darwin)
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    try checked(attempt) { fsync(descriptor) }
  }

  /// Takes the exclusive lock of the file; false when someone else has it.
  func tryLock() throws(VaultTrouble) -> Bool {
    do throws(PosixError) {
      _ = try retried("locking a file") { flock(descriptor, LOCK_EX | LOCK_NB) }
      return true
    } catch {
      if error.code == EWOULDBLOCK { return false }
      throw error.trouble
    }
  }

  /// Closing is not enough where a child was forked: it has a copy of the descriptor, and with it the lock.
  func unlock() { flock(descriptor, LOCK_UN) }
}

/// What is known of a file without reading it.
struct FileStatus: Hashable {
  var isRegular: Bool
  /// The permission bits alone.
  var mode: UInt32
  var size: Int
  /// Which file it is, whatever its name.
  var place: Place
  /// Changes whenever the file is replaced or written.
  var identity: [[UInt8]]

  struct Place: Hashable {
    var device: UInt64
    var inode: UInt64
  }

  /// `nil` when there is no such file, or it cannot be looked at.
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

/// A call of the operating system that failed: what was tried, and `errno`.
struct PosixError: Error {
  var attempt: String
  var code: Int32

  var trouble: VaultTrouble { .unavailable("\(reason) (\(attempt))") }

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

/// Calls again when a signal came in between.
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
) throws(VaultTrouble) -> Result {
  do throws(PosixError) { return try retried(attempt(), call) } catch { throw error.trouble }
}

/// `open`, under a name that is not also that of a method.
private func readNext(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}

private func openAnywhere(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
