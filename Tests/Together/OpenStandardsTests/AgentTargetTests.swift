#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// An agent on the session of an OAuth server that is not ours.
@Suite(.timeLimit(.minutes(10))) struct `An agent with a policy` {
  @Test func `hands out tokens for less than the session has, from one sign-in to the next`() async throws {
    try await OAuthTerminal.run(["--userinfo"]) { terminal in
      let signIn = "login --issuer \(terminal.server.url) --browser --client-id app"
      #expect(try await terminal.run(signIn).status == 0)
      let own = try await terminal.run("token").out
      let folder = terminal.home + "-run"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let agent = try Child(
        ["agent", "--socket", folder + "/a.sock", "--scope", "profile"], variables: ["HANDSTAMP_HOME": terminal.home],
        input: "", log: terminal.home + ".log")
      defer { try? FileManager.default.removeItem(atPath: terminal.home + ".log") }
      #expect(try await within(.seconds(240), "the agent") { try await agent.line() } == folder + "/a.sock")
      func container(_ words: String) async throws -> Child.Outcome {
        try await terminal.run(
          words, variables: ["HANDSTAMP_HOME": folder + "/none", "HANDSTAMP_AGENT": folder + "/a.sock"])
      }
      let narrow = try await container("token")
      #expect(narrow.status == 0 && narrow.out != own, "\(narrow.words)")
      let token = narrow.out.trimmingCharacters(in: .newlines)
      #expect(try await terminal.get("/me", token: token).object["scope"] as? String == "profile")
      #expect(try await container("request /me").out.contains("profile"))
      #expect(try await container("token").out == narrow.out, "one for all")
      #expect(try await terminal.count("refresh") == 1)
      #expect(try await terminal.run("token").out == own, "the session's own stays")

      #expect(try await terminal.run("logout").status == 0)
      #expect(await ended { try await container("token").status == 4 })
      #expect(try await terminal.run(signIn).status == 0)
      let next = try await container("token")
      #expect(next.status == 0 && next.out != narrow.out, "\(next.words)")
      #expect(!FileManager.default.fileExists(atPath: folder + "/none"))
    }
  }

  /// Waits until the agent has heard of the end, for at most 20 s.
  private func ended(_ condition: () async throws -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < end {
      if (try? await condition()) == true { return true }
    }
    return false
  }
}
#endif
