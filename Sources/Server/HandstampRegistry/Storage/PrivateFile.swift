package import Foundation
import HandstampSupport

/// Files that only their owner can read, with atomic writes that survive a power failure.
package enum PrivateFile {
  /// Creates a folder that only its owner can access, if it is missing.
  package static func createFolder(_ path: String) throws(RegistryOpenError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create", path) }
    try requireOwn(path)
  }

  /// Creates the folders that are missing above `path`, which only their owner can access.
  package static func createParents(of path: String) throws(RegistryOpenError) {
    let parent = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    guard !parent.isEmpty, !exists(parent) else { return }
    try createParents(of: parent)
    try createFolder(parent)
    try opening { () throws(SystemError) in try AtomicFile.syncFolder(of: parent) }
  }

  /// Durably creates a file with this content. Returns `false` and changes nothing if it already exists.
  package static func create(_ path: String, _ bytes: Data) throws(RegistryOpenError) -> Bool {
    try opening { () throws(SystemError) in try AtomicFile.create(path, with: Array(bytes)) }
  }

  /// Durably and atomically replaces a file.
  package static func replace(_ path: String, _ bytes: Data) throws(RegistryOpenError) {
    try opening { () throws(SystemError) in try AtomicFile.replace(path, with: Array(bytes)) }
  }

  /// Creates an empty file if there is none.
  package static func touch(_ path: String) throws(RegistryOpenError) {
    let file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if errno == EEXIST { return }
      throw failure("create", path)
    }
    close(file)
    try opening { () throws(SystemError) in try AtomicFile.syncFolder(of: path) }
  }

  /// Durably renames a file or folder, over one that is there already; a folder only over an empty one.
  package static func move(_ path: String, to target: String) throws(RegistryOpenError) {
    guard rename(path, target) == 0 else { throw failure("rename", path) }
    try opening { () throws(SystemError) in try AtomicFile.syncFolder(of: target) }
  }

  /// Durably and atomically replaces a file with a copy of another one.
  package static func copy(_ path: String, to target: String) throws(RegistryOpenError) {
    let (draft, chunk) = (target + ".new", 1 << 20)
    unlink(draft)
    let source = open(path, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { throw failure("read", path) }
    defer { close(source) }
    let file = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("create", draft) }
    defer { close(file) }
    try opening { () throws(SystemError) in
      while case let bytes = try SystemCall.read(source, limit: chunk, attempt: "reading \(path)"), !bytes.isEmpty {
        try SystemCall.write(bytes, to: file, attempt: "writing \(draft)")
      }
      try SystemCall.sync(file, attempt: "writing \(draft)")
    }
    try move(draft, to: target)
  }

  /// Makes the content and the name of a file durable.
  package static func sync(_ path: String) throws(RegistryOpenError) {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw failure("open", path) }
    defer { close(file) }
    try opening { () throws(SystemError) in
      try SystemCall.sync(file, attempt: "writing \(path)")
      try AtomicFile.syncFolder(of: path)
    }
  }

  /// Returns the content and the mode of a file, or `nil` if it does not exist.
  package static func read(_ path: String, limit: Int) throws(RegistryOpenError) -> (Data, mode: UInt32)? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read", path)
    }
    defer { close(file) }
    guard let mode = mode(of: file) else { throw failure("read", path) }
    let content = try opening { () throws(SystemError) in
      try SystemCall.read(file, limit: limit, attempt: "reading \(path)")
    }
    return (Data(content), mode)
  }

  /// Durably appends to an open file.
  package static func append(_ bytes: Data, to file: Int32, _ path: String) throws(RegistryOpenError) {
    guard lseek(file, 0, SEEK_END) >= 0 else { throw failure("write", path) }
    try opening { () throws(SystemError) in
      try SystemCall.write(Array(bytes), to: file, attempt: "writing \(path)")
      try SystemCall.sync(file, attempt: "writing \(path)")
    }
  }

  /// Runs `body` with the file open and exclusively locked. Creates the file if it is missing.
  ///
  /// - Parameter limit: how long to wait for the lock; `nil` waits indefinitely.
  package static func locked<Value>(
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

  private static func opening<Value>(
    _ body: () throws(SystemError) -> Value
  ) throws(RegistryOpenError) -> Value {
    do throws(SystemError) { return try body() } catch {
      throw .unavailable("\(error.reason) (\(error.attempt))")
    }
  }

  private static func failure(_ verb: String, _ path: String) -> RegistryOpenError {
    .unavailable("cannot \(verb) \(path): \(String(cString: strerror(errno)))")
  }
}

// Without Foundation, whose Linux version has its own `stat`.
import HandstampSupport
