#if PostgreSQL
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Opens a database on a lane's queue: checks the server, migrates the tables, binds them to the keys, and ends again what an older
/// copy of the database has as live.
struct PostgresOpening {
  let lane: PostgresLane
  let address: PostgresAddress
  /// How long other nodes may take to migrate the tables.
  static let patience = Duration.seconds(600)

  /// The kind of a database.
  enum Found {
    /// It has none of the server's tables, or empty ones.
    case empty
    case bound(InstanceID, state: String)
  }

  private var path: String { address.description }
  private var deadline: ContinuousClock.Instant { .now + PostgresOpening.patience }

  // MARK: The server

  /// Checks what no server can do without. Returns whether a pooler is in between.
  func checkServer() throws(RegistryOpenError) -> Bool {
    try running { connection throws(RegistryOpenError) in
      try check(
        try result(
          """
          SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
            (pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on')::int::bigint,
            current_setting('synchronous_commit'), current_setting('fsync'), current_setting('server_version')
          """, connection))
      return connection.isPooled
    }
  }

  private func check(_ items: PostgresResult) throws(RegistryOpenError) {
    var columns = StoredColumns(items[0])
    let (number, encoding, isReadOnly, commit, sync, version): (Int64, String, Int64, String, String, String)
    do throws(DescribedError) {
      (number, encoding) = (try columns.integer(), try columns.text())
      (isReadOnly, commit) = (try columns.integer(), try columns.text())
      (sync, version) = (try columns.text(), try columns.text())
    } catch { throw .unavailable("\(path) does not answer like PostgreSQL") }
    guard number >= 150_000 else {
      throw .refused("\(path) is PostgreSQL \(version)", hint: "use version 15 or later")
    }
    guard encoding == "UTF8" else {
      throw .refused(
        "\(path) has the encoding \(encoding)",
        hint: "create the database with: createdb --encoding=UTF8 --template=template0")
    }
    guard isReadOnly == 0 else {
      throw .refused(
        "\(path) can only be read: it is a standby, or its transactions are read-only",
        hint:
          "if it is a standby, name the primary, too: postgresql://one.example.org,two.example.org/handstamp; if not, set"
          + " default_transaction_read_only = off")
    }
    // A sign-out that was confirmed and is forgotten again would let a signed-out person stay in.
    guard commit != "off", sync == "on" else {
      throw .refused(
        "\(path) confirms commits that a crash may lose (synchronous_commit=\(commit), fsync=\(sync))",
        hint: "set fsync=on, and synchronous_commit=on for this database: ALTER DATABASE … SET synchronous_commit = on")
    }
  }

  /// Returns the identity of the database, see ``PostgresContents``.
  func identity() throws(RegistryOpenError) -> String {
    try running { connection throws(RegistryOpenError) in
      do throws(PostgresError) {
        return try connection.run(PostgresContents.identity, until: deadline).text ?? ""
      } catch {
        throw .unavailable("\(RegistryStoreError(error))")
      }
    }
  }

  // MARK: The tables

  /// Returns whose tables a database has. Changes nothing.
  func found() throws(RegistryOpenError) -> Found {
    try running { connection throws(RegistryOpenError) in try found(connection).0 }
  }

  private func found(_ connection: PostgresConnection) throws(RegistryOpenError) -> (Found, format: Int64) {
    let tables = try result(
      """
      SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('handstamp') AND relkind IN ('r', 'p', 'v')),
        (to_regclass('handstamp.format') IS NOT NULL AND to_regclass('handstamp.instance') IS NOT NULL)::int::bigint,
        (to_regclass('handstamp.migration') IS NOT NULL AND to_regclass('handstamp.ticket') IS NOT NULL)::int::bigint
      """, connection)
    guard case .integer(let count)? = tables[0].value(at: 0), case .integer(let isOurs)? = tables[0].value(at: 1),
      case .integer(let isDraft)? = tables[0].value(at: 2)
    else { throw .unavailable("\(path) does not answer like PostgreSQL") }
    guard count > 0 else {
      let left = try result(
        "SELECT count(*) FROM pg_class WHERE oid = to_regclass('\(PostgresSchema.left).instance')", connection)
      guard left.integer == 0 else {
        throw .refused(
          "the sessions of \(path) were moved to another database, or a move was begun",
          hint: "start the server on that one, or run the same handstamp-server admin copy again")
      }
      return (.empty, 0)
    }
    // Versions before format 1 had these tables.
    guard isDraft == 0 else { throw .draftFormat(path: path) }
    guard isOurs == 1 else {
      throw .refused(
        "the schema handstamp of \(path) belongs to something else",
        hint: "use another database: createdb \(address.database ?? "handstamp")2")
    }
    let format = try result("SELECT coalesce(max(number), 0) FROM handstamp.format", connection).integer ?? 0
    guard format <= PostgresSchema.format else { throw .newerFormat(path: path) }
    let instance = try result("SELECT id, state FROM handstamp.instance", connection)
    guard instance.count > 0, case .text(let id)? = instance[0].value(at: 0),
      case .text(let state)? = instance[0].value(at: 1)
    else { return (.empty, format) }
    return (.bound(InstanceID(id), state: state), format)
  }

  /// Runs `body` in a transaction while no other node migrates or binds the database, with the tables of this version.
  ///
  /// - Parameter migrating: whether to change tables of an earlier version.
  func prepared<Value>(
    migrating: Bool, _ body: (PostgresConnection, Found) throws(RegistryOpenError) -> Value
  ) throws(RegistryOpenError) -> Value {
    try transaction { connection throws(RegistryOpenError) in
      let (before, format) = try found(connection)
      try migrate(connection, from: format, migrating)
      return try body(connection, before)
    }
  }

  /// Runs `body` in a transaction, one node at a time.
  private func transaction<Value>(
    _ body: (PostgresConnection) throws(RegistryOpenError) -> Value
  ) throws(RegistryOpenError) -> Value {
    try running { connection throws(RegistryOpenError) in
      do throws(RegistryOpenError) {
        _ = try result("BEGIN ISOLATION LEVEL READ COMMITTED", connection)
        _ = try result("SET LOCAL lock_timeout = 0", connection)
        _ = try result("SET LOCAL idle_in_transaction_session_timeout = '600s'", connection)
        _ = try result("SELECT pg_advisory_xact_lock(\(PostgresSchema.lock))", connection)
        let value = try body(connection)
        _ = try result("COMMIT", connection)
        return value
      } catch {
        // If the connection is lost, so is the transaction.
        _ = try? connection.run(PostgresStatement("ROLLBACK", isFrequent: false), until: deadline)
        throw error
      }
    }
  }

  private func migrate(
    _ connection: PostgresConnection, from format: Int64, _ migrating: Bool
  ) throws(RegistryOpenError) {
    for (index, statements) in PostgresSchema.migrations.enumerated() where index >= format {
      guard migrating else { throw .olderFormat(path: path) }
      for statement in statements { _ = try result(statement, connection) }
      _ = try result("INSERT INTO handstamp.format (number) VALUES (\(index + 1))", connection)
    }
  }

  /// Binds new tables to their keys, and refuses those that are bound to others. Records added keys.
  func bind(_ connection: PostgresConnection, _ found: Found, to keys: ServerKeys) throws(RegistryOpenError) {
    switch found {
    case .empty:
      _ = try result(
        "INSERT INTO handstamp.instance (id) VALUES ($1)", connection, [.text(keys.instance.rawValue)])
    case .bound(let id, let state):
      try check(id, keys.instance)
      try PostgresOpening.requireServing(state, path)
    }
    for id in keys.master.keys.keys.sorted() {
      guard let value = keys.master.checkValue(of: id, for: keys.instance) else { continue }
      let stored = try result(
        """
        INSERT INTO handstamp.key_check (kid, value) VALUES ($1, $2)
        ON CONFLICT (kid) DO UPDATE SET kid = excluded.kid RETURNING value
        """, connection, [.text(id.rawValue), .bytes(value)])
      guard stored.count == 1, case .bytes(value)? = stored[0].value(at: 0) else {
        throw .wrongKeys(path: path, "the key \(id) has changed")
      }
    }
  }

  /// Marks an empty database as the target of a copy, so that no server uses it before it is complete.
  func beginCopy(
    _ connection: PostgresConnection, _ found: Found, of instance: InstanceID, _ mark: CopyMark
  ) throws(RegistryOpenError) {
    switch found {
    case .empty:
      guard !mark.isLeft else { throw CopyMark.again }
      _ = try result(
        "INSERT INTO handstamp.instance (id, state) VALUES ($1, $2)", connection,
        [.text(instance.rawValue), .text("copying:\(mark.text)")])
    case .bound(instance, state: "copying:\(mark.text)"): return
    case .bound(let id, let state):
      throw .refused(
        state.hasPrefix("copying") ? "another copy (of \(id)) to \(path) was begun" : "\(path) is not empty",
        hint: "use an empty database: createdb \(address.database ?? "handstamp")2")
    }
  }

  /// Opens the target of a complete copy to servers.
  func serve() throws(RegistryOpenError) {
    _ = try rows("UPDATE handstamp.instance SET state = 'serving'")
  }

  /// Takes the tables from every server, after the transactions that are under way. Returns the mark of the copy: a new one, or
  /// that of the copy that was begun before.
  func leave(_ instance: InstanceID) throws(RegistryOpenError) -> CopyMark {
    try transaction { connection throws(RegistryOpenError) in
      _ = try result("SET LOCAL lock_timeout = '30s'", connection)
      let present = try result(
        """
        SELECT (to_regclass('handstamp.instance') IS NOT NULL)::int::bigint,
          (to_regclass('\(PostgresSchema.left).instance') IS NOT NULL)::int::bigint
        """, connection)
      guard case .integer(let isHere)? = present[0].value(at: 0), case .integer(let isLeft)? = present[0].value(at: 1)
      else { throw .unavailable("\(path) does not answer like PostgreSQL") }
      if isHere == 1 {
        guard case .bound(let id, let state) = try found(connection).0 else { throw .tablesMissing(path: path) }
        try check(id, instance)
        try PostgresOpening.requireServing(state, path)
        guard isLeft == 0 else {
          throw .refused(
            "\(path) also has the schema \(PostgresSchema.left) of a previous move",
            hint: "if its sessions are not needed any more: DROP SCHEMA \(PostgresSchema.left) CASCADE")
        }
        let tables = StoredTable.all.map { "handstamp.\($0.name)" } + ["handstamp.instance", "handstamp.counter"]
        _ = try result("LOCK TABLE \(tables.joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE", connection)
        _ = try result(
          "UPDATE handstamp.instance SET state = 'moving:' || replace(gen_random_uuid()::text, '-', '')", connection)
        _ = try result("ALTER SCHEMA handstamp RENAME TO \(PostgresSchema.left)", connection)
      }
      guard isHere == 1 || isLeft == 1 else { throw .tablesMissing(path: path) }
      let row = try result("SELECT id, state FROM \(PostgresSchema.left).instance", connection)
      guard row.count == 1, case .text(let id)? = row[0].value(at: 0), case .text(let state)? = row[0].value(at: 1),
        let colon = state.firstIndex(of: ":")
      else { throw .unavailable("the schema \(PostgresSchema.left) of \(path) is not complete") }
      try check(InstanceID(id), instance)
      return CopyMark(text: String(state[state.index(after: colon)...]), isLeft: state.hasPrefix("moved"))
    }
  }

  private func check(_ found: InstanceID, _ expected: InstanceID) throws(RegistryOpenError) {
    guard found == expected else {
      throw .wrongKeys(path: path, "the database belongs to \(found), the keys to \(expected)")
    }
  }

  /// Notes that the copy is complete.
  func setLeft(_ mark: CopyMark) throws(RegistryOpenError) {
    _ = try rows("UPDATE \(PostgresSchema.left).instance SET state = $1", [.text("moved:\(mark.text)")])
  }

  /// Gives the tables of a copy that was not completed back to the servers.
  func comeBack() throws(RegistryOpenError) {
    let state = try rows("SELECT state FROM \(PostgresSchema.left).instance").text
    guard state?.hasPrefix("moving:") == true else { return }
    try transaction { connection throws(RegistryOpenError) in
      _ = try result("UPDATE \(PostgresSchema.left).instance SET state = 'serving'", connection)
      _ = try result("ALTER SCHEMA \(PostgresSchema.left) RENAME TO handstamp", connection)
    }
  }

  static func requireServing(_ state: String, _ path: String) throws(RegistryOpenError) {
    guard state != "serving" else { return }
    throw .refused(
      "a copy to \(path) was begun and is not complete",
      hint: "run the same handstamp-server admin copy again, it goes on")
  }

  // MARK: What ended since

  /// Ends and takes away what the log lists and the database still has.
  func reapply(_ log: EndLog.Contents, writer: PostgresWriter) throws(RegistryOpenError) -> Reapplied {
    let restored = PostgresRestored(opening: self, writer: writer)
    do {
      // The ends before the removals, because devices are erased of ended sessions.
      let missing = try restored.missing(of: log.removals)
      // Before what tells that the database is an older copy, so that a crash in between changes nothing.
      let codes = try missing.isEmpty ? 0 : restored.voidCodes()
      let sessions = try endAgain(log.ends, writer: writer)
      var report = try restored.reapply(missing)
      report.sessions = sessions
      report.unreadableLines = log.unreadable.count
      report.codes = try codes + (sessions > 0 && missing.isEmpty ? restored.voidCodes() : 0)
      return report
    } catch let error as RegistryOpenError { throw error } catch { throw .unavailable("\(error)") }
  }

  /// Ends the sessions that the log lists as ended and the database as live. Returns how many.
  private func endAgain(_ ends: [LoggedEnd], writer: PostgresWriter) throws(RegistryOpenError) -> Int {
    var count = 0
    for batch in stride(from: 0, to: ends.count, by: 1000).map({ ends[$0..<min($0 + 1000, ends.count)] }) {
      let living = try rows(
        "SELECT \(SessionRow.columns) FROM handstamp.session WHERE id = ANY($1) AND ended_at IS NULL",
        [.list(batch.map(\.session.bytes))])
      var sessions: [[UInt8]: (account: AccountID, row: SessionRow?)] = [:]
      for index in 0..<living.count {
        // The first two columns, also of a row that cannot be read as a whole.
        guard case .bytes(let id)? = living[index].value(at: 0), case .text(let account)? = living[index].value(at: 1)
        else { continue }
        sessions[id] = (AccountID(account), try? SessionRow(source: living[index]))
      }
      for logged in batch {
        guard let found = sessions.removeValue(forKey: logged.session.bytes) else { continue }
        let (changes, event) = logged.again(of: found.account, found.row)
        let transaction = PostgresTransaction(
          lane: lane, writer: writer, deadline: .now + .seconds(30), patience: .seconds(10))
        do throws(RegistryStoreError) {
          _ = try transaction.perform(changes, [event])
          count += 1
        } catch {
          // Another node was faster.
          guard error == .conflict || error == .notFound else { throw .unavailable("\(error)") }
        }
      }
    }
    return count
  }

  /// Returns the ends of the last days, the newest first, which a log may lack after a crash, or because another node made them.
  func recentEnds() throws(RegistryOpenError) -> [LoggedEnd] {
    let since = UnixTime.systemTime.advanced(by: .seconds(-7 * 86_400))
    let rows = try rows(
      """
      SELECT \(LoggedEnd.columns) FROM handstamp.session
      WHERE ended_at > $1 AND (expiry IS NULL OR expiry > ended_at) ORDER BY ended_at DESC LIMIT 100000
      """, [.integer(since.milliseconds)])
    return (0..<rows.count).compactMap { try? LoggedEnd(source: rows[$0]) }
  }

  /// Returns the removals of the last days, see ``recentEnds()``.
  func recentRemovals() throws(RegistryOpenError) -> [Removal] {
    let since = UnixTime.systemTime.advanced(by: .seconds(-7 * 86_400) + Removal.memory)
    return try rows(
      """
      SELECT payload FROM handstamp.stored_item
      WHERE kind = 'removal' AND expires_at > $1 ORDER BY expires_at DESC LIMIT 100000
      """,
      [.integer(since.milliseconds)]
    ).texts.compactMap { PayloadCoding.value(Removal.self, $0) }
  }

  /// Stores a note that is newer than the database's, which was then restored from an older copy.
  func catchUp(with kept: ClockNote) throws(RegistryOpenError) {
    _ = try rows(
      """
      INSERT INTO handstamp.clock (at, doubted_since, revision) VALUES ($1, $2, $3)
      ON CONFLICT (only_one) DO UPDATE SET at = $1, doubted_since = $2, revision = $3
        WHERE handstamp.clock.revision < $3
      """, [.integer(kept.at.milliseconds), .integer(kept.doubtedSince?.milliseconds), .integer(kept.revision)])
  }

  // MARK: Statements

  func rows(_ sql: String, _ values: [PostgresValue] = []) throws(RegistryOpenError) -> PostgresResult {
    try running { connection throws(RegistryOpenError) in try result(sql, connection, values) }
  }

  private func running<Value>(
    _ body: (PostgresConnection) throws(RegistryOpenError) -> Value
  ) throws(RegistryOpenError) -> Value {
    let result: Result<Value, RegistryOpenError>
    do throws(PostgresError) {
      result = try lane.connected(until: .now + .seconds(10)) { connection throws(PostgresError) in
        Result { () throws(RegistryOpenError) in try body(connection) }
      }
    } catch { throw address.refusal(error) }
    return try result.get()
  }

  private func result(
    _ sql: String, _ connection: PostgresConnection, _ values: [PostgresValue] = []
  ) throws(RegistryOpenError) -> PostgresResult {
    do throws(PostgresError) {
      return try connection.run(PostgresStatement(sql, values, isFrequent: false), until: deadline)
    } catch {
      lane.disconnect()
      if case .refused("42501", let message) = error {
        throw .refused(
          "\(path): \(message)",
          hint:
            "let the user create the schema: GRANT CREATE ON DATABASE … TO …; or connect as the user who owns the schema handstamp"
        )
      }
      if case .refused("42P01", _) = error {
        throw .refused("the schema handstamp of \(path) is not complete", hint: "restore a backup of the database")
      }
      throw .unavailable("\(RegistryStoreError(error))")
    }
  }
}
#endif
