/// The charset of older sites, as browsers decode it (WHATWG Encoding, index windows-1252). Every byte decodes to a character
/// that encodes to the same byte; no input is rejected.
public enum Windows1252 {
  /// 0x80 to 0x9F; the five bytes that the table leaves out map to the control characters of the same number.
  private static let upper: [UInt16] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
  ]
  private static let bytes: [UInt16: UInt8] = Dictionary(
    uniqueKeysWithValues: upper.enumerated().map { ($1, UInt8($0) + 0x80) })

  /// Returns the text of `bytes`.
  public static func decode(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    // An array of known type iterates many times faster.
    let bytes = Array(bytes)
    text.reserveCapacity(bytes.count)
    for byte in bytes {
      guard byte >= 0x80 else {
        text.append(byte)
        continue
      }
      // As UTF-8: no code of the table needs more than three bytes, and none is half of a surrogate pair.
      let code = byte < 0xA0 ? upper[Int(byte) - 0x80] : UInt16(byte)
      if code < 0x800 {
        text += [0xC0 | UInt8(code >> 6), 0x80 | UInt8(code & 63)]
      } else {
        text += [0xE0 | UInt8(code >> 12), 0x80 | UInt8(code >> 6 & 63), 0x80 | UInt8(code & 63)]
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the bytes of `text`. A character outside the charset becomes `&#N;`, as browsers write it into forms: the server
  /// displays it as that character.
  public static func encode(_ text: String) -> [UInt8] {
    var result: [UInt8] = []
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0..<0x80, 0xA0...0xFF: result.append(UInt8(scalar.value))
      default:
        if let code = UInt16(exactly: scalar.value), let byte = bytes[code] {
          result.append(byte)
        } else {
          result += Array("&#\(scalar.value);".utf8)
        }
      }
    }
    return result
  }
}
