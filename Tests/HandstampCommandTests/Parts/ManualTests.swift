#if Programs
import ArgumentParser
import Foundation
import Testing

@testable import HandstampCommand

@Suite(.timeLimit(.minutes(10))) struct `The manual` {
  private static let text: String = {
    let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/").dropFirst()
    return (try? String(contentsOfFile: String(root) + "/docs/handstamp.1", encoding: .utf8)) ?? ""
  }()

  @Test func `names every command`() {
    for command in HandstampTool.configuration.subcommands {
      let name = command._commandName
      let isThere = Self.text.split(separator: "\n").contains { line in
        line.hasPrefix(".It Ic ") && line.split(whereSeparator: { " ,".contains($0) }).contains(Substring(name))
      }
      #expect(isThere, "\(name)")
    }
  }

  /// The library derives missing names from the types, by reflection: a third of the time that a short command takes.
  @Test func `has the names that the commands state themselves`() {
    var all: [any ParsableCommand.Type] = [HandstampTool.self]
    var next = 0
    while next < all.count {
      #expect(all[next].configuration.commandName?.isEmpty == false, "\(all[next])")
      all += all[next].configuration.subcommands
      next += 1
    }
    #expect(all.count > 40)
  }

  @Test func `names every variable and every exit code`() {
    let words = HandstampTool.configuration.discussion
    for line in words.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if line.hasPrefix("HANDSTAMP_") {
        let name = line.prefix { $0 != " " }
        #expect(Self.text.contains(".It Ev \(name)\n"), "\(name)")
      } else if let code = line.split(separator: " ").first, Int(code) != nil {
        #expect(Self.text.contains(".It \(code)\n"), "\(code)")
      }
    }
  }
}
#endif
