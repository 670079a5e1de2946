/// Base64 with the URL-safe alphabet and without padding (RFC 4648 section 5).
package enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    encode(Array(bytes))
  }

  // Arrays, not generics: generics are not specialised in other modules, and every token passes through here.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var bits: UInt32 = 0
    var held = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      held += 8
      while held >= 6 {
        held -= 6
        text.append(alphabet[Int(bits >> UInt32(held) & 63)])
      }
    }
    if held > 0 { text.append(alphabet[Int(bits << UInt32(6 - held) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns `nil` for a character outside the alphabet, an impossible length, or non-zero spare bits: exactly one text is
  /// accepted for the same bytes.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    decode(Array(text.utf8))
  }

  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    decode(Array(text))
  }

  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var held = 0
    for character in text {
      guard let value = value(of: character) else { return nil }
      bits = bits << 6 | value
      held += 6
      if held >= 8 {
        held -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
        bits &= (1 << UInt32(held)) - 1
      }
    }
    return held < 6 && bits == 0 ? bytes : nil
  }

  private static func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
