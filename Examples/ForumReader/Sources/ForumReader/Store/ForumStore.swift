import GRDB
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
      for (place, category) in index.categories.enumerated() {
        try Shelf.category.upsert(database, [category.id], ["name": category.name, "place": place], at: now)
        for (place, forum) in category.forums.enumerated() {
          try Shelf.forum.upsert(
            database, [forum.id],
            ["category": category.id, "name": forum.name, "about": forum.about, "place": place], at: now)
        }
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
      for post in page.posts {
        try Shelf.post.upsert(
          database, [post.id],
          [
            "thread": page.thread, "place": post.index, "page": page.pages.current, "userid": post.author.id,
            "author": post.author.name, "date": post.date, "text": post.text, "seen": post.isSeen,
          ], at: now)
      }
      try Shelf.thread.upsert(
        database, [page.thread], ["forum": page.forum, "title": page.title, "pages": page.pages.total], at: now)
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

  private var now: UnixTime { clock.now().wall }

  // MARK: Lines out

  /// One row as a list shows it.
  public struct Line: Sendable, Equatable {
    public var id: String
    public var text: String
    public var note: String
    /// The heading above it.
    public var section = ""
  }

  public func lines(_ list: Listing) -> AsyncThrowingStream<[Line], any Error> { store.values(list.fetch) }

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

/// What can be listed.
public enum Listing: Sendable, Hashable {
  case forums
  case threads(forum: String, page: Int)
  case posts(thread: String, page: Int)
  case messages
  case message(String)
  case person(String)

  var fetch: @Sendable (Database) throws -> [ForumStore.Line] {
    let (sql, arguments): (String, StatementArguments) =
      switch self {
      case .forums:
        (
          """
          SELECT f.number, f.name, f.about, c.name FROM forum AS f LEFT JOIN category AS c ON c.number = f.category
          WHERE f.name IS NOT NULL ORDER BY c.place, f.place
          """, []
        )
      case .threads(let forum, let page):
        (
          """
          SELECT number, title,
            author || ', ' || replies || ' replies'
            || CASE WHEN unread IS NULL THEN '' WHEN unread = 0 THEN ', read' ELSE ', ' || unread || ' unread' END
            || CASE WHEN sticky THEN ', sticky' ELSE '' END || CASE WHEN closed THEN ', closed' ELSE '' END, ''
          FROM thread WHERE forum = ? AND page = ? ORDER BY place
          """, [forum, page]
        )
      case .posts(let thread, let page):
        (
          """
          SELECT number, text, '#' || place || ' ' || author || ', ' || date || CASE WHEN seen THEN '' ELSE ' *' END, ''
          FROM post WHERE thread = ? AND page = ? ORDER BY place
          """, [thread, page]
        )
      case .messages:
        (
          """
          SELECT number, subject, sender || ', ' || date || CASE WHEN seen THEN '' ELSE ', new' END, '' FROM message
          ORDER BY place
          """, []
        )
      case .message(let id):
        ("SELECT number, coalesce(text, ''), sender || ', ' || date, subject FROM message WHERE number = ?", [id])
      case .person(let id):
        (
          "SELECT number, coalesce(about, ''), title || ', ' || posts || ' posts, since ' || joined, name FROM person WHERE number = ?",
          [id]
        )
      }
    return { database in
      try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
        ForumStore.Line(id: row[0], text: row[1] ?? "", note: row[2] ?? "", section: row[3] ?? "")
      }
    }
  }
}
