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

  public func keep(_ index: ForumIndex) async throws {
    try await store.write { [now] database in
      // What the forum no longer shows keeps its row, and has no place.
      try database.execute(sql: "UPDATE forum SET place = NULL WHERE place IS NOT NULL")
      for (place, category) in index.categories.enumerated() {
        try Shelf.category.upsert(database, [category.id], ["name": category.name, "place": place], at: now)
        for (place, forum) in category.forums.enumerated() {
          try Shelf.forum.upsert(
            database, [forum.id],
            ["category": category.id, "name": forum.name, "about": forum.about, "place": place], at: now)
        }
      }
      if let user = index.user {
        try Shelf.person.upsert(database, [user.id], ["name": user.name, "own": true], at: now)
      }
    }
  }

  public func keep(_ list: ThreadList) async throws {
    try await store.write { [now] database in
      // What stood on this page before and does so no longer has gone elsewhere.
      try database.execute(
        sql: "UPDATE thread SET page = 0 WHERE forum = ? AND page = ?", arguments: [list.forum, list.pages.current])
      for (place, thread) in list.threads.enumerated() {
        try Shelf.thread.upsert(
          database, [thread.id],
          [
            "forum": list.forum, "title": thread.title, "author": thread.author, "replies": thread.replies,
            "unread": thread.unread, "sticky": thread.isSticky, "closed": thread.isClosed,
            "lastpost": thread.lastPost, "page": list.pages.current, "place": place,
          ], clearing: ["unread"], at: now)
      }
      try Shelf.forum.upsert(database, [list.forum], ["pages": list.pages.total], at: now)
    }
  }

  public func keep(_ page: PostsPage) async throws {
    try await store.write { [now] database in
      try Shelf.thread.upsert(
        database, [page.thread], ["forum": page.forum, "title": page.title, "pages": page.pages.total], at: now)
      for author in Set(page.posts.map(\.author)).sorted(by: { $0.id < $1.id }) where !author.id.isEmpty {
        try Shelf.person.upsert(database, [author.id], ["name": author.name], at: now)
      }
      for post in page.posts {
        try Shelf.post.upsert(
          database, [post.id],
          [
            "thread": page.thread, "place": post.index, "page": page.pages.current,
            "userid": post.author.id.isEmpty ? nil : post.author.id, "author": post.author.name, "date": post.date,
            "text": post.text, "seen": post.isSeen,
          ], at: now)
      }
    }
  }

  public func keep(_ profile: ProfilePage) async throws {
    try await store.write { [now] database in
      try Shelf.person.upsert(
        database, [profile.user.id],
        [
          "name": profile.user.name, "title": profile.title, "joined": profile.joined, "posts": profile.posts,
          "about": profile.about,
        ], at: now)
    }
  }

  public func keep(_ list: MessageList) async throws {
    try await store.write { [now] database in
      try database.execute(sql: "UPDATE message SET place = NULL WHERE place IS NOT NULL")
      for (place, message) in list.messages.enumerated() {
        try Shelf.message.upsert(
          database, [message.id],
          [
            "subject": message.subject, "sender": message.sender, "date": message.date, "seen": message.isSeen,
            "place": place,
          ], at: now)
      }
    }
  }

  public func keep(_ message: MessagePage) async throws {
    try await store.write { [now] database in
      try Shelf.message.upsert(
        database, [message.id],
        [
          "subject": message.subject, "sender": message.sender.name, "date": message.date, "text": message.text,
          "seen": true,
        ], at: now)
    }
  }

  /// Everything of a thread up to that post has been read.
  public func markRead(_ thread: String, to index: Int) async throws {
    try await store.write { database in
      try database.execute(
        sql: "UPDATE post SET seen = 1 WHERE thread = ? AND place <= ?", arguments: [thread, index])
      try database.execute(
        sql: "UPDATE thread SET unread = max(0, coalesce(replies, 0) + 1 - ?) WHERE number = ?",
        arguments: [index, thread])
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

  // MARK: Lines out

  /// One row as a list shows it.
  public struct Line: Sendable, Equatable {
    public var id: String
    public var text: String
    public var note: String
    /// The heading above it.
    public var section = ""
    /// Its row.
    public var row: Int64 = 0
  }

  public func lines(_ list: Listing) -> AsyncThrowingStream<[Line], any Error> { store.values(list.fetch) }

  /// Keeps what is shown from being pruned, until the lease goes away.
  public func use(_ lines: [Line], of list: Listing) -> Lease { store.use(list.shelf, lines.map(\.row)) }

  public func now(_ list: Listing) throws -> [Line] { try store.read(list.fetch) }

  /// How many pages a forum or a thread has, as far as is known.
  public func pages(of list: Listing) throws -> Int {
    try store.read { database in
      switch list {
      case .threads(let id, _):
        try Int.fetchOne(database, sql: "SELECT pages FROM forum WHERE number = ?", arguments: [id]) ?? 1
      case .posts(let id, _):
        try Int.fetchOne(database, sql: "SELECT pages FROM thread WHERE number = ?", arguments: [id]) ?? 1
      case .forums, .messages, .message, .person: 1
      }
    }
  }
}
