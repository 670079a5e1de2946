#if Data
import Foundation
public import GRDB
import HandstampCore

/// The tables of a store, and their migrations.
public struct StoreSchema: Sendable {
  /// GRDB's migrations, in order. A store with migrations of a newer program version is replaced with an empty one.
  public var migrator: DatabaseMigrator
  /// The tables that are upserted into and pruned.
  public var tables: [CachedTable]

  public init(tables: [CachedTable], migrations: (inout DatabaseMigrator) -> Void) {
    var migrator = DatabaseMigrator()
    migrations(&migrator)
    self.migrator = migrator
    self.tables = tables
  }
}

/// A kind of row that is fetched and ages: a table with a column `id INTEGER PRIMARY KEY` and a unique natural key.
///
/// The fetch time of each row is kept in a separate table, `shelf_<table>`, so that fetching an unchanged row again
/// does not look like a change to observers.
public struct CachedTable: Sendable, Hashable {
  public var name: String
  /// The columns of the natural key, such as the server's own ID. They have a unique index.
  public var key: [String]
  /// The time since the last fetch after which a row may be removed; `nil` means only to save space.
  public var keeps: Duration?
  /// An SQL condition on a row of the table; rows that satisfy it are never removed.
  public var pinned: String?

  public init(_ name: String, key: [String], keeps: Duration? = .seconds(7 * 86_400), pinned: String? = nil) {
    self.name = name
    self.key = key
    self.keeps = keeps
    self.pinned = pinned
  }

  var marks: String { "shelf_\(name)".quoted }

  /// Creates the table of fetch times if missing.
  func prepare(_ database: Database) throws {
    try database.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS \(marks) (row INTEGER PRIMARY KEY, fetched INTEGER NOT NULL);
        CREATE INDEX IF NOT EXISTS \("shelf_\(name)_fetched".quoted) ON \(marks) (fetched, row);
        CREATE TRIGGER IF NOT EXISTS \("shelf_\(name)_gone".quoted) AFTER DELETE ON \(name.quoted)
        BEGIN DELETE FROM \(marks) WHERE row = old.id; END;
        """)
  }

  /// Counts rows not inserted by ``upsert(_:_:_:clearing:at:)`` as fetched at `now`.
  func adopt(_ database: Database, at now: UnixTime) throws {
    try database.execute(
      sql: """
        INSERT INTO \(marks) SELECT id, ? FROM \(name.quoted) AS t
        WHERE NOT EXISTS (SELECT 1 FROM \(marks) WHERE row = t.id)
        """, arguments: [now.milliseconds])
  }
}

extension String {
  /// The string as a quoted SQL identifier.
  var quoted: String { "\"" + replacingOccurrences(of: "\"", with: "\"\"") + "\"" }
}
#endif
