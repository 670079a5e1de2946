#if PostgreSQL
package import HandstampRegistry
import HandstampSupport

/// A PostgreSQL database that is copied as it is.
package struct PostgresCopy: CopiedStore {
  fileprivate let lane: PostgresLane
  fileprivate let address: PostgresAddress
  fileprivate let schema: String

  package func rows(
    of table: StoredTable, after key: ColumnValue?, limit: Int
  ) throws(RegistryOpenError) -> [[ColumnValue]] {
    let condition = key == nil ? "" : "WHERE \(table.key) > $2"
    let sql = "SELECT \(table.columns) FROM \(schema).\(table.name) \(condition) ORDER BY \(table.key) LIMIT $1"
    let values = [PostgresValue.integer(Int64(limit))] + (key.map { [PostgresValue($0)] } ?? [])
    let result = try run([PostgresStatement(sql, values)])[0]
    do throws(DescribedError) {
      return try (0..<result.count).map { row throws(DescribedError) in try result[row].readableValues() }
    } catch { throw .unavailable("\(error)") }
  }

  package func counters() throws(RegistryOpenError) -> StoreCounters {
    let results = try run(
      ["event", "audit"].map { PostgresStatement("SELECT last FROM \(schema).counter WHERE name = '\($0)'") })
    return StoreCounters(event: results[0].integer ?? 0, audit: results[1].integer ?? 0)
  }

  package func insert(_ rows: [[ColumnValue]], into table: StoredTable) throws(RegistryOpenError) {
    let marks = (1...max(rows.first?.count ?? 1, 1)).map { "$\($0)" }.joined(separator: ", ")
    let sql = "INSERT INTO \(schema).\(table.name) (\(table.columns)) VALUES (\(marks))"
    // One pipeline is one transaction.
    _ = try run(rows.map { row in PostgresStatement(sql, row.map { PostgresValue($0) }) })
  }

  package func set(_ counters: StoreCounters) throws(RegistryOpenError) {
    let sql = "UPDATE \(schema).counter SET last = $1 WHERE name = $2"
    _ = try run([
      PostgresStatement(sql, [.integer(counters.event), .text("event")]),
      PostgresStatement(sql, [.integer(counters.audit), .text("audit")]),
    ])
  }

  private func run(_ statements: [PostgresStatement]) throws(RegistryOpenError) -> [PostgresResult] {
    do throws(PostgresError) {
      return try lane.connected(until: .now + .seconds(60)) { connection throws(PostgresError) in
        try connection.run(statements, until: .now + .seconds(600)).map { answer throws(PostgresError) in
          try answer.get()
        }
      }
    } catch {
      if case .refused("23505", _) = error { throw StoreCopy.stale }
      throw address.refusal(error)
    }
  }
}

/// A database whose sessions move, on a queue where calls may wait.
package struct PostgresMove: MovedStore {
  fileprivate let lane: PostgresLane
  fileprivate let database: PostgresDatabase

  /// Runs `body` with the tables of the database under another name, so that no server finds them, not even one that runs. If the
  /// copy is not completed, they get their name back.
  package func moving(
    keys: ServerKeys?,
    _ body: (
      any CopiedStore, ServerKeys, CopyMark, _ complete: () throws(RegistryOpenError) -> Void
    ) throws(RegistryOpenError) -> Void
  ) throws(RegistryOpenError) {
    let opening = PostgresOpening(lane: lane, address: database.address)
    _ = try opening.checkServer()
    let known = try database.keyFile.keys(or: keys)
    let mark = try opening.leave(known.instance)
    let copy = PostgresCopy(lane: lane, address: database.address, schema: PostgresSchema.left)
    do throws(RegistryOpenError) {
      try body(copy, known, mark) { () throws(RegistryOpenError) in try opening.setLeft(mark) }
    } catch {
      // Does nothing once the copy was complete.
      try opening.comeBack()
      throw error
    }
  }

  package func receiving(
    keys: ServerKeys, mark: CopyMark, _ body: (any CopiedStore) throws(RegistryOpenError) -> Void
  ) throws(RegistryOpenError) {
    let opening = PostgresOpening(lane: lane, address: database.address)
    _ = try opening.checkServer()
    try opening.prepared(migrating: true) { connection, found throws(RegistryOpenError) in
      try opening.beginCopy(connection, found, of: keys.instance, mark)
    }
    try body(PostgresCopy(lane: lane, address: database.address, schema: "handstamp"))
    try opening.serve()
  }
}

extension PostgresDatabase {
  /// Runs `body` with the database, where it may wait.
  package func withMove<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresMove) throws(RegistryOpenError) -> Value
  ) async throws(RegistryOpenError) -> Value {
    try await onQueue { lane throws(RegistryOpenError) in try body(PostgresMove(lane: lane, database: self)) }
  }
}
#endif
