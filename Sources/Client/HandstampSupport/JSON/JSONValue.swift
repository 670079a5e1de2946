/// JSON text (RFC 8259), read strictly, because two parsers must never read a signed text differently: repeated names, other
/// encodings than UTF-8, lone surrogates and text after the value are refused.
package enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Reads all of `bytes`. `nil` for anything but one JSON value, nested at most 16 deep.
  package init?(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes)
    guard let value = reader.whole() else { return nil }
    self = value
  }

  /// The member of an object; `nil` if there is none, or this is no object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members[name]
  }

  package var string: String? { if case .string(let text) = self { text } else { nil } }

  package var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }

  /// The number as a whole number of at most 2^53; `nil` if it has a fraction.
  package var integer: Int64? {
    switch self {
    case .integer(let number): number
    case .number(let number): abs(number) <= 9_007_199_254_740_992 ? Int64(exactly: number) : nil
    case .null, .bool, .string, .array, .object: nil
    }
  }

  /// The number as seconds, which may have a fraction (`NumericDate`, RFC 7519 section 2).
  package var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    case .null, .bool, .string, .array, .object: nil
    }
  }

  /// Appends the value as JSON text, the members of objects sorted by name.
  package func append(to json: inout [UInt8]) {
    switch self {
    case .null: json += "null".utf8
    case .bool(let value): json += (value ? "true" : "false").utf8
    case .integer(let number): json += String(number).utf8
    case .number(let number): json += (number.isFinite ? String(number) : "null").utf8
    case .string(let text): JSONString.append(text, to: &json)
    case .array(let values):
      json.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        value.append(to: &json)
      }
      json.append(UInt8(ascii: "]"))
    case .object(let members):
      json.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        JSONString.append(member.key, to: &json)
        json.append(UInt8(ascii: ":"))
        member.value.append(to: &json)
      }
      json.append(UInt8(ascii: "}"))
    }
  }
}
