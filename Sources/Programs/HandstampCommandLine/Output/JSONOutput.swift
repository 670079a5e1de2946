#if Command
import ArgumentParser
import Foundation
import HandstampCore

/// `--json`, for every command that reads.
package struct OutputOptions: ParsableArguments {
  @Flag(name: .long, help: "print one line of JSON")
  package var json = false

  package init() {}
}

/// Output for programs. It carries a schema version so that they know what to expect.
package protocol Document: Encodable {}

extension Document {
  /// Prints the document as one line of JSON.
  package func writeLine() { Versioned(document: self).writeJSON() }
}

private struct Versioned<Content: Document>: Encodable {
  let document: Content
  private enum Key: String, CodingKey { case schemaVersion }

  func encode(to encoder: any Encoder) throws {
    try document.encode(to: encoder)
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(1, forKey: .schemaVersion)
  }
}

extension Encodable {
  /// Prints the value as one line of JSON, as it is.
  package func writeJSON() {
    guard let bytes = try? jsonBytes() else { return }
    Terminal.out(String(decoding: bytes, as: UTF8.self))
  }

  /// The value as JSON, with sorted names.
  ///
  /// - Parameter isPretty: whether it is laid out for people.
  package func jsonBytes(isPretty: Bool = false) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return Array(try encoder.encode(self))
  }
}

extension CommandError {
  /// The refusal for programs, with `--json`: one line on stderr.
  package var line: String {
    let error: JSONObject = ["code": code, "message": message, "hint": hint, "exitStatus": exit.rawValue]
    let document: JSONObject = ["error": error, "schemaVersion": 1]
    return (try? document.jsonBytes()).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}

/// A table of text.
package struct Table {
  package var rows: [[String]]

  package init(rows: [[String]]) { self.rows = rows }

  /// One line per row; each column is as wide as its widest cell.
  package var lines: [String] {
    let rows = rows.map { $0.map(\.onOneLine) }
    let count = rows.map(\.count).max() ?? 0
    let widths = (0..<count).map { column in rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.map { row in
      let cells = row.enumerated().map { column, cell in
        column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
      }
      return cells.joined(separator: "  ")
    }
  }

  package func write() { for line in lines { Terminal.out(line) } }
}

/// An object of JSON, written where it is printed. Members that are `nil` are left out.
package struct JSONObject: Document, ExpressibleByDictionaryLiteral {
  private let members: [(name: String, value: (any Encodable)?)]

  package init(dictionaryLiteral members: (String, (any Encodable)?)...) {
    self.members = members.map { (name: $0.0, value: $0.1) }
  }

  /// The object of one item of a list.
  package init<Item>(_ item: Item, _ columns: [Column<Item>]) { members = columns.map { ($0.name, $0.value(item)) } }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: MemberName.self)
    for (name, value) in members {
      if let value { try container.encode(value, forKey: MemberName(stringValue: name)) }
    }
  }
}

/// The name of a member that is known only when the program runs.
package struct MemberName: CodingKey {
  package let stringValue: String
  package var intValue: Int? { nil }

  package init(stringValue: String) { self.stringValue = stringValue }
  package init?(intValue: Int) { nil }
}

/// A fact about each item of a list: a member of its object for programs and, with a heading, a column of the table for people.
package struct Column<Item> {
  package let name: String
  package let heading: String?
  package let value: (Item) -> (any Encodable)?
  package let text: (Item) -> String

  /// - Parameters:
  ///   - none: stands in the table for `nil`.
  ///   - shown: the text in the table, if it is not that of the value.
  package init<Value: Encodable>(
    _ name: String, as heading: String? = nil, none: String = "-", shown: ((Item) -> String)? = nil,
    _ value: @escaping (Item) -> Value?
  ) {
    (self.name, self.heading) = (name, heading)
    self.value = { value($0) }
    text = shown ?? { value($0).map { "\($0)" } ?? none }
  }
}

extension Array {
  /// The items for programs.
  package func objects(_ columns: [Column<Element>]) -> [JSONObject] { map { JSONObject($0, columns) } }
}

extension Table {
  /// The items for people.
  package init<Item>(_ items: [Item], _ columns: [Column<Item>]) {
    let shown = columns.filter { $0.heading != nil }
    self.init(rows: [shown.compactMap(\.heading)] + items.map { item in shown.map { $0.text(item) } })
  }
}

extension Terminal {
  /// Prints an object as one line, with the version of its schema.
  package static func out(json object: JSONObject) { object.writeLine() }
}

extension OutputOptions {
  /// Prints a list: for programs as the member `name` of an object.
  ///
  /// - Parameter next: what `--after` takes to go on; `nil` if there are no more.
  package func write<Item>(
    _ name: String, _ items: [Item], _ columns: [Column<Item>], next: (any Encodable)? = nil
  ) {
    if json { return Terminal.out(json: [name: items.objects(columns), "next": next]) }
    Table(items, columns).write()
    if let next { Terminal.say("for more, add: --after \(next)") }
  }

  /// Prints the result of a change: for people in words on stderr.
  package func write(_ object: JSONObject, or words: String) {
    if json { Terminal.out(json: object) } else { Terminal.say(words) }
  }
}
#endif
