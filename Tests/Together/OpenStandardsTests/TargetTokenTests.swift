#if Programs
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Tokens for less than the session was granted, in many processes.
@Suite(.timeLimit(.minutes(10))) struct `A token for other scopes at a terminal` {
  /// Authlib narrows a refresh token that it replaces, so that another scope cannot follow there.
  @Test(arguments: [("--rotate", ["profile"]), ("--userinfo", ["profile", "openid profile"])])
  func `costs one refresh for all processes, and leaves the session's own`(
    _ option: String, _ scopes: [String]
  ) async throws {
    try await OAuthTerminal.run([option]) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      let own = try await terminal.run("token").out
      let tokens = try await withThrowingTaskGroup(of: String.self) { group in
        for number in 0..<12 {
          group.addTask {
            let outcome = try await terminal.run(
              ["token", "--scope", scopes[number % scopes.count], "--as-headers"])
            #expect(outcome.status == 0, "\(outcome.words)")
            return outcome.out
          }
        }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(tokens.count == scopes.count)
      #expect(try await terminal.count("refresh") == scopes.count)
      #expect(try await terminal.run("token").out == own)
      let narrow = try await terminal.run("token --scope profile --json")
      let shown = try JSONSerialization.jsonObject(with: Data(narrow.out.utf8)) as? [String: Any]
      let token = try #require(shown?["token"] as? String)
      #expect(shown?["expiresAt"] is String)
      #expect(try await terminal.get("/me", token: token).object["scope"] as? String == "profile")
      _ = try await terminal.run("logout")
      #expect(try await terminal.run("token --scope profile").status == 4)
    }
  }
}
#endif
