import Foundation
import Handstamp
import HandstampCookies
import HandstampSupport
import HandstampTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A web view's cookies. The test plays the site that is shown in it.
@MainActor private final class WebView: WebCookies {
  private(set) var all: [HTTPCookie] = []
  /// One for each change.
  let changes: AsyncStream<Void>
  private let report: AsyncStream<Void>.Continuation
  private var observer: (@MainActor () -> Void)?

  static let host = "forum.example.org"

  init() { (changes, report) = AsyncStream.makeStream(of: Void.self) }

  var isObserved: Bool { observer != nil }
  var count: Int { all.count }
  /// The cookies of the site.
  var values: [String: String] {
    Dictionary(all.filter { $0.domain == WebView.host }.map { ($0.name, $0.value) }) { $1 }
  }

  /// The site sets a cookie.
  ///
  /// - Parameter isSilent: WebKit has not reported it yet.
  func set(
    _ name: String, _ value: String, by host: String = WebView.host, expires: UnixTime? = nil, isSilent: Bool = true
  ) throws {
    var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: host, .path: "/"]
    if let expires { properties[.expires] = expires.date }
    put(try #require(HTTPCookie(properties: properties)), isSilent: isSilent)
  }

  /// The site removes a cookie.
  func remove(_ name: String, isSilent: Bool = true) {
    all.removeAll { $0.name == name }
    tell(isSilent)
  }

  private func put(_ cookie: HTTPCookie, isSilent: Bool = false) {
    all.removeAll { LentCookie($0).isSamePlace(as: LentCookie(cookie)) }
    all.append(cookie)
    tell(isSilent)
  }

  private func tell(_ isSilent: Bool) {
    report.yield()
    if !isSilent { observer?() }
  }

  /// Waits until the web view has these cookies of the site.
  func shows(_ wanted: [String: String]) async {
    if values == wanted { return }
    for await _ in changes where values == wanted { return }
  }

  // MARK: Of the session

  func cookies() async -> [LentCookie] { all.map { LentCookie($0) } }
  func set(_ cookie: LentCookie) async { if let cookie = cookie.httpCookie { put(cookie) } }
  func remove(_ cookie: LentCookie) async {
    all.removeAll { LentCookie($0).isSamePlace(as: cookie) }
    tell(false)
  }
  func observe(_ changed: (@MainActor () -> Void)?) { observer = changed }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `Cookies that are lent to a web view` {
  private let clock = ManualClock()
  private let forum = SmallForum()
  private let vault = MemoryVault()
  private let web = WebView()
  private let index = TransportRequest(method: "GET", url: SmallForum.base + "index.php")

  private func session(cleanups: [CleanupStep] = []) throws -> SessionManager<Void> {
    SessionManager(
      backend: CookieBackend(.small, transport: forum, clock: clock), vault: vault,
      baseURL: try #require(URL(string: SmallForum.base)), transport: forum, clock: clock, cleanups: cleanups,
      apiOptions: .init(retryPolicy: RetryPolicy(attempts: 1)))
  }

  /// A session whose cookies are lent to the web view.
  private func lending(cleanups: [CleanupStep] = []) async throws -> SessionManager<Void> {
    let session = try session(cleanups: cleanups)
    try await session.signIn(email: "ada", password: "right")
    try await lend(session, to: web)
    return session
  }

  private func lend(_ session: SessionManager<Void>, to web: WebView) async throws {
    _ = try await session.lendCookies(to: { _ in web })
  }

  private func page(_ session: SessionManager<Void>) async throws -> String {
    try await session.api.response(to: index).text
  }

  private var sent: String? { forum.requests.last?.headers.first(named: "Cookie") }
  private static let deletion = ("Set-Cookie", "bbuserid=deleted; Max-Age=0; path=/")

  @Test func `are the session's own, with their times`() async throws {
    let session = try await lending()
    #expect(web.values == ["bbuserid": "u1", "bbstyle": "2"])
    let login = try #require(web.all.first { $0.name == "bbuserid" })
    #expect(login.path == "/" && login.expiresDate.map { UnixTime($0) } == session.cookieExpiry)
    // What is there already is given once.
    let other = WebView()
    let again: WebView = try await session.lendCookies(to: { _ in other })
    #expect(again === web && other.count == 0)
    #expect(try await page(session) == "hello u1")
  }

  @Test func `come back before the next request, and are stored`() async throws {
    let session = try await lending()
    forum.replace(by: "u1b")
    try web.set("bbuserid", "u1b", expires: clock.now().wall.advanced(by: .seconds(3600)))
    try web.set("seen", "1")
    #expect(try await page(session) == "hello u1b")
    #expect(sent == "bbuserid=u1b; bbstyle=2; seen=1")
    #expect(session.cookieExpiry == clock.now().wall.advanced(by: .seconds(3600)))
    #expect(try await page(try self.session()) == "hello u1b")
  }

  @Test func `come back soon, also without a request`() async throws {
    let session = try await lending()
    let changes = vault.changes()
    try web.set("bbuserid", "u1b", isSilent: false)
    for await _ in changes {
      guard case .value(let entry) = await vault.read(), let credential = entry.session?.access?.credential,
        let login = CookieJar(credential)?.cookie("bbuserid", for: SmallForum.base, at: clock.now().wall)
      else { continue }
      if login.value == Secret("u1b") { break }
    }
    #expect(session.isAuthenticated)
  }

  @Test func `go to the web view when a response changes them`() async throws {
    let session = try await lending()
    forum.answer(
      .page("hello", [("Set-Cookie", "bbuserid=u2; path=/"), ("Set-Cookie", "bbstyle=; Max-Age=0; path=/")]))
    _ = try await page(session)
    await web.shows(["bbuserid": "u2"])
    #expect(web.values == ["bbuserid": "u2"])
  }

  @Test func `are not replaced by what the site made of an older one`() async throws {
    let session = try await lending()
    let gate = Gate()
    let headers = [("Set-Cookie", "bbuserid=u2; path=/"), ("Set-Cookie", "seen=1; path=/")]
    forum.answer(.page("hello", headers), behind: gate)
    let request = Task { try await page(session) }
    await gate.arrivals(1)
    // The web view still has the older one, which the site replaces at the same time.
    try web.set("bbuserid", "u1b")
    try web.set("lang", "en")
    forum.replace(by: "u2")
    gate.open()
    _ = try await request.value
    await web.shows(["bbuserid": "u2", "bbstyle": "2", "seen": "1", "lang": "en"])
    #expect(try await page(session) == "hello u2")
    #expect(sent?.contains("lang=en") == true && session.isAuthenticated)
  }

  @Test func `end the session if the site removes them and the server says so`() async throws {
    let session = try await lending()
    forum.forgetEverybody()
    web.remove("bbuserid")
    await #expect(throws: APIError.session(.signedOut(.rejected))) { try await page(session) }
    #expect(session.controller.state == .signedOut(.rejected))
    await web.shows([:])
    #expect(web.count == 0)
  }

  @Test(arguments: [200, 503]) func `are given again if the server does not say so`(status: Int) async throws {
    let session = try await lending()
    web.remove("bbuserid")
    if status == 503 { forum.answer(.page("sorry", status: status, [Self.deletion])) }
    let count = forum.requests.count
    #expect(try await page(session) == "hello u1")
    #expect(forum.requests.count == count + 2, "the server was asked")
    #expect(web.values == ["bbuserid": "u1", "bbstyle": "2"] && session.isAuthenticated)
  }

  @Test func `are not those of another site, whatever their names`() async throws {
    let session = try await lending()
    for host in ["evil.example.com", "sub.\(WebView.host)", "xforum.example.org"] {
      try web.set("bbuserid", "evil", by: host)
    }
    #expect(try await page(session) == "hello u1")
    #expect(sent == "bbuserid=u1; bbstyle=2")
    #expect(web.count == 5)
  }

  @Test func `take the place of what an earlier lend has left`() async throws {
    try web.set("bbuserid", "stale")
    try web.set("old", "1")
    try web.set("foreign", "1", by: "video.example.com")
    let session = try await lending()
    #expect(web.values == ["bbuserid": "u1", "bbstyle": "2"] && web.count == 3)
    #expect(try await page(session) == "hello u1")
    #expect(sent == "bbuserid=u1; bbstyle=2")
  }

  @Test func `are taken back before anything is erased, and for good`() async throws {
    let seen = Locked<[Int]>([])
    let session = try await lending(cleanups: [
      CleanupStep("look", .always) { [web] _ in
        let count = await web.count
        seen.withLock { $0.append(count) }
      }
    ])
    let report = await session.signOut()
    #expect(report.cleanup.cleared.contains("look") && seen.withLock { $0 } == [0])
    #expect(web.count == 0 && !web.isObserved)
    try web.set("bbuserid", "u1", isSilent: false)
    await #expect(throws: APIError.session(.signedOut(.signedOut))) { try await page(session) }
    guard case .value(let entry) = await vault.read() else { throw TestFailure("no tombstone") }
    #expect(entry.session == nil)
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await lend(session, to: WebView()) }
  }

  @Test func `are taken back when another session takes their place`() async throws {
    let session = try await lending()
    try await session.signIn(email: "bob", password: "right")
    await web.shows([:])
    let second = WebView()
    try await lend(session, to: second)
    #expect(second.values["bbuserid"] == "u2" && web.count == 0)
    // Only the one that has them is asked.
    try web.set("bbuserid", "u9", isSilent: false)
    #expect(try await page(session) == "hello u2")
  }

  @Test func `move to another store at the app's request`() async throws {
    let session = try await lending()
    let second = WebView()
    _ = try await session.lendCookies(unless: { (_: WebView) in false }, to: { _ in second })
    #expect(web.count == 0 && second.values == ["bbuserid": "u1", "bbstyle": "2"])
  }

  @Test func `are no tokens`() async throws {
    let session = SessionManager<Void>(
      backend: ScriptedBackend { call, _, _ in .granted(.sample(call)) }, vault: vault,
      baseURL: try #require(URL(string: SmallForum.base)), transport: forum, clock: clock)
    try await session.signIn { .sample(0) }
    await #expect(throws: SessionError.unsupported("cookies for a web view")) { try await lend(session, to: web) }
    #expect(session.cookieExpiry == nil && web.count == 0)
  }
}
