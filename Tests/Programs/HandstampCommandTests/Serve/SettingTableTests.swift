#if Programs
import ArgumentParser
import Foundation
import HandstampServer
import Testing

@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `The flags of the server` {
  @Test func `are its settings, except secrets`() throws {
    for setting in ServeSettings.all {
      let arguments = ["--\(setting.name)", "x"]
      if setting.isSecret {
        #expect(throws: (any Error).self) { try Serve.parse(arguments) }
      } else {
        #expect(try Serve.parse(arguments).flags.texts == [setting.name: "x"])
      }
    }
    #expect(try Serve.parse([]).flags.texts.isEmpty)
    let help = Serve.helpMessage(columns: 200)
    #expect(help.contains("--port <port>"))
    #expect(help.contains("port to listen on, 0 for any free one (default: 8080)"))
  }
}

/// `docs/configuration.md`, as the settings say it. `HANDSTAMP_UPDATE=1 make test FILTER='The table of settings'` writes its rows. A
/// new setting needs a row in a group, of which its name is enough.
@Suite(.timeLimit(.minutes(10))) struct `The table of settings` {
  private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("docs/configuration.md")

  private static let head = "| setting | meaning | default | changes by |"

  /// The row of each setting, by how it begins.
  private var rows: [Substring: String] {
    var rows: [Substring: String] = [:]
    for setting in ServeSettings.all where !setting.isHidden {
      let name = setting.isSecret ? setting.variable : setting.name
      let about = setting.about.replacing("|", with: "\\|")
      // A secret is a variable, and those of a running process do not change.
      let waits = setting.needsRestart || setting.isSecret
      rows["| `\(name)` |"] =
        "| `\(name)` | \(about) | \(setting.fallback) | \(waits ? "restart" : "reload") |"
    }
    return rows
  }

  /// Other settings are found by name.
  @Test func `has every setting that the sources name`() throws {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("../../../Sources/Programs/HandstampOperator")
    let known = Set(ServeSettings.all.map(\.name) + GateSettings.all.map(\.name))
    let pattern = /(?:values|self)\["([a-z-]+)"\]|hint\(of: "([a-z-]+)"\)|values\.(?:refusal|secret)\("([a-z-]+)"/
    var named: Set<String> = []
    for folder in ["Serve", "Gate", "Settings"] {
      let folder = sources.appendingPathComponent(folder)
      for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
        for match in try String(contentsOf: file, encoding: .utf8).matches(of: pattern) {
          named.insert(String(match.1 ?? match.2 ?? match.3 ?? ""))
        }
      }
    }
    #expect(named.count > 10)
    #expect(named.subtracting(known).isEmpty, "\(named.subtracting(known).sorted())")
  }

  @Test func `is the one in the documentation, with each setting in one group`() throws {
    let rows = rows
    var found: [Substring] = []
    var isTable = false
    let text = try String(contentsOf: Self.file, encoding: .utf8)
    let made = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      isTable = line == Self.head || isTable && line.hasPrefix("|")
      guard isTable, let name = line.firstMatch(of: #/^\| `[^`]+` \|/#)?.output else { return String(line) }
      found.append(name)
      return rows[name] ?? String(line)
    }.joined(separator: "\n")
    #expect(found.sorted() == rows.keys.sorted())
    if ProcessInfo.processInfo.environment["HANDSTAMP_UPDATE"] != nil {
      try made.write(to: Self.file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: Self.file, encoding: .utf8) == made)
  }

  @Test func `has an example with settings that exist`() throws {
    let text = try String(contentsOf: Self.file, encoding: .utf8)
    let example = try #require(text.split(separator: "```yaml\n").last?.split(separator: "\n```").first)
    let names = example.split(separator: "\n").compactMap { $0.firstMatch(of: #/^([a-z-]+): /#)?.1 }
    #expect(names.count > 10)
    #expect(Set(names.map(String.init)).subtracting(ServeSettings.all.map(\.name)).isEmpty)
  }
}
#endif
