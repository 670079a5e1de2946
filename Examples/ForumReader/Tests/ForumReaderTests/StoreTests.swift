import Foundation
import HandstampCookies
import HandstampCore
import HandstampData
import HandstampTesting
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `An account's store` {
  private let place: Place
  private let clock = ManualClock()
  private let store: ForumStore

  init() throws {
    place = try Place()
    store = try place.store(clock)
  }

  private func page<Value: Scraped>(_ text: String) throws -> Value { try HTMLPage(text).scrape() }

  @Test func `notifies observers, page by page`() async throws {
    var seen = store.values(.threads(forum: "26", page: 2)).makeAsyncIterator()
    #expect(try await seen.next() == ForumStore.Listed(lines: []))
    try await store.keep(page(Sample.threads) as ThreadList)
    let first = try #require(try await seen.next())
    #expect(first.lines.map(\.id) == ["26000", "26001", "26003"] && first.pages == 7)
    // The same page again is no change, except for the fetch.
    try await store.keep(page(Sample.threads) as ThreadList)
    let again = try #require(try await seen.next())
    #expect(again.lines == first.lines)
    #expect(try #require(again.fetch) > #require(first.fetch))
    try await store.markRead("26000", to: 1100)
    #expect(try await seen.next()?.lines.first?.note == "Zoë, 1099 replies, read, sticky, last post Jan 1")
    // Changes elsewhere do not concern it.
    try await store.keep(page(Sample.messages) as MessageList)
    try await store.markRead("26003", to: 1)
    #expect(try await seen.next()?.lines.last?.note == ", 3 replies, 3 unread")
  }

  @Test func `lists content in the forum's order`() async throws {
    try await store.keep(page(Sample.index) as ForumIndex)
    #expect(try store.now(.forums).map(\.text) == ["General Nonsense", "Engines & Looms"])
    #expect(try store.now(.forums).map(\.section) == ["Main", "Main"])
    try await store.keep(page(Sample.threads) as ThreadList)
    #expect(try store.listed(.threads(forum: "26", page: 2)).pages == 7)
    try await store.keep(page(Sample.posts) as PostsPage)
    let posts = Listing.posts(thread: "26001", page: 1)
    #expect(try store.now(posts).map(\.note) == ["#1 Zoë, Jan 2, 2026", "#2 ada"])
    #expect(try store.now(posts).map(\.isNew) == [false, true])
    try await store.markRead("26001", to: 2)
    #expect(try store.now(posts).map(\.isNew) == [false, false])
    // The author is known only from the post.
    #expect(try store.now(.person("7")).map(\.section) == ["Zoë"])
    try await store.keep(page(Sample.profile) as ProfilePage)
    #expect(try store.now(.person("7")).first?.note == "Countess, 1815 posts, since Dec 10, 2001")
    try await store.keep(page(Sample.messages) as MessageList)
    #expect(try store.now(.message("421")).first?.text == "not fetched yet")
    try await store.keep(page(Sample.message) as MessagePage)
    #expect(try store.now(.message("421")).first?.text == "For your eyes")
    #expect(try store.now(.messages).map(\.id) == ["421", "422"])
  }

  @Test func `loses nothing to a page with less content`() async throws {
    try await store.keep(page(Sample.posts) as PostsPage)
    try await store.keep(page(Sample.threads) as ThreadList)
    try await store.keep(
      PostsPage(
        thread: "26001", forum: "", title: "",
        posts: [.init(id: "901", index: 1, author: ForumUser(id: "", name: ""), date: "", text: "", isSeen: true)],
        pages: PageNumbers()))
    let post = try #require(try store.now(.posts(thread: "26001", page: 1)).first)
    #expect(post.note == "#1 Zoë, Jan 2, 2026" && post.text.hasSuffix("second bold text"))
    #expect(try store.now(.threads(forum: "26", page: 2)).contains { $0.text == "Old" })
  }

  @Test func `removes from a list what the forum removed`() async throws {
    try await store.keep(page(Sample.threads) as ThreadList)
    var list: ThreadList = try page(Sample.threads)
    list.threads.removeFirst()
    try await store.keep(list)
    #expect(try store.now(.threads(forum: "26", page: 2)).map(\.id) == ["26001", "26003"])
    try await store.keep(page(Sample.messages) as MessageList)
    try await store.keep(MessageList(messages: []))
    #expect(try store.now(.messages) == [])
  }

  @Test func `prunes by age, except rows in use, the own name, messages and structure`() async throws {
    try await store.keep(page(Sample.index) as ForumIndex)
    try await store.keep(page(Sample.threads) as ThreadList)
    try await store.keep(page(Sample.posts) as PostsPage)
    try await store.keep(page(Sample.messages) as MessageList)
    clock.advance(by: .seconds(8 * 86_400))
    let list = Listing.posts(thread: "26001", page: 1)
    var lease: RowsInUse? = store.use(Array(try store.now(list).prefix(1)), of: list)
    try await store.store.prune()
    // The post's thread and author stay with it.
    #expect(try store.now(list).map(\.id) == ["901"])
    #expect(try store.now(.threads(forum: "26", page: 2)).map(\.id) == ["26001"])
    #expect(try !store.now(.person("7")).isEmpty && !store.now(.person("42")).isEmpty)
    _ = consume lease
    lease = nil
    try await store.store.prune()
    #expect(try store.now(list).isEmpty && store.now(.threads(forum: "26", page: 2)).isEmpty)
    #expect(try store.now(.person("7")).isEmpty && !store.now(.person("42")).isEmpty)
    #expect(try store.now(.forums).count == 2 && store.now(.messages).count == 2)
  }

  @Test func `remembers the last reminder of the cookie's expiry`() async throws {
    var reminder = try store.reminder()
    let now = clock.now().wall
    let first = reminder.due(expiry: now.advanced(by: .seconds(86_400)), at: now)
    try await store.keep(reminder)
    var again = try store.reminder()
    let second = again.due(expiry: now.advanced(by: .seconds(86_400)), at: now.advanced(by: .seconds(60)))
    #expect(first != nil)
    #expect(second == nil)
  }
}
