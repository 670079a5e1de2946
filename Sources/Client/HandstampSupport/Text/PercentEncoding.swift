/// Percent-encoding of bytes (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// Appends `byte` to `text`, escaped.
  package static func escape(_ byte: UInt8, into text: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// The text with every byte escaped that is not unreserved.
  package static func encode(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if byte.isUnreserved { encoded.append(byte) } else { escape(byte, into: &encoded) }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// The path of these segments, each escaped: `/v1/sessions/a%2Fb`. `nil` if one of them cannot be a segment: empty, `.` or `..`
  /// would name another path (RFC 3986 section 5.2.4).
  package static func path(_ segments: String...) -> String? {
    guard !segments.contains(where: { ["", ".", ".."].contains($0) }) else { return nil }
    return segments.map { "/" + encode($0) }.joined()
  }

  /// Returns the bytes that `text` stands for; `nil` if an escape is not valid.
  ///
  /// - Parameter plusIsSpace: whether `+` stands for a space, as in a form (WHATWG URL, application/x-www-form-urlencoded).
  package static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
    decode(Array(text), plusIsSpace: plusIsSpace)
  }

  // Arrays, as in ``Base64URL``.
  package static func decode(_ text: [UInt8], plusIsSpace: Bool = false) -> [UInt8]? {
    if !text.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text.makeIterator()
    while let byte = rest.next() {
      if byte == UInt8(ascii: "+"), plusIsSpace {
        bytes.append(UInt8(ascii: " "))
      } else if byte == UInt8(ascii: "%") {
        guard let high = rest.next().flatMap(value(ofDigit:)), let low = rest.next().flatMap(value(ofDigit:)) else {
          return nil
        }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  /// The value of a hexadecimal digit; `nil` for any other byte.
  package static func value(ofDigit byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Bytes as hexadecimal digits.
package enum Hexadecimal {
  /// Two lower-case digits per byte.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the bytes of `digits`, two for each, in either case; `nil` for anything else.
  package static func bytes(_ digits: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = digits.makeIterator()
    while let first = rest.next() {
      guard let high = PercentEncoding.value(ofDigit: first),
        let low = rest.next().flatMap(PercentEncoding.value(ofDigit:))
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}
