#if Programs
import Foundation
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// RFC 9470, at Authlib's server: a payment takes a passkey, of the last five minutes.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `A request that takes a stronger sign-in` {
  private func count(_ path: String, _ terminal: OAuthTerminal) async throws -> Int {
    try await terminal.paths().count { $0 == path }
  }

  @Test func `asks the user on the page, is sent again once, and the session goes on`() async throws {
    try await OAuthTerminal.run { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      let accounts = try await terminal.run("accounts").out
      let declined = try await terminal.run("request /payment -d 5 --no-step-up")
      #expect(declined.status == 1 && declined.out.contains("insufficient_user_authentication"))
      #expect(try await count("POST /payment", terminal) == 1)
      #expect(try await count("GET /authorize", terminal) == 1)

      let paid = try await terminal.run("request /payment -d 5")
      #expect(paid.status == 0 && paid.out == "{\"paid\":5}\n", "\(paid.out) \(paid.words)")
      #expect(paid.words.contains("asks for a stronger sign-in (phr), at most 5 min ago"), "\(paid.words)")
      #expect(try await count("POST /payment", terminal) == 3)
      #expect(try await count("GET /authorize", terminal) == 2)
      // The new sign-in is the account's.
      let again = try await terminal.run("request /payment -d 6")
      #expect(again.status == 0 && again.out == "{\"paid\":6}\n", "\(again.words)")
      #expect(try await count("GET /authorize", terminal) == 2)
      #expect(try await terminal.run("accounts").out == accounts, "and not another one's")
      // The next sign-in does not ask for the same again.
      _ = try await terminal.run("login --force")
      #expect(try await terminal.run("request /payment -d 7 --no-step-up").status == 1)
    }
  }

  @Test func `leaves the session as it is if the user does not sign in`() async throws {
    try await OAuthTerminal.run { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      let token = try await terminal.run("token").out
      // No browser comes, and the command is stopped.
      let child = try Child(
        ["request", "/payment", "-d", "5"], variables: ["HANDSTAMP_HOME": terminal.home, "BROWSER": "true"])
      #expect(try await eventually { try await count("POST /payment", terminal) > 0 })
      child.send(SIGTERM)
      _ = try await child.outcome()
      #expect(try await terminal.run("token").out == token)
      #expect(try await count("POST /payment", terminal) == 1)
    }
  }
}
#endif
