#if SQLite
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampStorage

/// A row of SQLite.
struct SQLiteRow: ColumnSource {
  let row: Row

  var count: Int { row.count }

  func name(at index: Int) -> String? { Array(row.columnNames.dropFirst(index).prefix(1)).first }

  func value(at index: Int) -> ColumnValue? {
    let value: DatabaseValue = row[index]
    switch value.storage {
    case .null: return .null
    case .int64(let number): return .integer(number)
    case .string(let text): return .text(text)
    case .blob(let data): return .bytes(Array(data))
    case .double: return nil
    }
  }
}

extension SessionRow {
  /// Returns the session with that ID, ended or not.
  static func stored(_ id: SessionBytes, in db: Database) throws -> SessionRow? {
    let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM session WHERE id = ?")
    let rows = try Row.fetchCursor(statement, arguments: [Data(id.bytes)])
    // The row is read in place, not copied, which it allows as long as the cursor lives.
    return try withExtendedLifetime(rows) { try rows.next().map(SessionRow.init(row:)) }
  }
}

extension StoredRecord {
  init(row: Row) throws { try self.init(source: SQLiteRow(row: row)) }
}

extension StoredValue {
  var databaseValue: DatabaseValue {
    switch self {
    case .integer(let number): number?.databaseValue ?? .null
    case .text(let text): text?.databaseValue ?? .null
    case .bytes(let bytes): bytes.map { Data($0).databaseValue } ?? .null
    }
  }
}
#endif
