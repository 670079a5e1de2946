import Foundation
import GRDB
import HandstampData
import HandstampTesting
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `A stored list` {
  private let place: Place
  private let clock = ManualClock()
  private let store: ForumStore
  private static let threads = Listing.threads(forum: "26", page: 2)
  private static let posts = Listing.posts(thread: "26001", page: 1)

  init() throws {
    place = try Place()
    store = try place.store(clock)
  }

  // MARK: Order

  @Test func `sorts sticky threads first, then by latest post, then those without a known date`() async throws {
    let dates: [(String, String, Bool)] = [
      ("old", "Jan 1, 2026 9:00 AM", false), ("rules", "Jan 1, 2020", true), ("unclear", "last Tuesday", false),
      ("new", "Jan 3, 2026 10:00", false), ("none", "", false), ("more rules", "Jan 9, 2026", true),
      ("noon", "Jan 1, 2026 1:00 PM", false),
    ]
    let threads = dates.map { id, date, isSticky in
      ThreadList.Item(
        id: id, title: id, author: "ada", replies: 0, unread: nil, isSticky: isSticky, isClosed: false,
        lastPost: ForumDate(date))
    }
    try await store.keep(ThreadList(forum: "26", title: "", threads: threads, pages: .init(current: 2, total: 2)))
    #expect(
      try store.now(Self.threads).map(\.id) == ["rules", "more rules", "new", "noon", "old", "unclear", "none"])
    #expect(try text("SELECT lastpost FROM thread WHERE number = 'unclear'") == "last Tuesday")
  }

  @Test(arguments: [
    ("Jan 9, 2026", "Jan 9, 2026", 1_767_916_800), ("", "Jan 1, 2026", 1_767_225_600),
    ("a while ago", "a while ago", nil),
  ])
  func `never pairs a date's text with another date's moment`(text: String, wanted: String, moment: Int?) async throws {
    for date in ["Jan 1, 2026", text] {
      try await store.keep(
        MessagePage(
          id: "1", subject: "Hi", sender: ForumUser(id: "7", name: "Zoë"), date: ForumDate(date), text: "x"))
    }
    #expect(try self.text("SELECT date FROM message") == wanted)
    #expect(try store.store.read { try Int.fetchOne($0, sql: "SELECT time FROM message") } == moment)
  }

  @Test func `takes a thread's last post from its last page`() async throws {
    try await store.keep(HTMLPage(Sample.threads).scrape(ThreadList.self))
    try await store.keep(HTMLPage(Sample.ignoring).scrape(PostsPage.self))
    #expect(try text("SELECT lastpost FROM thread WHERE number = '26001'") == "Jan 4, 2026 21:16")
    // The only one with a date.
    #expect(try store.now(Self.threads).map(\.id) == ["26000", "26001", "26003"])
    #expect(try store.listed(.posts(thread: "26001", page: 2)).pages == 2)
    #expect(
      try store.now(Self.threads)[1].note
        == "ada, 43 replies, 1 unread, closed, last post Jan 4, 2026 21:16 by ada")
  }

  @Test func `never pairs the last post's author with another post's date`() async throws {
    let list = Listing.threads(forum: "26", page: 1)
    func note() throws -> String? { try store.now(list).first { $0.id == "26001" }?.note }
    try await store.keep(OldPage.read("threads", as: ThreadList.self))
    #expect(try store.now(list).map(\.id) == ["26000", "26010", "26001"])
    #expect(try note() == "ada, 119 replies, read, closed, last post 12:34 Nov 3, 2026 by Zoë")
    // Not its last page.
    var page: PostsPage = try OldPage.read("thread")
    try await store.keep(page)
    #expect(try note()?.hasSuffix("last post 12:34 Nov 3, 2026 by Zoë") == true)
    page.pages = PageNumbers(current: 3, total: 3)
    try await store.keep(page)
    #expect(try note()?.hasSuffix("last post Nov 7, 2011 17:27 by ada") == true)
    // A last post without a date does not reveal the author of the known one.
    page.posts[2].date = ""
    page.posts[2].author.name = "Mallory"
    try await store.keep(page)
    #expect(try note()?.hasSuffix("last post Nov 7, 2011 17:27 by ada") == true)
    var threads: ThreadList = try OldPage.read("threads")
    threads.threads[2].lastAuthor = ""
    try await store.keep(threads)
    #expect(try note()?.hasSuffix("last post 12:34 Nov 3, 2026") == true)
  }

  // MARK: Posts

  @Test func `marks posts after the last one read as new`() async throws {
    try await store.keep(HTMLPage(Sample.ignoring).scrape(PostsPage.self))
    let list = Listing.posts(thread: "26001", page: 2)
    #expect(try store.now(list).map(\.isNew) == [false, false, false, true])
    #expect(try store.now(list).map(\.index) == [41, 42, 43, 44])
    #expect(try store.now(list).map(\.note)[2] == "#43 Mallory, ignored")
  }

  @Test func `loses a post that is no longer on its page`() async throws {
    var page: PostsPage = try HTMLPage(Sample.posts).scrape()
    try await store.keep(page)
    page.posts.removeFirst()
    try await store.keep(page)
    #expect(try store.now(Self.posts).map(\.id) == ["902"])
  }

  // MARK: Rest

  @Test(arguments: [
    (Listing.forums, 6 * 3600), (.threads(forum: "26", page: 2), 900), (.bookmarks(page: 1), 600), (.messages, 600),
  ])
  func `is not fetched again for a while`(list: Listing, rest: Int) async throws {
    #expect(try store.isDue(list))
    try await keepAll()
    #expect(try !store.isDue(list))
    clock.advance(by: .seconds(rest) - .milliseconds(1))
    #expect(try !store.isDue(list))
    clock.advance(by: .milliseconds(1))
    #expect(try store.isDue(list))
    try await keepAll()
    #expect(try !store.isDue(list))
    // The clock is set back.
    clock.advance(by: .seconds(-1))
    #expect(try store.isDue(list))
  }

  @Test(arguments: [Listing.posts(thread: "26001", page: 1), .message("421"), .person("7")])
  func `is fetched at every visit if it is content rather than a list`(list: Listing) async throws {
    try await keepAll()
    #expect(try !store.now(list).isEmpty)
    #expect(try store.isDue(list))
  }

  @Test func `is fetched again if it was pruned, and for another account`() async throws {
    try await keepAll()
    #expect(try store.isDue(.threads(forum: "26", page: 1)))
    let others = try StorePlace(folder: place.folder.appendingPathComponent("zoë")).forumStore(clock)
    #expect(try others.isDue(.forums))
    try await store.store.write { try $0.execute(sql: "UPDATE thread SET page = 0") }
    #expect(try store.isDue(Self.threads))
    try store.store.remove()
    let again = try place.store(clock)
    #expect(try again.isDue(.forums) && again.isDue(.messages))
  }

  @Test func `counts as fetched under the requested number, too`() async throws {
    let beyond = Listing.threads(forum: "26", page: 99)
    try await store.keep(HTMLPage(Sample.threads).scrape(ThreadList.self), for: beyond)
    #expect(try store.listed(beyond).fetch != nil)
    #expect(try store.listed(Self.threads).fetch != nil)
  }

  @Test func `forgets after a week that it was fetched`() async throws {
    try await keepAll()
    clock.advance(by: .seconds(7 * 86_400 + 1))
    try await store.keep(HTMLPage(Sample.profile).scrape(ProfilePage.self))
    #expect(try text("SELECT group_concat(list) FROM fetched") == "person 7")
  }

  private func keepAll() async throws {
    try await store.keep(HTMLPage(Sample.index).scrape(ForumIndex.self))
    try await store.keep(HTMLPage(Sample.threads).scrape(ThreadList.self))
    try await store.keep(HTMLPage(Sample.bookmarks).scrape(BookmarkList.self))
    try await store.keep(HTMLPage(Sample.posts).scrape(PostsPage.self))
    try await store.keep(HTMLPage(Sample.messages).scrape(MessageList.self))
    try await store.keep(HTMLPage(Sample.message).scrape(MessagePage.self))
    try await store.keep(HTMLPage(Sample.profile).scrape(ProfilePage.self))
  }

  private func text(_ sql: String) throws -> String? { try store.store.read { try String.fetchOne($0, sql: sql) } }
}
