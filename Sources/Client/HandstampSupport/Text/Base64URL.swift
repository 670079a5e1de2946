/// Base64 with the URL-safe alphabet and without padding (RFC 4648 section 5).
package enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  /// The value of each byte as a digit; 255 for other bytes.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  package static func encode(_ bytes: some Sequence<UInt8>) -> String {
    encode(Array(bytes))
  }

  // Arrays, not generics: generics are not specialised in other modules, and every token passes through here.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Encodes with the usual alphabet and padding (RFC 4648 section 4).
  package static func standard(_ bytes: [UInt8]) -> String {
    let text = encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
  }

  package static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
    append(Array(bytes), to: &text)
  }

  /// Encodes `bytes` and appends them to `text`.
  package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    let alphabet = alphabet
    var bits: UInt32 = 0
    var held: UInt32 = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      held += 8
      while held >= 6 {
        held -= 6
        text.append(alphabet[Int(bits >> held & 63)])
      }
    }
    if held > 0 { text.append(alphabet[Int(bits << (6 - held) & 63)]) }
  }

  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    decode(Array(text.utf8))
  }

  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    decode(Array(text))
  }

  /// Returns `nil` for a character outside the alphabet, an impossible length, or spare bits that are not zero. Of all texts
  /// that would decode to the same bytes only one is accepted, so that no token has a second spelling.
  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    let values = values
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var held: UInt32 = 0
    for character in text {
      let value = values[Int(character)]
      guard value < 64 else { return nil }
      bits = bits << 6 | UInt32(value)
      held += 6
      if held >= 8 {
        held -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> held))
        bits &= (1 << held) - 1
      }
    }
    return held < 6 && bits == 0 ? bytes : nil
  }

  /// Decodes 16 bytes without an array; `nil` for any other text. They are two numbers, the most significant byte first.
  package static func decode128(_ text: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard text.count == 22 else { return nil }
    let values = values
    var (high, low): (UInt64, UInt64) = (0, 0)
    var all: UInt8 = 0
    for character in text[0..<21] {
      let value = values[Int(character)]
      all |= value
      (high, low) = (high << 6 | low >> 58, low << 6 | UInt64(value))
    }
    // Of the last digit, two bits belong to the bytes.
    let last = values[Int(text[21])]
    guard all | last < 64, last & 0b1111 == 0 else { return nil }
    return (high << 2 | low >> 62, low << 2 | UInt64(last >> 4))
  }
}
