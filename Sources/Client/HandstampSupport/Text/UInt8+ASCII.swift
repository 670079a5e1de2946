/// The classes of ASCII characters. Bytes of other characters are in none.
extension UInt8 {
  /// `0` to `9`.
  @inlinable package var isDigit: Bool { 0x30 <= self && self <= 0x39 }
  /// `a` to `z`.
  @inlinable package var isLowercaseLetter: Bool { 0x61 <= self && self <= 0x7A }
  /// `a` to `z` and `A` to `Z`.
  @inlinable package var isLetter: Bool { (self | 0x20).isLowercaseLetter }
  @inlinable package var isAlphanumeric: Bool { isLetter || isDigit }
  /// Letters, digits, and `-._~`, which URLs never escape (RFC 3986 section 2.3).
  @inlinable package var isUnreserved: Bool {
    isAlphanumeric || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
  }
}
