#if Programs
import ArgumentParser
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

/// Every call of `handstamp` and `handstamp-server` in the documents, in blocks of the shell and between words: the program that it names has
/// the command, and takes these options and arguments. `DocumentRunTests` runs the blocks.
@Suite(.timeLimit(.minutes(10))) struct `A command in a document` {
  @Test(arguments: DocumentBlock.documents)
  func `is one that its program takes`(path: String) throws {
    let text = try DocumentBlock.text(of: path)
    for call in DocumentedCall.all(in: text) {
      if let refusal = call.refusal { Issue.record("\(path): \(call.words.joined(separator: " "))\n\(refusal)") }
    }
  }

  @Test func `is one of some hundreds`() throws {
    let count = try DocumentBlock.documents.reduce(0) { count, path in
      count + DocumentedCall.all(in: try DocumentBlock.text(of: path)).count
    }
    #expect(count > 300)
  }

  @Test func `is found in blocks, in substitutions, in quotes and between words`() {
    let text = """
      Run `handstamp status --json`, not `handstamp …`, as `systemctl stop handstamp` says.

      ```sh
      TOKEN="$(handstamp token --scope 'read profile')"   # handstamp nothing
      sudo -u handstamp handstamp-server admin \\
        mail test you@example.org 2>/dev/null | cat
      git config --global helper "!handstamp credential-helper --host git.example.org"
      systemctl stop handstamp
      ```
      """
    #expect(
      DocumentedCall.all(in: text).map(\.words) == [
        ["handstamp", "token", "--scope", "read profile"],
        ["handstamp-server", "admin", "mail", "test", "you@example.org"],
        ["handstamp", "credential-helper", "--host", "git.example.org"], ["handstamp", "status", "--json"],
      ])
  }

  @Test(arguments: [
    ("handstamp tokn", "unknown command: tokn"), ("handstamp token --jsn", "Unknown option '--jsn'"),
    ("handstamp-server admin mail test", "Missing expected argument '<email>'"),
    ("handstamp serve", "unknown command: serve"),
    ("handstamp-server serve --port", "Missing value for '--port <port>'"),
  ])
  func `that its program refuses is found`(line: String, refusal: String) throws {
    let call = try #require(DocumentedCall.all(in: "```sh\n\(line)\n```").first)
    #expect(call.refusal?.contains(refusal) == true, "\(call.refusal ?? "nothing")")
  }

  /// A call between words names a command, often without its arguments.
  @Test func `between words lacks arguments, and no option is unknown`() throws {
    let calls = DocumentedCall.all(
      in: "`handstamp-server admin mail test` and `handstamp-server admin mail test --bcc`")
    #expect(calls.map { $0.refusal == nil } == [true, false])
  }
}

/// A call of one of the programs, as a document shows it.
private struct DocumentedCall {
  /// The program's name, and its arguments.
  let words: [String]
  /// Whether it has all its arguments.
  let isWhole: Bool

  static func all(in text: String) -> [DocumentedCall] {
    let blocks = text.matches(of: #/(?ms)^ *```(?:sh|console)\n(.*?)^ *```/#).map { $0.output.1 }
    let prose = text.replacing(#/(?ms)^ *```.*?^ *```/#, with: "")
    let spans = prose.matches(of: #/`((?:handstamp|handstamp-server) [^`]+)`/#).map { $0.output.1 }
    return blocks.flatMap { calls(in: $0, isInBlock: true) } + spans.flatMap { calls(in: $0, isInBlock: false) }
  }

  private static func calls(in shell: Substring, isInBlock: Bool) -> [DocumentedCall] {
    let start = #/(?:^|[\s($"'!`;])(?:[\w.\/]*(?:debug|bin|out)\/)?(handstamp|handstamp-server)(?= )/#
    return shell.replacing("\\\n", with: " ").split(separator: "\n").flatMap { line in
      line.matches(of: start).compactMap { found in
        let before = line[..<found.output.1.startIndex]
        // A user, a unit, a product, a package or a format of that name, and what a comment says.
        if before.contains(#/(?:^|\s)#|(?: -[uOU]|systemctl [a-z-]+|install|--product|--from) $/#) { return nil }
        let words = words(of: line[found.output.1.endIndex...])
        // After an exclamation mark it is a helper of git's, which adds arguments.
        return words.isEmpty
          ? nil : DocumentedCall(words: [String(found.output.1)] + words, isWhole: isInBlock && before.last != "!")
      }
    }
  }

  /// The words up to the end of the command: an operator, a comment, or the end of the quotes or parentheses around it.
  private static func words(of rest: Substring) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var depth = 0
    for character in rest {
      switch (quote, character) {
      case (let open?, _) where open == character: quote = nil
      case (_?, _): word = (word ?? "") + String(character)
      case (nil, "'"), (nil, "\""):
        // One that nothing closes was opened before the call.
        guard rest.filter({ $0 == character }).count.isMultiple(of: 2) else { return words + [word].compactMap(\.self) }
        quote = character
        word = word ?? ""
      case (nil, "("): depth += 1; word = (word ?? "") + "("
      case (nil, ")") where depth > 0: depth -= 1; word = (word ?? "") + ")"
      case (nil, "|"), (nil, ";"), (nil, "&"), (nil, ")"), (nil, "…"): return words + [word].compactMap(\.self)
      case (nil, ">"), (nil, "<"):
        return words + (word.map { $0.allSatisfy(\.isNumber) ? [] : [$0] } ?? [])
      case (nil, "#") where word == nil: return words
      case (nil, " "):
        words += [word].compactMap(\.self)
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    return words + [word].compactMap(\.self)
  }

  /// The refusal of the program, if it does not take the call.
  var refusal: String? {
    // A placeholder stands for a value, and for a number as well.
    let words = words.map { $0.contains(#/^[A-Z][A-Z_-]*$/#) ? "1" : $0 }
    let root: any AsyncParsableCommand.Type = words[0] == "handstamp" ? HandstampTool.self : HandstampServerTool.self
    var arguments = Array(words.dropFirst())
    guard arguments.first != "help" else { return nil }
    do throws(CommandError) { try NamedCommand(in: arguments, of: root).check() } catch { return error.message }
    while true {
      do {
        _ = try root.parseAsRoot(arguments)
        return nil
      } catch {
        let message = root.message(for: error)
        if root.exitCode(for: error) == .success { return nil }
        guard !isWhole, arguments.count < words.count + 5 else { return message }
        // Whatever it lacks, its other words are judged.
        if message.hasPrefix("missing") || message.contains(#/'1'|must be one of/#) { return nil }
        guard message.hasPrefix("Missing") else { return message }
        if let option = message.firstMatch(of: #/argument '(--[a-z-]+)/#)?.output.1 { arguments.append(String(option)) }
        arguments.append("1")
      }
    }
  }
}
#endif
