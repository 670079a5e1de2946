import Foundation
import GRDB
import HandstampData
import HandstampTesting
import Testing

@testable import ForumReader

@Suite(.timeLimit(.minutes(10))) struct `An account's bookmarks` {
  private let place: Place
  private let clock = ManualClock()
  private let store: ForumStore

  init() throws {
    place = try Place()
    store = try place.store(clock)
  }

  private func keep(_ ids: [String], page: Int = 1, of total: Int = 1) async throws {
    let threads = ids.map { id in
      ThreadList.Item(
        id: id, title: "Thread \(id)", author: "ada", replies: 3, unread: nil, isSticky: false, isClosed: false,
        lastPost: "")
    }
    try await store.keep(BookmarkList(threads: threads, pages: PageNumbers(current: page, total: total)))
  }

  private func ids(_ page: Int = 1) throws -> [String] { try store.now(.bookmarks(page: page)).map(\.id) }

  /// The threads that remain once everything else is too old.
  private func pinned() async throws -> Set<String> {
    clock.advance(by: .seconds(8 * 86_400))
    try await store.store.prune()
    return try store.store.read { try Set(String.fetchAll($0, sql: "SELECT number FROM thread")) }
  }

  @Test func `are listed as at the forum, latest post first`() async throws {
    try await store.keep(HTMLPage(Sample.threads).scrape(ThreadList.self))
    try await store.keep(HTMLPage(Sample.bookmarks).scrape(BookmarkList.self))
    let listed = try store.listed(.bookmarks(page: 1))
    #expect(listed.lines.map(\.id) == ["1007", "26003"] && listed.pages == 2)
    #expect(
      listed.lines.map(\.note) == [
        "Zoë, 41 replies, 2 unread, last post Jan 5, 2026 08:00",
        "ada, 3 replies, last post 11:30 PM Jan 4, 2026",
      ])
    // Its position in the forum is unchanged.
    let threads = try store.now(.threads(forum: "26", page: 2))
    #expect(Set(threads.map(\.id)) == ["26000", "26001", "26003"])
    #expect(threads.filter { $0.note.contains(", bookmarked") }.map(\.id) == ["26003"])
  }

  @Test func `lose threads no longer on the page, and those that may have moved`() async throws {
    try await keep(["1", "2", "3"], page: 1, of: 3)
    try await keep(["4", "5"], page: 2, of: 3)
    try await keep(["6"], page: 3, of: 3)
    // The bookmark of thread 2 was removed, and 4 moved to the first page.
    try await keep(["1", "3", "4"], page: 1, of: 2)
    #expect(try ids(1) == ["1", "3", "4"])
    #expect(try ids(2) == [] && ids(3) == [])
    try await keep(["5", "6"], page: 2, of: 2)
    #expect(try ids(1) == ["1", "3", "4"] && ids(2) == ["5", "6"])
    #expect(try await pinned() == ["1", "3", "4", "5", "6"])
  }

  @Test func `stay, however old, until the page that may list them is fetched`() async throws {
    try await keep(["1", "2"], page: 1, of: 2)
    try await keep(["3"], page: 2, of: 2)
    try await keep(["1", "4"], page: 1, of: 2)
    #expect(try ids(2) == [])
    #expect(try await pinned() == ["1", "2", "3", "4"])
    try await keep(["3"], page: 2, of: 2)
    #expect(try await pinned() == ["1", "3", "4"])
  }

  @Test func `are added and removed one by one`() async throws {
    try await store.keep(HTMLPage(Sample.threads).scrape(ThreadList.self))
    try await keep(["1", "2"], page: 2, of: 2)
    try await store.bookmark("26001", true)
    try await store.bookmark("2", true)
    #expect(try ids(1) == ["26001"] && ids(2) == ["1", "2"])
    try await store.bookmark("1", false)
    #expect(try ids(2) == ["2"])
    #expect(try await pinned() == ["26001", "2"])
  }

  @Test func `are empty for a guest, and removed by an empty page`() async throws {
    try await store.bookmark("1", true)
    #expect(try ids() == [])
    try await keep(["1"])
    try await keep([])
    #expect(try ids() == [])
    #expect(try await pinned() == [])
  }
}
