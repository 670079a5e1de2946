import Foundation
import Handstamp
import HandstampCookies
import HandstampSupport
import HandstampTesting
import Testing

/// A forum that identifies users by a cookie. The test sets its responses.
final class SmallForum: Transport {
  private struct Content: Sendable {
    var requests: [TransportRequest] = []
    var sessions: Set<String> = []
    var last = 0
    var next: [(TransportResponse, Gate?)] = []
    var isDown = false
  }
  private let content = Locked(Content())

  static let base = "https://forum.example.org/"

  var requests: [TransportRequest] { content.withLock { $0.requests } }
  var sessions: Set<String> { content.withLock { $0.sessions } }
  func forgetEverybody() { content.withLock { $0.sessions = [] } }
  func goDown(_ isDown: Bool) { content.withLock { $0.isDown = isDown } }
  /// Sets the response to the next request.
  func answer(_ response: TransportResponse, behind gate: Gate? = nil) {
    content.withLock { $0.next.append((response, gate)) }
  }
  /// Replaces all sessions.
  func replace(by session: String) { content.withLock { $0.sessions = [session] } }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .connectionLost("no streams")
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let next = content.withLock { content -> (TransportResponse, Gate?)? in
      content.requests.append(request)
      if content.isDown { return nil }
      if !content.next.isEmpty { return content.next.removeFirst() }
      return (SmallForum.page(request, &content), nil)
    }
    guard let (response, gate) = next else { throw .connectionLost("down") }
    await gate?.wait()
    return response
  }

  private static func page(_ request: TransportRequest, _ content: inout Content) -> TransportResponse {
    let path = WebAddress(request.url)?.path ?? ""
    let cookie = request.headers.first(named: "Cookie") ?? ""
    let sent = content.sessions.first { cookie.contains("bbuserid=\($0)") }
    let body = String(decoding: request.body, as: UTF8.self)
    switch path {
    case "/account.php" where request.method == "POST":
      guard body.contains("password=right") else { return .page("wrong") }
      content.last += 1
      let session = "u\(content.last)"
      content.sessions.insert(session)
      return .page(
        "", status: 302,
        [
          ("Location", "/index.php"),
          ("Set-Cookie", "bbuserid=\(session); Max-Age=31536000; path=/; HttpOnly"),
          ("Set-Cookie", "bbstyle=2; expires=Wed, 09-Jun-2041 10:18:14 GMT; path=/"),
        ])
    case "/logout.php":
      if let sent { content.sessions.remove(sent) }
      return .page("bye", [("Set-Cookie", "bbuserid=deleted; Max-Age=0; path=/")])
    default:
      guard let sent else {
        return .page("guest", cookie.isEmpty ? [] : [("Set-Cookie", "bbuserid=deleted; Max-Age=0; path=/")])
      }
      return .page("hello \(sent)")
    }
  }
}

extension TransportResponse {
  static func page(_ text: String, status: Int = 200, _ headers: [(String, String)] = []) -> TransportResponse {
    TransportResponse(status: status, headers: headers.map { HeaderField($0.0, $0.1) }, body: Array(text.utf8))
  }
  static func page(_ text: String, _ headers: [(String, String)]) -> TransportResponse {
    page(text, status: 200, headers)
  }
  var text: String { String(decoding: body, as: UTF8.self) }
}

extension CookieSite {
  static let small = CookieSite(
    baseURL: URL(string: SmallForum.base)!, loginCookie: "bbuserid", signInPath: "account.php",
    form: { name, password in
      WebForm([.init("username", name), .init("password", password)], charset: .windows1252)
    },
    recognize: { page in
      if page.text.hasPrefix("hello ") {
        return .success(Profile(id: AccountID(String(page.text.dropFirst(6))), name: "Ada"))
      }
      if page.text == "wrong" { return .refused(code: "wrong_credentials", detail: nil) }
      if page.text == "closed" { return .unavailable }
      return .unknown
    },
    signOut: { _ in TransportRequest(method: "GET", url: SmallForum.base + "logout.php") })
}

@Suite(.timeLimit(.minutes(10))) struct `A session on a cookie` {
  private let clock = ManualClock()
  private let forum = SmallForum()
  private var backend: CookieBackend { CookieBackend(.small, transport: forum, clock: clock) }

  private func controller(_ vault: any Vault = MemoryVault()) -> SessionController {
    SessionController(backend: backend, vault: vault, clock: clock)
  }

  private func client(_ controller: SessionController) throws -> APIClient {
    APIClient(
      baseURL: try #require(URL(string: SmallForum.base)), controller: controller, transport: forum,
      options: .init(retryPolicy: RetryPolicy(attempts: 1)))
  }

  private func get(_ path: String = "index.php") -> TransportRequest {
    TransportRequest(method: "GET", url: SmallForum.base + path)
  }

  private func signedIn(_ vault: any Vault = MemoryVault()) async throws -> (SessionController, APIClient) {
    let controller = controller(vault)
    try await controller.signIn { try await backend.signIn("ada", Secret("right")) }
    return (controller, try client(controller))
  }

  @Test func `begins with a form, follows two redirects, and sends their cookies from then on`() async throws {
    let (controller, client) = try await signedIn()
    let page = try await client.response(to: get())
    #expect(page.text == "hello u1")
    let last = try #require(forum.requests.last)
    #expect(last.headers.first(named: "Cookie") == "bbuserid=u1; bbstyle=2")
    #expect(last.headers.first(named: "Authorization") == nil)
    #expect(controller.authorizationHeader == nil)
    let credential = try await controller.credential()
    #expect(backend.isLoggedIn(credential))
    #expect(backend.loginCookieExpiryDate(credential) == clock.now().wall.advanced(by: .seconds(31_536_000)))
    guard case .signedIn(let facts) = controller.state else { throw TestFailure("not signed in") }
    #expect(facts.profile == Profile(id: AccountID("u1"), name: "Ada"))
  }

  @Test func `says in the turn that it takes that a form began it`() async throws {
    let turn = SignInTurn(by: nil) { () throws(VaultError) in nil }
    _ = try await SignInTurn.$current.withValue(turn) { try await backend.signIn("ada", Secret("right")) }
    #expect(turn.claim == SignInClaim(.form))
  }

  @Test func `is restored from the vault after a restart`() async throws {
    let vault = MemoryVault()
    _ = try await signedIn(vault)
    let page = try await client(controller(vault)).response(to: get())
    #expect(page.text == "hello u1")
  }

  @Test func `keeps nothing from a failed sign-in`() async throws {
    let vault = MemoryVault()
    let controller = controller(vault)
    func failure(_ password: String) async -> SessionError? {
      do {
        try await controller.signIn { try await backend.signIn("ada", Secret(password)) }
        return nil
      } catch { return error as? SessionError }
    }
    #expect(await failure("wrong") == .refused(code: "wrong_credentials", detail: nil))
    // Banned: the cookie arrives, the success page does not.
    forum.answer(.page("you are banned", [("Set-Cookie", "bbuserid=7; path=/")]))
    #expect(await failure("right") == .invalidResponse("an unknown page with status 200"))
    forum.answer(.page("closed"))
    #expect(await failure("right") == .requestFailed(.server(.init(status: 200))))
    forum.answer(.page("oops", status: 503))
    #expect(await failure("right") == .requestFailed(.server(.init(status: 503))))
    forum.answer(.page("hello u9"))
    #expect(await failure("right") == .invalidResponse("a successful sign-in without the cookie bbuserid"))
    forum.answer(.page("", status: 302, [("Location", "https://evil.example.com/")]))
    #expect(await failure("right") == .invalidResponse("the site redirects to another origin"))
    #expect(!forum.requests.contains { $0.url.contains("evil") })
    forum.goDown(true)
    #expect(await failure("right") == .requestFailed(.network(.connectionLost("down"))))
    #expect(await vault.read() == .absent)
  }

  @Test func `ends with a reason when the server deletes the cookie`() async throws {
    let vault = MemoryVault()
    let (controller, client) = try await signedIn(vault)
    forum.forgetEverybody()
    await #expect(throws: APIError.session(.sessionEnded(.rejected))) { try await client.response(to: get()) }
    #expect(controller.state == .signedOut(.rejected))
    guard case .value(let entry) = await vault.read() else { throw TestFailure("no tombstone") }
    #expect(entry.session == nil && entry.tombstones.last?.reason == .rejected)
  }

  private static let deletion = ("Set-Cookie", "bbuserid=deleted; Max-Age=0; path=/")

  @Test(arguments: [429, 500, 502, 503, 504]) func `survives a server in trouble that deletes the cookie`(
    status: Int
  ) async throws {
    let (controller, client) = try await signedIn()
    forum.answer(.page("sorry", status: status, [Self.deletion]))
    #expect(try await client.response(to: get()).status == status)
    #expect(try await client.response(to: get()).text == "hello u1")
    #expect(controller.state.isSignedIn)
    // Nor does it count as the delivery of a sign-out.
    let handle = RevocationHandle(try await controller.credential().secret)
    forum.answer(.page("sorry", status: status, [Self.deletion]))
    guard case .noDecision = await backend.revoke(handle) else { throw TestFailure("the sign-out is lost") }
  }

  @Test func `survives a redirect that deletes the cookie once, and ends by the second that says so`() async throws {
    let (controller, client) = try await signedIn()
    let toSignIn = TransportResponse.page("", status: 302, [("Location", "/account.php"), Self.deletion])
    forum.answer(toSignIn)
    #expect(try await client.response(to: get()).text == "hello u1")
    #expect(controller.state.isSignedIn)
    // The repetition is not proof if it meets a server in trouble, and is a page if the request must not be repeated.
    forum.answer(toSignIn)
    forum.answer(.page("sorry", status: 503, [Self.deletion]))
    #expect(try await client.response(to: get()).status == 503)
    let count = forum.requests.count
    forum.answer(toSignIn)
    let posted = try await client.response(to: TransportRequest(method: "POST", url: SmallForum.base + "newreply.php"))
    #expect(posted.status == 302)
    #expect(forum.requests.dropFirst(count).map(\.method) == ["POST", "GET"])
    #expect(controller.state.isSignedIn)
    forum.answer(toSignIn)
    forum.answer(toSignIn)
    await #expect(throws: APIError.session(.sessionEnded(.rejected))) { try await client.response(to: get()) }
    #expect(controller.state == .signedOut(.rejected))
  }

  @Test(arguments: [true, false]) func `survives a slow response to a cookie that has been replaced since`(
    isReplacedElsewhere: Bool
  ) async throws {
    let vault = MemoryVault()
    let (controller, client) = try await signedIn(vault)
    let other = isReplacedElsewhere ? try self.client(self.controller(vault)) : client
    if isReplacedElsewhere { _ = try await other.response(to: get()) }
    let gate = Gate()
    forum.answer(.page("guest", [Self.deletion]), behind: gate)
    let slow = Task { try await client.response(to: get()) }
    await gate.arrivals(1)
    forum.replace(by: "u1b")
    forum.answer(.page("hello", [("Set-Cookie", "bbuserid=u1b; Max-Age=31536000; path=/; HttpOnly")]))
    _ = try await other.response(to: get())
    gate.open()
    #expect(try await slow.value.text == "hello u1b")
    #expect(controller.state.isSignedIn)
    #expect(try await client.response(to: get()).text == "hello u1b")
  }

  @Test func `does not get a replaced cookie back from a slow response`() async throws {
    let (controller, client) = try await signedIn()
    let gate = Gate()
    let headers = [("Set-Cookie", "bbuserid=u1; Max-Age=31536000; path=/"), ("Set-Cookie", "seen=1; path=/")]
    forum.answer(.page("hello", headers), behind: gate)
    let slow = Task { try await client.response(to: get()) }
    await gate.arrivals(1)
    forum.replace(by: "u1b")
    forum.answer(.page("hello", [("Set-Cookie", "bbuserid=u1b; Max-Age=31536000; path=/; HttpOnly")]))
    _ = try await client.response(to: get())
    gate.open()
    _ = try await slow.value
    #expect(try await client.response(to: get()).text == "hello u1b")
    let sent = try #require(forum.requests.last?.headers.first(named: "Cookie"))
    #expect(sent.contains("seen=1") && controller.state.isSignedIn)
  }

  @Test func `survives every response that deletes no cookie`() async throws {
    let (controller, client) = try await signedIn()
    for status in [200, 302, 401, 403, 404, 429, 500, 503] {
      forum.answer(.page("garbage", status: status, [("Set-Cookie", "other=1; path=/, broken, =;;")]))
      _ = try? await client.response(to: get())
    }
    // A cookie of that name on another host is another cookie.
    forum.answer(.page("x", [("Set-Cookie", "bbuserid=; Max-Age=0; path=/admin")]))
    _ = try await client.response(to: get())
    #expect(try await client.response(to: get()).text == "hello u1")
    #expect(controller.state.isSignedIn)
  }

  @Test func `ends when the cookie expires, and not a tick before`() async throws {
    let (controller, client) = try await signedIn()
    clock.advance(by: .seconds(31_536_000) - .milliseconds(1))
    #expect(try await client.response(to: get()).text == "hello u1")
    clock.advance(by: .milliseconds(1))
    let count = forum.requests.count
    await #expect(throws: APIError.session(.signedOut(.expired))) { try await client.response(to: get()) }
    #expect(controller.state == .signedOut(.expired))
    // Only the sign-out request was sent.
    #expect(forum.requests.dropFirst(count).allSatisfy { $0.url.hasSuffix("logout.php") })
  }

  @Test func `keeps cookies changed by a response, also across a restart and under concurrency`() async throws {
    let vault = MemoryVault()
    let (session, client) = try await signedIn(vault)
    let reported = Locked<[RefreshEvent]>([])
    let reading = Task { for await event in session.refreshes() { reported.withLock { $0.append(event) } } }
    for number in 0..<8 {
      forum.answer(.page("hello", [("Set-Cookie", "c\(number)=\(number); path=/")]))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { _ = try await client.response(to: get()) } }
      try await group.waitForAll()
    }
    reading.cancel()
    await reading.value
    #expect(reported.withLock { $0.isEmpty }, "a replaced cookie is not a refresh by another process")
    _ = try await self.client(controller(vault)).response(to: get())
    let sent = try #require(forum.requests.last?.headers.first(named: "Cookie"))
    for number in 0..<8 { #expect(sent.contains("c\(number)=\(number)")) }
  }

  @Test func `is signed out here at once, and at the server once it is reachable`() async throws {
    let (controller, _) = try await signedIn()
    forum.goDown(true)
    let report = await controller.signOut()
    #expect(report.storageError == nil)
    #expect(forum.sessions == ["u1"])
    // The next attempt is scheduled for later.
    await clock.sleepers(1)
    forum.goDown(false)
    await controller.retryPendingWork()
    #expect(await controller.waitForRevocations(timeout: .seconds(1_000_000)))
    #expect(forum.sessions == [])
  }

  @Test func `does not see another account's jar`() async throws {
    let (first, second) = (MemoryVault(), MemoryVault())
    let (ada, _) = try await signedIn(first)
    let (_, bob) = try await signedIn(second)
    await ada.signOut()
    // Otherwise the sign-out might reach the forum only after the next request.
    #expect(await ada.waitForRevocations(timeout: .seconds(1_000_000)))
    #expect(try await bob.response(to: get()).text == "hello u2")
    #expect(forum.requests.last?.headers.first(named: "Cookie")?.contains("u1") == false)
  }

  @Test @MainActor func `works with the same manager as any other session`() async throws {
    let manager = SessionManager<String>(
      backend: backend, vault: MemoryVault(), baseURL: try #require(URL(string: SmallForum.base)), transport: forum,
      clock: clock
    ) { client in
      try await client.response(to: TransportRequest(method: "GET", url: SmallForum.base + "index.php")).text
    }
    try await manager.signIn { try await backend.signIn("ada", Secret("right")) }
    #expect(manager.currentUser?.name == "Ada")
    forum.forgetEverybody()
    manager.refreshContent()
    for await state in manager.states where state.isSignedOut { break }
    await manager.restoreSession()
    await manager.signOut()
    #expect(!manager.isAuthenticated)
  }

  @Test func `offers no access token, no bearer header and no stream`() async throws {
    let (controller, _) = try await signedIn()
    await #expect(throws: SessionError.unsupported("an access token (the session uses cookies)")) {
      try await controller.token()
    }
    #expect(controller.authorizationHeader == nil)
  }

  @Test func `does not ask for the user's presence for an access token that it does not have`() async throws {
    let person = ScriptedPresence()
    let lock = PresenceLock(person, policy: .perUse, reason: "to read", clock: clock)
    let controller = SessionController(backend: backend, vault: MemoryVault(), clock: clock, presence: lock)
    try await controller.signIn { try await backend.signIn("ada", Secret("right")) }
    let missing = SessionError.unsupported("an access token (the session uses cookies)")
    await #expect(throws: missing) { try await controller.token() }
    await #expect(throws: missing) { try await controller.token(replacing: AccessToken("a1")) }
    #expect(person.reasons.isEmpty)
    _ = try await controller.credential()
    #expect(person.reasons == ["to read"])
  }
}

struct TestFailure: Error {
  init(_ text: String) { self.text = text }
  let text: String
}

extension SessionState {
  var isSignedIn: Bool { if case .signedIn = self { true } else { false } }
  var isSignedOut: Bool { if case .signedOut = self { true } else { false } }
}
