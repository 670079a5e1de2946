import HandstampCore
import HandstampSupport

/// A key as text, two digits per byte.
enum KeyText {
  static func text(_ bytes: some Collection<UInt8>) -> [CChar] {
    let digits = Array("0123456789abcdef".utf8)
    var text: [CChar] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.append(CChar(digits[Int(byte >> 4)]))
      text.append(CChar(digits[Int(byte & 15)]))
    }
    return text
  }

  /// Returns the bytes, or `nil` if the text is not valid. Ignores trailing white space, which is easily pasted along.
  static func bytes(_ text: some BidirectionalCollection<UInt8>) -> Secret? {
    var rest = text[...]
    while let last = rest.last, [9, 10, 13, 32].contains(last) { rest.removeLast() }
    guard !rest.isEmpty, var bytes = Hexadecimal.bytes(rest) else { return nil }
    defer { for index in bytes.indices { bytes[index] = 0 } }
    return Secret(bytes: bytes)
  }
}
