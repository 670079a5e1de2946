#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampServer
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// The ID token of a session in the command, at Authlib's server and at ours.
@Suite(.timeLimit(.minutes(10))) struct `An ID token at a terminal` {
  private func signedIn(
    _ options: [String], _ body: @Sendable (OAuthTerminal) async throws -> Void
  ) async throws {
    try await OAuthTerminal.run(["--rotate"] + options) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      try await body(terminal)
    }
  }

  private func claims(_ token: String) throws -> [String: Any] {
    let parts = token.split(separator: ".")
    let payload = try #require(parts.count == 3 ? Base64URL.decode(parts[1]) : nil)
    return try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
  }

  @Test func `is printed, put into variables, and not the access token`() async throws {
    try await signedIn([]) { terminal in
      let token = String(try await terminal.run("token --id-token").out.dropLast())
      let claims = try claims(token)
      #expect(claims["sub"] as? String == "user-1" && claims["iss"] as? String == terminal.server.url)
      #expect(claims["aud"] as? [String] == ["app"])
      let json = try JSONSerialization.jsonObject(
        with: Data(try await terminal.run("token --id-token --json").out.utf8))
      let shown = try #require(json as? [String: Any])
      #expect(shown["token"] as? String == token && shown["source"] as? String == "session")
      let end = try #require(shown["expiresAtEpoch"] as? Double)
      // Apart from the time that the response took. The access token expires five minutes later.
      #expect(try abs(end - #require(claims["exp"] as? Double)) < 150)
      let access = String(try await terminal.run("token").out.dropLast())
      let script = #"printf '%s %s %s %s' "$A" "$B" "$C" "$HANDSTAMP_TOKEN""#
      let run = try await terminal.run(
        ["exec", "--env", "A=id-token", "--env", "B", "--env", "C=id-token", "--", "sh", "-c", script])
      #expect(run.out == "\(token) \(access) \(token) ", "\(run.words)")
      #expect(try await terminal.count("refresh") == 0)
    }
  }

  @Test func `that has expired is never printed, and its refresh is tried once`() async throws {
    try await signedIn([]) { terminal in
      try await terminal.expireIDToken()
      for _ in 0..<2 {
        let over = try await terminal.run("token --id-token --json")
        #expect(over.status == 4 && over.out.isEmpty)
        #expect(over.words.contains(#""code":"id_token_expired""#), "\(over.words)")
        #expect(over.words.contains("handstamp login --force"))
      }
      #expect(try await terminal.count("refresh") == 1)
      #expect(try await terminal.run("token").status == 0)
    }
  }

  @Test func `that has expired is replaced by that of a refresh`() async throws {
    try await signedIn(["--refresh-id-token"]) { terminal in
      let first = try await terminal.run("token --id-token").out
      try await terminal.expireIDToken()
      let second = try await terminal.run("token --id-token")
      #expect(second.status == 0 && second.out != first, "\(second.words)")
      #expect(try await terminal.run("token --id-token").out == second.out)
      #expect(try await terminal.count("refresh") == 1)
    }
  }

  @Test(arguments: [["--refresh-id-token"], []])
  func `that is about to expire is replaced before kubectl gets it, if there is another`(options: [String]) async throws
  {
    try await signedIn(options) { terminal in
      let first = try await terminal.run("token --id-token").out.dropLast()
      try await terminal.expireIDToken(leaving: .seconds(40))
      let given = try await terminal.run("credential-helper kubectl")
      #expect(given.status == 0, "\(given.words)")
      #expect(given.out.contains(first) == options.isEmpty)
      #expect(try await terminal.count("refresh") == 1)
    }
  }

  @Test func `exists only where the sign-in asked for it, and no HANDSTAMP_TOKEN is one`() async throws {
    try await OAuthTerminal.run([]) { terminal in
      let login = try await terminal.run(
        "login --issuer \(terminal.server.url) --browser --client-id app --scope profile")
      #expect(login.status == 0, "\(login.words)")
      let none = try await terminal.run("token --id-token")
      #expect(none.status == 1 && none.out.isEmpty)
      #expect(none.words.contains("--scope openid"), "\(none.words)")
      let helper = try await terminal.run("credential-helper kubectl")
      #expect(helper.status == 1 && helper.out.isEmpty)
      #expect(helper.words.contains("add --access-token"), "\(helper.words)")
      let given = try await terminal.run("token --id-token", variables: ["HANDSTAMP_TOKEN": "t"])
      #expect(given.status == 1 && given.out.isEmpty && given.words.contains("unset HANDSTAMP_TOKEN"))
      let typed = try await terminal.run("exec --env A=refresh-token -- true")
      #expect(typed.status == 64 && typed.words.contains("--env A=id-token"))
    }
  }

  /// The rules of a Kubernetes API server for the ID token of `--oidc-issuer-url` and `--oidc-client-id`, as its documentation of
  /// authentication publishes them; a cluster has not been tried.
  @Test func `of our own server is what a Kubernetes cluster asks for`() async throws {
    // As `handstamp-server admin clients add --for kubernetes` writes it.
    let cluster = try ConfiguredClient(
      id: "kubernetes", redirectURIs: ["http://127.0.0.1/callback"],
      scopes: ["openid", "profile", "email", "offline_access"], idTokenSigning: .rs256, hasClaimsInIDTokens: true)
    try await OwnServer.run(adding: [cluster]) { server async throws in
      try await server.signUp()
      let client = OAuthClient(
        issuer: server.url, id: "kubernetes", scopes: ["openid", "profile", "email", "offline_access"])
      let backend = OAuthBackend(client, transport: AsyncHTTPTransport.shared)
      let clock = ManualClock()
      let session = SessionController(backend: backend, vault: MemoryVault(), clock: clock)
      let person = WebPerson()
      let receiver = try await LoopbackReceiver.listen { page in
        do { try await person.visit(page) } catch { Issue.record(error) }
      }
      _ = try await session.signIn { () async throws(SessionError) in
        try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      }
      await receiver.close()
      var tokens: [String] = []
      for _ in 0..<2 {
        let token = try await session.identityToken().secret.withExposed { $0 }
        let header = try #require(token.split(separator: ".").first.flatMap { Base64URL.decode($0) })
        #expect(
          String(decoding: header, as: UTF8.self).contains(#""alg":"RS256""#), "the default of --oidc-signing-algs")
        let claims = try claims(token)
        #expect(claims["iss"] as? String == server.url && claims["aud"] as? String == "kubernetes")
        #expect(claims["email"] as? String == "ada@example.org")
        #expect(claims["email_verified"] is Bool, "false is refused for --oidc-username-claim=email")
        #expect(try #require(claims["exp"] as? Double) > Date().timeIntervalSince1970)
        tokens.append(token)
        clock.advance(by: .seconds(601))
      }
      #expect(tokens[0] != tokens[1], "a refresh brings another one")
    }
  }
}
#endif
