#if AsyncHTTPClient
import HandstampCore
import HandstampSupport
import NIOCore

/// The content of a file, read in parts as they are asked for.
struct FileParts: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let file: OpenFile
  private let onPart: @Sendable () -> Void

  /// - Parameter onPart: called whenever a part is asked for.
  /// - Throws: ``TransportError/invalidRequest(_:)`` if the file cannot be read.
  init(_ path: String, onPart: @escaping @Sendable () -> Void) throws(TransportError) {
    file = try OpenFile(path)
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
  let part: ByteBuffer
  /// Called before the part is handed out.
  let onPart: @Sendable () -> Void

  func makeAsyncIterator() -> Iterator { Iterator(rest: part, onPart: onPart) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var rest: ByteBuffer?
    fileprivate let onPart: @Sendable () -> Void

    mutating func next() async throws -> ByteBuffer? {
      onPart()
      return rest.take()
    }
  }
}
#endif
