/// Reads one JSON text, byte by byte.
struct JSONReader {
  private static let deepest = 16

  private let bytes: [UInt8]
  private var place = 0
  private var depth = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func whole() -> JSONValue? {
    skipSpace()
    guard let value = value() else { return nil }
    skipSpace()
    return place == bytes.count ? value : nil
  }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    place += 1
    return true
  }

  private mutating func take(_ word: StaticString) -> Bool {
    guard bytes.count - place >= word.utf8CodeUnitCount else { return false }
    for offset in 0..<word.utf8CodeUnitCount where bytes[place + offset] != word.utf8Start[offset] { return false }
    place += word.utf8CodeUnitCount
    return true
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
  }

  private mutating func value() -> JSONValue? {
    switch next {
    case UInt8(ascii: "\""): string().map { .string($0) }
    case UInt8(ascii: "{"): nested { $0.object() }
    case UInt8(ascii: "["): nested { $0.array() }
    case UInt8(ascii: "t"): take("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): take("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): take("null") ? .null : nil
    default: number()
    }
  }

  private mutating func nested(_ body: (inout JSONReader) -> JSONValue?) -> JSONValue? {
    guard depth < JSONReader.deepest else { return nil }
    depth += 1
    defer { depth -= 1 }
    place += 1
    skipSpace()
    return body(&self)
  }

  private mutating func object() -> JSONValue? {
    var members: [String: JSONValue] = [:]
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\""), let name = string() else { return nil }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { return nil }
      skipSpace()
      guard let value = value(), members.updateValue(value, forKey: name) == nil else { return nil }
      skipSpace()
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "}")) ? .object(members) : nil
  }

  private mutating func array() -> JSONValue? {
    var values: [JSONValue] = []
    if take(UInt8(ascii: "]")) { return .array(values) }
    repeat {
      skipSpace()
      guard let value = value() else { return nil }
      values.append(value)
      skipSpace()
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "]")) ? .array(values) : nil
  }

  private mutating func number() -> JSONValue? {
    let start = place
    _ = take(UInt8(ascii: "-"))
    let first = next
    let count = skipDigits()
    // No leading zeros.
    guard count > 0, first != UInt8(ascii: "0") || count == 1 else { return nil }
    var isWhole = true
    if take(UInt8(ascii: ".")) {
      isWhole = false
      guard skipDigits() > 0 else { return nil }
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isWhole = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard skipDigits() > 0 else { return nil }
    }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    if isWhole, let number = Int64(text) { return .integer(number) }
    guard let number = Double(text), number.isFinite else { return nil }
    return .number(number)
  }

  private mutating func skipDigits() -> Int {
    let start = place
    while let byte = next, byte.isDigit { place += 1 }
    return place - start
  }

  private mutating func string() -> String? {
    place += 1
    let start = place
    var isASCII = true
    // Most strings have no escape, and only ASCII, which is always valid: no copy and no second look then.
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        defer { place += 1 }
        let text = bytes[start..<place]
        return isASCII ? String(decoding: text, as: UTF8.self) : String(utf8Bytes: text)
      case UInt8(ascii: "\\"): return escaped(from: start)
      case 0..<0x20: return nil
      default:
        if byte >= 0x80 { isASCII = false }
        place += 1
      }
    }
    return nil
  }

  private mutating func escaped(from start: Int) -> String? {
    var text = Array(bytes[start..<place])
    while let byte = next {
      place += 1
      switch byte {
      case UInt8(ascii: "\""): return String(utf8Bytes: text)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        text.append(contentsOf: Character(scalar).utf8)
      case 0..<0x20: return nil
      default: text.append(byte)
      }
    }
    return nil
  }

  /// Reads what follows a backslash.
  private mutating func escape() -> Unicode.Scalar? {
    guard let byte = next else { return nil }
    place += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      guard let unit = unit() else { return nil }
      guard (0xD800...0xDBFF).contains(unit) else { return Unicode.Scalar(unit) }
      guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = self.unit(), (0xDC00...0xDFFF).contains(low)
      else { return nil }
      return Unicode.Scalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
    default: return nil
    }
  }

  /// Reads the four digits of a UTF-16 unit.
  private mutating func unit() -> UInt32? {
    guard bytes.count - place >= 4 else { return nil }
    var unit: UInt32 = 0
    for byte in bytes[place..<place + 4] {
      guard let digit = PercentEncoding.value(ofDigit: byte) else { return nil }
      unit = unit << 4 | UInt32(digit)
    }
    place += 4
    return unit
  }
}
