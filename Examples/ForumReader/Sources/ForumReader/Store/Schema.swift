import GRDB
import HandstampData

extension CachedTable {
  // The forum's own structure is small, and deleted only with the account.
  static let category = CachedTable("category", key: ["number"], keeps: nil, pinned: "1")
  static let forum = CachedTable("forum", key: ["number"], keeps: nil, pinned: "1")
  static let thread = CachedTable("thread", key: ["number"], pinned: "bookmarked")
  static let post = CachedTable("post", key: ["number"])
  // The signed-in member stays, and so do the authors of stored posts, since posts refer to them.
  static let person = CachedTable("person", key: ["number"], pinned: "own")
  static let message = CachedTable("message", key: ["number"], pinned: "place IS NOT NULL")
}

extension StoreSchema {
  static let forum = StoreSchema(
    tables: [.category, .forum, .thread, .post, .person, .message]
  ) { migrator in
    migrator.registerMigration("1") { database in
      try database.execute(
        sql: """
          CREATE TABLE category (id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, name TEXT, place INTEGER);
          CREATE TABLE forum (
            id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, category TEXT, name TEXT, about TEXT, place INTEGER,
            pages INTEGER);
          CREATE TABLE thread (
            id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, forum TEXT, title TEXT, author TEXT, replies INTEGER,
            sticky INTEGER, closed INTEGER, lastpost TEXT, lastauthor TEXT, page INTEGER, place INTEGER, pages INTEGER,
            time INTEGER, seen INTEGER, bookmarked INTEGER, bookmarkpage INTEGER, bookmarkplace INTEGER);
          CREATE INDEX thread_forum ON thread (forum, page, place);
          CREATE INDEX thread_bookmark ON thread (bookmarkpage) WHERE bookmarkpage > 0;
          CREATE TABLE person (
            id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, name TEXT, title TEXT, joined TEXT, posts INTEGER,
            about TEXT, own INTEGER, joinedtime INTEGER);
          CREATE TABLE post (
            id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, thread TEXT REFERENCES thread (number), place INTEGER,
            page INTEGER, userid TEXT REFERENCES person (number), author TEXT, date TEXT, text TEXT, time INTEGER,
            ignored INTEGER);
          CREATE INDEX post_thread ON post (thread, page, place);
          CREATE INDEX post_person ON post (userid);
          CREATE TABLE message (
            id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, subject TEXT, sender TEXT, date TEXT, text TEXT,
            seen INTEGER, place INTEGER, time INTEGER);
          CREATE TABLE fetched (id INTEGER PRIMARY KEY AUTOINCREMENT, list TEXT NOT NULL UNIQUE, time INTEGER NOT NULL);
          CREATE TABLE note (name TEXT PRIMARY KEY, text TEXT);
          """)
    }
  }
}
