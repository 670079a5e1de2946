#if Programs
import Foundation

/// All figures of one run.
struct Report {
  var rows: [Row] = []
  /// Further notes for the reader.
  var notes: [String] = []
  private let folder: String
  private let before = Machine.load
  private var after = ""

  init(folder: String) { self.folder = folder }

  mutating func add(
    _ group: String, _ name: String, _ value: Double, _ unit: String, target: Row.Target? = nil, note: String = ""
  ) {
    rows.append(Row(group: group, name: name, value: value, unit: unit, target: target, note: note))
  }

  mutating func finish() { after = Machine.load }

  private var machine: String {
    "\(Machine.build) build, \(Machine.cores) cores, load \(before) before and \(after) after, \(Machine.system)"
  }

  private var summary: String {
    let judged = rows.compactMap(\.isMet)
    let missed = judged.count { !$0 }
    return "\(judged.count - missed) of \(judged.count) targets met"
      + (missed > 0 ? "; a missed target means little on a machine that is busy with other work" : "")
  }

  /// The report as a table.
  var text: String {
    let widths = (rows.map(\.name.count).max() ?? 0, rows.map { "\($0.value.figure) \($0.unit)".count }.max() ?? 0)
    let targetWidth = rows.map(\.targetText.count).max() ?? 0
    var lines = ["HandstampBench: \(machine)", "files in \(folder)"]
    if !Machine.isRelease { lines.append("THIS IS A DEBUG BUILD: its figures are meaningless") }
    var group = ""
    for row in rows {
      if row.group != group {
        group = row.group
        lines += ["", group]
      }
      let line = [
        "  " + row.name.padded(to: widths.0), "\(row.value.figure) \(row.unit)".padded(to: widths.1, left: true),
        row.targetText.padded(to: targetWidth), row.verdict.padded(to: 6), row.note,
      ].joined(separator: "  ")
      lines.append(line.trimmedRight)
    }
    lines += [""] + notes + [summary]
    return lines.joined(separator: "\n")
  }

  /// Returns the report as JSON.
  func json() throws -> String {
    let document = Document(
      schemaVersion: 1, machine: machine, folder: folder, notes: notes,
      rows: rows.map { row in
        var limit: (least: Double?, most: Double?) = (nil, nil)
        switch row.target {
        case .atLeast(let value): limit.least = value
        case .atMost(let value): limit.most = value
        case nil: break
        }
        return Document.Row(
          group: row.group, name: row.name, value: row.value, unit: row.unit, atLeast: limit.least,
          atMost: limit.most, isMet: row.isMet, note: row.note)
      })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(document), as: UTF8.self)
  }

  private struct Document: Encodable {
    struct Row: Encodable {
      var group, name: String
      var value: Double
      var unit: String
      var atLeast, atMost: Double?
      var isMet: Bool?
      var note: String
    }
    var schemaVersion: Int
    var machine, folder: String
    var notes: [String]
    var rows: [Row]
  }
}

extension String {
  fileprivate func padded(to width: Int, left: Bool = false) -> String {
    let pad = String(repeating: " ", count: max(0, width - count))
    return left ? pad + self : self + pad
  }

  fileprivate var trimmedRight: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
#endif
