import Foundation
import Handstamp
import HandstampCookies
import HandstampSupport
import HandstampTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

private func cookie(
  _ name: String, _ value: String, _ domain: String, path: String = "/", expires: UnixTime? = nil,
  isSecure: Bool = false
) throws -> HTTPCookie {
  var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path]
  if let expires { properties[.expires] = expires.date }
  if isSecure { properties[.secure] = "TRUE" }
  return try #require(HTTPCookie(properties: properties))
}

@Suite(.timeLimit(.minutes(10))) struct `A jar of the system's cookies` {
  private let url = "https://forum.example.org/"

  private func sent(_ jar: CookieJar, to url: String) -> String? {
    jar.header(for: url, at: UnixTime(seconds: 1_800_000_000))?.withExposed { $0 }
  }

  @Test func `sends each where the system would`() throws {
    let jar = CookieJar([
      try cookie("host", "1", "forum.example.org"), try cookie("domain", "2", ".example.org"),
      try cookie("deep", "3", "forum.example.org", path: "/private"),
      try cookie("secure", "4", "forum.example.org", isSecure: true),
      try cookie("over", "5", "forum.example.org", expires: UnixTime(seconds: 1_799_999_999)),
    ])
    #expect(sent(jar, to: url) == "host=1; domain=2; secure=4")
    #expect(sent(jar, to: url + "private/1") == "deep=3; host=1; domain=2; secure=4")
    #expect(sent(jar, to: "http://forum.example.org/") == "host=1; domain=2")
    #expect(sent(jar, to: "https://other.example.org/") == "domain=2")
    #expect(CookieJar(jar.text) == jar)
  }

  @Test func `has the later one of two in one place, and none that no request can carry`() throws {
    let jar = CookieJar([
      try cookie("a", "1", "forum.example.org"), try cookie("b", "x; c=1", "forum.example.org"),
      try cookie("d", String(repeating: "x", count: 5000), "forum.example.org"),
      try cookie("a", "2", "forum.example.org"),
    ])
    #expect(sent(jar, to: url) == "a=2")
  }

  @Test func `has no more than the limit`() throws {
    let jar = CookieJar(try (0..<200).map { try cookie("c\($0)", "1", "forum.example.org") })
    #expect(jar.cookies.count == CookieJar.countLimit && jar.cookies.first?.name == "c0")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A session in the system's cookie storage` {
  private let clock = ManualClock()
  private let forum = SmallForum()
  private let vault = MemoryVault()
  /// Each test has a domain of its own, because the process has one storage.
  private let domain = "\(UUID().uuidString.lowercased()).example"
  private var host: String { "forum." + domain }
  private var year: UnixTime { clock.now().wall.advanced(by: .seconds(31_536_000)) }

  private var backend: CookieBackend {
    var site = CookieSite.small
    let base = "https://\(host)/"
    site.baseURL = URL(string: base) ?? site.baseURL
    site.isSignedOut = { $0 == "0" }
    site.signOut = { _ in TransportRequest(method: "GET", url: base + "logout.php") }
    return CookieBackend(site, transport: forum, clock: clock)
  }

  private func controller(movesIn: Bool = true) -> SessionController {
    let backend = backend
    let earlier = EarlierPlace.tokens {
      backend.earlierSession()
    } remove: {
      backend.removeEarlierSession()
    }
    return SessionController(backend: backend, vault: vault, earlier: movesIn ? [earlier] : [], clock: clock)
  }

  private func page(_ controller: SessionController) async throws -> String {
    let client = APIClient(
      baseURL: backend.site.baseURL, controller: controller, transport: forum,
      options: .init(retryPolicy: RetryPolicy(attempts: 1)))
    return try await client.response(to: TransportRequest(method: "GET", url: "https://\(host)/index.php")).text
  }

  private func set(_ name: String, _ value: String, at place: String, expires: UnixTime? = nil) throws {
    HTTPCookieStorage.shared.setCookie(try cookie(name, value, place, expires: expires))
  }

  /// The names of this test's cookies.
  private var left: [String] {
    (HTTPCookieStorage.shared.cookies ?? []).filter { $0.domain.hasSuffix(domain) }.map(\.name).sorted()
  }

  private func clear() {
    for cookie in HTTPCookieStorage.shared.cookies ?? [] where cookie.domain.hasSuffix(domain) {
      HTTPCookieStorage.shared.deleteCookie(cookie)
    }
  }

  @Test(arguments: [false, true])
  func `moves into the vault, and leaves nothing behind`(isForDomain: Bool) async throws {
    defer { clear() }
    forum.replace(by: "u7")
    try set("bbuserid", "u7", at: isForDomain ? "." + domain : host, expires: year)
    try set("bbstyle", "2", at: host, expires: year)
    try set("foreign", "1", at: "other." + domain, expires: year)
    let session = controller()
    #expect(try await page(session) == "hello u7")
    let sent = try #require(forum.requests.last?.headers.first(named: "Cookie"))
    #expect(Set(sent.components(separatedBy: "; ")) == ["bbuserid=u7", "bbstyle=2"])
    #expect(backend.loginCookieExpiryDate(try await session.credential()) == year)
    #expect(left == ["foreign"])
    // The next launch, with the line and without it.
    #expect(try await page(controller()) == "hello u7")
    #expect(try await page(controller(movesIn: false)) == "hello u7")
  }

  @Test func `is signed out at the server, too`() async throws {
    defer { clear() }
    forum.replace(by: "u7")
    try set("bbuserid", "u7", at: host, expires: year)
    let session = controller()
    #expect(try await page(session) == "hello u7")
    await session.signOut()
    #expect(await session.waitForRevocations(timeout: .seconds(1_000_000)))
    #expect(forum.sessions.isEmpty && left.isEmpty)
    await #expect(throws: APIError.session(.signedOut(.signedOut))) { try await page(controller()) }
  }

  @Test func `is none without the login cookie, with a guest's, or with one that has expired`() throws {
    defer { clear() }
    #expect(backend.earlierSession() == nil)
    try set("bbstyle", "2", at: host, expires: year)
    try set("bbuserid", "u7", at: "other." + domain, expires: year)
    #expect(backend.earlierSession() == nil)
    try set("bbuserid", "0", at: host, expires: year)
    #expect(backend.earlierSession() == nil)
    try set("bbuserid", "u7", at: host, expires: year)
    #expect(backend.earlierSession() != nil)
    clock.advance(by: .seconds(31_536_000))
    #expect(backend.earlierSession() == nil)
  }

  @Test func `is the same one however often it is read`() throws {
    defer { clear() }
    try set("bbuserid", "u7", at: host, expires: year)
    let first = backend.earlierSession()
    clock.advance(by: .seconds(60))
    #expect(first != nil && backend.earlierSession() == first)
  }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `An app at a site with cookies` {
  private let clock = ManualClock()
  private let forum = SmallForum()
  private let vault = MemoryVault()
  private let index = TransportRequest(method: "GET", url: SmallForum.base + "index.php")

  private func session() throws -> SessionManager<Void> {
    SessionManager(
      backend: CookieBackend(.small, transport: forum, clock: clock), vault: vault,
      baseURL: try #require(URL(string: SmallForum.base)), transport: forum, clock: clock)
  }

  @Test func `reads the cookie's expiry without waiting`() async throws {
    let session = try session()
    #expect(session.cookieExpiry == nil)
    try await session.signIn(email: "ada", password: "right")
    #expect(session.isAuthenticated && session.cookieExpiry == clock.now().wall.advanced(by: .seconds(31_536_000)))
    clock.advance(by: .seconds(86_400 * 30))
    forum.answer(.page("hello", [("Set-Cookie", "bbuserid=u1; Max-Age=31536000; path=/; HttpOnly")]))
    _ = try await session.api.response(to: index)
    #expect(session.cookieExpiry == clock.now().wall.advanced(by: .seconds(31_536_000)))
    await session.signOut()
    #expect(session.cookieExpiry == nil)
  }

  /// There is nothing to save when the app enters the background.
  @Test func `has stored what a response changed before it sees the response`() async throws {
    let session = try session()
    try await session.signIn(email: "ada", password: "right")
    forum.answer(.page("hello", [("Set-Cookie", "bbuserid=u1b; Max-Age=31536000; path=/; HttpOnly")]))
    _ = try await session.api.response(to: index)
    guard case .value(let entry) = await vault.read(), let credential = entry.session?.access?.credential else {
      throw TestFailure("nothing is stored")
    }
    let stored = CookieJar(credential)?.cookie("bbuserid", for: SmallForum.base, at: clock.now().wall)
    #expect(stored?.value == Secret("u1b"))
  }

  @Test func `sets the cookies on a request of its own, for the site alone and without a copy`() async throws {
    let session = try session()
    try await session.signIn(email: "ada", password: "right")
    var request = URLRequest(url: try #require(URL(string: SmallForum.base + "avatar.png")))
    try await session.authorize(&request)
    #expect(request.value(forHTTPHeaderField: "Cookie") == "bbuserid=u1; bbstyle=2")
    #expect(request.value(forHTTPHeaderField: "Authorization") == nil && !request.httpShouldHandleCookies)
    var foreign = URLRequest(url: try #require(URL(string: "https://images.example.com/avatar.png")))
    try await session.authorize(&foreign)
    #expect(foreign.value(forHTTPHeaderField: "Cookie") == nil)
    clock.advance(by: .seconds(31_536_000))
    await #expect(throws: SessionError.signedOut(.expired)) { try await session.authorize(&request) }
  }

  @Test func `gets a profile for a session without one`() async throws {
    let session = try session()
    let jar = CookieJar([try cookie("bbuserid", "u1", "forum.example.org")])
    try await session.signIn { TokenResponse(tokens: TokenSet(cookies: jar.text)) }
    #expect(session.isAuthenticated && session.currentUser == nil)
    try await session.update(profile: Profile(id: AccountID("u1"), name: "Ada"))
    #expect(session.currentUser?.name == "Ada")
    // The cookie is still the one that the next response may replace.
    forum.replace(by: "u1")
    forum.answer(.page("hello", [("Set-Cookie", "seen=1; path=/")]))
    _ = try await session.api.response(to: index)
    _ = try await session.api.response(to: index)
    #expect(forum.requests.last?.headers.first(named: "Cookie") == "bbuserid=u1; seen=1")
    #expect(session.currentUser?.name == "Ada")
  }
}
