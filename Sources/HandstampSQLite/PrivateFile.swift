#if SQLite
import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Files that only their owner can read, with atomic writes that survive a power failure.
enum PrivateFile {
  /// Creates a folder that only its owner can access, if it is missing.
  static func createFolder(_ path: String) throws(RegistryOpenError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create", path) }
  }

  /// Durably creates a file with this content. Returns `false` and changes nothing if it already exists.
  ///
  /// The file is created atomically: it is written under another name and then linked, which fails if the path exists.
  static func create(_ path: String, _ bytes: Data) throws(RegistryOpenError) -> Bool {
    let draft = try write(bytes, beside: path)
    defer { unlink(draft) }
    guard link(draft, path) == 0 else {
      if errno == EEXIST { return false }
      throw failure("create", path)
    }
    try syncFolder(of: path)
    return true
  }

  /// Durably and atomically replaces a file.
  static func replace(_ path: String, _ bytes: Data) throws(RegistryOpenError) {
    let draft = try write(bytes, beside: path)
    guard rename(draft, path) == 0 else {
      let error = failure("replace", path)
      unlink(draft)
      throw error
    }
    try syncFolder(of: path)
  }

  /// Creates an empty file if there is none.
  static func touch(_ path: String) throws(RegistryOpenError) {
    let file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if errno == EEXIST { return }
      throw failure("create", path)
    }
    close(file)
    try syncFolder(of: path)
  }

  /// Returns the content and the mode of a file, or `nil` if it does not exist.
  static func read(_ path: String, limit: Int) throws(RegistryOpenError) -> (Data, mode: UInt32)? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read", path)
    }
    defer { close(file) }
    guard let mode = mode(of: file) else { throw failure("read", path) }
    var content = Data()
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while content.count < limit {
      let wanted = min(piece.count, limit - content.count)
      let got = piece.withUnsafeMutableBytes {
        #if canImport(Darwin)
        Darwin.read(file, $0.baseAddress, wanted)
        #elseif canImport(Glibc)
        Glibc.read(file, $0.baseAddress, wanted)
        #else
        Musl.read(file, $0.baseAddress, wanted)
        #endif
      }
      guard got >= 0 else {
        if errno == EINTR { continue }
        throw failure("read", path)
      }
      if got == 0 { break }
      content.append(contentsOf: piece.prefix(got))
    }
    return (content, mode)
  }

  /// Durably appends to an open file.
  static func append(_ bytes: Data, to file: Int32, _ path: String) throws(RegistryOpenError) {
    guard lseek(file, 0, SEEK_END) >= 0, writeAll(bytes, to: file), sync(file) else { throw failure("write", path) }
  }

  /// Runs `body` with the file open and exclusively locked. Creates the file if it is missing.
  ///
  /// - Parameter limit: how long to wait for the lock; `nil` waits indefinitely.
  static func locked<Value>(
    _ path: String, within limit: Duration? = nil, _ body: (_ file: Int32) throws(RegistryOpenError) -> Value
  ) throws(RegistryOpenError) -> Value {
    let file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("open", path) }
    defer { close(file) }
    let start = ContinuousClock.now
    while flock(file, limit == nil ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK:
        guard let limit, ContinuousClock.now - start < limit else { throw failure("lock", path) }
        usleep(2000)
      default: throw failure("lock", path)
      }
    }
    return try body(file)
  }

  private static func write(_ bytes: Data, beside path: String) throws(RegistryOpenError) -> String {
    let draft = path + "." + UUID().uuidString
    let file = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("create", path) }
    defer { close(file) }
    guard writeAll(bytes, to: file), sync(file) else { return try give(up: draft, path) }
    return draft
  }

  private static func writeAll(_ bytes: Data, to file: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { buffer in
        #if canImport(Darwin)
        Darwin.write(file, buffer.baseAddress, buffer.count)
        #elseif canImport(Glibc)
        Glibc.write(file, buffer.baseAddress, buffer.count)
        #else
        Musl.write(file, buffer.baseAddress, buffer.count)
        #endif
      }
      guard written > 0 || errno == EINTR else { return false }
      rest = rest.dropFirst(max(written, 0))
    }
    return true
  }

  private static func give(up draft: String, _ path: String) throws(RegistryOpenError) -> String {
    let error = failure("write", path)
    unlink(draft)
    throw error
  }

  private static func sync(_ file: Int32) -> Bool {
    #if canImport(Darwin)
    // On macOS, fsync leaves the data in the disk's cache.
    if fcntl(file, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(file) == 0
  }

  private static func syncFolder(of path: String) throws(RegistryOpenError) {
    let folder = (path as NSString).deletingLastPathComponent
    let file = open(folder.isEmpty ? "." : folder, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw failure("open", folder) }
    defer { close(file) }
    guard sync(file) else { throw failure("sync", folder) }
  }

  private static func failure(_ verb: String, _ path: String) -> RegistryOpenError {
    .unavailable("cannot \(verb) \(path): \(String(cString: strerror(errno)))")
  }
}
#endif
