/// A failed system call: the attempt, and `errno`.
package struct SystemError: Error, Sendable, Hashable {
  /// The attempt, as in "writing the vault".
  package var attempt: String
  /// The value of `errno`.
  package var code: Int32

  package init(attempt: String, code: Int32) {
    self.attempt = attempt
    self.code = code
  }

  package static let tooMany = "too many open files"

  /// The cause in words.
  package var reason: String {
    switch code {
    case ENOSPC, EDQUOT: "disk full"
    case EACCES, EPERM: "no permission"
    case EROFS: "read-only file system"
    case EMFILE, ENFILE: SystemError.tooMany
    case EIO: "input or output error"
    case ELOOP: "a symbolic link in place of a file"
    case ENOTDIR: "a file in place of a folder"
    case EISDIR: "a folder in place of a file"
    case ENOENT: "not found"
    case ENOLCK, EOPNOTSUPP: "the file system lacks what a vault needs"
    default: "error \(code)"
    }
  }
}

/// System calls that are repeated after a signal, and report failures as errors.
package enum SystemCall {
  /// Repeats the call if a signal interrupted it.
  @discardableResult
  package static func retried<Result: BinaryInteger>(
    _ attempt: @autoclosure () -> String, _ call: () -> Result
  ) throws(SystemError) -> Result {
    while true {
      let result = call()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { throw SystemError(attempt: attempt(), code: code) }
    }
  }

  /// Writes all of `bytes` at the position of the open file, or at `offset`.
  package static func write(
    _ bytes: [UInt8], to descriptor: Int32, at offset: Int? = nil, attempt: @autoclosure () -> String
  ) throws(SystemError) {
    var count = 0
    while count < bytes.count {
      count += try retried(attempt()) {
        bytes.withUnsafeBytes { buffer in
          let rest = (start: buffer.baseAddress.map { $0 + count }, count: buffer.count - count)
          return if let offset {
            pwrite(descriptor, rest.start, rest.count, off_t(offset + count))
          } else {
            systemWrite(descriptor, rest.start, rest.count)
          }
        }
      }
    }
  }

  /// Reads at most `limit` bytes from the position of the open file.
  package static func read(
    _ descriptor: Int32, limit: Int, attempt: @autoclosure () -> String
  ) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: min(limit, 1 << 16))
    while bytes.count < limit {
      let wanted = min(chunk.count, limit - bytes.count)
      let count = try retried(attempt()) {
        chunk.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress, wanted) }
      }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  /// Makes a file's content, or the names in a folder, durable. On Apple platforms `fsync` leaves them in the disk's cache,
  /// hence `F_FULLFSYNC`, which some network volumes lack.
  package static func sync(_ descriptor: Int32, attempt: @autoclosure () -> String) throws(SystemError) {
    #if canImport(Darwin)
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    try retried(attempt()) { fsync(descriptor) }
  }
}

// Under names that do not collide with methods.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
