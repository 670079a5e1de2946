#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `A prompt` {
    @Test func `never shows the password, and allows corrections`() async throws {
      try await ProcessFixture.run { stage in
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
      try await ProcessFixture.inFolder { folder in
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

    @Test func `for the code of a mail completes a sign-up`() async throws {
      try await ProcessFixture.inFolder { folder in
        var random = SystemRandomNumberGenerator()
        let mint = TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random))
        let server = try await SessionServer(
          configuration: ServerConfiguration {
            $0.signUp = .confirmed
            $0.mail.jitter = .zero
          },
          registry: Registry(store: MemoryRegistryStore(), mint: mint), keys: SigningKeys(),
          mailer: MailFolder(path: folder + "/mail"))
        let running = try await server.start()
        let terminal = try PseudoTerminal()
        let child = try Child(
          ["signup", "ada@example.org", "--server", running.url], variables: ["HANDSTAMP_HOME": folder + "/home"],
          terminal: terminal.screen)
        try await terminal.type("a long password\ra long password\r")
        let mail: @Sendable () -> String? = {
          let names = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/mail")) ?? []
          guard let name = names.first(where: { $0.hasSuffix(".eml") }) else { return nil }
          return try? String(contentsOfFile: folder + "/mail/" + name, encoding: .utf8)
        }
        try await Step.until("the mail") { mail() != nil }
        let code = try #require(mail()?.split(whereSeparator: \.isNewline).first { $0.hasPrefix("hsl1.") })
        try terminal.typeVisibly(code + "\r")
        let outcome = try await within(.seconds(240), "the end") { try await child.outcome() }
        #expect(outcome.status == 0, "\(outcome.words)")
        #expect(outcome.words.contains("check your mail at ada@example.org\ncode in the mail: "))
        #expect(outcome.words.contains("signed in as ada at \(running.url)"))
        try await running.stop()
      }
    }

    @Test func `for a new password asks twice`() async throws {
      try await ProcessFixture.inFolder { folder in
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
