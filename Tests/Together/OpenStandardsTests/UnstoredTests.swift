#if Programs
import Foundation
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Refreshes at Authlib's server, which accepts every refresh token once, on machines where the successor is hard to store.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `A successor on its way into the vault` {
  private static let isDeep = ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] != nil

  private func signedIn(_ options: [String] = [], _ body: @Sendable (OAuthTerminal) async throws -> Void) async throws {
    try await OAuthTerminal.run(["--rotate"] + options) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      try await terminal.expire()
      try await body(terminal)
    }
  }

  /// Around the limit at which a command begins to run.
  @Test func `is stored however few files may be open, or its predecessor is not sent`() async throws {
    try await signedIn { terminal in
      var outcomes: Set<Int32> = []
      for limit in Self.isDeep ? Array(12...64) : [20, 26, 27, 28, 29, 32] {
        try await terminal.expire()
        let before = try await terminal.count("refresh")
        let ended = try await Shell.run(
          ["sh", "-c", "ulimit -n \(limit); exec \"$PROGRAM\" token"],
          environment: ["PROGRAM": Child.path(), "HANDSTAMP_HOME": terminal.home])
        let isSent = try await terminal.count("refresh") != before
        #expect((ended.status == 0) == isSent, "\(limit): \(ended)")
        #expect(ended.status == 0 || ended.words.contains("hint: "), "\(limit): \(ended)")
        outcomes.insert(ended.status)
      }
      #expect(outcomes.contains(0) && outcomes.count > 1, "\(outcomes)")
      #expect(try await terminal.run("refresh").status == 0)
      #expect(try await terminal.count("refused") == 0)
    }
  }

  @Test func `follows a home that is renamed meanwhile`() async throws {
    try await signedIn(["--hold"]) { terminal in
      let child = try Child(["token"], variables: ["HANDSTAMP_HOME": terminal.home], input: "")
      #expect(try await eventually { try await terminal.count("inTheAir") != 0 })
      let moved = terminal.home + "-moved"
      defer { try? FileManager.default.removeItem(atPath: moved) }
      try FileManager.default.moveItem(atPath: terminal.home, toPath: moved)
      try await terminal.server.release()
      let outcome = try await child.outcome()
      #expect(outcome.status == 0 && !outcome.out.isEmpty, "\(outcome.words)")
      #expect(!FileManager.default.fileExists(atPath: terminal.home), "no second home is made")
      #expect(try await terminal.run("refresh", variables: ["HANDSTAMP_HOME": moved]).status == 0)
      #expect(try await terminal.count("refresh") == 2)
      #expect(try await terminal.count("refused") == 0)
    }
  }

  /// The wait of a minute is cut short by two signals, except in a deep run.
  @Test(arguments: ["token", "exec -- touch"])
  func `that cannot be stored is reported, by a status as well`(_ words: String) async throws {
    try await signedIn(["--hold"]) { terminal in
      let folder = terminal.home + "-words"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let command = (words == "token" ? words : words + " \(folder)/ran").split(separator: " ").map(String.init)
      let child = try Child(
        command, variables: ["HANDSTAMP_HOME": terminal.home], input: "", log: folder + "/log")
      #expect(try await eventually { try await terminal.count("inTheAir") != 0 })
      try FileManager.default.removeItem(atPath: terminal.home)
      try await terminal.server.release()
      #expect(
        try await eventually {
          try String(contentsOfFile: folder + "/log", encoding: .utf8).contains("until the new tokens are stored: ")
        })
      if !Self.isDeep {
        child.send(SIGTERM)
        try await RunningCommand(log: folder + "/log").finishesRequest()
        _ = try await terminal.get("/after/0.6")
        child.send(SIGTERM)
      }
      #expect(try await child.outcome().status == (Self.isDeep ? ExitReason.vault.rawValue : 128 + SIGTERM))
      let said = try String(contentsOfFile: folder + "/log", encoding: .utf8)
      #expect(said.contains("handstamp: the new tokens are not stored: ") && said.contains("hint: "), "\(said)")
      #expect(
        !FileManager.default.fileExists(atPath: folder + "/ran"), "no program takes the place of the one that saves")
    }
  }

  @Test func `is not asked of an agent whose home was moved away, which begins no other one`() async throws {
    try await signedIn { terminal in
      let folder = terminal.home + "-run"
      let moved = terminal.home + "-moved"
      defer { for path in [folder, moved] { try? FileManager.default.removeItem(atPath: path) } }
      let agent = try Child(
        ["agent", "--socket", folder + "/a.sock"], variables: ["HANDSTAMP_HOME": terminal.home], input: "",
        log: terminal.home + ".log")
      defer { try? FileManager.default.removeItem(atPath: terminal.home + ".log") }
      #expect(try await within(.seconds(240), "the agent") { try await agent.line() } == folder + "/a.sock")
      func container() async throws -> Child.Outcome {
        try await terminal.run(
          "token", variables: ["HANDSTAMP_HOME": folder + "/none", "HANDSTAMP_AGENT": folder + "/a.sock"])
      }
      #expect(try await container().status == 0)
      try FileManager.default.moveItem(atPath: terminal.home, toPath: moved)
      let away = try await container()
      #expect(away.status == ExitReason.vault.rawValue, "\(away.words)")
      #expect(away.words.contains("is gone") && !away.words.contains("handstamp login"), "\(away.words)")
      #expect(!FileManager.default.fileExists(atPath: terminal.home), "no second home is made")
      try FileManager.default.moveItem(atPath: moved, toPath: terminal.home)
      #expect(try await container().status == 0)
    }
  }

  @Test func `is asked for once more after an answer from another place, and never at the price of the session`()
    async throws
  {
    try await signedIn { terminal in
      _ = try await terminal.get("/astray/404/1")
      #expect(try await terminal.run("token").status == 0)
      _ = try await terminal.get("/astray/421/9")
      let refused = try await terminal.run("refresh")
      #expect(refused.status == ExitReason.network.rawValue, "\(refused.words)")
      #expect(refused.words.contains("hint: try again later"), "\(refused.words)")
      _ = try await terminal.get("/astray/421/0")
      #expect(try await terminal.run("refresh").status == 0)
      #expect(try await terminal.count("refresh") == 2)
      #expect(try await terminal.count("refused") == 0)
    }
  }
}
#endif
