#if Programs
import HandstampCore
import HandstampJOSE
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

/// A CI with keys and metadata.
private enum CIStub {
  static let issuer = "https://ci.example.org"
  static let key = JWSPrivateKey.rs256(bits: 2048) ?? .es256()
  static let metadata = #"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys"}"#

  static func transport() -> ScriptedTransport {
    ScriptedTransport([
      "GET /.well-known/openid-configuration": metadata, "GET /keys": key.jwks,
    ])
  }

  /// The ID token of a job.
  static func job(at now: UnixTime) -> SignedAssertion {
    var token = SignedAssertion(of: "job", by: key, at: now)
    token.claims.merge([
      "iss": #""\#(issuer)""#, "sub": #""repo:a/b:ref:refs/heads/main""#, "aud": #""deploy""#,
      "repository": #""a/b""#, "ref": #""refs/heads/main""#, "run_attempt": "1", "exp": "\(now.seconds + 300)",
    ]) { $1 }
    return token
  }
}

/// RFC 7523 section 2.1.
@Suite(.timeLimit(.minutes(10))) struct `A job of a CI` {
  private static func run(body: (TestServer, ScriptedTransport) async throws -> Void) async throws {
    let stub = CIStub.transport()
    let rules = ["repository": "a/b", "ref": "refs/heads/main", "run_attempt": "1"]
    let trusts = [
      TrustedIssuer(issuer: CIStub.issuer, audience: "deploy", claims: rules),
      TrustedIssuer(issuer: CIStub.issuer, audience: "other", claims: ["repository": "c/d"]),
    ]
    let clients =
      try TestServer.clients() + [
        try ConfiguredClient(
          id: "deploy", flows: [.assertion], scopes: ["release"], audiences: ["https://a.example.org"], trusts: trusts)
      ]
    try await TestServer.run(transport: stub) {
      $0.clients = clients
    } body: { test async throws in
      try await body(test, stub)
    }
  }

  private static func ask(
    _ test: TestServer, _ assertion: String, as client: String = "deploy", _ more: [(String, String)] = []
  ) async throws -> WireClient.Answer {
    try await test.oauth(
      "/oauth/token",
      [("grant_type", MachineTokens.assertionGrant), ("client_id", client), ("assertion", assertion)] + more)
  }

  @Test func `gets a token of the client that trusts it, as often as it asks`() async throws {
    try await Self.run { test, stub async throws in
      let job = CIStub.job(at: test.clock.now).text()
      for _ in 0..<3 {
        let answer = try await Self.ask(test, job)
        #expect(answer.status == 200)
        #expect(answer.json["scope"] == "release")
        #expect(answer.json["refresh_token"] as String? == nil)
        let claims = answer.claims("access_token")
        #expect(claims["sub"] == "deploy")
        #expect(claims["aud"] == "https://a.example.org")
      }
      #expect(
        stub.requests.map(\.url) == [CIStub.issuer + "/.well-known/openid-configuration", CIStub.issuer + "/keys"])
    }
  }

  @Test func `gets one if only the slash of the issuer's empty path was written otherwise`() async throws {
    let trust = TrustedIssuer(issuer: CIStub.issuer + "/", audience: "deploy", claims: ["repository": "a/b"])
    let client = try ConfiguredClient(
      id: "deploy", flows: [.assertion], scopes: ["release"], audiences: ["https://a.example.org"], trusts: [trust])
    let clients = try TestServer.clients() + [client]
    try await TestServer.run(transport: CIStub.transport()) {
      $0.clients = clients
    } body: { test async throws in
      let job = CIStub.job(at: test.clock.now)
      #expect(try await Self.ask(test, job.text()).status == 200)
      #expect(try await Self.ask(test, job.text(["iss": #""\#(CIStub.issuer)/""#])).status != 200)
    }
  }

  @Test(arguments: [480, -480]) func `gets one while the server's clock is doubted`(ahead: Int64) async throws {
    try await Self.run { test, _ async throws in
      test.clock.jump(by: .seconds(ahead))
      for time in [test.clock.now, test.server.now()] {
        #expect(try await Self.ask(test, CIStub.job(at: time).text()).status == 200)
      }
    }
  }

  @Test func `gets none for other claims, keys, audiences and times`() async throws {
    try await Self.run { test, _ async throws in
      let good = CIStub.job(at: test.clock.now)
      let now = test.clock.now.seconds
      var foreign = good
      foreign.key = try #require(JWSPrivateKey.rs256(bits: 2048))
      let cases: [(String, AssertionDefect)] = [
        ("x", .malformed), (good.unsigned, .malformed), (good.text(maskedBy: CIStub.key.jwks), .malformed),
        (good.text(header: ["kid": ""]), .malformed), (foreign.text(), .signature),
        (good.text(["iss": #""https://evil.example.org""#]), .issuer),
        (good.text(["iss": #""\#(CIStub.issuer)/""#]), .issuer), (good.text(["repository": #""a/c""#]), .rule),
        (good.text(["repository": ""]), .rule), (good.text(["ref": #"["refs/heads/main"]"#]), .rule),
        (good.text(["ref": #""refs/heads/Main""#]), .rule), (good.text(["run_attempt": "2"]), .rule),
        // The rules of the one audience do not serve the other.
        (good.text(["aud": #""other""#]), .rule), (good.text(["aud": #""deploy2""#]), .audience),
        (good.text(["exp": "\(now - 30)"]), .expired), (good.text(["exp": "\(now + 90_000)", "iat": ""]), .lasting),
        (good.text(["nbf": "\(now + 60)"]), .notYetValid),
      ]
      for (text, defect) in cases {
        let answer = try await Self.ask(test, text)
        #expect(answer.status == 400, "\(defect)")
        #expect(answer.json["error"] == "invalid_grant", "\(defect)")
        let line = test.logs.entries.last { $0.message == "Assertion refused" }
        #expect(line?.metadata["handstamp.cause"] == defect.rawValue, "\(defect) \(text.prefix(60))")
      }
      #expect(try await Self.ask(test, good.text()).status == 200)
      #expect(try await Self.ask(test, good.text(["aud": #""other""#, "repository": #""c/d""#])).status == 200)
    }
  }

  @Test func `gets none for a client that does not trust it`() async throws {
    try await Self.run { test, _ async throws in
      let job = CIStub.job(at: test.clock.now).text()
      #expect(try await Self.ask(test, job, as: "app").json["error"] == "unauthorized_client")
      #expect(try await Self.ask(test, job, as: "unknown").json["error"] == "invalid_client")
      #expect(try await Self.ask(test, job, as: "").json["error"] == "unauthorized_client")
      #expect(try await Self.ask(test, job, [("scope", "admin")]).json["error"] == "invalid_scope")
      #expect(try await Self.ask(test, "").json["error"] == "invalid_request")
    }
  }

  @Test(arguments: [
    #"{"issuer":"https://evil.example.org","jwks_uri":"https://ci.example.org/keys"}"#,
    #"{"issuer":"https://ci.example.org","jwks_uri":"http://ci.example.org/keys"}"#,
    #"{"issuer":"https://ci.example.org"}"#, "<html>",
    #"{"issuer":"https://ci.example.org","jwks_uri":"file:///keys"}"#,
  ])
  func `has to wait while the issuer's metadata is not its own`(_ metadata: String) async throws {
    try await Self.run { test, stub async throws in
      stub.answer("GET /.well-known/openid-configuration", json: metadata)
      let answer = try await Self.ask(test, CIStub.job(at: test.clock.now).text())
      #expect(answer.status == 503)
      #expect(answer.json["error"] == "temporarily_unavailable")
      #expect(stub.requests.map(\.url) == [CIStub.issuer + "/.well-known/openid-configuration"])
    }
  }

  @Test func `is served from the cache while the issuer is down`() async throws {
    try await Self.run { test, stub async throws in
      #expect(try await Self.ask(test, CIStub.job(at: test.clock.now).text()).status == 200)
      for path in ["GET /.well-known/openid-configuration", "GET /keys"] {
        stub.fail(path, with: .notConnected("down"))
      }
      test.clock.advance(by: .seconds(3600 + 60))
      #expect(try await Self.ask(test, CIStub.job(at: test.clock.now).text()).status == 200)
    }
  }

  @Test func `needs a server that can fetch the issuer's keys`() async throws {
    let trust = TrustedIssuer(issuer: CIStub.issuer, audience: "a", claims: ["b": "c"])
    let client = try ConfiguredClient(id: "deploy", flows: [.assertion], trusts: [trust])
    await #expect(throws: ServerConfigurationError.client(.noTransport("deploy"))) {
      try await TestServer.run({ $0.clients = [client] }) { _ in }
    }
  }
}
#endif
