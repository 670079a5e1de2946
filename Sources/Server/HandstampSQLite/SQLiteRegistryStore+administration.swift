#if Server
import GRDB
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

extension SQLiteRegistryStore {
  /// Reads the whole database and checks it. That takes some seconds per gigabyte.
  @concurrent public func inspect() async throws(RegistryStoreError) -> StoreInspection {
    try await slowly { db in
      let faults = try String.fetchAll(db, sql: "PRAGMA integrity_check(20)").filter { $0 != "ok" }
      let orphans = try Int.fetchOne(db, sql: "SELECT count(*) FROM pragma_foreign_key_check") ?? 0
      return StoreInspection(
        faults: faults + (orphans > 0 ? ["\(orphans) row(s) without the row that they refer to"] : []),
        migrations: try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid"),
        size: try Int64.fetchOne(db, sql: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
          ?? 0)
    }
  }

  @concurrent public func keysEverUsed() async throws(RegistryStoreError) -> [KeyID] {
    try await slowly { db in
      try String.fetchAll(db, sql: "SELECT kid FROM key_check ORDER BY kid").map { KeyID($0) }
    }
  }

  @concurrent public func liveSessions(
    upTo time: UnixTime?
  ) async throws(RegistryStoreError) -> (refreshed: Int, begun: Int) {
    let limit = time?.milliseconds ?? .max
    return try await slowly { db in
      func count(_ column: String) throws -> Int {
        try Int.fetchOne(
          db, sql: "SELECT count(*) FROM session WHERE ended_at IS NULL AND \(column) <= ?", arguments: [limit]) ?? 0
      }
      return (try count("rotated_at"), try count("created_at"))
    }
  }

  @concurrent public func clientSessions() async throws(RegistryStoreError) -> [String: Int] {
    try await slowly { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT client, count(*) FROM session WHERE ended_at IS NULL AND client IS NOT NULL GROUP BY client")
      return rows.reduce(into: [:]) { counts, row in counts[row[0] as String] = row[1] as Int }
    }
  }

  /// A read that may take long, in a transaction of its own.
  private func slowly<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(RegistryStoreError) -> Value {
    do { return try await pool.read(body) } catch { throw .trouble(error) }
  }

  /// Writes a consistent copy of the database, while others read and write it. It is one file, and durable.
  ///
  /// - Parameter path: where there must be no file yet.
  @concurrent func copy(to path: String) async throws(RegistryStoreError) {
    do {
      try PrivateFile.touch(path)
      try await pool.writeWithoutTransaction { db in
        try db.execute(sql: "VACUUM INTO ?", arguments: [path])
      }
      try PrivateFile.sync(path)
    } catch let error as RegistryOpenError {
      throw .unavailable("\(error)")
    } catch { throw .trouble(error) }
  }

  /// Closes the database and leaves its write-ahead log as it is, so that a server that has it open does not have to wait.
  public func release() {
    closeQueue()
    try? pool.close()
  }

  /// Returns the last numbers of the logs.
  func counters() throws -> StoreCounters { try pool.read { db in try StoreCounters(db) } }

  /// Lets the logs go on after these numbers: who reads them from the last number on must not miss what comes after a restore.
  func raise(_ counters: StoreCounters) throws {
    try pool.write { db in
      let own = try StoreCounters(db)
      try StoreCounters(event: max(own.event, counters.event), audit: max(own.audit, counters.audit)).write(to: db)
    }
  }
}

extension StoreCounters {
  init(_ db: Database) throws {
    func last(_ log: String) throws -> Int64 {
      try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = ?", arguments: [log]) ?? 0
    }
    self.init(event: try last("event"), audit: try last("audit"))
  }

  func write(to db: Database) throws {
    for (log, last) in [("event", event), ("audit", audit)] {
      try db.execute(sql: "DELETE FROM sqlite_sequence WHERE name = ?", arguments: [log])
      try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", arguments: [log, last])
    }
  }
}
#endif
