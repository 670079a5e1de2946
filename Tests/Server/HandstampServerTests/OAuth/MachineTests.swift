#if Programs
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

/// RFC 6749 section 4.4.
@Suite(.timeLimit(.minutes(10))) struct `A client's own token` {
  private static let key = JWSPrivateKey.es256()
  private static let administrator = "administrator-with-a-long-enough-token"

  /// A server with a machine that has a secret, and one that has a key.
  private static func run(
    _ configure: (inout ServerConfiguration) -> Void = { _ in }, body: (TestServer) async throws -> Void
  ) async throws {
    let hash = ConfiguredClient.hash(of: Secret(TestServer.secret))
    let more = [
      try ConfiguredClient(
        id: "nightly", secretHash: hash, flows: [.credentials], scopes: ["read", "write"],
        audiences: ["https://a.example.org", "https://b.example.org"]),
      try ConfiguredClient(
        id: "keyed", flows: [.credentials], scopes: ["read"], audiences: ["https://a.example.org"], jwks: key.jwks),
    ]
    let clients = try TestServer.clients() + more
    let administrators = [try Administrator(name: "op", token: Secret(administrator))]
    try await TestServer.run {
      $0.clients = clients
      $0.administrators = administrators
      configure(&$0)
    } body: { test async throws in
      _ = try await test.signUp()
      try await body(test)
    }
  }

  private static func ask(
    _ test: TestServer, _ more: [(String, String)] = [], as client: String = "nightly",
    secret: String = TestServer.secret
  ) async throws -> WireClient.Answer {
    try await test.oauth(
      "/oauth/token", [("grant_type", "client_credentials")] + more, headers: TestServer.basic(client, secret))
  }

  private static func assertion(_ test: TestServer) -> SignedAssertion {
    SignedAssertion(of: "keyed", by: key, at: test.clock.now)
  }

  private static func ask(
    _ test: TestServer, with assertion: String, _ more: [(String, String)] = []
  ) async throws -> WireClient.Answer {
    try await test.oauth(
      "/oauth/token",
      [
        ("grant_type", "client_credentials"), ("client_assertion_type", ClientAssertion.type),
        ("client_assertion", assertion),
      ] + more)
  }

  @Test func `names the client and no account, and comes without a refresh token`() async throws {
    try await Self.run { test async throws in
      let answer = try await Self.ask(test)
      #expect(answer.status == 200)
      #expect(answer.json["token_type"] == "Bearer")
      #expect(answer.json["expires_in"] == 600)
      #expect(answer.json["scope"] == "read write")
      #expect(answer.json["refresh_token"] as String? == nil)
      #expect(answer.json["id_token"] as String? == nil)
      let claims = answer.claims("access_token")
      #expect(claims["sub"] == "nightly")
      #expect(claims["client_id"] == "nightly")
      // Of several APIs, none is meant unless it is named.
      #expect(claims["aud"] == "https://id.example.org")
      let facts = try await test.introspect(answer.json["access_token"] ?? "").json
      #expect(facts["active"] == true)
      #expect(facts["sub"] == "nightly")
    }
  }

  @Test func `lives ten minutes at most, also where those of users live longer`() async throws {
    try await Self.run({ $0.accessTokenLife = .seconds(3600) }) { test async throws in
      #expect(try await Self.ask(test).json["expires_in"] == 600)
    }
    try await Self.run({ $0.accessTokenLife = .seconds(60) }) { test async throws in
      #expect(try await Self.ask(test).json["expires_in"] == 60)
    }
  }

  @Test func `has the scopes and the API that were asked for, and no others`() async throws {
    try await Self.run { test async throws in
      let less = try await Self.ask(test, [("scope", "write admin"), ("resource", "https://b.example.org")])
      #expect(less.json["scope"] == "write")
      #expect(less.claims("access_token")["aud"] == "https://b.example.org")
      #expect(try await Self.ask(test, [("scope", "admin")]).json["error"] == "invalid_scope")
      #expect(
        try await Self.ask(test, [("resource", "https://c.example.org")]).json["error"] == "invalid_target")
      let only = try await Self.ask(test, with: Self.assertion(test).text())
      #expect(only.claims("access_token")["aud"] == "https://a.example.org")
    }
  }

  @Test func `is for clients that may have one, and can prove who they are`() async throws {
    try await Self.run { test async throws in
      for (id, secret, error) in [
        ("api", TestServer.secret, "unauthorized_client"), ("site", TestServer.secret, "unauthorized_client"),
        ("nightly", "wrong", "invalid_client"), ("keyed", TestServer.secret, "invalid_client"),
        ("unknown", "x", "invalid_client"),
      ] {
        #expect(try await Self.ask(test, as: id, secret: secret).json["error"] == error, "\(id)")
      }
      for id in ["app", "keyed", "nightly", "handstamp"] {
        let bare = try await test.oauth("/oauth/token", [("grant_type", "client_credentials"), ("client_id", id)])
        #expect([400, 401].contains(bare.status), "\(id)")
        #expect(bare.json["access_token"] as String? == nil, "\(id)")
      }
    }
  }

  @Test func `is refused to a client that has the ID of an account`() async throws {
    try await Self.run { test async throws in
      let account = AccountRecord(
        id: "nightly", email: nil, username: "", passwordHash: nil, createdAt: test.clock.now)
      try await test.store.write([.createAccount(account)], events: [])
      #expect(try await Self.ask(test).json["error"] == "unauthorized_client")
      #expect(try await Self.ask(test, with: Self.assertion(test).text()).status == 200)
    }
  }

  @Test func `opens no account's door`() async throws {
    try await Self.run { test async throws in
      let token: String = try #require(try await Self.ask(test).json["access_token"])
      for (method, path) in [
        ("GET", "/v1/me"), ("GET", "/v1/sessions"), ("GET", "/v1/events"), ("DELETE", "/v1/sessions"),
        ("GET", "/oauth/userinfo"), ("POST", "/v1/session/confirm"),
      ] {
        let answer = try await test.client.send(method, path, token: token)
        #expect(answer.status == 403, "\(path)")
        #expect(answer.code == "insufficient_scope", "\(path)")
      }
    }
  }

  @Test func `is seen and ended by the administrator, at once for introspection and the feed`() async throws {
    try await Self.run { test async throws in
      let token: String = try #require(try await Self.ask(test).json["access_token"])
      _ = try await Self.ask(test)
      let listed = try await test.client.get("/admin/v1/clients", token: Self.administrator)
      let row = try #require(listed.json[list: "clients"].first { $0["id"] == "nightly" })
      #expect(row[object: "own_tokens"]["count"] == 2)
      #expect(row[object: "own_tokens"]["address"] == "127.0.0.1")
      let app = listed.json[list: "clients"].first { $0["id"] == "app" }
      #expect(app?.fields["own_tokens"] == nil)

      let feed = try await FeedStream(test)
      let before = try await feed.complete()
      #expect(before?.sessions.isEmpty == true)
      let ended = try await test.client.send(
        "DELETE", "/admin/v1/clients/nightly/sessions", token: Self.administrator)
      #expect(ended.json["ended"] == 1)
      #expect(try await test.introspect(token).text == #"{"active":false}"#)
      var event = try await feed.next()
      while event?.name != "revocations" { event = try await feed.next() }
      let session: String = try #require(answerSession(token))
      #expect(event?.json[object: "sessions"].fields[session] != nil)
      feed.close()

      // It may have new ones, which are not those.
      let next: String = try #require(try await Self.ask(test).json["access_token"])
      #expect(try await test.introspect(next).json["active"] == true)
      #expect(answerSession(next) != session)
      let kinds = try await test.server.registry.auditedActions(limit: 100).map(\.audited.action)
      let own = kinds.filter { $0.hasPrefix("machine.") }
      #expect(own == ["machine.token_issued", "machine.tokens_ended"])
    }
  }

  private func answerSession(_ token: String) -> String? {
    let parts = token.split(separator: ".")
    return parts.count == 3 ? Base64URL.decode(parts[1]).flatMap { JSONValue($0)?["sid"]?.string } : nil
  }

  @Test func `ends when its client is removed`() async throws {
    try await Self.run { test async throws in
      let token: String = try #require(try await Self.ask(test).json["access_token"])
      #expect(try await test.introspect(token).json["active"] == true)
      var configuration = test.server.configuration
      configuration.clients = try TestServer.clients()
      try await test.server.reload(configuration, registry: test.server.registry, keys: test.keys)
      #expect(try await test.introspect(token).text == #"{"active":false}"#)
      #expect(try await Self.ask(test).json["error"] == "invalid_client")
    }
  }

  @Test func `is shown to its client and those who may see all, and cannot be revoked alone`() async throws {
    try await Self.run { test async throws in
      let token: String = try #require(try await Self.ask(test).json["access_token"])
      #expect(try await test.introspect(token, as: "nightly").json["active"] == true)
      #expect(try await test.introspect(token, as: "site").text == #"{"active":false}"#)
      for (client, error) in [("nightly", "unsupported_token_type"), ("site", "invalid_grant")] {
        let answer = try await test.oauth(
          "/oauth/revoke", [("token", token)], headers: TestServer.basic(client, TestServer.secret))
        #expect(answer.status == 400)
        #expect(answer.json["error"] == error)
      }
      #expect(try await test.introspect(token).json["active"] == true)
    }
  }

  @Test func `is not counted forever by one client`() async throws {
    try await Self.run({
      $0.limits[.machines] = .init(perSubject: RateLimit(burst: 3, every: .seconds(1)))
    }) { test async throws in
      for _ in 0..<3 { #expect(try await Self.ask(test).status == 200) }
      #expect(try await Self.ask(test).status == 429)
      #expect(try await Self.ask(test, with: Self.assertion(test).text()).status == 200)
    }
  }

  // MARK: private_key_jwt

  @Test func `is given for an assertion, at every endpoint that knows clients`() async throws {
    try await Self.run { test async throws in
      for audience in [
        #""https://id.example.org""#, #""https://id.example.org/oauth/token""#,
        #"["https://x.example.org","https://id.example.org"]"#,
      ] {
        let answer = try await Self.ask(test, with: Self.assertion(test).text(["aud": audience]))
        #expect(answer.status == 200, "\(audience)")
        let token: String = try #require(answer.json["access_token"])
        let proof = [
          ("client_assertion_type", ClientAssertion.type), ("client_assertion", Self.assertion(test).text()),
          ("client_id", "keyed"),
        ]
        let facts = try await test.oauth("/oauth/introspect", [("token", token)] + proof)
        #expect(facts.json["active"] == true)
        let revoked = try await test.oauth(
          "/oauth/revoke",
          [
            ("token", token), ("client_assertion_type", ClientAssertion.type),
            ("client_assertion", Self.assertion(test).text()),
          ])
        #expect(revoked.json["error"] == "unsupported_token_type")
      }
      #expect(try await Self.ask(test, with: Self.assertion(test).text(header: ["kid": "", "typ": ""])).status == 200)
      // Authlib's last an hour, of which five minutes count.
      let hour = Self.assertion(test).text(["exp": "\(test.clock.now.seconds + 3600)"])
      #expect(try await Self.ask(test, with: hour).status == 200)
    }
  }

  @Test func `is not given for another assertion, and the log says why`() async throws {
    try await Self.run { test async throws in
      let good = Self.assertion(test)
      let now = test.clock.now.seconds
      var foreign = good
      foreign.key = .es256()
      let cases: [(String, AssertionDefect)] = [
        ("x", .malformed), (good.unsigned, .malformed), (good.text(maskedBy: Self.key.jwks), .malformed),
        (good.text(header: ["alg": #""RS256""#]), .unknownKey), (foreign.text(), .signature),
        (good.text(header: ["kid": #""other""#]), .unknownKey), (good.text(header: ["typ": #""at+jwt""#]), .type),
        (good.text(["iss": #""app""#]), .issuer), (good.text(["sub": #""nightly""#]), .unknownKey),
        (good.text(["sub": #""stranger""#]), .issuer), (good.text(["jti": ""]), .claims),
        (good.text(["exp": ""]), .claims), (good.text(["aud": #""https://evil.example.org""#]), .audience),
        (good.text(["aud": #""https://id.example.org/""#]), .audience), (good.text(["aud": ""]), .audience),
        (good.text(["exp": "\(now - 30)"]), .expired), (good.text(["exp": "\(now + 331)", "iat": ""]), .lasting),
        (good.text(["iat": "\(now - 330)"]), .expired),
        (good.text(["nbf": "\(now + 60)"]), .notYetValid), (good.text(["iat": "\(now + 60)"]), .notYetValid),
      ]
      for (text, defect) in cases {
        let answer = try await Self.ask(test, with: text)
        #expect(answer.status == 401, "\(defect)")
        #expect(answer.json["error"] == "invalid_client", "\(defect)")
        let line = test.logs.entries.last { $0.message == "Client assertion refused" }
        #expect(line?.metadata["handstamp.cause"] == defect.rawValue, "\(defect) \(text.prefix(40))")
      }
      #expect(try await Self.ask(test, with: good.text(), [("client_id", "nightly")]).status == 401)
      #expect(try await Self.ask(test, with: good.text(), [("client_secret", "x")]).status == 400)
      #expect(try await Self.ask(test, with: good.text()).status == 200)
    }
  }

  @Test func `is given once for an assertion, whatever happens in between`() async throws {
    try await Self.run { test async throws in
      let text = Self.assertion(test).text()
      #expect(try await Self.ask(test, with: text).status == 200)
      #expect(try await Self.ask(test, with: text).status == 401)
      try await test.server.reload(
        test.server.configuration, registry: test.server.registry, keys: test.keys)
      test.clock.advance(by: .seconds(89))
      #expect(try await Self.ask(test, with: text).status == 401)
      // From here on it has expired.
      test.clock.advance(by: .seconds(1))
      #expect(try await Self.ask(test, with: text).status == 401)
      let causes = test.logs.entries.filter { $0.message == "Client assertion refused" }
      let words = causes.compactMap { $0.metadata["handstamp.cause"] }
      #expect(words == ["replayed", "replayed", "expired"])
    }
  }

  @Test(arguments: [480, -480]) func `is given while the server's clock is doubted, once for an assertion`(
    ahead: Int64
  ) async throws {
    try await Self.run { test async throws in
      test.clock.jump(by: .seconds(ahead))
      for time in [test.clock.now, test.server.now()] {
        let text = SignedAssertion(of: "keyed", by: Self.key, at: time).text()
        #expect(try await Self.ask(test, with: text).status == 200)
        await Sweeper(server: test.server).sweep()
        #expect(try await Self.ask(test, with: text).status == 401)
      }
    }
  }

  @Test func `is promised in the metadata`() async throws {
    try await Self.run { test async throws in
      let json = try await test.client.get("/.well-known/oauth-authorization-server").json
      let grants: [String] = json["grant_types_supported"] ?? []
      #expect(grants.contains("client_credentials") && grants.contains(MachineTokens.assertionGrant))
      for endpoint in ["token", "revocation", "introspection"] {
        let methods: [String] = json["\(endpoint)_endpoint_auth_methods_supported"] ?? []
        #expect(methods.contains("private_key_jwt"))
        #expect(json["\(endpoint)_endpoint_auth_signing_alg_values_supported"] == ["ES256", "RS256"])
      }
    }
  }

  // MARK: The configuration

  @Test func `needs a client of its own`() throws {
    let hash = ConfiguredClient.hash(of: Secret("x"))
    let trust = TrustedIssuer(issuer: "https://ci.example.org", audience: "id", claims: ["ref": "main"])
    let bad = { (issuer: String, claims: [String: String]) in
      TrustedIssuer(issuer: issuer, audience: "id", claims: claims)
    }
    let cases: [(ConfiguredClient.Defect, () throws -> Void)] = [
      (.noCredentials("m"), { _ = try ConfiguredClient(id: "m", flows: [.credentials]) }),
      (.badKeys("m"), { _ = try ConfiguredClient(id: "m", flows: [.credentials], jwks: #"{"keys":[]}"#) }),
      (.noTrust("m"), { _ = try ConfiguredClient(id: "m", flows: [.assertion]) }),
      (.noTrust("m"), { _ = try ConfiguredClient(id: "m", flows: [], trusts: [trust]) }),
      (
        .badTrust("m", "https://ci.example.org"),
        { _ = try ConfiguredClient(id: "m", flows: [.assertion], trusts: [bad("https://ci.example.org", [:])]) }
      ),
      (
        .badTrust("m", "http://ci.example.org"),
        { _ = try ConfiguredClient(id: "m", flows: [.assertion], trusts: [bad("http://ci.example.org", ["a": "b"])]) }
      ),
      (
        .machineWithUsers("m"),
        { _ = try ConfiguredClient(id: "m", secretHash: hash, flows: [.credentials, .device]) }
      ),
    ]
    for (defect, make) in cases {
      #expect(throws: ServerConfigurationError.client(defect), "\(defect)") { try make() }
    }
  }
}
#endif
