#if Programs
import Foundation
import Handstamp
import HandstampSupport
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `Completions` {
    private func complete(_ home: String, _ words: String...) async throws -> Set<String> {
      // The arguments that the generated scripts pass: the words, the index of one, and the position in it.
      let arguments = ["---completion", words[1], "--"] + (words[1] == "switch" ? ["positional@0"] : ["--account"])
      let outcome = try await ProcessFixture.handstamp(
        arguments + ["\(words.count - 1)", "0"] + words, home: home)
      #expect(outcome.status == 0, "\(outcome.words)")
      return Set(outcome.out.split(separator: "\n").map(String.init))
    }

    @Test func `offer names and tags of accounts, even if the vaults are locked or broken`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.signUp(stage.first, email: "bob@example.org", "--tag", "work")
        let all: Set = ["ada@example.org", "bob@example.org", "work"]
        let folder = stage.first.vaultFolder
        // All locks are held, and no vault can be read.
        let locks = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".lock") }
          .map { open("\(folder)/\($0)", O_RDWR) }
        defer { for lock in locks { close(lock) } }
        for lock in locks { #expect(flock(lock, LOCK_EX | LOCK_NB) == 0) }
        try FileManager.default.removeItem(atPath: folder + "/vault.key")
        #expect(try await complete(stage.first.path, "handstamp", "token", "--account", "") == all)
        #expect(try await complete(stage.first.path, "handstamp", "switch", "") == all)
        // It does not hang on something that is not a file.
        try FileManager.default.removeItem(atPath: folder + "/accounts.json")
        #expect(mkfifo(folder + "/accounts.json", 0o600) == 0)
        #expect(try await complete(stage.first.path, "handstamp", "switch", "").isEmpty)
        #expect(try await complete(stage.folder + "/nowhere", "handstamp", "switch", "").isEmpty)
      }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `are generated as a script`(shell: String) async throws {
      try await ProcessFixture.inFolder { folder in
        let outcome = try await ProcessFixture.handstamp(["--generate-completion-script", shell], home: folder)
        #expect(outcome.status == 0 && outcome.out.contains("---completion"))
      }
    }

    @Test func `work in bash`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let script = try await stage.run(["--generate-completion-script", "bash"], on: stage.first).out
        let path = stage.folder + "/completion"
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        let program = try Child.path()
        let lines = """
          PATH=\(URL(fileURLWithPath: program).deletingLastPathComponent().path):$PATH
          export HANDSTAMP_HOME=\(stage.first.path)
          source \(path)
          COMP_WORDS=(handstamp token --account ad) COMP_CWORD=3 COMP_LINE='handstamp token --account ad'
          COMP_POINT=${#COMP_LINE}; _handstamp handstamp ad --account; printf '%s\\n' "${COMPREPLY[@]}"
          """
        #expect(try await Child.outcome(of: "/bin/bash", lines).contains("ada@example.org"))
      }
    }
  }

  @Suite struct `The wait line` {
    private func token(_ stage: TourFixture, _ arguments: [String] = []) async throws -> (shown: String, out: String) {
      stage.proxy.saysTokensLast(0)
      try await stage.run(["refresh"], on: stage.first)
      let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
      stage.proxy.nextAnswer(.waits(isHere: isHere, goOn: goOn))
      let terminal = try PseudoTerminal()
      let child = try Child(
        ["token"] + arguments, variables: ["HANDSTAMP_HOME": stage.first.path, "TERM": "xterm"], input: "",
        screen: terminal.screen)
      try await within(.seconds(240), "the server's answer") { try await isHere.value() }
      let shown = Shown()
      if arguments.isEmpty {
        try await Step.until("words") { shown.add(terminal.shown).contains("waiting") }
      }
      goOn.set(())
      let outcome = try await within(.seconds(240), "the end") { try await child.outcome() }
      return (shown.add(terminal.shown), outcome.out)
    }

    @Test func `appears on a terminal as one line that is erased, and not with --quiet`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let (shown, out) = try await token(stage)
        #expect(shown.contains("waiting for \(stage.address.text)"))
        #expect(shown.hasSuffix("\r\u{1B}[K") && !shown.contains("\n"))
        #expect(!out.isEmpty)
        #expect(try await token(stage, ["--quiet"]).shown.isEmpty)
      }
    }

    @Test func `says when the next attempt of a refresh without an answer is due`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        stage.proxy.saysTokensLast(0)
        try await stage.run(["refresh"], on: stage.first)
        // The third attempt is the last one.
        stage.proxy.answersRefreshes(
          with: TransportResponse(status: 503, headers: [HeaderField("Retry-After", "5")]), times: 2)
        let terminal = try PseudoTerminal()
        let child = try Child(
          ["token"], variables: ["HANDSTAMP_HOME": stage.first.path, "TERM": "xterm"], input: "",
          screen: terminal.screen)
        let shown = Shown()
        try await Step.until("words") {
          shown.add(terminal.shown).contains("the last refresh got no answer; the next attempt is in ")
        }
        let outcome = try await within(.seconds(240), "the end") { try await child.outcome() }
        #expect(outcome.status == 0)
        #expect(shown.add(terminal.shown).hasSuffix("\r\u{1B}[K"))
      }
    }
  }
}

/// The output of a terminal so far.
private final class Shown: Sendable {
  private let text = Locked("")

  func add(_ more: String) -> String {
    text.withLock { text in
      text += more
      return text
    }
  }
}
#endif
