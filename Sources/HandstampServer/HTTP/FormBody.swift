#if Server
import HandstampCore
import HandstampSupport

/// The fields of a form (`application/x-www-form-urlencoded`), as required by OAuth.
struct FormBody {
  enum Fault: Error, Equatable {
    /// A parameter is repeated, which RFC 6749 section 3.2 forbids.
    case repeated
    /// An escape is invalid, or the text is not UTF-8.
    case malformed
  }

  private var fields: [(name: String, value: String)] = []

  /// Parses a whole body. A parameter without a value counts as missing (RFC 6749 section 3.2).
  init(_ bytes: some Collection<UInt8>) throws(Fault) {
    for part in bytes.split(separator: UInt8(ascii: "&")) {
      let name: String
      let value: String
      if let equals = part.firstIndex(of: UInt8(ascii: "=")) {
        name = try FormBody.decoded(part[..<equals])
        value = try FormBody.decoded(part[part.index(after: equals)...])
      } else {
        name = try FormBody.decoded(part)
        value = ""
      }
      guard !fields.contains(where: { $0.name == name }) else { throw .repeated }
      guard fields.count < FormBody.limit else { throw .malformed }
      fields.append((name, value))
    }
  }

  /// Maximum number of fields, more than any honest client sends. Bounds the search for repeated names.
  static let limit = 64

  subscript(name: String) -> String? {
    fields.first { $0.name == name && !$0.value.isEmpty }?.value
  }

  private static func decoded(_ text: some Collection<UInt8>) throws(Fault) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var position = text.startIndex
    while position != text.endIndex {
      let byte = text[position]
      position = text.index(after: position)
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        var value: UInt8 = 0
        for _ in 0..<2 {
          guard position != text.endIndex, let digit = hexDigit(text[position]) else { throw .malformed }
          value = value << 4 | digit
          position = text.index(after: position)
        }
        bytes.append(value)
      default: bytes.append(byte)
      }
    }
    guard let string = String(utf8Bytes: bytes) else { throw .malformed }
    return string
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
#endif
