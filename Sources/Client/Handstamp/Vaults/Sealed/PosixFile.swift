import HandstampSupport
import HandstampCore

/// An open file or folder, closed on `deinit`. The system calls of a vault are here and in the extensions of this class.
/// Descriptors are not inherited by child processes, and every failure states its cause.
final class PosixFile: Sendable {
  let descriptor: Int32
  /// Of a folder: the descriptors for files in it that have to be opened even if the process may open no more.
  let spares: SpareDescriptors?
  /// The spares that the descriptor returns to.
  private let lender: SpareDescriptors?

  init(descriptor: Int32, spares: SpareDescriptors? = nil, lender: SpareDescriptors? = nil) {
    (self.descriptor, self.spares, self.lender) = (descriptor, spares, lender)
  }

  deinit { if let lender { lender.takeBack(descriptor) } else { close(descriptor) } }

  /// Opens the file at `path`. Returns `nil` if there is none.
  static func open(_ path: String, flags: Int32) throws(VaultError) -> PosixFile? {
    do throws(SystemError) {
      return PosixFile(
        descriptor: try SystemCall.retried("opening \(lastComponent(path))") { openAnywhere(path, flags | O_CLOEXEC) })
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

  /// Reads at most `limit` + 1 bytes; the extra byte reveals a file that is too large.
  func readAll(limit: Int) throws(VaultError) -> [UInt8] {
    try read(from: 0, count: min(try status().size, limit) + 1)
  }

  /// Reads at most `limit` bytes of a file that does not report its size.
  func readStream(limit: Int) throws(VaultError) -> [UInt8] {
    try asVaultError { () throws(SystemError) in
      try SystemCall.read(descriptor, limit: limit, attempt: "reading a file")
    }
  }

  /// Writes all of `bytes` at the beginning of the file.
  func write(_ bytes: [UInt8], attempt: String) throws(VaultError) {
    try asVaultError { () throws(SystemError) in
      try SystemCall.write(bytes, to: descriptor, at: 0, attempt: attempt)
    }
  }

  /// Returns the text of the system's file at `path`, which does not report its size; `nil` if there is none.
  static func text(_ path: String) -> String? {
    guard let bytes = try? open(path, flags: O_RDONLY)?.readStream(limit: 1 << 20) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  func truncate(to count: Int, attempt: String = "cutting a file") throws(VaultError) {
    try checked(attempt) { ftruncate(descriptor, off_t(count)) }
  }

  /// Makes a file's content, or the names in a folder, durable.
  func sync(attempt: String) throws(VaultError) {
    try asVaultError { () throws(SystemError) in try SystemCall.sync(descriptor, attempt: attempt) }
  }

  /// Takes the exclusive lock of the file. Returns `false` if another process or descriptor holds it.
  func tryLock() throws(VaultError) -> Bool {
    do throws(SystemError) {
      _ = try SystemCall.retried("locking a file") { flock(descriptor, LOCK_EX | LOCK_NB) }
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
  var place: FileIdentity
  /// Changes whenever the file is replaced or written.
  var identity: [[UInt8]]

  init(_ status: stat) {
    isRegular = status.st_mode & S_IFMT == S_IFREG
    mode = UInt32(status.st_mode) & 0o7777
    size = Int(status.st_size)
    place = FileIdentity(status)
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

extension SystemError {
  var vaultError: VaultError {
    let text = "\(reason) (\(attempt))"
    return switch code {
    case ENOSPC, EDQUOT: .full(text)
    case EACCES, EPERM, EROFS: .permissions(text)
    default: .unavailable(text)
    }
  }
}

func lastComponent(_ path: String) -> Substring { path.split(separator: "/").last ?? "/" }

@discardableResult
func checked<Result: BinaryInteger>(
  _ attempt: @autoclosure () -> String, _ call: () -> Result
) throws(VaultError) -> Result {
  try asVaultError { () throws(SystemError) in try SystemCall.retried(attempt(), call) }
}

func asVaultError<Result>(_ body: () throws(SystemError) -> Result) throws(VaultError) -> Result {
  do throws(SystemError) { return try body() } catch { throw error.vaultError }
}

private func openAnywhere(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
