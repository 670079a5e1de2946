#if Programs
import Crypto
import HandstampCore
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// OWASP ASVS 10.4.1 to 10.4.4 and 10.4.6, RFC 6749, 7636, 8252, 8707 and 9207, over HTTP.
@Suite(.timeLimit(.minutes(10))) struct `An authorization code` {
  @Test func `begins a session that works, refreshes and is listed`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let answer = try await app.redeem(try await app.code(Browser(test.client.base)), at: test)
      #expect(answer.status == 200)
      #expect(answer.headers["cache-control"] == "no-store")
      #expect(answer.json["token_type"] == "Bearer")
      #expect(answer.json["scope"] == "profile read")
      let session = try TestServer.Session(answer)
      let me = try await test.client.get("/v1/me", token: session.access)
      #expect(me.json["sub"] == session.account)
      #expect(me.json["email"] as String? == nil)
      let next = try await app.refresh(session.refresh, at: test)
      #expect(next.status == 200)
      #expect(next.json["refresh_token"] != session.refresh)
      let phone = try await test.signIn()
      let list = try await test.client.get("/v1/sessions", token: phone.access).json[list: "sessions"]
      #expect(list.contains { $0["id"] == session.id && $0[object: "device"]["name"] == "Ada's <App>" })
    }
  }

  @Test(arguments: [
    "org.example.app:/back/", "org.example.app:/back?a=b", "org.example.app:/", "ORG.example.app:/back",
    "https://other.example.org/cb?a=b", "http://127.0.0.1:9999/cb/", "http://127.0.0.1:9999/other",
    "http://127.0.0.1:9999@evil.example.org/cb", "http://127.0.0.1.evil.example.org/cb", "http://localhost:9/cb",
    "http://127.0.0.1:0/cb", "http://127.0.0.1:65536/cb", "https://127.0.0.1:9/cb", "",
  ])
  func `is sent only to the client's registered addresses`(_ redirect: String) async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      let page = try await browser.get(OAuthApp().page(changing: ["redirect_uri": redirect]))
      #expect(page.status == 400)
      #expect(page.location == nil)
      #expect(page.title == "This sign-in can’t continue")
    }
  }

  @Test func `is sent to any port of the loopback interface`() async throws {
    try await TestServer.runOAuth { test in
      var app = OAuthApp()
      app.redirect = "http://127.0.0.1:49999/cb"
      let browser = Browser(test.client.base)
      let sight = try await browser.signIn(at: app.page())
      let back = try await browser.press("allow", on: sight, at: app.page())
      #expect(back.location?.hasPrefix("http://127.0.0.1:49999/cb?code=") == true)
      #expect(try await app.redeem(back.fields["code"] ?? "", at: test).status == 200)
    }
  }

  @Test(arguments: [
    (["response_type": "token"], "unsupported_response_type"),
    (["response_type": "code token"], "unsupported_response_type"),
    (["response_type": ""], "invalid_request"), (["code_challenge": ""], "invalid_request"),
    (["code_challenge": "short"], "invalid_request"), (["code_challenge_method": "plain"], "invalid_request"),
    (["code_challenge_method": ""], "invalid_request"), (["scope": "admin  everything"], "invalid_scope"),
  ])
  func `is not issued for an invalid request`(
    _ changes: [String: String], _ error: String
  ) async throws {
    try await TestServer.runOAuth { test in
      let back = try await Browser(test.client.base).get(OAuthApp().page(changing: changes))
      #expect(back.status == 303)
      #expect(back.location?.hasPrefix("org.example.app:/back?error=") == true)
      #expect(back.fields["error"] == error)
      #expect(back.fields["state"] == "s t&a=te")
      #expect(back.fields["iss"] == "https://id.example.org")
    }
  }

  @Test func `is returned with the state and the issuer, and so is a denial`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      let path = OAuthApp().page()
      let page = try await browser.signIn(at: path)
      #expect(page.title == "Allow Ada&#39;s &lt;App&gt; to access your account?")
      #expect(page.text.contains("Use “read”"))
      #expect(page.text.contains("See your name"))
      let no = try await browser.press("deny", on: page, at: path)
      #expect(
        no.fields == [
          "error": "access_denied", "error_description": "the user did not allow it", "state": "s t&a=te",
          "iss": "https://id.example.org",
        ])
      let yes = try await browser.press("allow", on: page, at: path)
      #expect(Set(yes.fields.keys) == ["code", "state", "iss"])
      #expect(yes.header("cache-control") == "no-store")
    }
  }

  @Test func `is accepted only from the client that requested it`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let code = try await app.code(Browser(test.client.base))
      let wrongs: [([String: String], String)] = [
        (["code_verifier": "ECjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"], "invalid_grant"),
        (["code_verifier": app.challenge], "invalid_grant"), (["code_verifier": "short"], "invalid_grant"),
        (["code_verifier": ""], "invalid_request"), (["redirect_uri": "http://127.0.0.1/cb"], "invalid_grant"),
        (["redirect_uri": ""], "invalid_request"), (["client_id": "other"], "invalid_grant"),
        (["client_id": "unknown"], "invalid_client"), (["client_id": "site"], "invalid_client"),
        (["client_id": ""], "unauthorized_client"), (["client_id": "handstamp"], "unauthorized_client"),
        (["code": code + "A"], "invalid_grant"), (["code": "hsl1.garbage"], "invalid_grant"),
      ]
      for (changes, error) in wrongs {
        let answer = try await app.redeem(code, at: test, changing: changes)
        #expect(answer.json["error"] == error, "\(changes)")
        #expect(answer.status == (error == "invalid_client" ? 401 : 400), "\(changes)")
      }
      // None of these requests used up the code.
      #expect(try await app.redeem(code, at: test).status == 200)
    }
  }

  @Test func `works once, and a second use ends its session`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let code = try await app.code(Browser(test.client.base))
      let session = try TestServer.Session(try await app.redeem(code, at: test))
      // A thief who has only the code, as it is in an address, ends nothing.
      for wrong in [
        ["client_id": "other"], ["code_verifier": "ECjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"],
        ["code_verifier": app.challenge], ["redirect_uri": "http://127.0.0.1/cb"],
      ] {
        let thief = try await app.redeem(code, at: test, changing: wrong)
        #expect(thief.json["error"] == "invalid_grant", "\(wrong)")
        #expect(thief.json["reason"] as String? == nil, "\(wrong)")
      }
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      let fresh = try #require(try await app.refresh(session.refresh, at: test).json["refresh_token"] as String?)
      let again = try await app.redeem(code, at: test)
      #expect(again.status == 400)
      #expect(again.json["error"] == "invalid_grant")
      #expect(again.json["reason"] == "token_reuse")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
      #expect(try await app.refresh(fresh, at: test).json["error"] == "invalid_grant")
    }
  }

  enum Second: CaseIterable { case reload, otherProof, noProof, late, strict }

  @Test(arguments: Second.allCases)
  func `that its own client presents again before its first refresh ends nothing, and gets nothing`(
    second: Second
  ) async throws {
    let clients = try TestServer.clients()
    try await TestServer.run {
      $0.clients = clients
      $0.endsRepeatedCodes = second == .strict
    } body: { test in
      _ = try await test.signUp()
      let app = OAuthApp()
      let code = try await app.code(Browser(test.client.base))
      let key = P256.Signing.PrivateKey()
      func redeem(_ key: P256.Signing.PrivateKey?) async throws -> WireClient.Answer {
        let now = test.clock.now
        let proof = DPoPProof(at: now, nonce: test.server.proofs.nonce(at: now)) { $0.key = key ?? $0.key }
        return try await app.redeem(code, at: test, headers: key == nil ? [:] : ["DPoP": proof.text])
      }
      let session = try #require(try await redeem(key).json["session_id"] as String?)
      if second == .late { test.clock.advance(by: .seconds(60)) }
      let again = try await redeem(
        second == .noProof ? nil : second == .otherProof ? P256.Signing.PrivateKey() : key)
      #expect(again.status == 400 && again.json["error"] == "invalid_grant")
      #expect(again.json["access_token"] as String? == nil)
      let isLive = try await test.server.registry.isLive(SessionID(session), now: test.clock.now)
      #expect(isLive == (second == .reload))
      #expect((again.json["reason"] == "token_reuse") == !isLive)
      let actions = try await test.server.registry.auditedActions(limit: 99).map(\.audited)
      let last = actions.last { $0.session?.rawValue == session }
      #expect(last?.action == (isLive ? "session.code_repeated" : "session.theft_detected"))
    }
  }

  @Test func `of a confidential client ends nothing when it is used again without the secret`() async throws {
    try await TestServer.runOAuth { test in
      let site = OAuthApp.site
      let code = try await site.code(Browser(test.client.base))
      func redeem(_ secret: String) async throws -> WireClient.Answer {
        try await site.redeem(
          code, at: test, changing: ["client_id": ""], headers: TestServer.basic("site", secret))
      }
      let session = try TestServer.Session(try await redeem(TestServer.secret))
      #expect(try await redeem("wrong").json["error"] == "invalid_client")
      #expect(try await site.redeem(code, at: test).json["error"] == "invalid_client")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      #expect(try await redeem(TestServer.secret).json["error"] == "invalid_grant")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      test.clock.advance(by: .seconds(60))
      #expect(try await redeem(TestServer.secret).json["reason"] == "token_reuse")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
    }
  }

  @Test func `begins one session, even if presented concurrently`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let code = try await app.code(Browser(test.client.base))
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<16 { group.addTask { try await app.redeem(code, at: test).status } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.filter { $0 == 200 }.count == 1)
    }
  }

  @Test func `expires after a minute`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let browser = Browser(test.client.base)
      let first = try await app.code(browser)
      let second = try await app.code(browser)
      test.clock.advance(by: .seconds(60) - .milliseconds(1))
      #expect(try await app.redeem(first, at: test).status == 200)
      test.clock.advance(by: .milliseconds(1))
      #expect(try await app.redeem(second, at: test).json["error"] == "invalid_grant")
    }
  }

  @Test(arguments: [
    ("password", "unsupported_grant_type"), ("implicit", "unsupported_grant_type"),
    ("AUTHORIZATION_CODE", "unsupported_grant_type"), ("client_credentials", "unauthorized_client"),
    ("urn:ietf:params:oauth:grant-type:jwt-bearer", "unauthorized_client"),
  ])
  func `is not accepted as another grant`(_ grant: String, _ error: String) async throws {
    try await TestServer.runOAuth { test in
      let answer = try await test.oauth(
        "/oauth/token",
        [
          ("grant_type", grant), ("client_id", "app"), ("username", "ada@example.org"),
          ("password", TestServer.password),
        ])
      #expect(answer.status == 400)
      #expect(answer.json["error"] == error)
    }
  }

  @Test func `requires the secret of a client that has one`() async throws {
    try await TestServer.runOAuth { test in
      let site = OAuthApp.site
      let browser = Browser(test.client.base)
      let code = try await site.code(browser)
      for wrong in ["", "wrong"] {
        let answer = try await site.redeem(
          code, at: test, changing: ["client_id": ""], headers: TestServer.basic("site", wrong))
        #expect(answer.status == 401)
        #expect(answer.json["error"] == "invalid_client")
        #expect(answer.headers["www-authenticate"]?.hasPrefix("Basic") == true)
      }
      let session = try TestServer.Session(
        try await site.redeem(
          code, at: test, changing: ["client_id": ""], headers: TestServer.basic("site", TestServer.secret)))
      #expect(try await site.refresh(session.refresh, at: test).status == 401)
      let posted = try await site.refresh(session.refresh, at: test, [("client_secret", TestServer.secret)])
      #expect(posted.status == 200)
      // Some libraries send it in both ways; two secrets are nothing that a client has (RFC 6749 section 2.3).
      for (other, isGood) in [(TestServer.secret, true), ("another", false)] {
        let both = try await site.refresh(
          session.refresh, at: test, [("client_secret", other)], headers: TestServer.basic("site", TestServer.secret))
        #expect(both.status == (isGood ? 200 : 400))
        #expect(both.json["error"] == (isGood ? nil : "invalid_request"))
      }
    }
  }
}
#endif
