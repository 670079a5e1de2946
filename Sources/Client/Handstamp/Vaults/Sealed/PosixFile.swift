import HandstampCore
import HandstampSupport

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
    try unless(ENOENT) { () throws(SystemError) in
      PosixFile(
        descriptor: try SystemCall.retried("opening \(lastComponent(path))") { openAnywhere(path, flags | O_CLOEXEC) })
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

  /// Reads at most `count` bytes from offset `start`.
  func read(from start: Int, count: Int) throws(VaultError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, count))
    var done = 0
    while done < bytes.count {
      let read = try checked("reading a file") {
        bytes.withUnsafeMutableBytes {
          pread(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, off_t(start + done))
        }
      }
      if read == 0 { break }
      done += read
    }
    bytes.removeLast(bytes.count - done)
    return bytes
  }

  /// Writes all of `bytes` at the beginning of the file; with `nil`, at the end of one opened with `O_APPEND`.
  func write(_ bytes: [UInt8], at offset: Int? = 0, attempt: String) throws(VaultError) {
    try asVaultError { () throws(SystemError) in
      try SystemCall.write(bytes, to: descriptor, at: offset, attempt: attempt)
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
    try unless(EWOULDBLOCK) { () throws(SystemError) in
      try SystemCall.retried("locking a file") { flock(descriptor, LOCK_EX | LOCK_NB) }
    } != nil
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

/// Returns `nil` if `body` fails with that code.
private func unless<Result>(
  _ code: Int32, _ body: () throws(SystemError) -> Result
) throws(VaultError) -> Result? {
  do throws(SystemError) { return try body() } catch {
    if error.code == code { return nil }
    throw error.vaultError
  }
}

private func openAnywhere(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }

/// Folder operations. Names are relative to the folder as it was opened, so that no other folder can take its place
/// between two steps.
extension PosixFile {
  /// Opens the folder at `path`. Returns `nil` if there is none.
  static func folder(_ path: String) throws(VaultError) -> PosixFile? {
    try open(path, flags: O_RDONLY | O_DIRECTORY)
  }

  /// Opens the folder at `path`, creating it and its parents if missing, accessible by their owner only.
  static func makeFolder(_ path: String) throws(VaultError) -> PosixFile {
    if let folder = try folder(path) { return folder }
    if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      let parent = try makeFolder(String(path[..<slash]))
      // Made by another process meanwhile is as good.
      _ = try unless(EEXIST) { () throws(SystemError) in
        try SystemCall.retried("making \(lastComponent(path))") { mkdir(path, 0o700) }
        try SystemCall.retried("syncing the folder of \(lastComponent(path))") { fsync(parent.descriptor) }
      }
    }
    guard let folder = try folder(path) else { throw SystemError(attempt: "opening \(path)", code: ENOENT).vaultError }
    return folder
  }

  /// Opens a file without following symbolic links. Returns `nil` if there is none. A pipe in its place does not block.
  func open(_ name: String, flags: Int32) throws(VaultError) -> PosixFile? {
    try unless(ENOENT) { () throws(SystemError) in try openAlways(name, flags: flags) }
  }

  /// Creates a new file, readable by its owner only, regardless of the process's umask.
  func create(_ name: String) throws(VaultError) -> PosixFile {
    try asVaultError { () throws(SystemError) in
      let file = try openAlways(name, flags: O_WRONLY | O_CREAT | O_EXCL)
      try SystemCall.retried("setting the mode of \(name)") { fchmod(file.descriptor, 0o600) }
      return file
    }
  }

  /// Whether there is something under this name in the folder. Needs no descriptor.
  func contains(_ name: String) -> Bool { status(of: name) != nil }

  /// Whether there is something under this name in the folder that is not a regular file, such as a symbolic link or a socket.
  func isOtherThanFile(_ name: String) -> Bool { status(of: name)?.isRegular == false }

  /// Returns the metadata of what is under this name, or `nil` if that is nothing.
  func status(of name: String) -> FileStatus? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? FileStatus(status) : nil
  }

  /// Opens a file to read and write it, and makes it when it is not there.
  func openOrCreate(_ name: String, flags: Int32 = 0) throws(VaultError) -> PosixFile {
    try asVaultError { () throws(SystemError) in try openAlways(name, flags: O_RDWR | O_CREAT | flags) }
  }

  private func openAlways(_ name: String, flags: Int32) throws(SystemError) -> PosixFile {
    let (new, lender) = try SpareDescriptors.opening(with: spares) { () throws(SystemError) in
      try SystemCall.retried("opening \(name)") {
        openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
      }
    }
    return PosixFile(descriptor: new, lender: lender)
  }

  /// Returns the same folder with spare descriptors.
  func withSpares() throws(VaultError) -> PosixFile {
    let spares = try asVaultError { () throws(SystemError) in try SpareDescriptors(like: descriptor) }
    return PosixFile(
      descriptor: try checked("keeping a folder open") { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }, spares: spares)
  }

  /// Replaces `target` with `name` atomically.
  func rename(_ name: String, to target: String) throws(VaultError) {
    try checked("replacing \(target)") { renameat(descriptor, name, descriptor, target) }
  }

  /// Creates or replaces `name` with a file of `bytes`. A crash at any instant leaves the old file or the new one; the new one
  /// is durable once the folder is synced, too.
  ///
  /// - Parameters:
  ///   - partial: the name of the file until it is complete. One under this name was left behind by a process that died.
  ///   - content: what is written, for errors: "the sealed key".
  ///   - beforeReplacing: runs once the new file is durable.
  func replace(
    _ name: String, with bytes: [UInt8], partial: String, content: String,
    beforeReplacing: () throws(VaultError) -> Void = {}
  ) throws(VaultError) {
    try remove(partial)
    do throws(VaultError) {
      let file = try create(partial)
      try file.write(bytes, attempt: "writing \(content)")
      try file.sync(attempt: "syncing \(content)")
      try beforeReplacing()
      try rename(partial, to: name)
    } catch {
      try? remove(partial)
      throw error
    }
  }

  /// Creates `name` with `bytes`, completely or not at all. Returns `false` and leaves the file as it is if there is one. The name is
  /// durable once the folder is synced, too.
  ///
  /// - Parameters: those of ``replace(_:with:partial:content:beforeReplacing:)``.
  func add(_ name: String, with bytes: [UInt8], partial: String, content: String) throws(VaultError) -> Bool {
    defer { try? remove(partial) }
    let file = try create(partial)
    try file.write(bytes, attempt: "writing \(content)")
    try file.sync(attempt: "syncing \(content)")
    return try link(partial, as: name)
  }

  /// Gives `name` a second name. Returns `false` without doing anything if that name is taken.
  func link(_ name: String, as second: String) throws(VaultError) -> Bool {
    try unless(EEXIST) { () throws(SystemError) in
      try SystemCall.retried("linking \(second)") { linkat(descriptor, name, descriptor, second, 0) }
    } != nil
  }

  /// Removes `name` if it exists.
  func remove(_ name: String) throws(VaultError) {
    _ = try unless(ENOENT) { () throws(SystemError) in
      try SystemCall.retried("removing \(name)") { unlinkat(descriptor, name, 0) }
    }
  }

  /// Returns the names of all files in the folder.
  func names() throws(VaultError) -> [String] {
    let (own, lender) = try asVaultError { () throws(SystemError) in
      try SpareDescriptors.opening(with: spares) { () throws(SystemError) in
        try SystemCall.retried("listing a folder") { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      }
    }
    // The list closes it.
    defer { lender?.refill(like: descriptor) }
    guard let stream = fdopendir(own) else {
      let code = errno
      close(own)
      throw SystemError(attempt: "listing a folder", code: code).vaultError
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
    if errno != 0 { throw SystemError(attempt: "listing a folder", code: errno).vaultError }
    return names
  }
}
