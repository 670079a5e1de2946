import Foundation
import GRDB
public import Handstamp
public import HandstampCookies
public import HandstampData

/// The content of the forum that one account has read, for reading offline.
public struct ForumStore: Sendable {
  public let store: DataStore
  private let clock: @Sendable () -> UnixTime

  /// - Parameter clock: The time that is stored with each page.
  public init(_ place: StorePlace, clock: @escaping @Sendable () -> UnixTime = ForumStore.now) throws {
    self.init(try DataStore(place, schema: .forum), clock: clock)
  }

  init(_ store: DataStore, clock: @escaping @Sendable () -> UnixTime) {
    self.store = store
    self.clock = clock
  }

  /// The device's wall-clock time.
  @Sendable public static func now() -> UnixTime { UnixTime.now }

  // MARK: Pages in

  /// Stores the content of a page, and records that its list was fetched.
  ///
  /// - Parameter asked: The list that was requested, if different: a forum returns its last page for a number beyond
  ///   it.
  public func keep(_ page: some Kept, for asked: Listing? = nil) async throws {
    try await store.write { [now] database in
      try page.keep(in: database, at: now)
      for list in Set([page.listing, asked ?? page.listing]) { try Fetches.note(list, at: now, in: database) }
    }
  }

  /// Marks a thread as read up to a post.
  public func markRead(_ thread: String, to index: Int) async throws {
    try await store.write { database in
      var counts = try ThreadCounts(of: thread, in: database)
      counts.set(seen: index)
      try database.execute(
        sql: "UPDATE thread SET seen = ?, replies = ?, pages = ? WHERE number = ?",
        arguments: [counts.seen, counts.replies, counts.pages, thread])
    }
  }

  /// Sets whether a thread is bookmarked.
  public func bookmark(_ thread: String, _ isBookmarked: Bool) async throws {
    try await store.write { database in
      try database.execute(
        sql: """
          UPDATE thread SET bookmarked = ?1, bookmarkpage = CASE WHEN ?1 THEN max(1, coalesce(bookmarkpage, 0)) ELSE 0 END
          WHERE number = ?2
          """, arguments: [isBookmarked, thread])
    }
  }

  /// When the user was last reminded that the cookie will expire.
  public func reminder() throws -> ExpiryReminder {
    let text = try store.read { try String.fetchOne($0, sql: "SELECT text FROM note WHERE name = 'reminder'") }
    return text.flatMap { try? JSONDecoder().decode(ExpiryReminder.self, from: Data($0.utf8)) } ?? ExpiryReminder()
  }

  public func keep(_ reminder: ExpiryReminder) async throws {
    let text = String(decoding: try JSONEncoder().encode(reminder), as: UTF8.self)
    try await store.write { database in
      try database.execute(sql: "INSERT OR REPLACE INTO note VALUES ('reminder', ?)", arguments: [text])
    }
  }

  private var now: UnixTime { clock() }

  // MARK: Lists out

  /// One row of a list.
  public struct Line: Sendable, Equatable {
    public var id: String
    public var text: String
    public var note: String
    /// The heading above the line.
    public var section = ""
    /// The row in the database.
    public var row: Int64 = 0
    /// Whether it is unread.
    public var isNew = false
    /// The number of a post in its thread.
    public var index = 0
    /// The author's ID; `nil` if unknown.
    public var person: String?
  }

  /// The known part of a list, read at one moment.
  public struct Listed: Sendable, Equatable {
    public var lines: [Line]
    /// The number of pages of the list, as far as known.
    public var pages: Int
    /// The number of the last fetch, which increases with every fetch; `nil` if the list was never fetched.
    public var fetch: Int64?

    public init(lines: [Line], pages: Int = 1, fetch: Int64? = nil) {
      self.lines = lines
      self.pages = pages
      self.fetch = fetch
    }
  }

  /// Returns the known part of a list, now and after every change and every fetch.
  public func values(_ list: Listing) -> AsyncThrowingStream<Listed, any Error> { store.values(list.fetch) }

  public func listed(_ list: Listing) throws -> Listed { try store.read(list.fetch) }

  public func now(_ list: Listing) throws -> [Line] { try listed(list).lines }

  /// Protects the lines from pruning until the lease is released.
  public func use(_ lines: [Line], of list: Listing) -> RowsInUse { store.protect(lines.map(\.row), in: list.table) }

  /// Whether to fetch the list on a visit, because the last fetch is not recent.
  public func isDue(_ list: Listing) throws -> Bool {
    guard let rest = list.rest else { return true }
    let fetched = try store.read { database in
      // A list that was pruned is fetched again.
      try list.fetch(database).lines.isEmpty ? nil : Fetches.time(of: list, in: database)
    }
    guard let fetched else { return true }
    // If the clock was set back, the list is due as well.
    return !(fetched..<fetched.advanced(by: rest)).contains(now)
  }
}
