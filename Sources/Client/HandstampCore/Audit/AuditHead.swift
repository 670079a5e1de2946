import HandstampSupport

/// The end of an audit log's chain at some moment: stored apart from the log's file, it reveals a truncation before it. A log of an
/// app's own around another one passes it on.
public struct AuditHead: Sendable, Hashable {
  /// The number of the newest record; the first record has number 1.
  public var sequence: UInt64
  /// The code of that record.
  package var code: AuditCode

  package init(sequence: UInt64, code: AuditCode) {
    self.sequence = sequence
    self.code = code
  }
}

/// Authenticates one record and, through the preceding code in it, all earlier ones: HMAC-SHA-256 (RFC 2104) under a key of the
/// log. Not secret.
package struct AuditCode: Sendable, Hashable, CustomStringConvertible {
  package static let byteCount = 32
  package let bytes: [UInt8]

  /// Returns `nil` unless there are exactly 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == AuditCode.byteCount else { return nil }
    self.bytes = Array(bytes)
  }

  private init(zeroes: Int) { bytes = [UInt8](repeating: 0, count: zeroes) }

  /// The preceding code of the very first record.
  package static let none = AuditCode(zeroes: byteCount)

  /// base64url without padding, 43 characters.
  package var description: String { Base64URL.encode(bytes) }
}
