#if Programs
import Foundation
import Handstamp
import HandstampKeys
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp key with a passphrase` {
    private let variable = "HANDSTAMP_PASSPHRASE_FILE"

    private func run(
      _ arguments: String..., on stage: TourFixture, passphrase file: String? = nil, expecting status: ExitReason = .ok
    ) async throws -> Child.Outcome {
      let outcome = try await ProcessFixture.handstamp(
        arguments, home: stage.first.path, variables: file.map { [variable: $0] } ?? [:])
      #expect(outcome.status == status.rawValue, "\(arguments): \(outcome.words)")
      return outcome
    }

    private func file(_ text: String, _ name: String, in stage: TourFixture, mode: Int = 0o600) throws -> String {
      let path = stage.folder + "/" + name
      let isMade = FileManager.default.createFile(
        atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
      #expect(isMade)
      return path
    }

    /// Seals the key with a passphrase at a low cost, which is kept from then on.
    private func seal(_ stage: TourFixture, with text: String) async throws {
      let folder = stage.first.vaultFolder
      let sealed = PassphraseKey(Passphrase(folder: folder, cost: .light), reason: "to test", new: Secret(text))
      #expect(try await stage.first.keyPlace.move(to: KeyStore.passphrase(folder: folder).note, in: sealed) == nil)
    }

    @Test func `seals and unseals the key without signing out`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try await run("token", on: stage).out
        let right = try file("a long passphrase\nand a note\n", "right", in: stage)
        let short = try file("short\n", "short", in: stage)
        let open = try file("a long passphrase\n", "open", in: stage, mode: 0o644)
        try expectRefusal(
          try await run("key", "migrate", "--to", "passphrase", on: stage, passphrase: short, expecting: .usage),
          .usage, naming: "8", hint: "nothing was moved")
        try expectRefusal(
          try await run("key", "migrate", "--to", "passphrase", on: stage, passphrase: open, expecting: .vault),
          .vault, naming: open, hint: "chmod 600")
        let moved = try await run("key", "migrate", "--to", "passphrase", on: stage, passphrase: right)
        #expect(moved.words.contains("sealed with the passphrase") && !moved.words.contains("long"))
        #expect(!FileManager.default.fileExists(atPath: stage.first.keyFile))
        let shown = try object(try await run("key", "show", "--json", on: stage).out)
        #expect(shown["store"] as? String == "passphrase" && shown["state"] as? String == "locked")
        #expect(try await run("token", on: stage, passphrase: right).out == token)

        _ = try await run("key", "migrate", "--to", "file", on: stage, passphrase: right)
        #expect(try await run("token", on: stage).out == token)
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.first.vaultFolder)
        #expect(!names.contains("passphrase.key") && names.contains("vault.key"))
      }
    }

    @Test func `is never erased by a move while other commands open the vault`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try await run("token", on: stage).out
        let right = try file("a long passphrase\n", "right", in: stage)
        for _ in 0..<2 {
          try await seal(stage, with: "a long passphrase")
          try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
              group.addTask {
                let outcome = try await ProcessFixture.handstamp(
                  ["token"], home: stage.first.path, variables: [variable: right])
                // Its key may just have been moved.
                #expect(outcome.status == 0 ? outcome.out == token : outcome.status == ExitReason.vault.rawValue)
              }
            }
            group.addTask { _ = try await run("key", "migrate", "--to", "file", on: stage, passphrase: right) }
            try await group.waitForAll()
          }
          #expect(try await run("token", on: stage).out == token)
        }
      }
    }

    @Test func `that is missing lets no sign-in replace the session`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await seal(stage, with: "a long passphrase")
        let right = try file("a long passphrase\n", "right", in: stage)
        for arguments in [["login", stage.email], ["login", stage.email, "--force"]] {
          let outcome = try await ProcessFixture.handstamp(
            arguments, home: stage.first.path, input: stage.password + "\n")
          #expect(outcome.status == ExitReason.vault.rawValue, "\(outcome.words)")
        }
        // No request was sent: the server would have replaced the stored session with one that cannot be stored.
        _ = try await run("refresh", on: stage, passphrase: right)
      }
    }

    @Test func `that is missing or wrong signs out no account`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await seal(stage, with: "a long passphrase")
        let right = try file("a long passphrase", "right", in: stage)
        let wrong = try file("another passphrase", "wrong", in: stage)
        let empty = try file("\n", "empty", in: stage)
        let none = stage.folder + "/none"
        try expectRefusal(
          try await run("token", "--json", on: stage, expecting: .vault), .vault, code: "storage_locked",
          hint: variable)
        // A note above the refusal says why.
        for (path, part) in [(wrong, "wrong passphrase"), (empty, empty), (none, none)] {
          let outcome = try await run("token", "--json", on: stage, passphrase: path, expecting: .vault)
          try expectRefusal(outcome, .vault, code: "storage_locked", hint: variable)
          #expect(outcome.words.contains(part), "\(outcome.words)")
        }
        try expectRefusal(
          try await run("key", "migrate", "--to", "file", on: stage, expecting: .vault), .vault,
          hint: variable)
        try expectRefusal(
          try await run("key", "lock", on: stage, expecting: .failure), .failure,
          hint: variable)
        let status = try object(try await run("status", "--json", on: stage).out)
        #expect(status["state"] as? String == "locked")
        _ = try await run("doctor", on: stage, passphrase: right)
        _ = try await run("request", "/v1/me", on: stage, passphrase: right)
      }
    }

    @Test func `is prompted for at the terminal, without an echo, and can be cancelled`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try await run("token", on: stage).out
        try await seal(stage, with: "a long passphrase")
        for (keys, status, out) in [("a long passphrase\r", ExitReason.ok, token), ("\u{3}", .vault, "")] {
          let terminal = try PseudoTerminal()
          let child = try Child(
            ["token"], variables: ["HANDSTAMP_HOME": stage.first.path], terminal: terminal.screen)
          try await terminal.type(keys)
          let outcome = try await within(.seconds(240), "the end") { try await child.outcome() }
          #expect(outcome.status == status.rawValue, "\(outcome.words)")
          #expect(outcome.out == out)
          #expect(outcome.words.hasPrefix("vault passphrase: \n"))
          #expect(!outcome.words.contains("long"))
          #expect(terminal.echoes, "the terminal is restored")
        }
      }
    }
  }
}
#endif
