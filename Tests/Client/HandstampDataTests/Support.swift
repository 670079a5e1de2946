#if Data
import Foundation
import GRDB
import HandstampCore
import HandstampData
import HandstampTesting

/// A miniature forum: posts in threads.
enum Small {
  static let person = CachedTable("person", key: ["name"])
  static let thread = CachedTable("thread", key: ["number"], pinned: "bookmarked = 1")
  static let post = CachedTable("post", key: ["number"])

  static let schema = StoreSchema(tables: [person, thread, post]) { migrator in
    migrator.registerMigration("1") { database in
      try database.execute(
        sql: """
          CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT);
          CREATE TABLE thread (
            id INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, title TEXT, bookmarked INTEGER);
          CREATE TABLE post (
            id INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, text TEXT,
            thread INTEGER REFERENCES thread (id) ON DELETE CASCADE,
            author INTEGER REFERENCES person (id) ON DELETE SET NULL);
          CREATE INDEX post_thread ON post (thread);
          CREATE INDEX post_author ON post (author);
          """)
    }
  }

  static func texts(_ database: Database) throws -> [String] {
    try String.fetchAll(database, sql: "SELECT coalesce(text, '-') FROM post ORDER BY number")
  }
}

extension NewFolder {
  var place: StorePlace { StorePlace(folder: url.appendingPathComponent("ada", isDirectory: true)) }

  func store(_ clock: ManualClock = ManualClock()) throws -> DataStore {
    try DataStore(place, schema: Small.schema, clock: clock)
  }

  /// The current database file.
  var file: URL {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: place.folder.path)) ?? []
    return place.folder.appendingPathComponent(names.filter { $0.hasSuffix(".sqlite") }.sorted().last ?? "none")
  }

  /// The bytes of the current database file.
  var size: Int? {
    (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.intValue
  }

  var files: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: place.folder.path)) ?? [])
      .filter { $0.hasSuffix(".sqlite") }.sorted()
  }
}

extension DataStore {
  func add(_ numbers: ClosedRange<Int>, text: String = "text") async throws {
    let now = UnixTime(seconds: 1_800_000_000)
    try await write { database in
      for number in numbers { try Small.post.upsert(database, [number], ["text": "\(text) \(number)"], at: now) }
    }
  }
}
#endif
