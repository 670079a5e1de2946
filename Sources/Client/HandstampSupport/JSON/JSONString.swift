/// Strings in JSON text (RFC 8259 section 7).
package enum JSONString {
  private static let quotationMark = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  /// Appends `text` as a string: quotation marks, backslashes and control characters are escaped, and nothing else.
  package static func append(_ text: String, to json: inout [UInt8]) {
    json.append(quotationMark)
    // Almost all texts are plain, and most are contiguous.
    let isPlain = text.utf8.withContiguousStorageIfAvailable { bytes in
      guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != quotationMark && $0 != backslash }) else {
        return false
      }
      json.append(contentsOf: bytes)
      json.append(quotationMark)
      return true
    }
    if isPlain == true { return }
    for byte in text.utf8 {
      switch byte {
      case quotationMark, backslash:
        json.append(backslash)
        json.append(byte)
      case 0..<0x20, 0x7F: escape(UInt16(byte), into: &json)
      default: json.append(byte)
      }
    }
    json.append(quotationMark)
  }

  /// The text as a string, as ``append(_:to:)`` writes it.
  package static func quoted(_ text: String) -> String {
    var json: [UInt8] = []
    append(text, to: &json)
    return String(decoding: json, as: UTF8.self)
  }

  /// The part of a string that stands for one character, for texts that are shown at a terminal: a character is also escaped if
  /// it would not be displayed as it is.
  package static func shown(_ scalar: Unicode.Scalar) -> [UInt8] {
    switch scalar {
    case "\"", "\\": return [backslash, UInt8(truncatingIfNeeded: scalar.value)]
    default: break
    }
    switch scalar.properties.generalCategory {
    // Line breaks, escape sequences, and characters that reverse the direction of text. All but a few are below 2^16; those, and
    // the rest, are written as UTF-16 units.
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate:
      var json: [UInt8] = []
      for unit in String(scalar).utf16 { escape(unit, into: &json) }
      return json
    default: return Array(String(scalar).utf8)
    }
  }

  /// Appends a UTF-16 unit as `\u001f`.
  private static func escape(_ unit: UInt16, into json: inout [UInt8]) {
    let digits = StaticString("0123456789abcdef")
    json.append(backslash)
    json.append(UInt8(ascii: "u"))
    for shift in [12, 8, 4, 0] { json.append(digits.utf8Start[Int(unit >> UInt16(shift) & 15)]) }
  }
}
