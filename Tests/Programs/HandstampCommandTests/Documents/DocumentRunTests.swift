#if Programs && os(Linux)
import Foundation
import Testing

/// Every block of the shell in the documents is run: in order, on a machine of its own for each document, with the real programs and a real
/// server. Programs of others are stand-ins that look for a token.
@Suite(.timeLimit(.minutes(30))) struct `A block in a document` {
  @Test(arguments: DocumentBlock.documents)
  func `does what the document says`(document: String) async throws {
    let blocks = try DocumentBlock.all(in: document).compactMap(\.run)
    guard !blocks.isEmpty else { return }
    for failure in try await failures(of: blocks) { Issue.record("\(document) \(failure)") }
  }

  @Test(arguments: [
    ("handstamp token --resource https://nowhere.example.org", "handstamp: "),
    ("handstamp exec --env A=id-token -- docker; false", "status 1"),
    ("handstamp --version\nhandstamp-server admin clients list --clients missing || :", "hint: "), ("docker run", ""),
    ("HANDSTAMP_TOKEN=no WANTED=HANDSTAMP_TOKEN npm publish", "HANDSTAMP_TOKEN has no token"),
  ])
  func `fails by its line and its words`(commands: String, part: String) async throws {
    let blocks = DocumentBlock.parsing("Words\n\n```sh\n\(commands)\n```\n")
    let failures = try await failures(of: blocks)
    #expect(
      failures.isEmpty == part.isEmpty && failures.allSatisfy { $0.hasPrefix("line 3") && $0.contains(part) },
      "\(failures)")
  }

  @Test func `prints what the document shows`() async throws {
    let blocks = DocumentBlock.parsing("```console\n$ echo '{\"a\":\n    1}'\n{\"a\":1,\"b\":2}\nstate   on\n```")
    #expect(blocks.map(\.commands) == ["echo '{\"a\":\n    1}'"])
    let failures = try await failures(of: blocks)
    #expect(failures.count == 1 && failures.allSatisfy { $0.hasPrefix("line 1: does not print \"b\":, state") })
  }

  @Test func `with an entry is there`() throws {
    for (document, plans) in DocumentPlan.plans {
      let blocks = try DocumentBlock.all(in: document).compactMap(\.run)
      for plan in plans { #expect(blocks.contains { $0.plan?.start == plan.start }, "\(document): \(plan.start)") }
    }
    for (document, entries) in LeftOut.all {
      let blocks = try DocumentBlock.all(in: document)
      for entry in entries {
        let lines =
          entry.isWhole
          ? blocks.map(\.commands) : blocks.flatMap { $0.commands.split(separator: "\n").map(String.init) }
        #expect(lines.contains { $0.hasPrefix(entry.start) }, "\(document): \(entry.start)")
      }
    }
  }

  private func failures(of blocks: [DocumentBlock]) async throws -> [String] {
    let run = try await DocumentMachine.run(blocks)
    return blocks.compactMap { block in
      let outcome = run.outcomes[block.number] ?? DocumentMachine.Outcome(out: "", words: "")
      if run.last == block.number {
        return "line \(block.line): status \(run.status)\n\(outcome.out.suffix(500))\n\(outcome.words.suffix(1500))"
      }
      if let last = run.last, last < block.number { return nil }
      if outcome.words.contains(#/(?m)^(hint|handstamp|handstamp-server): /#) {
        return "line \(block.line): \(outcome.words)"
      }
      let missing = block.shown.filter { !outcome.out.contains($0) }
      return missing.isEmpty
        ? nil : "line \(block.line): does not print \(missing.joined(separator: ", "))\n\(outcome.out)"
    }
  }
}
#endif
