#if Programs
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

/// Requests of programs that were not written for this server.
@Suite(.timeLimit(.minutes(10))) struct `A program that signs in at the provider` {
  private typealias Protection = ConfiguredClient.CodeProtection

  private func client(
    _ id: String, _ protection: Protection = .pkce, scopes: [String] = ["openid", "profile", "email"],
    introspects: Bool = false, hasClaims: Bool? = nil, webOrigins: [String] = []
  ) throws(ServerConfigurationError) -> ConfiguredClient {
    try ConfiguredClient(
      id: id, secretHash: ConfiguredClient.hash(of: Secret(TestServer.secret)),
      redirectURIs: ["https://\(id).example.org/cb"], scopes: scopes, introspects: introspects,
      codeProtection: protection, hasClaimsInIDTokens: hasClaims, webOrigins: webOrigins)
  }

  private static let challenge: Set<String> = ["code_challenge", "code_challenge_method"]

  /// Signs in without PKCE, and returns the code.
  private func code(_ app: OAuthApp, _ test: TestServer, leaving: Set<String> = challenge) async throws
    -> Browser.BrowserResponse
  {
    let path = app.page(leaving: leaving)
    let browser = Browser(test.client.base)
    let page = try await browser.get(path)
    guard page.status == 200 else { return page }
    let asked = try await browser.signIn(at: path)
    // A remembered consent is not asked for again.
    return asked.status == 200 ? try await browser.press("allow", on: asked, at: path) : asked
  }

  private func redeem(_ code: String?, of app: OAuthApp, at test: TestServer, verifier: String = "") async throws
    -> WireClient.Answer
  {
    try await app.redeem(
      code ?? "", at: test, changing: ["code_verifier": verifier],
      headers: TestServer.basic(app.id, TestServer.secret))
  }

  @Test func `without PKCE needs a nonce, unless its operator says that it has none`() async throws {
    let clients = [try client("nonced", .nonce), try client("bare", .none), try client("strict")]
    try await TestServer.runOpenID(adding: clients) { test in
      for id in ["nonced", "bare"] {
        let app = OAuthApp.party(id)
        let answer = try await redeem(try await code(app, test).fields["code"], of: app, at: test)
        #expect(answer.status == 200)
        #expect(answer.claims("id_token")["nonce"] == "n-0S6_WzA2Mj")
      }
      let without = Self.challenge.union(["nonce"])
      #expect(try await code(.party("nonced"), test, leaving: without).fields["error"] == "invalid_request")
      #expect(try await code(.party("strict"), test).fields["error"] == "invalid_request")
      // Without an ID token nothing repeats the nonce.
      let plain = OAuthApp.party("nonced", scope: "profile")
      #expect(try await code(plain, test).fields["error"] == "invalid_request")
      #expect(try await code(plain, test, leaving: []).fields["code"] != nil)
      let bare = OAuthApp.party("bare")
      let last = try await code(bare, test, leaving: without)
      #expect(try await redeem(last.fields["code"], of: bare, at: test).status == 200)
    }
  }

  /// RFC 9700 section 2.1.1: who takes the challenge out of the request gains nothing.
  @Test func `without PKCE still has it if it sends a challenge, and none if it sends a verifier alone`() async throws {
    try await TestServer.runOpenID(adding: [try client("bare", .none)]) { test in
      let app = OAuthApp.party("bare")
      let challenged = try await code(app, test, leaving: []).fields["code"]
      #expect(try await redeem(challenged, of: app, at: test).json["error"] == "invalid_grant")
      #expect(try await redeem(challenged, of: app, at: test, verifier: app.verifier).status == 200)
      let plain = try await code(app, test).fields["code"]
      #expect(try await redeem(plain, of: app, at: test, verifier: app.verifier).json["error"] == "invalid_grant")
      #expect(try await redeem(plain, of: app, at: test).status == 200)
      // Without a verifier, a second use tells of a second party.
      #expect(try await redeem(plain, of: app, at: test).json["reason"] == "token_reuse")
      let half = try await code(app, test, leaving: ["code_challenge"])
      #expect(half.fields["error"] == "invalid_request")
    }
  }

  @Test func `without a secret, or without an ID token for a nonce, has PKCE`() {
    #expect(throws: ServerConfigurationError.client(.noPKCE("app"))) {
      try ConfiguredClient(id: "app", redirectURIs: ["https://app.example.org/cb"], codeProtection: .none)
    }
    #expect(throws: ServerConfigurationError.client(.noNonce("app"))) { try client("app", .nonce, scopes: ["profile"]) }
  }

  @Test func `finds name and address in its ID token as well, also after a refresh`() async throws {
    let clients = [try client("silent", hasClaims: false)]
    try await TestServer.runOpenID(adding: clients) { test in
      func claims(_ app: OAuthApp) async throws -> [WireClient.JSON] {
        let first = try await app.tokens(Browser(test.client.base), at: test)
        let again = try await app.refresh(
          first.json["refresh_token"] ?? "", at: test, headers: TestServer.basic(app.id, TestServer.secret))
        return [first.claims("id_token"), again.claims("id_token")]
      }
      for claims in try await claims(.party()) {
        #expect(claims["name"] == "Ada" && claims["preferred_username"] == "Ada")
        #expect(claims["email"] == "ada@example.org" && claims["email_verified"] == false)
      }
      for claims in try await claims(.party(scope: "openid email")) {
        #expect(claims["name"] as String? == nil && claims["email"] == "ada@example.org")
      }
      for claims in try await claims(.party("silent")) + claims(.party(scope: "openid")) {
        #expect(
          claims["name"] as String? == nil && claims["email"] as String? == nil && claims["sub"] as String? != nil)
      }
      var phone = OAuthApp()
      (phone.id, phone.redirect, phone.scope) = ("phone", "org.example.phone:/cb", "openid profile")
      let answer = try await phone.redeem(try await phone.code(Browser(test.client.base)), at: test)
      #expect(answer.claims("id_token")["name"] as String? == nil, "a public client asks at the userinfo endpoint")
    }
  }

  @Test func `learns from introspection whose token it is, if it and the token may`() async throws {
    let clients = [try client("imap", introspects: true), try client("blind", scopes: ["openid"], introspects: true)]
    try await TestServer.runOpenID(adding: clients) { test in
      func facts(_ scope: String, by id: String) async throws -> WireClient.JSON {
        let token: String =
          try await OAuthApp.party(scope: scope).tokens(Browser(test.client.base), at: test).json["access_token"] ?? ""
        return try await test.oauth(
          "/oauth/introspect", [("token", token)], headers: TestServer.basic(id, TestServer.secret)
        ).json
      }
      let all = try await facts("openid profile email", by: "imap")
      #expect(all["active"] == true && all["username"] == "Ada" && all["email"] == "ada@example.org")
      let less = try await facts("openid email", by: "imap")
      #expect(less["username"] as String? == nil && less["email"] == "ada@example.org")
      let none = try await facts("openid profile email", by: "blind")
      #expect(none["active"] == true && none["username"] as String? == nil && none["email"] as String? == nil)
    }
  }

  /// OpenID Connect Core 1.0 section 5.3.1, RFC 6750 section 2.2.
  @Test func `may send its token in a form to the userinfo endpoint`() async throws {
    try await TestServer.runOpenID { test in
      let token: String = try #require(
        try await OAuthApp.party().tokens(Browser(test.client.base), at: test).json["access_token"])
      let answer = try await test.oauth("/oauth/userinfo", [("access_token", token)])
      #expect(answer.json["email"] == "ada@example.org")
      #expect(try await test.client.send("POST", "/oauth/userinfo", token: token).json["email"] == "ada@example.org")
      #expect(try await test.oauth("/oauth/userinfo", [("access_token", "x")]).status == 401)
      #expect(try await test.oauth("/oauth/userinfo", []).status == 401)
      let both = try await test.oauth(
        "/oauth/userinfo", [("access_token", token)], headers: ["Authorization": "Bearer " + token])
      #expect(both.status == 400)
      #expect(try await test.client.get("/oauth/userinfo?access_token=" + token).status == 401)
    }
  }

  /// OpenID Connect Core 1.0 section 3.1.2.1.
  @Test func `may send its request as a form, which no password comes along with`() async throws {
    try await TestServer.runOpenID { test in
      let path = OAuthApp.party().page()
      let query = String(path.split(separator: "?")[1])
      let headers = [
        "Content-Type": "application/x-www-form-urlencoded", "Origin": "https://party.example.org",
        "Sec-Fetch-Site": "cross-site",
      ]
      let answer = try await Browser(test.client.base).send(
        "POST", "/oauth/authorize", headers: headers, body: query + "&password=x&client_secret=y&more=z")
      #expect(answer.status == 303)
      let there = try #require(answer.location)
      #expect(
        there.hasPrefix("https://id.example.org/oauth/authorize?") && there.matches(of: /password|secret|more/).isEmpty)
      let next = String(there.dropFirst("https://id.example.org".count))
      #expect(try await Browser(test.client.base).signIn(at: next).title.hasPrefix("Allow "))
    }
  }

  @Test func `may be a page of another origin, which the server knows`() async throws {
    let origin = "https://app.example.org"
    try await TestServer.runOpenID(adding: [try client("web", webOrigins: [origin])]) { test in
      for path in ["/oauth/token", "/oauth/revoke", "/oauth/userinfo"] {
        let asked = try await test.client.send("OPTIONS", path, headers: ["Origin": origin])
        #expect(asked.status == 204 && asked.headers["access-control-allow-origin"] == origin, "\(path)")
        #expect(asked.headers["access-control-allow-credentials"] == nil)
        let other = try await test.client.send("OPTIONS", path, headers: ["Origin": "https://evil.example"])
        #expect(other.headers["access-control-allow-origin"] == nil, "\(path)")
      }
      let refused = try await test.oauth("/oauth/token", [("grant_type", "x")], headers: ["Origin": origin])
      #expect(refused.status == 400 && refused.headers["access-control-allow-origin"] == origin)
      let me = try await test.client.get("/v1/me", headers: ["Origin": origin])
      #expect(me.headers["access-control-allow-origin"] == nil)
      for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json"] {
        #expect(try await test.client.get(path).headers["access-control-allow-origin"] == "*")
      }
    }
    for text in ["http://app.example.org", "https://app.example.org/", "https://app.example.org/x"] {
      #expect(throws: ServerConfigurationError.client(.badOrigin("web", text))) {
        try client("web", webOrigins: [text])
      }
    }
  }

  @Test func `with a session that outlasts the browser’s signs its user out without a question`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      let app = OAuthApp.party(scope: "openid offline_access")
      let hint: String = try #require(try await app.tokens(browser, at: test).json["id_token"])
      let bye = "https://party.example.org/bye?a=b"
      let path = Browser.path("/oauth/logout", [("id_token_hint", hint), ("post_logout_redirect_uri", bye)])
      #expect(try await browser.get(path).location == bye)
      #expect(try await browser.get("/device").title == "Sign in")
    }
  }

  /// The key was retired: the token proves nothing, but says where the user came from.
  @Test func `has its user asked if nothing can verify its ID token any more`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      let hint: String = try #require(try await OAuthApp.party().tokens(browser, at: test).json["id_token"])
      let forged = hint.split(separator: ".").prefix(2).joined(separator: ".") + "." + String(repeating: "A", count: 86)
      let bye = "https://party.example.org/bye?a=b"
      let path = Browser.path("/oauth/logout", [("id_token_hint", forged), ("post_logout_redirect_uri", bye)])
      let page = try await browser.get(path)
      #expect(page.status == 200 && page.title.hasPrefix("Sign out") && page.text.contains("The party"))
      #expect(try await browser.get("/device").title != "Sign in")
      #expect(try await browser.press("sign-out", on: page, at: path).location == bye)
      #expect(try await browser.get("/device").title == "Sign in")
      let elsewhere = Browser.path(
        "/oauth/logout", [("id_token_hint", forged), ("post_logout_redirect_uri", "https://evil.example/")])
      #expect(try await browser.get(elsewhere).status == 400)
    }
  }
}
#endif
