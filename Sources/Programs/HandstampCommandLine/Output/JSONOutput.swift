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
#endif
