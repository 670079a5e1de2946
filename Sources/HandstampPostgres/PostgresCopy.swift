#if PostgreSQL
import HandstampRegistry
package import HandstampStorage

/// A PostgreSQL database that is copied as it is.
package struct PostgresCopy: CopiedStore {
  fileprivate let lane: PostgresLane
  fileprivate let address: PostgresAddress

  package func rows(
    of table: StoredTable, after key: ColumnValue?, limit: Int
  ) throws(RegistryOpenError) -> [[ColumnValue]] {
    let condition = key == nil ? "" : "WHERE \(table.key) > $2"
    let sql = "SELECT \(table.columns) FROM handstamp.\(table.name) \(condition) ORDER BY \(table.key) LIMIT $1"
    let values = [PostgresValue.integer(Int64(limit))] + (key.map { [PostgresValue($0)] } ?? [])
    let result = try run([PostgresStatement(sql, values)])[0]
    var rows: [[ColumnValue]] = []
    for index in 0..<result.count {
      let row = result[index]
      var values: [ColumnValue] = []
      for column in 0..<row.count {
        guard let value = row.value(at: column) else {
          throw .unavailable("\(UnreadableRow(column: row.name(at: column)))")
        }
        values.append(value)
      }
      rows.append(values)
    }
    return rows
  }

  package func counters() throws(RegistryOpenError) -> StoreCounters {
    let results = try run(
      ["event", "audit"].map { PostgresStatement("SELECT last FROM handstamp.counter WHERE name = '\($0)'") })
    return StoreCounters(event: results[0].integer ?? 0, audit: results[1].integer ?? 0)
  }

  package func insert(_ rows: [[ColumnValue]], into table: StoredTable) throws(RegistryOpenError) {
    let marks = (1...max(rows.first?.count ?? 1, 1)).map { "$\($0)" }.joined(separator: ", ")
    let sql = "INSERT INTO handstamp.\(table.name) (\(table.columns)) VALUES (\(marks))"
    // One pipeline is one transaction.
    _ = try run(rows.map { row in PostgresStatement(sql, row.map { PostgresValue($0) }) })
  }

  package func set(_ counters: StoreCounters) throws(RegistryOpenError) {
    let sql = "UPDATE handstamp.counter SET last = $1 WHERE name = $2"
    _ = try run([
      PostgresStatement(sql, [.integer(counters.event), .text("event")]),
      PostgresStatement(sql, [.integer(counters.audit), .text("audit")]),
    ])
  }

  fileprivate func set(state: String) throws(RegistryOpenError) {
    _ = try run([PostgresStatement("UPDATE handstamp.instance SET state = $1", [.text(state)])])
  }

  private func run(_ statements: [PostgresStatement]) throws(RegistryOpenError) -> [PostgresResult] {
    do throws(PostgresFault) {
      return try lane.connected(until: .now + .seconds(60)) { connection throws(PostgresFault) in
        var results: [PostgresResult] = []
        for answer in try connection.run(statements, until: .now + .seconds(600)) { results.append(try answer.get()) }
        return results
      }
    } catch { throw address.refusal(error) }
  }
}

extension PostgresDatabase {
  /// Runs `body` with the database, which no server may use, and marks it as moved if that succeeds, so that none starts on it.
  package func moving(
    keys: ServerKeys?, _ body: @escaping @Sendable (PostgresCopy, ServerKeys) throws(RegistryOpenError) -> Void
  ) async throws(RegistryOpenError) {
    try await onQueue { lane throws(RegistryOpenError) in
      let opening = PostgresOpening(lane: lane, address: address)
      _ = try opening.checkServer()
      let known = try required(keys)
      guard case .bound(let id, let state) = try opening.found() else {
        throw .databaseEmpty(path: address.description)
      }
      guard id == known.instance else {
        throw .wrongKeys(path: address.description, "the database belongs to \(id), the keys to \(known.instance)")
      }
      guard state != "copying" else { return try PostgresOpening.requireServing(state, address.description) }
      try opening.requireUnused()
      let copy = PostgresCopy(lane: lane, address: address)
      try body(copy, known)
      try copy.set(state: "moved")
    }
  }

  /// Runs `body` with a database that is empty, or has the beginning of the same copy, and opens it to servers if that succeeds.
  package func receiving(
    keys: ServerKeys?, _ body: @escaping @Sendable (PostgresCopy, ServerKeys) throws(RegistryOpenError) -> Void
  ) async throws(RegistryOpenError) {
    try await onQueue { lane throws(RegistryOpenError) in
      let opening = PostgresOpening(lane: lane, address: address)
      _ = try opening.checkServer()
      let known = try required(keys)
      try opening.prepared(migrating: true) { connection, found throws(RegistryOpenError) in
        try opening.beginCopy(connection, found, of: known.instance)
      }
      let copy = PostgresCopy(lane: lane, address: address)
      try body(copy, known)
      try copy.set(state: "serving")
    }
  }

  private func required(_ keys: ServerKeys?) throws(RegistryOpenError) -> ServerKeys {
    var known = keys
    if known == nil { known = try keyFile.load() }
    guard let known else { throw .keyFileMissing(path: keyFile.path) }
    return known
  }
}
#endif
