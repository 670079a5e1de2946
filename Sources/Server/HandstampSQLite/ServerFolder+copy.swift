#if Server
import Foundation
import GRDB
package import HandstampRegistry
import HandstampSupport

/// A database file that is copied as it is.
package struct SQLiteCopy: CopiedStore {
  private let queue: DatabaseQueue

  fileprivate init(path: String) throws(RegistryOpenError) {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = true
    do {
      queue = try DatabaseQueue(path: path, configuration: configuration)
      try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
    } catch { throw .unavailable("\(RegistryStoreError.trouble(error))") }
  }

  package func rows(
    of table: StoredTable, after key: ColumnValue?, limit: Int
  ) throws(RegistryOpenError) -> [[ColumnValue]] {
    try access { db in
      let condition = key == nil ? "" : "WHERE \(table.key) > ?"
      let sql = "SELECT \(table.columns) FROM \(table.name) \(condition) ORDER BY \(table.key) LIMIT ?"
      let arguments = StatementArguments((key.map { [$0.databaseValue] } ?? []) + [limit.databaseValue])
      return try Row.fetchAll(try db.cachedStatement(sql: sql), arguments: arguments).map { row in
        try SQLiteRow(row: row).readableValues()
      }
    }
  }

  package func counters() throws(RegistryOpenError) -> StoreCounters {
    try access { db in try StoreCounters(db) }
  }

  package func insert(_ rows: [[ColumnValue]], into table: StoredTable) throws(RegistryOpenError) {
    try access { db in
      try db.inTransaction(.immediate) {
        let count = rows.first?.count ?? 0
        let (extra, mark) = table.name == "clock" ? ("only, ", "1, ") : ("", "")
        let marks = Array(repeating: "?", count: count).joined(separator: ", ")
        let statement = try db.cachedStatement(
          sql: "INSERT INTO \(table.name) (\(extra)\(table.columns)) VALUES (\(mark)\(marks))")
        for row in rows { try statement.execute(arguments: StatementArguments(row.map(\.databaseValue))) }
        return .commit
      }
    }
  }

  package func set(_ counters: StoreCounters) throws(RegistryOpenError) {
    try access { db in
      try db.inTransaction(.immediate) {
        try counters.write(to: db)
        return .commit
      }
    }
  }

  private func access<Value>(_ body: (Database) throws -> Value) throws(RegistryOpenError) -> Value {
    do { return try queue.writeWithoutTransaction(body) } catch let error as DescribedError {
      throw .unavailable("\(error)")
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      throw StoreCopy.stale
    } catch { throw .unavailable("\(RegistryStoreError.trouble(error))") }
  }

  fileprivate func close() throws(RegistryOpenError) {
    do { try queue.close() } catch { throw .unavailable("\(RegistryStoreError.trouble(error))") }
  }
}

extension ServerFolder: MovedStore {
  /// Where the database is once it was copied, so that no server starts on it by mistake.
  private var movedPath: String { databasePath + ".moved" }
  /// The mark of the copy that was begun or made.
  private var markPath: String { databasePath + ".move" }
  /// Where a copy is until it is complete.
  private func draftPath(_ mark: CopyMark) -> String { "\(databasePath).copying-\(mark.text)" }

  /// Refuses a folder whose sessions are elsewhere: an empty database in their place would sign everyone out.
  func requireNotMoved() throws(RegistryOpenError) {
    guard !PrivateFile.exists(databasePath) else { return }
    guard !PrivateFile.exists(restoringPath) else {
      throw .refused(
        "the restore to \(path) is not complete", hint: "run the same handstamp-server admin database restore again")
    }
    guard !PrivateFile.exists(movedPath) else {
      throw .refused(
        "the sessions of \(path) were moved to another database",
        hint: "name it with --database; if the copy was interrupted, run it again")
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    guard !names.contains(where: { "\(path)/\($0)".hasPrefix("\(databasePath).copying-") }) else {
      throw .refused(
        "the copy of the sessions to \(path) is not complete",
        hint: "run the same handstamp-server admin copy again, or start on the database that it copies")
    }
  }

  package func moving(
    keys: ServerKeys?,
    _ body: (
      any CopiedStore, ServerKeys, CopyMark, _ complete: () throws(RegistryOpenError) -> Void
    ) throws(RegistryOpenError) -> Void
  ) throws(RegistryOpenError) {
    guard PrivateFile.exists(path) else {
      throw .refused("there is no folder \(path)", hint: "name the data folder of the server whose sessions move")
    }
    // A server that starts waits for this.
    try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
      let known = try keyFile.keys(or: keys)
      let isLeft = !PrivateFile.exists(databasePath) && PrivateFile.exists(movedPath)
      if !isLeft {
        // Migrates it, checks the keys, and ends again what a restored copy has as live.
        let store = try store(known, creating: false)
        do throws(RegistryStoreError) { try store.close() } catch {
          throw .refused("\(databasePath) is in use: \(error)", hint: "stop the server, and copy again")
        }
        do { try requireUnused() } catch {
          throw .refused("\(databasePath) is in use", hint: "stop the server, and copy again")
        }
      }
      let mark = CopyMark(text: try mark(), isLeft: isLeft)
      let copy = try SQLiteCopy(path: isLeft ? movedPath : databasePath)
      try body(copy, known, mark) { () throws(RegistryOpenError) in
        if !isLeft { try PrivateFile.move(databasePath, to: movedPath) }
      }
      try copy.close()
    }
  }

  private func mark() throws(RegistryOpenError) -> String {
    if let (data, _) = try PrivateFile.read(markPath, limit: 64) { return String(decoding: data, as: UTF8.self) }
    let new = UUID().uuidString.lowercased().filter { $0 != "-" }
    _ = try PrivateFile.create(markPath, Data(new.utf8))
    return new
  }

  package func receiving(
    keys: ServerKeys, mark: CopyMark, _ body: (any CopiedStore) throws(RegistryOpenError) -> Void
  ) throws(RegistryOpenError) {
    try PrivateFile.createFolder(path)
    try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
      guard !PrivateFile.exists(databasePath) else {
        throw .refused("\(databasePath) exists", hint: "copy to a folder without a database")
      }
      let draft = draftPath(mark)
      guard !mark.isLeft || PrivateFile.exists(draft) else { throw CopyMark.again }
      let store = try SQLiteRegistryStore(path: draft, keys: keys, creating: true)
      do throws(RegistryStoreError) { try store.close() } catch { throw .unavailable("\(error)") }
      let copy = try SQLiteCopy(path: draft)
      // Those of the source are copied.
      try copy.forgetKeys()
      try body(copy)
      try copy.close()
      try PrivateFile.move(draft, to: databasePath)
      if try keyFile.read().map({ !$0.inUse }) ?? false { try keyFile.markInUse(keys) }
    }
  }
}

extension SQLiteCopy {
  fileprivate func forgetKeys() throws(RegistryOpenError) {
    try access { db in
      for table in ["key_check", "clock"] { try db.execute(sql: "DELETE FROM \(table)") }
    }
  }
}

extension ColumnValue {
  fileprivate var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .text(let text): text.databaseValue
    case .bytes(let bytes): Data(bytes).databaseValue
    }
  }
}
#endif
