#if Programs
import ArgumentParser
import Foundation
import HandstampCore

/// `--json` on everything that reads.
struct OutputOptions: ParsableArguments {
  @Flag(name: .long, help: "print one line of JSON")
  var json = false
}

/// What programs read: the version first, so that they know what to expect.
protocol Document: Encodable {
  var schemaVersion: Int { get }
}

extension Document {
  /// Prints it as one line.
  func print() {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return }
    Terminal.out(String(decoding: data, as: UTF8.self))
  }
}

/// Columns of text.
struct Table {
  var rows: [[String]]

  /// One line per row; columns as wide as they must be.
  var lines: [String] {
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
}
#endif
