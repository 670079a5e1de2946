import Foundation
import Handstamp
import HandstampCookies
import HandstampData
import HandstampTesting
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `A forum's client` {
  private let place: Place
  private let site = Site()
  private let store: ForumStore
  private let client: ForumClient

  init() throws {
    place = try Place()
    let clock = ManualClock()
    store = try place.store(clock)
    let backend = CookieBackend(.forum(Site.url), transport: site, clock: clock)
    let controller = SessionController(backend: backend, vault: MemoryVault(), policy: .onRejection, clock: clock)
    client = ForumClient(controller: controller, backend: backend, transport: site)
  }

  private func signIn() async throws {
    site.answer("account.php", Sample.index, headers: [HeaderField("Set-Cookie", "bbuserid=secret; path=/")])
    try await client.controller.signIn { try await client.backend.signIn("ada", Secret("lovelace")) }
  }

  private var isSignedIn: Bool { if case .signedIn = client.controller.state { true } else { false } }

  @Test func `signs in, sends the cookie, and keeps the page`() async throws {
    try await signIn()
    site.answer("index.php", Sample.index)
    try await client.refresh(.forums, in: store)
    #expect(try store.now(.forums).count == 2)
    #expect(site.requests.last?.headers.first { $0.name == "Cookie" }?.value == "bbuserid=secret")
    guard case .signedIn(let facts) = client.controller.state else {
      Issue.record("not signed in")
      return
    }
    #expect(facts.profile == Profile(id: AccountID("42"), name: "ada"))
  }

  @Test(arguments: [
    (0, SessionError.requestFailed(.server(.init(status: 200)))), (1, .requestFailed(.server(.init(status: 200)))),
    (2, .refused(code: "banned", detail: "you are banned until 2027: Puns")),
    (3, .refused(code: "wrong_credentials", detail: nil)),
    (4, .refused(code: "refused", detail: "Gone: Nothing")),
    (5, .refused(code: "wrong_credentials", detail: "No: That name and that password do not fit")),
  ])
  func `keeps nothing of a refused sign-in, even with a cookie`(
    index: Int, wanted: SessionError
  ) async throws {
    site.answer(
      "account.php", Sample.refusals[index].text, headers: [HeaderField("Set-Cookie", "bbuserid=secret; path=/")])
    await #expect(throws: wanted) {
      try await client.controller.signIn { try await client.backend.signIn("ada", Secret("lovelace")) }
    }
    #expect(!isSignedIn)
  }

  @Test(arguments: [200, 403, 503])
  func `reports a refusal of any status, and keeps the session and the store`(status: Int) async throws {
    try await signIn()
    site.answer("index.php", Sample.index)
    try await client.refresh(.forums, in: store)
    for (text, wanted) in Sample.refusals where wanted != .mustRegister {
      site.answer("index.php", text, status: status)
      await #expect(throws: wanted) { try await client.refresh(.forums, in: store) }
    }
    site.answer("index.php", "<h1>hotel WiFi", status: 200)
    await #expect(throws: ScrapeError.missing("table of forums")) { try await client.refresh(.forums, in: store) }
    site.answer("index.php", "oops", status: 502)
    await #expect(throws: ForumFailure.status(502)) { try await client.refresh(.forums, in: store) }
    #expect(isSignedIn)
    #expect(try store.now(.forums).count == 2)
  }

  @Test func `stays signed in if a page is for members only but the start page names the member`()
    async throws
  {
    try await signIn()
    site.answer("private.php", Sample.refusals[3].text)
    site.answer("index.php", Sample.index)
    await #expect(throws: ForumRefusal.mustRegister) { try await client.refresh(.messages, in: store) }
    #expect(isSignedIn)
    site.answer("private.php", Sample.refusals[3].text)
    site.answer("index.php", Sample.index.replacingOccurrences(of: "data-user=\"42\"", with: "data-user=0"))
    await #expect(throws: ForumRefusal.mustRegister) { try await client.refresh(.messages, in: store) }
    #expect(client.controller.state == .signedOut(.rejected))
  }

  @Test(arguments: ["challenge", "messages-none", "thread"])
  func `stays signed in unless the start page identifies a guest`(start: String) async throws {
    try await signIn()
    site.answer("index.php", Sample.index)
    try await client.refresh(.forums, in: store)
    site.answer("private.php", try OldPage.text("register"))
    site.answer("index.php", try OldPage.text(start))
    await #expect(throws: ScrapeError.missing("table of forums")) { try await client.refresh(.messages, in: store) }
    #expect(isSignedIn)
    // The start page of a member, without the member's number.
    site.answer("private.php", try OldPage.text("register"))
    site.answer("index.php", try OldPage.text("index").replacingOccurrences(of: "data-user=\"42\"", with: ""))
    await #expect(throws: ForumRefusal.mustRegister) { try await client.refresh(.messages, in: store) }
    #expect(isSignedIn)
    #expect(try store.now(.forums).count == 2)
    // The start page of a guest.
    site.answer("private.php", try OldPage.text("register"))
    site.answer("index.php", try OldPage.text("index-guest"))
    await #expect(throws: ForumRefusal.mustRegister) { try await client.refresh(.messages, in: store) }
    #expect(client.controller.state == .signedOut(.rejected))
  }

  @Test func `looks up the reason and end of a ban, and keeps the session and the store`()
    async throws
  {
    try await signIn()
    try await store.keep(HTMLPage(Sample.messages).scrape(MessageList.self))
    func refused() async -> Ban? {
      do { try await client.refresh(.messages, in: store) } catch ForumRefusal.banned(let ban) { return ban } catch {}
      return nil
    }
    site.answer("private.php", try OldPage.text("ban-link"))
    site.answer("banlist.php", try OldPage.text("bans"))
    let end: ForumDate = "Nov 3, 2026"
    #expect(
      await refused() == Ban(reason: "Posted a bad pun. User has been banned until Nov 3, 2026.", end: end))
    #expect(site.requests.last?.url == Site.base + "banlist.php?userid=42&actfilt=-1")
    // The list is refused to banned members, is another page, names only another member, or is unreachable.
    site.answer("private.php", try OldPage.text("ban-link"))
    site.answer("banlist.php", try OldPage.text("ban-link"))
    #expect(await refused() == Ban(listed: "42"))
    site.answer("private.php", try OldPage.text("ban-link"))
    site.answer("banlist.php", try OldPage.text("challenge"))
    #expect(await refused() == Ban(listed: "42"))
    site.answer("private.php", try OldPage.text("ban-link"))
    site.answer("banlist.php", try OldPage.text("bans").replacingOccurrences(of: "userid=42", with: "userid=43"))
    #expect(await refused() == Ban(listed: "42"))
    site.answer("private.php", try OldPage.text("ban-link"))
    #expect(await refused() == Ban(listed: "42"))
    #expect(isSignedIn)
    #expect(try store.now(.messages).count == 2)
  }

  @Test(arguments: [
    ("ban", "you are banned until November 3, 2026 8:45 p.m. CST: Posted a bad pun. Twice."),
    ("ban-permanent", "you are banned permanently: Sold the forum's tea"),
    ("ban-link", "you are banned; the reason is at https://forum.example.org/banlist.php?userid=42"),
  ])
  func `states the reason and end of a ban at sign-in`(page: String, words: String) async throws {
    site.answer("account.php", try OldPage.text(page), headers: [HeaderField("Set-Cookie", "bbuserid=secret; path=/")])
    await #expect(throws: SessionError.refused(code: "banned", detail: words)) {
      try await client.controller.signIn { try await client.backend.signIn("ada", Secret("lovelace")) }
    }
    #expect(!isSignedIn)
  }

  @Test func `reports a probation along with the page`() async throws {
    try await signIn()
    site.answer("forumdisplay.php", try OldPage.text("probation"))
    let list = Listing.threads(forum: "27", page: 1)
    #expect(try await client.refresh(list, in: store)?.end?.text == "September 21, 2026 8:45 PM CST")
    site.answer("forumdisplay.php", try OldPage.text("threads-one"))
    #expect(try await client.refresh(list, in: store) == nil)
    #expect(try store.now(list).map(\.text) == ["Alone"])
  }

  /// Each list is stored, then replaced with another page or none.
  @Test(arguments: ["challenge", "profile", "refusal"])
  func `keeps the store if the response is another page`(other: String) async throws {
    try await signIn()
    let pages: [(Listing, String, String)] = [
      (.forums, "index.php", "index"), (.threads(forum: "26", page: 1), "forumdisplay.php", "threads"),
      (.bookmarks(page: 1), "bookmarkthreads.php", "bookmarks"),
      (.posts(thread: "26001", page: 2), "showthread.php", "thread"), (.messages, "private.php", "messages"),
      (.message("4601204"), "private.php", "message"),
    ]
    for (list, path, name) in pages {
      site.answer(path, try OldPage.text(name))
      try await client.refresh(list, in: store)
    }
    for (list, path, _) in pages {
      let before = try store.listed(list)
      #expect(!before.lines.isEmpty)
      site.answer(path, try OldPage.text(other))
      await #expect(throws: (any Error).self) { try await client.refresh(list, in: store) }
      #expect(try store.listed(list) == before)
    }
    #expect(isSignedIn)
  }

  @Test func `follows no redirect to another site`() async throws {
    try await signIn()
    site.answer("index.php", "", status: 302, headers: [HeaderField("Location", "https://portal.example.com/")])
    await #expect(throws: ForumFailure.elsewhere) { try await client.refresh(.forums, in: store) }
    #expect(!site.requests.contains { $0.url.contains("portal") })
    #expect(isSignedIn)
  }

  @Test func `marks a thread as read at the forum, then in the store`() async throws {
    try await signIn()
    try await store.keep(HTMLPage(Sample.posts).scrape(PostsPage.self))
    let list = Listing.posts(thread: "26001", page: 1)
    site.answer("showthread.php", Sample.refusals[0].text, status: 503)
    await #expect(throws: ForumRefusal.databaseDown) { try await client.markRead("26001", to: 2, in: store) }
    #expect(try store.now(list).last?.isNew == true)
    // A network's own sign-in page, which reports success.
    for page in [try OldPage.text("challenge"), "", "<body data-user=0><a href='account.php?action=logout'>out</a>"] {
      site.answer("showthread.php", page)
      await #expect(throws: ScrapeError.missing("name of the member")) {
        try await client.markRead("26001", to: 2, in: store)
      }
    }
    #expect(try store.now(list).last?.isNew == true)
    site.answer("showthread.php", try OldPage.text("ban-link"))
    site.answer("banlist.php", try OldPage.text("bans"))
    await #expect(
      throws: ForumRefusal.banned(
        Ban(reason: "Posted a bad pun. User has been banned until Nov 3, 2026.", end: "Nov 3, 2026"))
    ) { try await client.markRead("26001", to: 2, in: store) }
    site.answer("showthread.php", try OldPage.text("index").replacingOccurrences(of: "data-user=\"42\"", with: ""))
    try await client.markRead("26001", to: 1, in: store)
    site.answer("showthread.php", Sample.posts)
    try await client.markRead("26001", to: 2, in: store)
    #expect(try store.now(list).last?.isNew == false)
    let body = site.requests.last.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(body == "action=setseen&threadid=26001&index=2")
    // The session has ended, which is noticed here as well.
    site.answer("showthread.php", try OldPage.text("register"))
    site.answer("index.php", try OldPage.text("index-guest"))
    await #expect(throws: ForumRefusal.mustRegister) { try await client.markRead("26001", to: 2, in: store) }
    #expect(client.controller.state == .signedOut(.rejected))
  }
}
