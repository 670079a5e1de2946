import Foundation
import GRDB
public import HandstampCookies
public import HandstampCore
public import HandstampData

/// What one account has read of the forum, for reading on without a network.
public struct ForumStore: Sendable {
  public let store: DataStore
  let clock: any SessionClock

  public init(_ place: StorePlace, clock: any SessionClock = WallClock()) throws {
    store = try DataStore(place, schema: .forum, clock: clock)
    self.clock = clock
  }

  // MARK: Pages in

  /// Keeps what a page says, and that its list was fetched.
  ///
  /// - Parameter asked: the list that it was fetched for, where that is another: a forum answers with its last page when asked for
  ///   one beyond.
  public func keep(_ page: some Kept, for asked: Listing? = nil) async throws {
    try await store.write { [now] database in
      try page.keep(in: database, at: now)
      for list in Set([page.listing, asked ?? page.listing]) { try Fetches.note(list, at: now, in: database) }
    }
  }

  /// Everything of a thread up to that post has been read.
  public func markRead(_ thread: String, to index: Int) async throws {
    try await store.write { database in
      var counts = try ThreadCounts(of: thread, in: database)
      counts.set(seen: index)
      try database.execute(
        sql: "UPDATE thread SET seen = ?, replies = ?, pages = ? WHERE number = ?",
        arguments: [counts.seen, counts.replies, counts.pages, thread])
    }
  }

  /// The thread is bookmarked now, or is so no longer.
  public func bookmark(_ thread: String, _ isBookmarked: Bool) async throws {
    try await store.write { database in
      try database.execute(
        sql: """
          UPDATE thread SET bookmarked = ?1, bookmarkpage = CASE WHEN ?1 THEN max(1, coalesce(bookmarkpage, 0)) ELSE 0 END
          WHERE number = ?2
          """, arguments: [isBookmarked, thread])
    }
  }

  /// When the account was last told that its cookie will end.
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

  private var now: UnixTime { clock.now().wall }

  // MARK: Lists out

  /// One row as a list shows it.
  public struct Line: Sendable, Equatable {
    public var id: String
    public var text: String
    public var note: String
    /// The heading above it.
    public var section = ""
    /// Its row.
    public var row: Int64 = 0
    /// Whether it waits to be read.
    public var isNew = false
    /// A post's number in its thread.
    public var index = 0
    /// The id of who wrote it; `nil` where that is not known.
    public var person: String?
  }

  /// What is known of a list, read at one moment.
  public struct Listed: Sendable, Equatable {
    public var lines: [Line]
    /// Of how many pages it is one, as far as is known.
    public var pages: Int
    /// Which fetch brought it: greater after every one. `nil`: it never was.
    public var fetch: Int64?

    public init(lines: [Line], pages: Int = 1, fetch: Int64? = nil) {
      self.lines = lines
      self.pages = pages
      self.fetch = fetch
    }
  }

  /// What is known of a list, now and after every change and every fetch of it.
  public func values(_ list: Listing) -> AsyncThrowingStream<Listed, any Error> { store.values(list.fetch) }

  public func listed(_ list: Listing) throws -> Listed { try store.read(list.fetch) }

  public func now(_ list: Listing) throws -> [Line] { try listed(list).lines }

  /// Keeps what is shown from being pruned, until the lease goes away.
  public func use(_ lines: [Line], of list: Listing) -> Lease { store.use(list.shelf, lines.map(\.row)) }

  /// Whether to fetch it when somebody comes to look: unless it was fetched a short while ago.
  public func isDue(_ list: Listing) throws -> Bool {
    guard let rest = list.rest else { return true }
    let fetched = try store.read { database in
      // What was pruned is to be fetched again.
      try list.fetch(database).lines.isEmpty ? nil : Fetches.time(of: list, in: database)
    }
    guard let fetched else { return true }
    // A clock that was put back makes no list last longer.
    return !(fetched..<fetched.advanced(by: rest)).contains(now)
  }
}
