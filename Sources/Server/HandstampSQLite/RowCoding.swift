#if Server
import Foundation
import GRDB
import GRDBSQLite
import HandstampCore
import HandstampRegistry

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

/// The row that a statement has reached.
private struct StatementRow: ColumnSource {
  let statement: SQLiteStatement

  var count: Int { Int(sqlite3_column_count(statement)) }

  func name(at index: Int) -> String? { sqlite3_column_name(statement, CInt(index)).map { String(cString: $0) } }

  func value(at index: Int) -> ColumnValue? {
    let index = CInt(index)
    switch sqlite3_column_type(statement, index) {
    case SQLITE_NULL: return .null
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
    case SQLITE_TEXT:
      guard let text = sqlite3_column_text(statement, index) else { return nil }
      let bytes = UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(statement, index)))
      return .text(String(decoding: bytes, as: UTF8.self))
    case SQLITE_BLOB:
      // SQLite returns no pointer for an empty one.
      guard let bytes = sqlite3_column_blob(statement, index) else { return .bytes([]) }
      return .bytes(Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, index)))))
    default: return nil
    }
  }
}

extension SessionRow {
  /// Returns the session with that ID, ended or not.
  static func stored(_ id: SessionBytes, in db: Database) throws -> SessionRow? {
    let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM session WHERE id = ?")
    // Rows of GRDB index their columns' names first, which takes longer than reading this one.
    statement.setUncheckedArguments([Data(id.bytes)])
    let source = StatementRow(statement: statement.sqliteStatement)
    defer { sqlite3_reset(source.statement) }
    switch sqlite3_step(source.statement) {
    case SQLITE_ROW: return try SessionRow(source: source)
    case SQLITE_DONE: return nil
    case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
    }
  }
}

extension StoredQuery {
  func records(in db: Database) throws -> [Record] {
    guard !isInVain else { return [] }
    let statement = try db.cachedStatement(sql: "SELECT \(Record.columns) FROM \(Record.table) \(condition)")
    return try Row.fetchAll(statement, arguments: StatementArguments(values.map(\.databaseValue)))
      .map(Record.init(row:))
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
