import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampOAuth

/// Answers as servers send them, and not as the standards have them.
@Suite(.timeLimit(.minutes(10))) struct `An answer from the field` {
  private static let key = RotationKey(bytes: [UInt8](repeating: 7, count: 16))

  private func backend(_ server: StubServer, assumesBearer: Bool = false) -> OAuthBackend {
    var client = OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["openid"])
    client.assumesBearerTokens = assumesBearer
    return OAuthBackend(client, transport: server)
  }

  private func refresh(
    _ status: Int, _ body: [UInt8], _ headers: [HeaderField] = [], assumesBearer: Bool = false
  ) async throws -> RefreshResult {
    let server = StubServer()
    server.on("/token") { _, _ in TransportResponse(status: status, headers: headers, body: body) }
    return await backend(server, assumesBearer: assumesBearer).refresh(
      RefreshRequest(token: RefreshToken("r0"), key: try #require(Self.key)))
  }

  private func refresh(_ status: Int, _ body: String, assumesBearer: Bool = false) async throws -> RefreshResult {
    try await refresh(status, Array(body.utf8), assumesBearer: assumesBearer)
  }

  // MARK: Refreshes

  @Test(arguments: [200, 202, 400, 401, 403, 404, 410, 422])
  func `ends the session by its code, whatever its status and what stands beside it`(status: Int) async throws {
    let latin = Array(#"{"error":"invalid_grant","error_description":"ung"#.utf8) + [0xFC] + Array(#"ltig"}"#.utf8)
    let texts = [
      #"{"error":"invalid_grant"}"#, "\u{FEFF}" + #"{"error":"invalid_grant"}"#,
      #"{"error":"invalid_grant","error_code":21325,"error_description":["a"],"reason":7,"access_token":""}"#,
    ]
    for body in texts.map({ Array($0.utf8) }) + [latin] {
      #expect(try await refresh(status, body) == .rejected(.rejected), "\(String(decoding: body, as: UTF8.self))")
    }
  }

  @Test(arguments: [
    (200, #"{"error":"bad_refresh_token","error_description":"The token is wrong"}"#),
    (400, #"{"error":"bad_refresh_token"}"#), (400, ""), (400, "{}"), (422, #"{"message":"no"}"#),
    (404, #"{"error":"invalid_client"}"#), (400, #"{"error":{"message":"expired","code":190}}"#),
    (401, #"{"errors":[]}"#),
    (400, #"{"error":"unauthorized_client"}"#), (400, #"{"error":"invalid_request","error_code":1}"#),
  ])
  func `of the endpoint itself settles an attempt, and ends nothing`(status: Int, body: String) async throws {
    guard case .noDecision(let failure, _) = try await refresh(status, body) else { throw Unexpected() }
    #expect(failure.exchange == .withoutEffect && failure.isEndpointRefusal, "\(failure)")
    // One request, although the policy allows several.
    let (server, clock) = (StubServer(), ManualClock())
    server.on("/token", json: #"{"access_token":"a1","token_type":"Bearer","expires_in":60,"refresh_token":"r1"}"#)
    server.on("/token", status: status, json: body)
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let session = SessionController(
      backend: backend, vault: MemoryVault(), policy: SessionPolicy(retry: RetryPolicy(attempts: 4)), clock: clock)
    try await session.signIn { () async throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    clock.advance(by: .seconds(61))
    await #expect(throws: SessionError.self) { try await session.token() }
    #expect(server.forms(to: "/token").count == 2)
    guard case .signedIn = session.state else { throw Unexpected() }
  }

  @Test(arguments: [
    (408, "{}"), (425, ""), (429, "{}"), (429, #"{"error":"invalid_grant"}"#), (500, #"{"error":"invalid_grant"}"#),
    (503, #"{"error":"temporarily_unavailable"}"#), (302, ""), (407, ""), (400, "<html>"), (403, " <!doctype html>"),
    (502, #"{"error":"invalid_client"}"#),
  ])
  func `of something else, or of a server that could not answer, decides nothing`(
    status: Int, body: String
  ) async throws {
    guard case .noDecision(let failure, _) = try await refresh(status, body) else { throw Unexpected() }
    #expect(!failure.isEndpointRefusal && failure.recovery == .retry(after: nil), "\(failure)")
  }

  private static let astray = [
    (404, ""), (404, "404 page not found"), (404, #"{"message":"no Route matched"}"#), (404, #"{"error":"Not Found"}"#),
    (404, #"{"error":"not_found"}"#), (405, ""), (405, #"{"error":"Method Not Allowed"}"#), (410, "{}"), (421, ""),
    (426, "{}"),
    (307, ""), (409, "{}"), (451, ""),
  ]

  /// The refresh runs until its requests are counted, and its first pause is over.
  private func refreshing(
    _ answers: [(Int, String)], requests: Int
  ) async throws -> (Result<AccessToken, any Error>, StubServer) {
    let (server, clock) = (StubServer(), ManualClock())
    server.on("/token", json: #"{"access_token":"a1","token_type":"Bearer","expires_in":60,"refresh_token":"r1"}"#)
    for (status, body) in answers { server.on("/token", status: status, json: body) }
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let session = SessionController(
      backend: backend, vault: MemoryVault(),
      policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 4)), clock: clock)
    try await session.signIn { () async throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    clock.advance(by: .seconds(61))
    async let token = session.token()
    // The wait for an answer also sleeps on this clock.
    #expect(
      await eventually {
        guard let pause = await session.refreshPause else { return false }
        return clock.untilNextWake == pause
      })
    #expect(server.forms(to: "/token").count == 2)
    clock.advance(by: RepeatRule.pause * 2)
    let result: Result<AccessToken, any Error>
    do { result = .success(try await token) } catch { result = .failure(error) }
    #expect(server.forms(to: "/token").count == requests)
    guard case .signedIn = session.state else { throw Unexpected() }
    return (result, server)
  }

  @Test(arguments: astray)
  func `from another place than the endpoint is followed by one more request, and decides nothing`(
    status: Int, body: String
  ) async throws {
    let (result, _) = try await refreshing([(status, body)], requests: 3)
    guard case .failure(let error as SessionError) = result, case .requestFailed(.server(let response), _) = error
    else {
      throw Unexpected()
    }
    #expect(response.status == status)
    if case .retry? = error.recovery {} else { Issue.record("\(String(describing: error.recovery))") }
    let (next, _) = try await refreshing(
      [(status, body), (200, #"{"access_token":"a2","token_type":"Bearer","refresh_token":"r2"}"#)], requests: 3)
    #expect(try next.get() == AccessToken("a2"))
  }

  @Test func `in place of the metadata of a server that had some decides nothing`() async throws {
    for (status, body) in Self.astray + [(200, "<html>"), (403, "<html>")] {
      let server = StubServer()
      for place in ["oauth-authorization-server", "openid-configuration"] {
        server.on("/.well-known/" + place, status: status, json: body)
      }
      _ = try await backend(server).metadata()
      let other = backend(server)
      let request = RefreshRequest(token: RefreshToken("r0"), key: try #require(Self.key))
      guard case .noDecision(let failure, _) = await other.refresh(request) else { throw Unexpected() }
      #expect(failure.exchange == .withoutEffect && failure.recovery == .retry(after: nil), "\(status) \(failure)")
      guard case .noDecision(let unsent) = await other.revoke(RevocationHandle("h")) else { throw Unexpected() }
      #expect(unsent.recovery == .retry(after: nil), "\(status) \(unsent)")
      await #expect(throws: SessionError.self) { try await other.metadata() }
    }
  }

  @Test(arguments: [200, 201, 202, 203])
  func `with tokens counts with any status of success, and keeps the successor`(status: Int) async throws {
    let full = try await refresh(status, #"{"access_token":"a2","token_type":"bearer","refresh_token":"r 2"}"#).get()
    #expect(full.tokens.refresh == RefreshToken("r 2"))
    for odd in [#""""#, "false", "null", "0", "[]"] {
      let body = #"{"access_token":"a2","token_type":"Bearer","refresh_token":\#(odd),"error":\#(odd)}"#
      let tokens = try await refresh(status, body).get().tokens
      #expect(tokens.access == AccessToken("a2") && tokens.refresh == nil, "\(odd)")
    }
    guard
      case .noDecision(.unusableTokens(let reason, let successor), _) =
        try await refresh(status, #"{"access_token":"a2","refresh_token":"r2"}"#)
    else { throw Unexpected() }
    #expect(reason.contains("token_type") && successor == RefreshToken("r2"))
    let bearer = try await refresh(status, #"{"access_token":"a2","refresh_token":"r2"}"#, assumesBearer: true)
    #expect(try bearer.get().tokens.refresh == RefreshToken("r2"))
  }

  @Test func `that is larger than a megabyte is read`() async throws {
    let body =
      #"{"access_token":"a","token_type":"Bearer","refresh_token":"r2","more":"\#(String(repeating: "x", count: 3 << 20))"}"#
    #expect(try await refresh(200, body).get().tokens.refresh == RefreshToken("r2"))
  }

  @Test(arguments: ["0", "-1", #""0""#, #""soon""#, "null", "[]"])
  func `without a usable lifetime states no end`(life: String) async throws {
    let body = #"{"access_token":"a","token_type":"Bearer","expires_in":\#(life)}"#
    #expect(try await refresh(200, body).get().tokens.expiresIn == nil)
  }

  @Test func `may have members with the names of ours`() async throws {
    let body = """
      {"access_token":"a","token_type":"Bearer","session_id":7,"revocation_handle":"with space","profile":"x",
      "handstamp_rotation_key":"yes"}
      """
    let grant = try await refresh(200, body).get()
    #expect(grant.sessionID == nil && grant.profile == nil && !grant.acceptsRotationKey)
  }

  @Test func `asks for no compression`() async throws {
    let server = StubServer()
    server.on("/token", json: StubServer.tokens)
    _ = await backend(server).refresh(RefreshRequest(token: RefreshToken("r0"), key: try #require(Self.key)))
    for path in ["/token", "/.well-known/oauth-authorization-server"] {
      let sent = server.requests(to: path).flatMap(\.headers).filter { $0.name.lowercased() == "accept-encoding" }
      #expect(sent.map(\.value) == ["identity"], "\(path)")
    }
  }

  // MARK: Whose tokens

  private func token(_ sub: String, iss: String = StubServer.issuer, aud: String = #""app""#, more: String = "")
    -> String
  {
    StubServer.unsigned(#"{"iss":"\#(iss)","sub":"\#(sub)","aud":\#(aud),"exp":4000000000\#(more)}"#)
  }

  private func answer(_ number: Int, _ idToken: String?) -> String {
    let id = idToken.map { #","id_token":"\#($0)""# } ?? ""
    return #"{"access_token":"a\#(number)","token_type":"Bearer","expires_in":60,"refresh_token":"r\#(number)"\#(id)}"#
  }

  /// A session of Ann's at a server that answers refreshes with these ID tokens, and the access tokens that it brought.
  private func session(_ idTokens: [String?], first: String?) async throws -> (SessionController, [String]) {
    let (server, clock) = (StubServer(), ManualClock())
    server.on("/device", json: #"{"device_code":"d","user_code":"A","verification_uri":"https://id.example.org/go"}"#)
    server.on("/token", json: answer(0, first))
    for (number, idToken) in idTokens.enumerated() { server.on("/token", json: answer(number + 1, idToken)) }
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: first == nil ? [] : ["openid"]), transport: server,
      time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { _ in }))
    let session = SessionController(
      backend: backend, vault: MemoryVault(), policy: SessionPolicy(retry: RetryPolicy(attempts: 1)), clock: clock)
    try await session.signIn { () async throws(SessionError) in try await backend.signInOnAnotherDevice { _ in } }
    var seen: [String] = []
    for _ in idTokens {
      clock.advance(by: .seconds(61))
      do { seen.append(try await session.token().secret.withExposed { $0 }) } catch { seen.append("\(error)") }
      clock.advance(by: .seconds(7200))
    }
    return (session, seen)
  }

  @Test func `for another person is refused whole, also its refresh token`() async throws {
    for stranger in [
      token("bob"), token("ann", iss: "https://other.example.org"), token("ann", aud: #""elsewhere""#),
      token("ann", aud: #"["app","other"]"#, more: #","azp":"other""#),
    ] {
      let (session, seen) = try await session([stranger], first: token("ann", more: #","name":"Ann""#))
      #expect(seen.first?.hasPrefix("a1") == false, "\(seen)")
      guard case .signedIn(let facts) = session.state else { throw Unexpected() }
      #expect(facts.profile?.id == "ann" && facts.profile?.name == "Ann")
    }
  }

  @Test func `for the same person is taken, and keeps the name`() async throws {
    for own in [token("ann"), token("ann", aud: #"["other","app"]"#), "not.a.token", "encrypted.a.b.c.d", nil] {
      let (session, seen) = try await session([own], first: token("ann", more: #","name":"Ann""#))
      #expect(seen == ["a1"], "\(own ?? "-")")
      guard case .signedIn(let facts) = session.state else { throw Unexpected() }
      #expect(facts.profile?.name == "Ann")
    }
    // A server that named no one at the sign-in.
    #expect(try await session([token("ann")], first: nil).1 == ["a1"])
  }

  @Test(arguments: [
    #","name":null,"preferred_username":"ann b""#, #","name":7,"preferred_username":"ann b""#,
    #","name":"","preferred_username":"ann b""#, #","name":"ann b","email":["x"]"#,
  ])
  func `may name a person in an odd way`(more: String) async throws {
    let (session, _) = try await session([], first: token("ann", aud: #"["x","app"]"#, more: more))
    guard case .signedIn(let facts) = session.state else { throw Unexpected() }
    #expect(facts.profile?.name == "ann b")
  }

  // MARK: Devices

  @Test func `to a poll counts by its code`() async throws {
    let server = StubServer()
    server.on(
      "/device",
      json: #"""
        {"device_code":"d","user_code":1234,"verification_url":"https://id.example.org/go","expires_in":"900",
        "verification_uri_complete":"","interval":"7"}
        """#.replacing("1234", with: #""1234""#))
    server.on("/token", json: #"{"error":"authorization_pending","error_description":"wait"}"#)
    server.on("/token", json: #"{"error":"slow_down","interval":30}"#)
    server.on("/token", status: 400, json: #"{"error":"slow_down","interval":"1"}"#)
    server.on("/token", status: 428, json: #"{"error":"authorization_pending"}"#)
    server.on("/token", status: 201, json: answer(1, token("ann")))
    let waits = Locked<[Duration]>([])
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["openid"]), transport: server,
      time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { wait in waits.withLock { $0.append(wait) } }))
    let grant = try await backend.signInOnAnotherDevice { code in
      #expect(code.completeAddress == nil && code.expiresIn == .seconds(900))
    }
    #expect(grant.profile?.id == "ann")
    #expect(waits.withLock { $0 } == [7, 7, 30, 35, 35].map { .seconds($0) })
    server.on("/token", status: 400, json: #"{"error":"authorization_declined"}"#)
    let refused = await failure { () async throws(SessionError) in try await backend.signInOnAnotherDevice { _ in } }
    #expect(refused == .refused(code: "access_denied", detail: nil))
  }

  @Test func `to a device may leave out how long its code lives`() async throws {
    let server = StubServer()
    server.on("/device", json: #"{"device_code":"d","user_code":"A","verification_uri":"https://id.example.org/go"}"#)
    server.on("/token", json: answer(1, token("ann")))
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["openid"]), transport: server,
      time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { _ in }))
    _ = try await backend.signInOnAnotherDevice { #expect($0.expiresIn == .seconds(900)) }
  }

  // MARK: Browsers and metadata

  private func signIn(_ answer: @escaping @Sendable ([String: String]) -> String) async -> SessionError? {
    let server = StubServer()
    server.on("/token") { _, form in
      TransportResponse(status: 200, body: Array(self.answer(1, nil).utf8))
    }
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    return await failure { () async throws(SessionError) in
      try await backend.signIn(through: Person { page in answer(page) }, redirectURI: "http://127.0.0.1:1/callback")
    }
  }

  @Test func `of a browser may have more than it should`() async throws {
    for text in ["&x=1&x=2", "&&", "&=", "&x", "&session_state=a%zz", "#fragment"] {
      let error = await signIn { "\($0["redirect_uri"] ?? "")?code=c1&state=\($0["state"] ?? "")\(text)" }
      #expect(error == nil, "\(text)")
    }
    #expect(await signIn { "\($0["redirect_uri"] ?? "")/?code=c1&state=\($0["state"] ?? "")" } == nil)
    let twice = await signIn { "\($0["redirect_uri"] ?? "")?code=c1&code=c2&state=\($0["state"] ?? "")" }
    guard case .invalidResponse? = twice else { throw Unexpected() }
    let stateless = await signIn { "\($0["redirect_uri"] ?? "")?error=access_denied&error_description=a+b" }
    #expect(stateless == .refused(code: "access_denied", detail: "a b"))
    let foreign = await signIn { "\($0["redirect_uri"] ?? "")?error=access_denied&state=other" }
    guard case .invalidResponse? = foreign else { throw Unexpected() }
  }

  @Test func `with metadata that is odd where it does not matter is used`() throws {
    let more = #"""
      ,"userinfo_endpoint":"","introspection_endpoint":"http://id.example.org/introspect","scopes_supported":"openid",
      "token_endpoint_auth_methods_supported":{},"code_challenge_methods_supported":null,
      "authorization_response_iss_parameter_supported":"true"
      """#
    let metadata = try ServerMetadata(Array(StubServer.metadata(more: more).utf8), of: StubServer.issuer)
    #expect(metadata.userInfoEndpoint == nil && metadata.introspectionEndpoint == nil && metadata.scopes == nil)
  }

  @Test func `with metadata that cannot be used names the member`() async throws {
    for (text, member) in [
      (#"{"token_endpoint":"https://id.example.org/token"}"#, "issuer"),
      (#"{"issuer":"\#(StubServer.issuer)","token_endpoint":""}"#, "token_endpoint"),
      (#"{"issuer":"\#(StubServer.issuer)","token_endpoint":"http://id.example.org/token"}"#, "token_endpoint"),
    ] {
      do throws(SessionError) {
        _ = try ServerMetadata(Array(text.utf8), of: StubServer.issuer)
        Issue.record("accepted: \(text)")
      } catch { #expect("\(error)".contains(member), "\(error)") }
    }
    let server = StubServer(
      metadata: #"""
        {"issuer":"\#(StubServer.issuer)","token_endpoint":"https://id.example.org/token",
        "authorization_endpoint":"http://id.example.org/authorize"}
        """#)
    let error = await failure { () async throws(SessionError) in
      try await self.backend(server).signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    #expect(error.map { "\($0)".contains("authorization_endpoint") } == true)
  }
}

private struct Unexpected: Error {}
