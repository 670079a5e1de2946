import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A backend for an ordinary JSON API` {
  // MARK: The port

  @Test(arguments: [nil, .never, .overlap(.seconds(30)), .predecessor, .notRotated] as [RefreshTokenReuse?])
  func `keeps the promises of a backend, whatever the server does with a replaced token`(
    _ reuse: RefreshTokenReuse?
  ) async throws {
    try await checkBackend(over: Shop(reuse)) {
      shopBackend($0, reuse: reuse)
    } signIn: {
      try await $0.signIn("ada", Secret("correct horse"))
    }
  }

  @Test(arguments: [.never, .notRotated] as [RefreshTokenReuse])
  func `keeps them with a type of the app, and tokens in the header`(_ reuse: RefreshTokenReuse) async throws {
    try await checkBackend(over: Shop(reuse)) {
      typedBackend($0, reuse: reuse)
    } signIn: {
      try await $0.signIn("ada", Secret("correct horse"))
    }
  }

  @Test func `keeps them over HTTP`() async throws {
    let shop = Shop(.never)
    let server = try LoopbackServer { connection in
      let response = shop.answer(connection.path, connection.header("Authorization"), connection.body())
      connection.answer(response.status, String(decoding: response.body, as: UTF8.self))
    }
    try await checkBackend(over: URLSessionTransport()) {
      shopBackend($0, url: try #require(URL(string: server.url)), reuse: .never)
    } signIn: {
      try await $0.signIn("ada", Secret("correct horse"))
    }
  }

  @Test(arguments: Garbage.responses.map(\.name))
  func `takes garbage for no decision`(_ name: String) async throws {
    let answer = try #require(Garbage.responses.first { $0.name == name }).response
    let result = await shopBackend(StubTransport { _ in answer }).refresh(RefreshToken("r1"), key: .drawn())
    guard case .noDecision = result else { throw ConformanceError("garbage decides nothing", found: "\(result)") }
  }

  // MARK: The end of a session

  @Test(
    arguments: [
      (401, over, nil), (403, closed, nil),
      // The code with another status, and the status with another code.
      (403, over, .signIn), (401, closed, .signIn), (400, over, .signIn), (404, over, .retry(after: nil)),
      (401, #"{"error":{"code":"token_expired"}}"#, .signIn), (200, over, .fixConfiguration),
      (408, over, .retry(after: nil)), (429, over, .retry(after: nil)), (500, over, .retry(after: nil)),
      // No code, or not in its place.
      (401, "", .retry(after: nil)), (401, "{}", .retry(after: nil)), (401, "[\(over)]", .retry(after: nil)),
      (401, #"{"error":"session_over"}"#, .retry(after: nil)), (401, "<p>session_over", .retry(after: nil)),
      (401, "session_over", .retry(after: nil)), (200, "<p>", .retry(after: nil)), (200, "{}", .fixConfiguration),
    ] as [(Int, String, Recovery?)])
  func `ends a session by status and code together; anything else keeps it, and says what helps`(
    _ status: Int, _ body: String, _ recovery: Recovery?
  ) async {
    let shop = StubTransport { _ in
      TransportResponse(status: status, headers: [HeaderField("Retry-After", "7")], body: Array(body.utf8))
    }
    let result = await shopBackend(shop).refresh(RefreshToken("r1"), key: .drawn())
    switch (result, recovery) {
    case (.rejected(let reason), nil):
      let expected: EndReason = status == 401 ? .expired : .accountClosed
      #expect(reason == expected)
    case (.noDecision(let failure, let retryAfter), let recovery?):
      let wait: Duration? = recovery == .fixConfiguration ? nil : .seconds(7)
      #expect(failure.recovery == recovery)
      #expect(retryAfter == wait)
    default: Issue.record("\(result)")
    }
  }

  @Test(
    arguments: [
      (401, "{}", .signIn), (401, "", .signIn), (401, "<p>", .retry(after: nil)), (403, "{}", .retry(after: nil)),
      (500, "{}", .retry(after: nil)),
    ] as [(Int, String, Recovery)])
  func `ends no session of a server without codes, whose 401 offers the sign-in`(
    _ status: Int, _ body: String, _ recovery: Recovery
  ) async {
    let shop = StubTransport { _ in TransportResponse(status: status, body: Array(body.utf8)) }
    let result = await shopBackend(shop, ends: []).refresh(RefreshToken("r1"), key: .drawn())
    guard case .noDecision(let failure, _) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(failure.recovery == recovery)
  }

  // MARK: Tokens

  @Test(
    arguments: [
      (#"{"data":{"renewal":"r2"}}"#, "r2"), (#"{"data":{"token":"a b","renewal":"r2"}}"#, "r2"),
      (#"{"data":{"token":7,"renewal":"r1"}}"#, nil), (#"{"data":{"token":"a","renewal":"\u0007"}}"#, nil),
      (#"{"data":null}"#, nil),
    ] as [(String, String?)])
  func `keeps the successor in a response without a usable access token`(
    _ body: String, _ successor: String?
  ) async {
    let shop = StubTransport { _ in TransportResponse(status: 200, body: Array(body.utf8)) }
    let result = await shopBackend(shop).refresh(RefreshToken("r1"), key: .drawn())
    guard case .noDecision(.unusableTokens(_, let found), _) = result else {
      Issue.record("\(result)")
      return
    }
    let expected: RefreshToken? = successor.map { RefreshToken($0) }
    #expect(found == expected)
  }

  @Test func `reads tokens beside a text that is no UTF-8, and says which member of a type is missing`() async throws {
    let latin = Array(#"{"data":{"token":"a1","renewal":"r2"},"user":{"name":""#.utf8) + [0xFC] + Array(#""}}"#.utf8)
    let shop = StubTransport { _ in TransportResponse(status: 200, body: latin) }
    let tokens = try await shopBackend(shop).refresh(RefreshToken("r1"), key: .drawn()).get().tokens
    #expect(tokens == TokenSet(access: AccessToken("a1"), refresh: RefreshToken("r2")))
    let typed = await typedBackend(shop).refresh(RefreshToken("r1"), key: .drawn())
    guard case .noDecision(.unusableTokens(let reason, _), _) = typed else {
      Issue.record("\(typed)")
      return
    }
    #expect(reason.contains("data.seconds"))
  }

  /// 08:49:37 by the server's clock.
  @Test(
    arguments: [
      (#""seconds":600"#, true, 600), (#""seconds":"600""#, false, 600), (#""seconds":0"#, true, nil),
      (#""seconds":true"#, true, nil), (#""until":"1994-11-06T08:59:37Z""#, true, 600),
      (#""until":"1994-11-06T09:59:37+01:00""#, true, 600), (#""until":"1994-11-06T08:59:37.500Z""#, true, 600.5),
      (#""until":784112377"#, true, 600), (#""until":784112377000"#, true, 600),
      (#""until":"1994-11-06T08:59:37Z""#, false, nil), (#""until":"1994-11-06T08:49:37Z""#, true, nil),
      (#""until":"soon""#, true, nil), (#""seconds":60,"until":784112377"#, true, 60), (#""x":1"#, true, nil),
    ] as [(String, Bool, Double?)])
  func `gives a token the lifetime that the server names, in seconds or by its own clock`(
    _ member: String, _ hasDate: Bool, _ seconds: Double?
  ) async throws {
    let body = #"{"data":{"token":"a1","renewal":"r2",\#(member)}}"#
    let date = hasDate ? [HeaderField("Date", "Sun, 06 Nov 1994 08:49:37 GMT")] : []
    let shop = StubTransport { _ in TransportResponse(status: 200, headers: date, body: Array(body.utf8)) }
    let answer = try await shopBackend(shop).refresh(RefreshToken("r1"), key: .drawn()).get()
    let expected: Duration? = seconds.map { .seconds($0) }
    #expect(answer.tokens.expiresIn == expected)
  }

  // MARK: Requests

  @Test func `presents a refresh token once, over a connection of its own, and waits as long as the session`() async {
    let shop = StubTransport { _ throws(TransportError) in throw .timedOut }
    #expect(
      await shopBackend(shop).refresh(RefreshToken("r1"), key: .drawn()) == .noDecision(.network(.timedOut)))
    #expect(await typedBackend(shop).refresh(RefreshToken("r1"), key: .drawn()) == .noDecision(.network(.timedOut)))
    let requests = await shop.requests()
    #expect(requests.allSatisfy { !$0.mayReuseConnection && $0.timeout > RefreshPolicy().responseTimeout })
    #expect(requests.map(\.url) == Array(repeating: "\(base)/refresh", count: 2))
    #expect(requests.map { String(decoding: $0.body, as: UTF8.self) } == [#"{"renewal":"r1"}"#, "{}"])
    #expect(requests.map { $0.headers.first(named: "Authorization") ?? "-" } == ["-", "Bearer r1"])
    #expect(requests.map { $0.headers.first(named: "X-Key") ?? "-" } == ["-", "k1"])
    // The program was suspended, and another may have presented the token meanwhile.
    var request = RefreshRequest(token: RefreshToken("r1"), key: .drawn())
    request.sendingTime = SendingTime { true }
    let late = await shopBackend(shop).refresh(request)
    guard case .noDecision(.network(.notConnected), _) = late else {
      Issue.record("\(late)")
      return
    }
    #expect(await shop.requests().count == 2)
  }

  @Test func `takes its turn before a sign-in, and gives it back if the server refuses`() async throws {
    let order = Locked<[String]>([])
    let shop = StubTransport { _ in
      order.withLock { $0.append("request") }
      return TransportResponse(status: 401, body: Array(#"{"error":{"code":"BAD_LOGIN"}}"#.utf8))
    }
    let turn = SignInTurn(by: nil) { () throws(VaultError) in
      order.withLock { $0.append("taken") }
      return { order.withLock { $0.append("given back") } }
    }
    let backend = shopBackend(shop)
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) {
      try await SignInTurn.$current.withValue(turn) { try await backend.signIn("ada@example.org", Secret("p")) }
    }
    #expect(order.withLock { $0 } == ["taken", "request", "given back"])
    #expect(turn.claim == SignInClaim(.password, as: "ada@example.org"))
  }

  @Test(
    arguments: [
      (401, "{}", .refused(code: "wrong_credentials", detail: nil)),
      (403, #"{"error":{"code":"locked"}}"#, .refused(code: "locked", detail: nil)),
      (200, #"{"error":{"code":"locked"}}"#, .refused(code: "locked", detail: nil)),
      (401, "<p>", .requestFailed(.server(.init(status: 401)))),
      (200, "<p>", .requestFailed(.server(.init(status: 200)))),
      (503, #"{"error":{"code":"locked"}}"#, .requestFailed(.server(.init(status: 503, error: "locked")))),
      (200, #"{"data":{"token":"a1"}}"#, .invalidResponse("the sign-in response has no refresh token")),
      (200, #"{"data":{"renewal":"r1"}}"#, .invalidResponse("there is no access token")),
    ] as [(Int, String, SessionError)])
  func `says why a sign-in failed`(_ status: Int, _ body: String, _ error: SessionError) async {
    let backend = shopBackend(StubTransport { _ in TransportResponse(status: status, body: Array(body.utf8)) })
    await #expect(throws: error) { try await backend.signIn("ada", Secret("p")) }
  }

  @Test(
    arguments: [
      (204, "", .ended), (200, #"{"ok":true}"#, .ended), (200, "bye", .ended), (401, over, .ended),
      (200, "<p>", .noDecision(.server(.init(status: 200)))), (302, "", .noDecision(.server(.init(status: 302)))),
      (500, over, .noDecision(.server(.init(status: 500, error: "session_over")))),
    ] as [(Int, String, RevocationResult)])
  func `takes a sign-out for done when the server says so`(
    _ status: Int, _ body: String, _ result: RevocationResult
  ) async {
    let backend = shopBackend(StubTransport { _ in TransportResponse(status: status, body: Array(body.utf8)) })
    #expect(await backend.revoke(RevocationHandle("r1")) == result)
  }

  // MARK: The session

  @MainActor @Test(arguments: [false, true])
  func `signs in by name and password, refreshes and signs out`(isTyped: Bool) async throws {
    struct Me: Decodable { let name: String }
    let (shop, log) = (Shop(.never), ListAuditLog())
    let session = SessionManager(
      backend: isTyped ? typedBackend(shop) : shopBackend(shop), vault: MemoryVault(), baseURL: base, transport: shop,
      policy: eager, audit: log
    ) { _ in }
    #expect(session.offer == SignInOffer(identifier: .either, accounts: false, browser: false))
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) { @MainActor in
      try await session.signIn(email: "ada", password: "wrong horse")
    }
    try await session.signIn(email: "ada", password: "correct horse")
    #expect(session.currentUser == Profile(id: AccountID("7"), name: "Ada"))
    shop.expireAccessTokens()
    let me: Me = try await session.api.get("/me")
    #expect(me.name == "Ada")
    // The response to the refresh names the account by its ID alone.
    #expect(session.currentUser == Profile(id: AccountID("7"), name: "Ada"))
    #expect(shop.paths == ["/login", "/login", "/me", "/refresh", "/me"])
    await session.signOut()
    #expect(await session.controller.waitForRevocations(timeout: .seconds(600)))
    let ending = isTyped ? ["/refresh", "/logout"] : ["/logout"]
    #expect(Array(shop.paths.dropFirst(5)) == ending)
    #expect(shop.sessions == 0)
    await session.controller.flushAuditLog()
    #expect(log.signIns == ["password wrong_credentials -", "password ok 7"])
  }

  // MARK: What the check finds

  @Test func `is found out by the check if it takes every 401 for an end`() async throws {
    let thrown = await broken { shopBackend(Misreading(base: $0) { $0.status == 401 }) }
    #expect(thrown?.promise == "garbage decides nothing")
    #expect(thrown?.found.hasPrefix("a login page's 401") == true)
  }

  @Test func `is found out by the check if the code alone ends a session`() async throws {
    let thrown = await broken {
      shopBackend(Misreading(base: $0) { String(decoding: $0.body, as: UTF8.self).contains("session_over") })
    }
    #expect(thrown?.promise == "only the whole refusal ends a session")
    #expect(thrown?.found.hasPrefix("its words in a 500") == true)
  }

  @Test func `is found out by the check if the server does not accept what is declared`() async throws {
    let thrown = await broken { shopBackend($0, reuse: .overlap(.seconds(30))) }
    #expect(thrown?.promise == "a token is accepted again as the declared reuse says")
  }

  /// The first promise that a backend breaks at a server that accepts no replaced token.
  private func broken(_ make: @escaping @Sendable (any Transport) -> JSONBackend) async -> ConformanceError? {
    await #expect(throws: ConformanceError.self) {
      try await checkBackend(over: Shop(.never)) {
        make($0)
      } signIn: {
        try await $0.signIn("ada", Secret("correct horse"))
      }
    }
  }
}

private let over = #"{"error":{"code":"session_over"}}"#
private let closed = #"{"error":{"code":"account_closed"}}"#

private func shopBackend(
  _ transport: any Transport, url: URL = base,
  ends: [(status: Int, code: String, reason: EndReason)] = [
    (401, "session_over", .expired), (403, "account_closed", .accountClosed),
  ], reuse: RefreshTokenReuse? = nil
) -> JSONBackend {
  JSONBackend(
    url, nameField: "login", passwordField: "secret", tokenField: "renewal", access: "data.token",
    refresh: "data.renewal", expiresIn: "data.seconds", expiresAt: "data.until", userID: "user.id",
    userName: "user.name", codeField: "error.code", ends: ends, signInCodes: ["BAD_LOGIN": "wrong_credentials"],
    reuse: reuse, transport: transport)
}

/// The same API with a type, where the tokens are sent in the header, and a sign-out needs an access token.
private struct Login: Decodable, Sendable {
  struct Tokens: Decodable, Sendable {
    var token: String
    var renewal: String?
    var seconds: Int
  }
  struct User: Decodable, Sendable {
    var id: Int
    var name: String?
  }
  var data: Tokens
  var user: User
}

private func typedBackend(_ transport: any Transport, reuse: RefreshTokenReuse? = nil) -> JSONBackend {
  JSONBackend(
    base, nameField: "login", passwordField: "secret", tokenField: nil, codeField: "error.code",
    ends: [(401, "session_over", .expired)], signInCodes: ["BAD_LOGIN": "wrong_credentials"], reuse: reuse,
    signsOutByAccessToken: true, headers: [HeaderField("X-Key", "k1")], transport: transport, decoding: Login.self
  ) { login, _ in
    TokenResponse(
      tokens: TokenSet(
        access: AccessToken(login.data.token), expiresIn: .seconds(login.data.seconds),
        refresh: login.data.renewal.map { RefreshToken($0) }),
      profile: login.user.name.map { Profile(id: AccountID(String(login.user.id)), name: $0) })
  }
}

/// An API with `/login`, `/refresh` and `/logout`. Unless it accepts a replaced refresh token, presenting one ends the session.
private final class Shop: Transport {
  private struct Tokens: Sendable {
    var access: String
    var refresh: String
    var previous: String?
  }
  private struct Content: Sendable {
    var count = 0
    var sessions: [Int: Tokens] = [:]
    var paths: [String] = []
  }
  private let content = Locked(Content())
  private let rotates: Bool
  private let acceptsPrevious: Bool

  init(_ reuse: RefreshTokenReuse?) {
    rotates = reuse != .notRotated
    switch reuse {
    case .overlap?, .predecessor?: acceptsPrevious = true
    case .notRotated?, .never?, nil: acceptsPrevious = false
    }
  }

  var paths: [String] { content.withLock { $0.paths } }
  var sessions: Int { content.withLock { $0.sessions.count } }
  func expireAccessTokens() {
    content.withLock { content in
      for id in content.sessions.keys { content.sessions[id]?.access = "" }
    }
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    answer(URLComponents(string: request.url)?.path ?? "", request.headers.first(named: "Authorization"), request.body)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .connectionLost("streams are not supported")
  }

  func answer(_ path: String, _ authorization: String?, _ body: [UInt8]) -> TransportResponse {
    let path = "/\(path.split(separator: "/").last ?? "")"
    let bearer = authorization.map { String($0.dropFirst("Bearer ".count)) }
    let fields = (try? JSONDecoder().decode([String: String].self, from: Data(body))) ?? [:]
    return content.withLock { content in
      content.paths.append(path)
      let token = fields["renewal"] ?? bearer
      let current = content.sessions.first { $0.value.refresh == token }?.key
      let previous = content.sessions.first { token != nil && $0.value.previous == token }?.key
      let owner = content.sessions.first { $0.value.access == bearer }?.key
      switch path {
      case "/login":
        guard fields["login"] == "ada", fields["secret"] == "correct horse" else {
          return json(401, #"{"error":{"code":"BAD_LOGIN"}}"#)
        }
        content.count += 1
        return issue(&content, to: content.count, user: #"{"id":7,"name":"Ada"}"#)
      case "/refresh":
        if let id = current ?? (acceptsPrevious ? previous : nil) {
          return issue(&content, to: id, after: token, user: #"{"id":7}"#)
        }
        if let previous { content.sessions[previous] = nil }
        return json(401, over)
      case "/logout":
        guard let id = owner ?? current else { return json(401, over) }
        content.sessions[id] = nil
        return TransportResponse(status: 204)
      default:
        return owner == nil ? json(401, #"{"error":{"code":"token_expired"}}"#) : json(200, #"{"name":"Ada"}"#)
      }
    }
  }

  private func issue(
    _ content: inout Content, to id: Int, after previous: String? = nil, user: String
  ) -> TransportResponse {
    content.count += 1
    let refresh = rotates ? "r\(content.count)" : previous ?? "r\(content.count)"
    content.sessions[id] = Tokens(access: "a\(content.count)", refresh: refresh, previous: rotates ? previous : nil)
    let renewal = refresh == previous ? "" : #""renewal":"\#(refresh)","#
    return json(200, #"{"data":{"token":"a\#(content.count)",\#(renewal)"seconds":600},"user":\#(user)}"#)
  }

  private func json(_ status: Int, _ text: String) -> TransportResponse {
    TransportResponse(status: status, body: Array(text.utf8))
  }
}

/// Takes other responses for the server's word that a session has ended.
private struct Misreading: Transport {
  let base: any Transport
  let isEnd: @Sendable (TransportResponse) -> Bool

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let response = try await base.send(request)
    return isEnd(response) ? TransportResponse(status: 401, body: Array(over.utf8)) : response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}
