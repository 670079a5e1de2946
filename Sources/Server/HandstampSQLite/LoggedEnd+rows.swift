#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry

extension LoggedEnd {
  /// Returns `nil` for a session that had expired when it ended: it has expired in every backup, too.
  init?(of session: SessionBytes, in db: Database) throws {
    let sql = "SELECT \(LoggedEnd.columns) FROM session WHERE id = ? AND \(LoggedEnd.counts)"
    let found = try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [Data(session.bytes)])
    guard let row = try found.map(LoggedEnd.init(row:)) else { return nil }
    self = row
  }

  /// Returns all ends in the database.
  static func all(in db: Database) throws -> [LoggedEnd] {
    try Row.fetchAll(db, sql: "SELECT \(columns) FROM session WHERE \(counts)")
      .map(LoggedEnd.init(row:))
  }

  private static let counts = "ended_at IS NOT NULL AND (expiry IS NULL OR expiry > ended_at)"

  private init(row: Row) throws { try self.init(source: SQLiteRow(row: row)) }

  /// Returns the session's account if the database has the session as live.
  func livingAccount(in db: Database) throws -> AccountID? {
    let sql = "SELECT account FROM session WHERE id = ? AND ended_at IS NULL"
    return try String.fetchOne(try db.cachedStatement(sql: sql), arguments: [Data(session.bytes)]).map { AccountID($0) }
  }
}
#endif
