import HandstampSupport

/// A text that must not leak: a token, a key, a password.
///
/// ```swift
/// let token = try await controller.token()
/// token.secret.withExposed { request.setValue("Bearer \($0)", forHTTPHeaderField: "Authorization") }
/// ```
/// It prints, dumps, reflects and encodes as `<redacted>`. It is accessible only through ``withExposed(_:)``, as text, and
/// ``withExposedBytes(_:)``, as bytes: both are easy to search for. Two secrets compare in a time that depends only on their
/// lengths. The secret's own buffer is overwritten with zeros when the last copy is released; a `String` made from it is not,
/// so keep those short-lived.
public struct Secret: Sendable {
  private let buffer: SecretBuffer

  /// Copies the UTF-8 bytes of `text`. The original string is not erased.
  public init(_ text: String) {
    self.init(bytes: Array(text.utf8))
  }

  /// Copies `bytes`.
  public init(bytes: some Collection<UInt8>) {
    buffer = SecretBuffer(bytes)
  }

  /// The number of bytes.
  public var count: Int { buffer.bytes.count }

  /// Whether the secret has no bytes.
  public var isEmpty: Bool { buffer.bytes.isEmpty }

  /// Passes the text to `body`. Bytes that are not UTF-8 become U+FFFD; use ``withExposedBytes(_:)`` for those.
  ///
  /// - Throws: the error of `body`.
  public func withExposed<Result, Failure: Error>(
    _ body: (String) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(String(decoding: buffer.bytes, as: UTF8.self))
  }

  /// Passes the bytes to `body`. The pointer is valid only inside `body`.
  ///
  /// - Throws: the error of `body`.
  public func withExposedBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(buffer.bytes))
  }
}

extension Secret {
  /// Whether the secret consists of printable ASCII without spaces, as every token in a header must (RFC 6750 section 2.1):
  /// other characters could break out of the header.
  package var isToken: Bool { !isEmpty && withExposedBytes { $0.allSatisfy { (33...126).contains($0) } } }
}

extension Secret: Hashable {
  /// Compares in constant time for equal lengths.
  public static func == (left: Secret, right: Secret) -> Bool {
    left.buffer === right.buffer
      || constantTimeEqual(UnsafeRawBufferPointer(left.buffer.bytes), UnsafeRawBufferPointer(right.buffer.bytes))
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytes: UnsafeRawBufferPointer(buffer.bytes))
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, Encodable {
  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("<redacted>")
  }
}

/// Compares two byte sequences in a time that depends only on their lengths.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  left.withUnsafeBytes { left in right.withUnsafeBytes { right in constantTimeEqual(left, right) } }
}

private func constantTimeEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
  guard left.count == right.count else { return false }
  var difference: UInt8 = 0
  for (a, b) in zip(left, right) { difference |= a ^ b }
  return difference == 0
}

/// The bytes of one secret, zeroed on release.
// Unchecked: the memory is written only in `init` and `deinit`, which have exclusive access to the object.
private final class SecretBuffer: @unchecked Sendable {
  let bytes: UnsafeMutableBufferPointer<UInt8>

  init(_ source: some Collection<UInt8>) {
    bytes = .allocate(capacity: source.count)
    _ = bytes.initialize(fromContentsOf: source)
  }

  deinit {
    if let start = bytes.baseAddress, bytes.count > 0 {
      #if canImport(Darwin)
      _ = memset_s(start, bytes.count, 0, bytes.count)
      #else
      explicit_bzero(start, bytes.count)
      #endif
    }
    bytes.deallocate()
  }
}
