#if Data
import Foundation
public import GRDB
import HandstampCore

/// The tables of a store, and how each version became the next.
public struct StoreSchema: Sendable {
  /// GRDB's migrations, in their order. One that a newer version of the program made leads to a new, empty store.
  public var migrator: DatabaseMigrator
  /// What is upserted and pruned.
  public var shelves: [Shelf]

  public init(shelves: [Shelf], migrations: (inout DatabaseMigrator) -> Void) {
    var migrator = DatabaseMigrator()
    migrations(&migrator)
    self.migrator = migrator
    self.shelves = shelves
  }
}

/// One kind of rows that are fetched and grow old: a table with a column `id INTEGER PRIMARY KEY` and a unique natural key.
///
/// When each row was last fetched stands in a table of its own, `shelf_<table>`: to fetch something again that has not
/// changed must not look like a change to those who observe it.
public struct Shelf: Sendable, Hashable {
  public var table: String
  /// The columns of the natural key, such as the server's own id. They have a unique index.
  public var key: [String]
  /// Rows that were not fetched for longer than this may go. Nothing: only for want of space.
  public var keeps: Duration?
  /// A condition in SQL on a row of the table: those that it holds for never go.
  public var pinned: String?

  public init(_ table: String, key: [String], keeps: Duration? = .seconds(7 * 86_400), pinned: String? = nil) {
    self.table = table
    self.key = key
    self.keeps = keeps
    self.pinned = pinned
  }

  var marks: String { "shelf_\(table)".quoted }

  /// Makes the table of fetch times where it is missing.
  func prepare(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS \(marks) (row INTEGER PRIMARY KEY, fetched INTEGER NOT NULL);
        CREATE INDEX IF NOT EXISTS \("shelf_\(table)_fetched".quoted) ON \(marks) (fetched, row);
        CREATE TRIGGER IF NOT EXISTS \("shelf_\(table)_gone".quoted) AFTER DELETE ON \(table.quoted)
        BEGIN DELETE FROM \(marks) WHERE row = old.id; END;
        """)
  }

  /// Rows that came in by other ways than ``upsert(_:_:_:clearing:at:)`` count as fetched from `now` on.
  func adopt(_ database: Database, at now: UnixTime) throws {
    try database.execute(
      sql: """
        INSERT INTO \(marks) SELECT id, ? FROM \(table.quoted) AS t
        WHERE NOT EXISTS (SELECT 1 FROM \(marks) WHERE row = t.id)
        """, arguments: [now.milliseconds])
  }
}

extension String {
  /// As a name in SQL.
  var quoted: String { "\"" + replacingOccurrences(of: "\"", with: "\"\"") + "\"" }
}
#endif
