/// Writes one JSON object (RFC 8259), field by field, without reflection or intermediate values: the token endpoint writes
/// thousands of responses per second with it.
package struct JSONText: Sendable {
  /// The object so far, without its closing brace.
  package private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

  package init(reserving capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  /// An object of strings.
  package init(_ members: [(name: StaticString, value: String)]) {
    for member in members { add(member.name, member.value) }
  }

  package mutating func add(_ name: StaticString, _ value: String) {
    addName(name)
    JSONString.append(value, to: &bytes)
  }

  /// Adds a field, unless `value` is `nil`.
  package mutating func add(_ name: StaticString, ifPresent value: String?) {
    if let value { add(name, value) }
  }

  /// Adds a string, cut to `limit` bytes, whose characters are also escaped if a terminal would not display them as they are.
  package mutating func add(_ name: StaticString, shown value: String, upTo limit: Int) {
    addName(name)
    bytes.append(UInt8(ascii: "\""))
    let end = bytes.count + limit
    for scalar in value.unicodeScalars {
      let escaped = JSONString.shown(scalar)
      // Leaves room for the ellipsis.
      if bytes.count + escaped.count > end - 3 {
        bytes += "…".utf8
        break
      }
      bytes += escaped
    }
    bytes.append(UInt8(ascii: "\""))
  }

  package mutating func add(_ name: StaticString, _ value: Int64) {
    addName(name)
    bytes.append(contentsOf: String(value).utf8)
  }

  package mutating func add(_ name: StaticString, _ value: Bool) {
    addName(name)
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  package mutating func add(_ name: StaticString, _ value: JSONText) {
    addName(name)
    bytes.append(contentsOf: value.finished)
  }

  package mutating func add(_ name: StaticString, _ values: [JSONText]) {
    addName(name)
    bytes.append(UInt8(ascii: "["))
    for (index, value) in values.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(contentsOf: value.finished)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  package mutating func add(_ name: StaticString, _ values: [String]) {
    addName(name)
    bytes.append(UInt8(ascii: "["))
    for (index, value) in values.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      JSONString.append(value, to: &bytes)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  package mutating func add(_ name: StaticString, _ value: JSONValue) {
    addName(name)
    value.append(to: &bytes)
  }

  /// The whole object.
  package var finished: [UInt8] { bytes + [UInt8(ascii: "}")] }
  /// The same as text.
  package var text: String { String(decoding: finished, as: UTF8.self) }

  private mutating func addName(_ name: StaticString) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }
}
