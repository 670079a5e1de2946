import Foundation
import Handstamp
import HandstampCookies
import HandstampCore
import HandstampData
import HandstampTesting
import HandstampVaults
import Testing

@testable import ForumReader

@Suite struct `A forum's client` {
  private let place: Place
  private let site = Site()
  private let store: ForumStore
  private let client: ForumClient

  init() throws {
    place = try Place()
    let clock = ManualClock()
    store = try place.store(clock)
    let backend = CookieBackend(.forum(Site.base), transport: site, clock: clock)
    let controller = SessionController(vault: MemoryVault(), backend: backend, policy: .onRejection, clock: clock)
    client = try ForumClient(Site.base, controller: controller, backend: backend, transport: site)
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
    (0, SessionError.unreachable(retryAfter: nil)), (1, .unreachable(retryAfter: nil)),
    (2, .refused(code: "banned", detail: "Puns")), (3, .refused(code: "wrong_credentials", detail: nil)),
    (4, .refused(code: "refused", detail: "Gone: Nothing")),
    (5, .refused(code: "wrong_credentials", detail: "No: That name and that password do not fit")),
  ])
  func `keeps nothing of a sign-in that the forum refuses, though a cookie came along`(
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
  func `tells a refusal whatever its status, keeps the session and what is in the store`(status: Int) async throws {
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

  @Test func `takes a page for members alone for no sign-out while the start page still names who is signed in`()
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

  @Test func `goes nowhere else with the forum`() async throws {
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
    site.answer("showthread.php", Sample.posts)
    try await client.markRead("26001", to: 2, in: store)
    #expect(try store.now(list).last?.isNew == false)
    let body = site.requests.last.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(body == "action=setseen&threadid=26001&index=2")
  }
}
