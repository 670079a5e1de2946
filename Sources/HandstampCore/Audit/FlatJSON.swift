import HandstampSupport

/// One JSON object (RFC 8259) whose members are strings and integers: enough for an audit line, without Foundation.
struct FlatJSON {
  enum Value: Hashable {
    case text(String)
    /// The digits, after an optional minus sign.
    case number(String)

    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// Returns `nil` if it does not fit.
    func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
      if case .number(let digits) = self { Number(digits) } else { nil }
    }
  }

  /// The object so far, without its closing brace.
  private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

  mutating func add(_ name: String, _ number: some BinaryInteger) {
    begin(name)
    bytes += String(number).utf8
  }

  /// Adds a string, cut to ``AuditLine/textLimit`` bytes. Characters that a terminal would not display as they are, are
  /// escaped.
  mutating func add(_ name: String, _ text: String) {
    begin(name)
    bytes.append(UInt8(ascii: "\""))
    let limit = bytes.count + AuditLine.textLimit
    for scalar in text.unicodeScalars {
      let escaped = JSONString.shown(scalar)
      // Leaves room for the ellipsis.
      if bytes.count + escaped.count > limit - 3 {
        bytes += "…".utf8
        break
      }
      bytes += escaped
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func begin(_ name: String) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    bytes += "\"\(name)\":".utf8
  }

  /// Returns the members of an object; `nil` for anything else: another kind of value, a duplicate name, a trailing byte.
  static func members(_ bytes: [UInt8]) -> [String: Value]? {
    var parser = FlatJSONParser(bytes)
    return parser.object()
  }
}

/// Parses untrusted bytes.
private struct FlatJSONParser {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func object() -> [String: FlatJSON.Value]? {
    guard take("{") else { return nil }
    var members: [String: FlatJSON.Value] = [:]
    repeat {
      guard take("\""), let name = text(), take(":"), let value = value(), members[name] == nil else { return nil }
      members[name] = value
    } while take(",")
    return take("}") && rest.isEmpty ? members : nil
  }

  private mutating func value() -> FlatJSON.Value? {
    take("\"") ? text().map { .text($0) } : number().map { .number($0) }
  }

  private mutating func number() -> String? {
    let sign = take("-") ? "-" : ""
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard !digits.isEmpty else { return nil }
    rest = rest.dropFirst(digits.count)
    return sign + String(decoding: digits, as: UTF8.self)
  }

  /// Parses from after the opening quotation mark up to and including the closing one.
  private mutating func text() -> String? {
    var units: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""):
        let text = String(decoding: units, as: UTF8.self)
        return text.utf8.elementsEqual(units) ? text : nil
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        units += String(scalar).utf8
      case 0..<0x20: return nil
      default: units.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    switch rest.popFirst() {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "u"):
      guard let first = unit() else { return nil }
      guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
      guard take("\\"), take("u"), let second = unit(), UTF16.isTrailSurrogate(second) else { return nil }
      return Unicode.Scalar(0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00))
    default: return nil
    }
  }

  private mutating func unit() -> UInt16? {
    let digits = rest.prefix(4)
    guard digits.count == 4 else { return nil }
    rest = rest.dropFirst(4)
    var unit: UInt16 = 0
    for digit in digits {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
      unit = unit << 4 | UInt16(value)
    }
    return unit
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let byte = rest.first, Unicode.Scalar(byte) == character else { return false }
    rest = rest.dropFirst()
    return true
  }
}
