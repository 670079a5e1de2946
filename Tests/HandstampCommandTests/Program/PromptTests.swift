#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand

extension Processes {
  @Suite struct `A prompt` {
    @Test func `never shows the password, and allows corrections`() async throws {
      try await Rig.run { stage in
        try await stage.signUp(stage.first)
        let terminal = try PseudoTerminal()
        let child = try Child(
          ["login", stage.email, "--server", stage.address.text], variables: ["HANDSTAMP_HOME": stage.second.path],
          terminal: terminal.screen)
        // A discarded line, then a wrong letter and a two-byte letter, both deleted.
        try await terminal.type("wrong\u{15}\(stage.password)xü\u{7F}\u{7F}\r")
        let outcome = try await within(.seconds(240), "the end") { try await child.outcome() }
        #expect(outcome.status == 0, "\(outcome.words)")
        #expect(outcome.words.hasPrefix("password: \n"))
        #expect(!outcome.words.contains(stage.password) && outcome.out.isEmpty)
        #expect(terminal.shown.isEmpty)
        #expect(terminal.echoes, "the terminal is restored")
      }
    }

    @Test(arguments: ["\u{3}", "\u{4}", "half\u{3}", "\r"])
    func `that is cancelled exits with 2 and restores the terminal`(keys: String) async throws {
      try await Rig.inFolder { folder in
        let terminal = try PseudoTerminal()
        let child = try Child(
          ["login", "ada@example.org", "--server", "http://127.0.0.1:9"], variables: ["HANDSTAMP_HOME": folder],
          terminal: terminal.screen)
        try await terminal.type(keys)
        try expectRefusal(
          try await within(.seconds(240), "the end") { try await child.outcome() }, .cancelled,
          hint: "run the same command again")
        #expect(terminal.echoes)
      }
    }

    @Test func `for a new password asks twice`() async throws {
      try await Rig.inFolder { folder in
        let terminal = try PseudoTerminal()
        let child = try Child(
          ["signup", "ada@example.org", "--server", "http://127.0.0.1:9"], variables: ["HANDSTAMP_HOME": folder],
          terminal: terminal.screen)
        try await terminal.type("one password\ranother one\r")
        try expectRefusal(
          try await within(.seconds(240), "the end") { try await child.outcome() }, .failure, hint: "again")
      }
    }
  }
}
#endif
