import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `A refresh at a third-party OAuth server` {
  private let key = RotationKey(bytes: [UInt8](repeating: 7, count: 16))

  private func refresh(_ answer: TransportResponse) async throws -> RefreshResult {
    let server = StubServer()
    server.on("/token") { _, _ in answer }
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let outcome = await backend.refresh(RefreshRequest(token: RefreshToken("r0"), key: try #require(key)))
    #expect(server.forms(to: "/token") == [["client_id": "app", "grant_type": "refresh_token", "refresh_token": "r0"]])
    return outcome
  }

  private func answer(_ status: Int, _ body: String) -> TransportResponse {
    TransportResponse(status: status, body: Array(body.utf8))
  }

  /// As if the program was suspended while it fetched the server's metadata.
  @Test func `is not sent if its attempt was recorded too long ago`() async throws {
    let server = StubServer()
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    var request = RefreshRequest(token: RefreshToken("r0"), key: try #require(key))
    request.sendingTime = SendingTime { true }
    let outcome = await backend.refresh(request)
    #expect(outcome == .noDecision(.network(.notConnected("the program was suspended before the request was sent"))))
    #expect(server.forms(to: "/token").isEmpty)
  }

  @Test func `knows when its attempt was recorded`() async throws {
    let clock = ManualClock()
    let backend = LateBackend(clock: clock)
    let session = SessionController(backend: backend, vault: MemoryVault(), clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.self) { try await session.token() }
    #expect(backend.seen.withLock { $0.prefix(2) } == [false, true])
  }

  @Test func `returns new tokens, with or without a new refresh token`() async throws {
    #expect(try await refresh(answer(200, StubServer.tokens)).get().tokens.refresh == RefreshToken("r1"))
    let kept = try await refresh(answer(200, #"{"access_token":"a","token_type":"bearer","expires_in":"60"}"#)).get()
    #expect(kept.tokens == TokenSet(access: AccessToken("a"), expiresIn: .seconds(60), refresh: nil))
  }

  @Test func `is rejected only by the server's definitive answer`() async throws {
    // 403 is Auth0's.
    for status in [400, 401, 403] {
      #expect(try await refresh(answer(status, #"{"error":"invalid_grant"}"#)) == .rejected(.rejected), "\(status)")
    }
    // An error of RFC 6749 section 5.2 means that the token is unchanged.
    for (status, code) in [
      (400, "invalid_request"), (401, "invalid_client"), (403, "access_denied"), (404, "invalid_client"),
      (429, "slow_down"),
    ] {
      let answer = try await refresh(answer(status, #"{"error":"\#(code)"}"#))
      guard case .noDecision(let failure, _) = answer else {
        Issue.record("\(status) \(code)")
        continue
      }
      #expect(failure.exchange == .withoutEffect && "\(failure)".contains(code), "\(status) \(code)")
    }
    // Anything else is undecided: the server may have replaced the token.
    for (status, body) in [
      (400, "<html>"), (500, #"{"error":"invalid_grant"}"#), (302, ""), (404, #"{"error":"not_found"}"#), (429, ""),
      (503, "{}"),
      (200, "<html>"),
      (200, ""), (200, "[]"), (200, #"{"access_token":"a"}"#), (200, #"{"access_token":"a\n","token_type":"Bearer"}"#),
      (200, #"{"access_token":"a","token_type":"mac"}"#),
    ] {
      guard case .noDecision(let failure, _) = try await refresh(answer(status, body)) else {
        Issue.record("\(status) \(body)")
        continue
      }
      #expect(failure.exchange == .over, "\(status) \(body)")
    }
  }

  @Test(arguments: [
    #"{"access_token":"a","token_type":"mac","refresh_token":"r1"}"#,
    #"{"access_token":"a\n","token_type":"Bearer","refresh_token":"r1"}"#,
    #"{"token_type":"Bearer","refresh_token":"r1"}"#,
  ])
  func `keeps the new refresh token if the access token is unusable`(body: String) async throws {
    guard case .noDecision(.unusableTokens(_, let successor?), _) = try await refresh(answer(200, body)) else {
      Issue.record("no successor: \(body)")
      return
    }
    #expect(successor == RefreshToken("r1"))
  }

  @Test func `moves the handle, so that a sign-out revokes the newest token`() async throws {
    let server = StubServer()
    server.on("/token", json: StubServer.tokens)
    server.on("/token", json: #"{"access_token":"a2","token_type":"Bearer","expires_in":600,"refresh_token":"r2"}"#)
    server.on("/revoke", json: "")
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let clock = ManualClock()
    let controller = SessionController(backend: backend, vault: MemoryVault(), clock: clock)
    _ = try await controller.signIn { () async throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    clock.advance(by: .seconds(601))
    #expect(try await controller.token() == AccessToken("a2"))
    _ = await controller.signOut()
    #expect(await controller.waitForRevocations(timeout: .seconds(60)))
    #expect(server.forms(to: "/revoke") == [["client_id": "app", "token": "r2"]])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Tokens for several APIs` {
  private struct Fixture {
    let server = StubServer()
    let vault = MemoryVault()
    let clock = ManualClock()
    let backend: OAuthBackend
    let controller: SessionController

    init() {
      backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
      controller = SessionController(backend: backend, vault: vault, clock: clock)
      server.on("/token", json: StubServer.tokens)
    }

    func signIn() async throws {
      let backend = backend
      _ = try await controller.signIn { () async throws(SessionError) in
        try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
      }
    }

    /// From now on, refreshes are answered in order, each with a distinct successor.
    func rotating(from first: Int = 2) {
      let counter = Locked(first)
      let server = server
      server.on("/token") { _, form in
        let number = counter.withLock { number in
          defer { number += 1 }
          return number
        }
        guard form["refresh_token"] == "r\(number - 1)" else {
          return TransportResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8))
        }
        let aim = form["scope"] ?? form["resource"] ?? ""
        return TransportResponse(
          status: 200,
          body: Array(
            #"{"access_token":"\#(aim)\#(number)","token_type":"Bearer","expires_in":300,"refresh_token":"r\#(number)"}"#
              .utf8))
      }
    }
  }

  @Test func `come from one shared, rotating refresh token`() async throws {
    let fixture = Fixture()
    try await fixture.signIn()
    fixture.rotating()
    let mail = try await fixture.controller.token(for: TokenTarget(scopes: ["mail"]))
    #expect(mail == AccessToken("mail2"))
    #expect(
      try await fixture.controller.token(for: TokenTarget(scopes: [], resource: "https://api"))
        == AccessToken("https://api3"))
    #expect(try await fixture.controller.token(for: TokenTarget(scopes: ["mail"])) == mail)
    // The session's own token is still the first, and its next refresh uses the newest successor.
    #expect(try await fixture.controller.token() == AccessToken("a1"))
    fixture.clock.advance(by: .seconds(601))
    #expect(try await fixture.controller.token() == AccessToken("4"))
    #expect(try await fixture.controller.token(for: TokenTarget(scopes: ["mail"])) == AccessToken("mail5"))
    #expect(fixture.server.forms(to: "/token").dropFirst().map { $0["refresh_token"] } == ["r1", "r2", "r3", "r4"])
  }

  @Test func `are shared by all processes, and gone with the session`() async throws {
    let fixture = Fixture()
    try await fixture.signIn()
    fixture.rotating()
    let mail = TokenTarget(scopes: ["mail"])
    let token = try await fixture.controller.token(for: mail)
    let other = SessionController(backend: fixture.backend, vault: fixture.vault, clock: fixture.clock)
    #expect(try await other.token(for: mail) == token)
    #expect(fixture.server.forms(to: "/token").count == 2)
    guard case .value(let entry) = await fixture.vault.read() else { throw VaultError.corrupt }
    #expect(entry.session?.targeted[mail]?.token == token && entry.session?.withAccessOnly.targeted == [:])
    fixture.clock.advance(by: .seconds(301))
    #expect(try await fixture.controller.token(for: mail) == AccessToken("mail3"))
    _ = await fixture.controller.signOut()
    guard case .value(let rest) = await fixture.vault.read() else { throw VaultError.corrupt }
    #expect(!rest.encoded.withExposed { $0.contains("mail") })
  }

  @Test func `without a lifetime are kept in memory only`() async throws {
    let fixture = Fixture()
    try await fixture.signIn()
    fixture.server.on("/token", json: #"{"access_token":"x","token_type":"Bearer","refresh_token":"r2"}"#)
    let mail = TokenTarget(scopes: ["mail"])
    #expect(try await fixture.controller.token(for: mail) == AccessToken("x"))
    #expect(try await fixture.controller.token(for: mail) == AccessToken("x"))
    #expect(fixture.server.forms(to: "/token").count == 2)
    guard case .value(let entry) = await fixture.vault.read() else { throw VaultError.corrupt }
    #expect(entry.session?.targeted == [:])
  }

  @Test func `for an audience are requested by the provider's own parameter`() async throws {
    let fixture = Fixture()
    try await fixture.signIn()
    fixture.rotating()
    _ = try await fixture.controller.token(for: TokenTarget(scopes: ["read"], audience: "billing"))
    #expect(
      fixture.server.forms(to: "/token").last == [
        "client_id": "app", "grant_type": "refresh_token", "refresh_token": "r1", "scope": "read",
        "audience": "billing",
      ])
  }

  @Test func `for an audience are exchanged where the server does that, and leave the refresh token`() async throws {
    let server = StubServer(
      metadata: StubServer.metadata(
        more: #","grant_types_supported":["urn:ietf:params:oauth:grant-type:token-exchange"]"#))
    server.on("/token", json: StubServer.tokens)
    server.on(
      "/token",
      json: #"{"access_token":"b1","token_type":"Bearer","expires_in":300,"refresh_token":"of another session"}"#)
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let vault = MemoryVault()
    let controller = SessionController(backend: backend, vault: vault, clock: ManualClock())
    _ = try await controller.signIn { () async throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    #expect(try await controller.token(for: TokenTarget(audience: "billing")) == AccessToken("b1"))
    let type = "urn:ietf:params:oauth:token-type:access_token"
    #expect(
      server.forms(to: "/token").last == [
        "client_id": "app", "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "a1",
        "subject_token_type": type, "requested_token_type": type, "audience": "billing",
      ])
    guard case .value(let entry) = await vault.read() else { throw VaultError.corrupt }
    #expect(entry.session?.refresh == RefreshToken("r1") && entry.session?.access?.token == AccessToken("a1"))
    #expect(entry.session?.isRotated == nil, "nothing is known of the server's rotation")
    #expect(entry.session?.attempt == nil && entry.session?.pendingKey == nil)
  }

  @Test func `are fetched one at a time, however many callers there are`() async throws {
    let fixture = Fixture()
    try await fixture.signIn()
    fixture.rotating()
    let controller = fixture.controller
    let tokens = try await withThrowingTaskGroup(of: AccessToken.self) { group in
      for number in 0..<40 {
        group.addTask { try await controller.token(for: TokenTarget(scopes: ["s\(number % 4)"])) }
      }
      return try await group.reduce(into: Set<AccessToken>()) { $0.insert($1) }
    }
    #expect(tokens.count == 4)
    #expect(fixture.server.forms(to: "/token").count == 5)
  }

  @Test func `end with the session`() async throws {
    let fixture = Fixture()
    try await fixture.signIn()
    fixture.rotating()
    _ = try await fixture.controller.token(for: TokenTarget(scopes: ["mail"]))
    _ = await fixture.controller.signOut()
    await #expect(throws: SessionError.signedOut(.signedOut)) {
      try await fixture.controller.token(for: TokenTarget(scopes: ["mail"]))
    }
  }

  @Test func `leave the session alone if one of them is refused`() async throws {
    let fixture = Fixture()
    try await fixture.signIn()
    fixture.server.on("/token", status: 400, json: #"{"error":"invalid_scope"}"#)
    fixture.server.on("/token", status: 400, json: #"{"error":"invalid_target","error_description":"unknown API"}"#)
    fixture.server.on(
      "/token", json: #"{"access_token":"x","token_type":"Bearer","scope":"mail","refresh_token":"r2"}"#)
    fixture.rotating(from: 3)
    await #expect(
      throws: SessionError.requestFailed(.configuration(.init(status: 400, error: "invalid_scope")))
    ) {
      try await fixture.controller.token(for: TokenTarget(scopes: ["admin"]))
    }
    await #expect(
      throws: SessionError.requestFailed(
        .configuration(.init(status: 400, error: "invalid_target", detail: "unknown API")))
    ) {
      try await fixture.controller.token(for: TokenTarget(scopes: [], resource: "https://api.example.org"))
    }
    await #expect(
      throws: SessionError.requestFailed(
        .configuration(.init(status: 200, error: "invalid_scope", detail: "the server grants less than was requested"))
      )
    ) { try await fixture.controller.token(for: TokenTarget(scopes: ["mail", "admin"])) }
    #expect(try await fixture.controller.token(for: TokenTarget(scopes: ["mail"])) == AccessToken("mail3"))
    #expect(try await fixture.controller.token() == AccessToken("a1"))
  }
}

/// A server's client that is suspended for a minute.
private struct LateBackend: Backend {
  let clock: ManualClock
  /// Whether it was too late to send, before and after.
  let seen = Locked<[Bool]>([])
  let abilities = BackendAbilities(supportsRotationKeys: false)

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    for _ in 0..<2 {
      do throws(RequestError) {
        try request.sendingTime?.check()
        seen.withLock { $0.append(false) }
      } catch { seen.withLock { $0.append(true) } }
      clock.advance(by: .seconds(60))
    }
    return .rejected(.rejected)
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult { .ended }
}
