#if Programs
#if os(Linux)
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp key` {
    /// Runs `handstamp` with access to the keyring.
    private func run(
      _ arguments: String..., on stage: TourFixture, with keyring: Keyring?, expecting status: ExitReason = .ok
    ) async throws -> Child.Outcome {
      let outcome = try await ProcessFixture.handstamp(
        arguments, home: stage.first.path,
        variables: keyring?.variables ?? ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"])
      #expect(outcome.status == status.rawValue, "\(arguments): \(outcome.words)")
      return outcome
    }

    private func state(_ stage: TourFixture, _ keyring: Keyring?) async throws -> [String?] {
      let answer = try object(try await run("key", "show", "--json", on: stage, with: keyring).out)
      return [answer["store"] as? String, answer["state"] as? String]
    }

    @Test func `moves the key into the desktop's secret store and back without signing out`() async throws {
      try await ProcessFixture.run { stage in
        let keyring = try await Keyring(in: stage.folder)
        try await keyring.open()
        #expect(try await state(stage, keyring) == ["file", "none"])
        try await stage.signUp(stage.first)
        let token = try await run("token", on: stage, with: nil).out
        #expect(try await state(stage, keyring) == ["file", "open"])

        _ = try await run("key", "migrate", "--to", "secret-service", on: stage, with: keyring)
        #expect(!FileManager.default.fileExists(atPath: stage.first.keyFile))
        #expect(try await state(stage, keyring) == ["secret-service", "open"])
        #expect(try await run("token", on: stage, with: keyring).out == token)
        _ = try await run("refresh", on: stage, with: keyring)
        _ = try await run("doctor", on: stage, with: keyring)
        #expect(try await keyring.keys() == 1)

        _ = try await run("key", "migrate", "--to", "file", on: stage, with: keyring)
        #expect(try await state(stage, nil) == ["file", "open"])
        #expect(try await keyring.keys() == 0)
        _ = try await run("request", "/v1/me", on: stage, with: nil)
      }
    }

    @Test func `is put into an open secret store by the first sign-in at a desktop, and said once`() async throws {
      try await ProcessFixture.run { stage in
        let keyring = try await Keyring(in: stage.folder)
        try await keyring.open()
        func signUp(_ email: String, _ more: [String: String] = [:]) async throws -> String {
          let outcome = try await ProcessFixture.handstamp(
            ["signup", email, "--server", stage.address.text], home: stage.first.path, input: stage.password + "\n",
            variables: keyring.variables.merging(["DISPLAY": ":0"]) { $1 }.merging(more) { $1 })
          #expect(outcome.status == 0, "\(outcome.words)")
          return outcome.words
        }
        #expect(try await signUp(stage.email).contains("run: handstamp key migrate --to file"))
        #expect(try await state(stage, keyring) == ["secret-service", "open"])
        #expect(try await keyring.keys() == 1 && !FileManager.default.fileExists(atPath: stage.first.keyFile))
        _ = try await run("request", "/v1/me", on: stage, with: keyring)
        #expect(try await run("status", on: stage, with: keyring).out.contains("in the desktop's secret store"))
        #expect(try await run("doctor", on: stage, with: keyring).out.contains("secret-service"))
        #expect(try await !signUp("bob@example.org").contains("vault key"), "said once")
        #expect(try await keyring.keys() == 1)
        // The way back, which commands without a desktop need.
        _ = try await run("key", "migrate", "--to", "file", on: stage, with: keyring)
        _ = try await run("request", "/v1/me", on: stage, with: nil)
        #expect(try await !signUp("cy@example.org").contains("vault key"))
        #expect(try await state(stage, nil) == ["file", "open"], "the choice stays")
      }
    }

    @Test(arguments: ["ssh", "no desktop", "locked", "missing", "chosen"])
    func `stays in a file where the secret store might ask, or not be there later`(reason: String) async throws {
      try await ProcessFixture.run { stage in
        let keyring = try await Keyring(in: stage.folder)
        try await keyring.open()
        if reason == "locked" {
          // Creates the default collection, with the password.
          _ = try await run("key", "migrate", "--to", "secret-service", on: stage, with: keyring)
          _ = try await run("key", "migrate", "--to", "file", on: stage, with: keyring)
          try FileManager.default.removeItem(atPath: stage.first.keyFile)
          try await keyring.restart()
        }
        var variables = keyring.variables.merging(["DISPLAY": ":0"]) { $1 }
        switch reason {
        case "ssh": variables["SSH_CONNECTION"] = "192.0.2.1 5 192.0.2.2 22"
        case "no desktop": variables["DISPLAY"] = ""
        case "missing": variables["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
        case "chosen": _ = try await run("key", "migrate", "--to", "file", on: stage, with: keyring)
        default: break
        }
        let outcome = try await ProcessFixture.handstamp(
          ["signup", stage.email, "--server", stage.address.text], home: stage.first.path, input: stage.password + "\n",
          variables: variables)
        #expect(outcome.status == 0, "\(outcome.words)")
        #expect(outcome.words.contains("vault key is in a file") == (reason != "chosen"), "\(outcome.words)")
        #expect(try await state(stage, nil) == ["file", "open"])
        #expect(FileManager.default.fileExists(atPath: stage.first.keyFile))
      }
    }

    @Test func `signs out no account while the secret store is locked or missing`() async throws {
      try await ProcessFixture.run { stage in
        let keyring = try await Keyring(in: stage.folder)
        try await keyring.open()
        _ = try await run("key", "migrate", "--to", "secret-service", on: stage, with: keyring)
        let outcome = try await ProcessFixture.handstamp(
          ["signup", stage.email, "--server", stage.address.text], home: stage.first.path,
          input: stage.password + "\n", variables: keyring.variables)
        #expect(outcome.status == 0, "\(outcome.words)")

        _ = try await run("key", "lock", on: stage, with: keyring)
        #expect(try await state(stage, keyring) == ["secret-service", "locked"])
        try expectRefusal(
          try await run("token", "--json", on: stage, with: keyring, expecting: .vault), .vault,
          code: "storage_locked", hint: "unlock")
        try await keyring.restart()
        #expect(try await state(stage, keyring) == ["secret-service", "locked"])
        try expectRefusal(
          try await run("token", "--json", on: stage, with: keyring, expecting: .vault), .vault,
          code: "storage_locked", hint: "unlock")
        try expectRefusal(
          try await run("key", "migrate", "--to", "file", on: stage, with: keyring, expecting: .vault), .vault,
          hint: "key unlock")
        #expect(try await state(stage, nil) == ["secret-service", "unavailable"])
        try expectRefusal(
          try await run("token", "--json", on: stage, with: nil, expecting: .vault), .vault,
          code: "storage_unavailable", hint: "")
        let examined = try await run("doctor", on: stage, with: nil, expecting: .failure)
        #expect(examined.out.contains("key_store"), "\(examined.out)")

        try await keyring.open()
        _ = try await run("request", "/v1/me", on: stage, with: keyring)
      }
    }

    @Test func `refuses impossible operations`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try expectRefusal(
          try await run("key", "lock", on: stage, with: nil, expecting: .failure), .failure,
          hint: "key migrate")
        try expectRefusal(
          try await run("key", "migrate", "--to", "secret-service", on: stage, with: nil, expecting: .vault),
          .vault, hint: "nothing was moved")
        try expectRefusal(
          try await run("key", "migrate", "--to", "keychain", on: stage, with: nil, expecting: .vault), .vault,
          naming: "keychain", hint: "nothing was moved")
        _ = try await run("key", "migrate", "--to", "file", on: stage, with: nil)
        _ = try await run("token", on: stage, with: nil)
        // A newer version stored it in an unknown place.
        try Data("the moon\n".utf8).write(to: URL(fileURLWithPath: stage.first.vaultFolder + "/vault.key-store"))
        try expectRefusal(
          try await run("token", "--json", on: stage, with: nil, expecting: .vault), .vault,
          code: "storage_unavailable", naming: "the moon",
          hint: "run: handstamp doctor --set-aside")
      }
    }
  }
}
#endif
#endif
