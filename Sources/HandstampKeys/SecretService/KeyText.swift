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
    guard rest.count % 2 == 0, !rest.isEmpty else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(rest.count / 2)
    defer { for index in bytes.indices { bytes[index] = 0 } }
    var high: UInt8?
    for letter in rest {
      guard let digit = PercentEncoding.value(ofDigit: letter) else { return nil }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return Secret(bytes: bytes)
  }
}
