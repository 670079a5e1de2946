#if AsyncHTTPClient || os(Linux)
import HandstampCore
import HandstampSupport

/// A file that is read in parts.
final class OpenFile: Sendable {
  private let descriptor: Int32
  /// The size when the file was opened.
  let size: Int64

  /// - Throws: ``TransportError/invalidRequest(_:)`` if the file cannot be read.
  init(_ path: String) throws(TransportError) {
    do throws(SystemError) {
      let opened = try SystemCall.retried("opening a file") { open(path, O_RDONLY | O_CLOEXEC) }
      var facts = stat()
      let size = fstat(opened, &facts) == 0 ? Int64(facts.st_size) : -1
      (descriptor, self.size) = (opened, size)
      if size < 0 { throw SystemError(attempt: "opening a file", code: errno) }
    } catch {
      throw .invalidRequest("the file cannot be read (\(error.reason))")
    }
  }

  deinit { close(descriptor) }

  func read(upTo limit: Int = 1 << 16) throws(SystemError) -> [UInt8] {
    try SystemCall.read(descriptor, limit: limit, attempt: "reading a file")
  }
}
#endif
