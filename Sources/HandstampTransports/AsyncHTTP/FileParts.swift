#if AsyncHTTPClient
import HandstampCore
import HandstampSupport
import NIOCore

/// The content of a file, read in parts as they are asked for.
struct FileParts: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  /// The size when the file was opened.
  let size: Int64
  private let file: OpenFile
  private let onPart: @Sendable () -> Void

  /// - Parameter onPart: called whenever a part is asked for.
  /// - Throws: ``TransportError/invalidRequest(_:)`` if the file cannot be read.
  init(_ path: String, onPart: @escaping @Sendable () -> Void) throws(TransportError) {
    do throws(SystemError) {
      file = try OpenFile(path)
      size = try file.size()
    } catch {
      throw .invalidRequest("the file cannot be read (\(error.reason))")
    }
    self.onPart = onPart
  }

  func makeAsyncIterator() -> Iterator { Iterator(file: file, onPart: onPart) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let file: OpenFile
    fileprivate let onPart: @Sendable () -> Void

    func next() async throws -> ByteBuffer? {
      onPart()
      let bytes = try file.read()
      return bytes.isEmpty ? nil : ByteBuffer(bytes: bytes)
    }
  }
}

/// Bytes in memory, as one part.
struct OnePart: AsyncSequence, Sendable {
  typealias Element = ByteBuffer
  private let part: ByteBuffer
  private let onPart: @Sendable () -> Void

  /// - Parameter onPart: called before the part is handed out.
  init(_ part: ByteBuffer, onPart: @escaping @Sendable () -> Void) {
    (self.part, self.onPart) = (part, onPart)
  }

  func makeAsyncIterator() -> Iterator { Iterator(rest: part, onPart: onPart) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var rest: ByteBuffer?
    fileprivate let onPart: @Sendable () -> Void

    mutating func next() async throws -> ByteBuffer? {
      onPart()
      defer { rest = nil }
      return rest
    }
  }
}

private final class OpenFile: Sendable {
  private let descriptor: Int32

  init(_ path: String) throws(SystemError) {
    descriptor = try SystemCall.retried("opening a file") { open(path, O_RDONLY | O_CLOEXEC) }
  }

  deinit { close(descriptor) }

  func size() throws(SystemError) -> Int64 {
    var facts = stat()
    try SystemCall.retried("opening a file") { fstat(descriptor, &facts) }
    return Int64(facts.st_size)
  }

  func read() throws(SystemError) -> [UInt8] {
    try SystemCall.read(descriptor, limit: 1 << 16, attempt: "reading a file")
  }
}
#endif
