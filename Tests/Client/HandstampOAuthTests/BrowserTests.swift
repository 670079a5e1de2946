import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `A browser sign-in` {
  static let home = "org.example.app:/back"

  private func backend(
    _ server: StubServer, scopes: [String] = [], secret: Secret? = nil, parameters: [String: String] = [:]
  ) -> OAuthBackend {
    OAuthBackend(
      OAuthClient(
        issuer: StubServer.issuer, id: "the app", secret: secret, scopes: scopes,
        resources: ["https://api.example.org"],
        parameters: parameters), transport: server)
  }

  @Test func `derives the challenge as in RFC 7636, appendix B`() {
    let proof = CodeProof(verifier: Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
    #expect(proof.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test func `exchanges the code with the challenge's verifier`() async throws {
    let server = StubServer()
    server.on("/token", json: StubServer.tokens)
    let pages = Locked<[[String: String]]>([])
    let person = Person { page throws(RedirectError) in
      pages.withLock { $0.append(page) }
      return try Person.agreeing(code: "c+1%2B").answer(page)
    }
    let backend = backend(server, scopes: ["read", "write"], parameters: ["prompt": "login", "state": "mine"])
    let grant = try await backend.signIn(through: person, redirectURI: Self.home)
    #expect(grant.tokens.refresh == RefreshToken("r1"))
    #expect(grant.tokens.expiresIn == .seconds(600))
    #expect(grant.revocation == RevocationHandle("r1"))
    let page = try #require(pages.withLock { $0.first })
    let form = try #require(server.forms(to: "/token").first)
    #expect(page["response_type"] == "code")
    #expect(page["client_id"] == "the app")
    #expect(page["scope"] == "read write")
    #expect(page["tenant"] == "1")
    #expect(page["prompt"] == "login")
    #expect(page["state"] != "mine")
    #expect(page["code_challenge_method"] == "S256")
    #expect(page["resource"] == "https://api.example.org")
    #expect(CodeProof(verifier: Secret(form["code_verifier"] ?? "")).challenge == page["code_challenge"])
    #expect(form["code"] == "c 1+")
    #expect(form["redirect_uri"] == Self.home)
    #expect(form["client_id"] == "the app")
  }

  @Test func `says so in the turn that it takes, also if the user closes the page`() async throws {
    let server = StubServer()
    for isClosed in [true, false] {
      server.on("/token", json: StubServer.tokens)
      let person = Person { page throws(RedirectError) in
        if isClosed { throw .cancelled }
        return try Person.agreeing(code: "c").answer(page)
      }
      let turn = SignInTurn(by: nil) { () throws(VaultError) in nil }
      _ = await SignInTurn.$current.withValue(turn) {
        try? await backend(server).signIn(through: person, redirectURI: Self.home, loginHint: "ada@example.org")
      }
      #expect(turn.claim == SignInClaim(.browser, as: "ada@example.org"))
    }
  }

  @Test func `tells Handstamp's own server, and no other, that the session is not stored`() async throws {
    let ours = StubServer(metadata: StubServer.metadata(more: #","handstamp_rotation_keys":true"#))
    for (server, isOurs) in [(ours, true), (StubServer(), false)] {
      server.on("/token", json: StubServer.tokens)
      for remember in [true, false] {
        let turn = SignInTurn(by: nil, remember: remember) { () throws(VaultError) in nil }
        _ = try await SignInTurn.$current.withValue(turn) {
          try await backend(server).signIn(through: Person.agreeing(), redirectURI: Self.home)
        }
      }
      #expect(server.forms(to: "/token").map { $0["remember"] } == [nil, isOurs ? "false" : nil])
    }
  }

  @Test func `uses a fresh verifier, state and nonce each time`() async throws {
    let server = StubServer()
    let backend = backend(server, scopes: ["openid"])
    var seen: Set<String> = []
    for _ in 0..<20 {
      let page = StubServer.fields(try await backend.begin(redirectURI: Self.home).url)
      for name in ["state", "nonce", "code_challenge"] { seen.insert(page[name] ?? "") }
    }
    #expect(seen.count == 60)
  }

  @Test(arguments: [
    ("org.example.app:/back?code=c&state=other", "the response belongs to another request"),
    ("org.example.app:/back?code=c", "the response has no state"),
    ("org.example.app:/elsewhere?code=c&state=STATE", "the browser was redirected to another URL"),
    ("org.example.app:/back?code=c&code=d&state=STATE", "the parameter code of the response is duplicated"),
    ("org.example.app:/back?code=c&state=STATE&iss=https://evil.example.org", "the response comes from another server"),
    (
      "org.example.app:/back?code=c&state=STATE",
      "the response does not name its issuer, although the metadata says that it does"
    ),
    ("org.example.app:/back?state=STATE&iss=https://id.example.org", "the response has no code"),
    ("\u{0}", "the browser was redirected to another URL"),
  ])
  func `accepts only its own redirect`(_ callback: String, _ words: String) async {
    let server = StubServer(
      metadata: StubServer.metadata(more: #","authorization_response_iss_parameter_supported":true"#))
    let person = Person { page throws(RedirectError) in
      callback.split(separator: "STATE", omittingEmptySubsequences: false).joined(separator: page["state"] ?? "")
    }
    let backend = backend(server)
    let error = await failure { () throws(SessionError) in
      try await backend.signIn(through: person, redirectURI: Self.home)
    }
    #expect(error == .invalidResponse(words))
    #expect(server.requests(to: "/token").isEmpty)
  }

  @Test func `reports a cancelled sign-in and the server's error`() async {
    let server = StubServer()
    let backend = backend(server)
    let refused = await failure { () throws(SessionError) in
      try await backend.signIn(
        through: Person { page throws(RedirectError) in
          "\(Self.home)?error=access_denied&error_description=no+way&state=\(page["state"] ?? "")"
        }, redirectURI: Self.home)
    }
    #expect(refused == .refused(code: "access_denied", detail: "no way"))
    let closed = await failure { () throws(SessionError) in
      try await backend.signIn(
        through: Person { _ throws(RedirectError) in throw .cancelled }, redirectURI: Self.home)
    }
    #expect(closed == .cancelled)
    server.on("/token", status: 400, json: #"{"error":"invalid_grant","error_description":"used"}"#)
    let used = await failure { () throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: Self.home)
    }
    #expect(used == .refused(code: "invalid_grant", detail: "used"))
  }

  @Test func `sends the client secret by the server's authentication method`() async throws {
    let server = StubServer()
    server.on("/token", json: StubServer.tokens)
    _ = try await backend(server, secret: Secret("s:1")).signIn(
      through: Person.agreeing(), redirectURI: Self.home)
    let basic = try #require(server.requests(to: "/token").first)
    // Of `the%20app:s%3A1`.
    #expect(basic.headers.first(named: "Authorization") == "Basic dGhlJTIwYXBwOnMlM0Ex")
    #expect(StubServer.form(basic)["client_secret"] == nil)
    let posting = StubServer(
      metadata: StubServer.metadata(more: #","token_endpoint_auth_methods_supported":["client_secret_post"]"#))
    posting.on("/token", json: StubServer.tokens)
    _ = try await backend(posting, secret: Secret("s:1")).signIn(
      through: Person.agreeing(), redirectURI: Self.home)
    #expect(posting.forms(to: "/token").first?["client_secret"] == "s:1")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The account that signed in` {
  private func signIn(
    claims: String, served: String? = nil
  ) async throws -> TokenResponse {
    let server = StubServer()
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["openid"]), transport: server)
    let person = Person { page throws(RedirectError) in
      let payload = claims.split(separator: "NONCE", omittingEmptySubsequences: false).joined(
        separator: page["nonce"] ?? "")
      let answer = StubServer.tokens.dropLast() + #","id_token":"\#(StubServer.unsigned(payload))"}"#
      server.on(
        "/token", headers: served.map { [HeaderField("Date", $0)] } ?? [], json: String(answer))
      return try Person.agreeing().answer(page)
    }
    return try await backend.signIn(through: person, redirectURI: "org.example.app:/back")
  }

  private static let good =
    #"{"iss":"https://id.example.org","sub":"42","aud":"app","exp":2000000000,"nonce":"NONCE","name":"Ada"}"#

  @Test func `is taken from the ID token`() async throws {
    #expect(
      try await signIn(claims: Self.good, served: "Sat, 21 Nov 2026 10:00:00 GMT").profile
        == Profile(id: AccountID("42"), name: "Ada"))
  }

  @Test(arguments: [
    (#""iss":"https://id.example.org""#, #""iss":"https://evil.example.org""#),
    (#""aud":"app""#, #""aud":"another""#), (#""aud":"app""#, #""aud":["app","another"],"azp":"another""#),
    (#""nonce":"NONCE""#, #""nonce":"of another sign-in""#), (#""nonce":"NONCE","#, ""),
    (#""exp":2000000000"#, #""exp":1700000000"#), (#""sub":"42""#, #""sub":"""#),
    (#""aud":"app""#, #""aud":"app","azp":"another""#),
  ])
  func `is not taken from another sign-in's token`(_ good: String, _ bad: String) async {
    let claims = Self.good.split(separator: good, omittingEmptySubsequences: false).joined(separator: bad)
    do {
      _ = try await signIn(claims: claims, served: "Sat, 21 Nov 2026 10:00:00 GMT")
      Issue.record("accepted: \(claims)")
    } catch {
      guard case .invalidResponse = error as? SessionError else {
        Issue.record("\(error)")
        return
      }
    }
  }

  @Test(arguments: [
    ("", "the ID token lacks the nonce that was sent with the request"),
    (#""nonce":"other","#, "the ID token belongs to another sign-in"),
  ])
  func `of a token without the nonce is told from that of another sign-in`(nonce: String, words: String) async {
    let claims = Self.good.replacing(#""nonce":"NONCE","#, with: nonce)
    await #expect(throws: SessionError.invalidResponse(words)) { try await signIn(claims: claims) }
  }

  /// The ID token of many servers has no name.
  @Test(arguments: [
    (#""name":"Ada""#, "Ada"), (#""preferred_username":"ada""#, "ada"), (#""nickname":"ada""#, "ada"),
    (#""email":"ada@example.org","given_name":"Ada""#, "ada@example.org"), (#""given_name":"Ada""#, "Ada"),
    (#""name":" ","phone_number":"1""#, "1"),
  ])
  func `is named by the userinfo endpoint if the ID token has no name`(members: String, name: String) async throws {
    let server = StubServer(metadata: StubServer.metadata(more: #","userinfo_endpoint":"https://id.example.org/me""#))
    server.on("/me", json: #"{"sub":"1",\#(members)}"#)
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["openid"]), transport: server)
    let person = Person { page throws(RedirectError) in
      let claims = #"{"iss":"https://id.example.org","sub":"1","aud":"app","exp":2000000000,"nonce":"NONCE"}"#
      let token = StubServer.unsigned(claims.replacing("NONCE", with: page["nonce"] ?? ""))
      server.on("/token", json: #"\#(StubServer.tokens.dropLast()),"id_token":"\#(token)"}"#)
      return try Person.agreeing().answer(page)
    }
    let grant = try await backend.signIn(through: person, redirectURI: "org.example.app:/back")
    #expect(grant.profile == Profile(id: AccountID("1"), name: name))
  }

  @Test func `is named by the next best if the name is blank`() async throws {
    let claims = Self.good.replacing(#""name":"Ada""#, with: #""name":" ","email":"ada@example.org""#)
    let profile = try await signIn(claims: claims, served: nil).profile
    #expect(profile == Profile(id: AccountID("42"), name: "ada@example.org"))
  }

  @Test func `of another client's token is refused with the names of both`() async {
    let claims = Self.good.replacing(#""aud":"app""#, with: #""aud":"another""#)
    await #expect(
      throws: SessionError.invalidResponse(
        #"the ID token is for another client, "another"; this client is "app""#)
    ) { try await signIn(claims: claims, served: nil) }
  }

  @Test func `is taken from the userinfo endpoint, or named after the issuer`() async throws {
    let server = StubServer(
      metadata: StubServer.metadata(more: #","userinfo_endpoint":"https://id.example.org/me""#))
    server.on("/token", json: StubServer.tokens)
    server.on("/me", json: #"{"sub":"7","email":"ada@example.org"}"#)
    let asking = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["openid"]), transport: server)
    let known = try await asking.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    #expect(known.profile == Profile(id: AccountID("7"), name: "ada@example.org"))
    #expect(server.requests(to: "/me").first?.headers.first(named: "Authorization") == "Bearer a1")
    let other = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let unknown = try await other.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    #expect(unknown.profile == Profile(id: AccountID(StubServer.issuer), name: "id.example.org"))
  }
}
