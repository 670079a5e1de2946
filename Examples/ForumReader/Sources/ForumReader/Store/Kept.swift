public import GRDB
public import Handstamp
import HandstampData

/// A page whose content is stored.
public protocol Kept: Scraped, Sendable {
  /// The list on the page.
  var listing: Listing { get }
  /// Stores the content of the page. Parts missing from the page are left unchanged.
  func keep(in database: Database, at now: UnixTime) throws
}

extension ForumIndex: Kept {
  public var listing: Listing { .forums }

  public func keep(in database: Database, at now: UnixTime) throws {
    // Forums no longer on the page keep their row, without a place.
    try database.execute(
      sql: "UPDATE forum SET place = NULL WHERE place IS NOT NULL AND number NOT IN (SELECT value FROM json_each(?))",
      arguments: [json(categories.flatMap(\.forums).map(\.id))])
    for (place, category) in categories.enumerated() {
      try CachedTable.category.upsert(database, [category.id], ["name": category.name, "place": place], at: now)
      for (place, forum) in category.forums.enumerated() {
        try CachedTable.forum.upsert(
          database, [forum.id],
          ["category": category.id, "name": forum.name, "about": forum.about, "place": place], at: now)
      }
    }
    if let user {
      try CachedTable.person.upsert(database, [user.id], ["name": user.name, "own": true], at: now)
    }
  }
}

extension ThreadList: Kept {
  public var listing: Listing { .threads(forum: forum, page: pages.current) }

  public func keep(in database: Database, at now: UnixTime) throws {
    // Threads no longer on this page have moved; pages beyond the last one do not exist.
    try database.execute(
      sql: """
        UPDATE thread SET page = 0
        WHERE forum = ? AND (page = ? OR page > ?) AND number NOT IN (SELECT value FROM json_each(?))
        """, arguments: [forum, pages.current, pages.total, json(threads.map(\.id))])
    for (place, thread) in threads.enumerated() {
      try thread.keep(in: database, ["forum": forum, "page": pages.current, "place": place], at: now)
    }
    try CachedTable.forum.upsert(database, [forum], ["pages": pages.total], at: now)
  }
}

extension BookmarkList: Kept {
  public var listing: Listing { .bookmarks(page: pages.current) }

  public func keep(in database: Database, at now: UnixTime) throws {
    // Removing a bookmark moves all that follow: from this page on, only the listed ones are known.
    try database.execute(
      sql: """
        UPDATE thread SET bookmarkpage = 0 WHERE bookmarkpage >= ? AND number NOT IN (SELECT value FROM json_each(?))
        """, arguments: [pages.current, json(threads.map(\.id))])
    for (place, thread) in threads.enumerated() {
      try thread.keep(
        in: database, ["bookmarked": true, "bookmarkpage": pages.current, "bookmarkplace": place], at: now)
    }
    // Until the last page has been seen, bookmarks without a page may be on a later one, and stay pinned.
    if pages.current == pages.total {
      try database.execute(sql: "UPDATE thread SET bookmarked = 0 WHERE bookmarked AND bookmarkpage = 0")
    }
    try database.execute(
      sql: "INSERT OR REPLACE INTO note VALUES ('bookmark pages', ?)", arguments: [String(pages.total)])
  }
}

extension ThreadList.Item {
  /// - Parameter place: The position in the list.
  fileprivate func keep(
    in database: Database, _ place: [String: (any DatabaseValueConvertible)?], at now: UnixTime
  ) throws {
    var counts = try ThreadCounts(of: id, in: database)
    counts.set(replies: replies)
    counts.set(seen: unread.map { replies + 1 - $0 } ?? 0)
    let values: [String: (any DatabaseValueConvertible)?] = [
      "title": title, "author": author, "replies": counts.replies, "pages": counts.pages, "seen": counts.seen,
      "sticky": isSticky, "closed": isClosed, "lastpost": lastPost.text, "time": lastPost.seconds,
      "lastauthor": lastAuthor,
    ]
    try CachedTable.thread.upsert(
      database, [id], values.merging(place) { $1 }, clearing: lastPost.clearing("time", "lastauthor"), at: now)
  }
}

extension PostsPage: Kept {
  public var listing: Listing { .posts(thread: thread, page: pages.current) }

  public func keep(in database: Database, at now: UnixTime) throws {
    var counts = try ThreadCounts(of: thread, in: database)
    counts.set(pages: pages.total)
    counts.see(posts)
    let last = pages.current == pages.total ? posts.last : nil
    let date = last?.date ?? ""
    try CachedTable.thread.upsert(
      database, [thread],
      [
        "forum": forum, "title": title, "pages": counts.pages, "replies": counts.replies, "seen": counts.seen,
        "lastpost": date.text, "time": date.seconds, "lastauthor": date.text.isEmpty ? nil : last?.author.name,
      ], clearing: date.clearing("time", "lastauthor"), at: now)
    for author in Set(posts.map(\.author)).sorted(by: { $0.id < $1.id }) where !author.id.isEmpty {
      try CachedTable.person.upsert(database, [author.id], ["name": author.name], at: now)
    }
    try database.execute(
      sql: "UPDATE post SET page = 0 WHERE thread = ? AND page = ? AND number NOT IN (SELECT value FROM json_each(?))",
      arguments: [thread, pages.current, json(posts.map(\.id))])
    for post in posts {
      try CachedTable.post.upsert(
        database, [post.id],
        [
          "thread": thread, "place": post.index, "page": pages.current,
          "userid": post.author.id.isEmpty ? nil : post.author.id, "author": post.author.name,
          "date": post.date.text, "time": post.date.seconds, "text": post.text, "ignored": post.isIgnored,
        ], clearing: post.date.clearing("time"), at: now)
    }
  }
}

extension ProfilePage: Kept {
  public var listing: Listing { .person(user.id) }

  public func keep(in database: Database, at now: UnixTime) throws {
    try CachedTable.person.upsert(
      database, [user.id],
      [
        "name": user.name, "title": title, "joined": joined.text, "joinedtime": joined.seconds, "posts": posts,
        "about": about,
      ], clearing: joined.clearing("joinedtime"), at: now)
  }
}

extension MessageList: Kept {
  public var listing: Listing { .messages }

  public func keep(in database: Database, at now: UnixTime) throws {
    try database.execute(
      sql: "UPDATE message SET place = NULL WHERE place IS NOT NULL AND number NOT IN (SELECT value FROM json_each(?))",
      arguments: [json(messages.map(\.id))])
    for (place, message) in messages.enumerated() {
      try CachedTable.message.upsert(
        database, [message.id],
        [
          "subject": message.subject, "sender": message.sender, "date": message.date.text,
          "time": message.date.seconds, "seen": message.isSeen, "place": place,
        ], clearing: message.date.clearing("time"), at: now)
    }
  }
}

extension MessagePage: Kept {
  public var listing: Listing { .message(id) }

  public func keep(in database: Database, at now: UnixTime) throws {
    try CachedTable.message.upsert(
      database, [id],
      [
        "subject": subject, "sender": sender.name, "date": date.text, "time": date.seconds, "text": text, "seen": true,
      ], clearing: date.clearing("time"), at: now)
  }
}

extension ForumDate {
  /// The columns to clear with the date: a new date without them removes the old ones; without a date, all stay.
  fileprivate func clearing(_ columns: String...) -> Set<String> { text.isEmpty ? [] : Set(columns) }
}

extension ThreadCounts {
  /// Loads the counts of a thread.
  init(of thread: String, in database: Database) throws {
    let row = try Row.fetchOne(
      database, sql: "SELECT replies, pages, seen FROM thread WHERE number = ?", arguments: [thread])
    self.init(replies: row?["replies"] ?? 0, pages: row?["pages"] ?? 1, seen: row?["seen"] ?? 0)
  }
}

/// Joins IDs, which consist of letters, digits, `-` and `_`, to a single SQL argument, however many there are.
private func json(_ ids: [String]) -> String { "[" + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
