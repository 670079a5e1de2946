#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Makes the changes of one write, inside a transaction.
///
/// Throws ``RegistryStoreError`` for results that the caller has to handle, and other errors for failures of the database.
struct ChangeWriter {
  let db: Database

  func write(_ changes: [RegistryChange], _ events: [RegistryEvent]) throws {
    for change in changes {
      switch change {
      case .createSession(let row): try insert(row)
      case .replaceSession(let row, let expecting): try update(row, expecting)
      case .endSession(let id, let end): try self.end(id, end)
      case .createAccount(let record): try insert(record)
      case .replaceAccount(let record, let expecting): try update(record, expecting)
      case .expectAccount(let id, let revision):
        let isAsExpected = try has("SELECT 1 FROM account WHERE id = ? AND revision = ?", [id.rawValue, revision])
        if !isAsExpected { throw try refusal(of: id.rawValue, in: "account") }
      case .expectSession(let id):
        guard let session = SessionBytes(id).map({ Data($0.bytes) }) else { throw RegistryStoreError.notFound }
        let isLive = try has("SELECT 1 FROM session WHERE id = ? AND ended_at IS NULL", [session])
        if !isLive { throw try refusal(of: session, in: "session") }
      case .createOneTimeToken(let record): try store(new: record)
      case .redeemOneTimeToken(let id):
        try run("DELETE FROM one_time_token WHERE id = ?", [Data(id.bytes)])
        if db.changesCount == 0 { throw RegistryStoreError.notFound }
      case .voidOneTimeTokens(let purpose, let subject):
        try run("DELETE FROM one_time_token WHERE purpose = ? AND subject = ?", [purpose.rawValue, subject])
      case .createItem(let item): try insert(item)
      case .replaceItem(let item, let expecting):
        try changeRow(
          Data(item.id.bytes), in: "stored_item",
          """
          UPDATE stored_item SET payload = ?, due_at = ?, expires_at = ?, revision = revision + 1
          WHERE id = ? AND revision = ?
          """,
          [item.payload, item.dueAt?.milliseconds, item.expiresAt.milliseconds, Data(item.id.bytes), expecting])
      case .putItem(let item): try put(item)
      case .removeItem(let item):
        let id = Data(item.id.bytes)
        try changeRow(
          id, in: "stored_item", "DELETE FROM stored_item WHERE id = ? AND revision = ?", [id, item.revision])
      case .removeItems(let kind, let subject):
        try run("DELETE FROM stored_item WHERE kind = ? AND subject = ?", [kind.rawValue, subject])
      case .eraseDevices(let account):
        try run(
          """
          UPDATE session SET device_id = '', device_name = '', platform = '', push_token = NULL, revision = revision + 1
          WHERE account = ? AND ended_at IS NOT NULL
          """, [account.rawValue])
      case .audit(let entry): try insert(entry)
      case .noteClock(let note):
        guard try notedRevision() &+ 1 == note.revision else { throw RegistryStoreError.conflict }
        try store(note)
      case .moveTimes(let shift):
        for sql in TimeShift.statements(mark: "?", least: "min") { try run(sql, shift.values) }
      }
    }
    for event in events { try insert(event) }
  }

  /// Stores a note that is newer than the database's, which was then restored from an older copy.
  func catchUp(with kept: ClockNote) throws {
    if try notedRevision() < kept.revision { try store(kept) }
  }

  private func notedRevision() throws -> Int64 {
    try Int64.fetchOne(try db.cachedStatement(sql: "SELECT revision FROM clock")) ?? -1
  }

  private func store(_ note: ClockNote) throws {
    try run(
      "INSERT OR REPLACE INTO clock (only, at, doubted_since, revision) VALUES (1, ?, ?, ?)",
      [note.at.milliseconds, note.doubtedSince?.milliseconds, note.revision])
  }

  /// Ends and takes away what the log lists and the database still has.
  func reapply(_ ends: [LoggedEnd], _ removals: [Removal]) throws -> Reapplied {
    // The ends first, because devices are erased of ended sessions.
    let sessions = try endAgain(ends)
    var report = try RestoredRows(db: db).reapply(removals)
    report.sessions = sessions
    report.codes = try RestoredRows(db: db).voidCodes()
    return report
  }

  private func endAgain(_ ends: [LoggedEnd]) throws -> Int {
    var count = 0
    for logged in ends {
      guard let account = try logged.livingAccount(in: db) else { continue }
      let (changes, event) = logged.again(of: account, try? SessionRow.stored(logged.session, in: db))
      try write(changes, [event])
      count += 1
    }
    return count
  }

  private func insert(_ row: SessionRow) throws {
    var row = row
    row.revision = 0
    try store(new: row)
  }

  /// Stores a record with the revision that it has.
  func store<Record: StoredRecord>(new record: Record) throws {
    let marks = Array(repeating: "?", count: Record.columnCount).joined(separator: ", ")
    try run(
      "INSERT INTO \(Record.table) (\(Record.columns)) VALUES (\(marks))",
      try record.storedValues().map(\.databaseValue))
  }

  private func update(_ row: SessionRow, _ expecting: Int64) throws {
    let values: [(any DatabaseValueConvertible)?] = [
      row.kind.rawValue, try row.storedCounter(), Data(row.ring.bytes(in: row.kind)), row.rotatedAt.milliseconds,
      row.lastSeenAt.milliseconds, row.absoluteExpiry?.milliseconds, row.idleLimit?.wholeMilliseconds,
      row.expiry?.milliseconds, row.dpopThumbprint, bytes(row.pushToken), row.authenticatedAt.milliseconds,
      row.methods.text, row.methods.asked?.rawValue,
    ]
    let id = Data(row.session.bytes)
    let key: [(any DatabaseValueConvertible)?] = [id, row.account.rawValue, expecting]
    let device: [(any DatabaseValueConvertible)?] = [row.device.id.rawValue, row.device.name, row.device.platform]
    // A refresh changes no columns of the device index. If they are not set, the index does not have to be written. Only a browser has
    // cookies, and it has no refresh.
    if row.end == nil, row.pending == nil, row.kind != .browser {
      try run(ChangeWriter.refresh, values + key + device)
      if db.changesCount == 1 { return }
    }
    let end: [(any DatabaseValueConvertible)?] = [row.end?.at.milliseconds, row.end?.reason.rawValue]
    let others: [(any DatabaseValueConvertible)?] = (row.storedPending + row.storedCookies).map(\.databaseValue)
    try changeRow(id, in: "session", ChangeWriter.replacement, values + device + end + others + key)
  }

  private static let refreshed = """
    UPDATE session SET kind = ?, counter = ?, ring = ?, rotated_at = ?, last_seen_at = ?, absolute_expiry = ?, idle_limit = ?,
      expiry = ?, dpop_thumbprint = ?, push_token = ?, authenticated_at = ?, methods = ?, requested_acr = ?,
      revision = revision + 1
    """
  private static let refresh = """
    \(refreshed) WHERE id = ? AND account = ? AND revision = ? AND ended_at IS NULL AND device_id = ? AND device_name = ?
      AND platform = ? AND pending IS NULL
    """
  private static let replacement = """
    \(refreshed), device_id = ?, device_name = ?, platform = ?, ended_at = ?, end_reason = ?, pending = ?, replaces = ?,
      oldest_cookie = ?, oldest_cookie_at = ?, oldest_cookie_replaced = ?
    WHERE id = ? AND account = ? AND revision = ?
    """

  private func end(_ id: SessionID, _ end: SessionEnd) throws {
    guard let session = SessionBytes(id).map({ Data($0.bytes) }) else { throw RegistryStoreError.notFound }
    try changeRow(
      session, in: "session",
      """
      UPDATE session SET ended_at = ?, end_reason = ?, push_token = NULL, revision = revision + 1
      WHERE id = ? AND ended_at IS NULL
      """, [end.at.milliseconds, end.reason.rawValue, session])
  }

  /// Runs a statement that changes one row, if that is as expected.
  private func changeRow(
    _ id: any DatabaseValueConvertible, in table: String, _ sql: String, _ values: [(any DatabaseValueConvertible)?]
  ) throws {
    try run(sql, values)
    if db.changesCount == 0 { throw try refusal(of: id, in: table) }
  }

  /// Returns why a row is not as expected.
  private func refusal(of id: any DatabaseValueConvertible, in table: String) throws -> RegistryStoreError {
    try has("SELECT 1 FROM \(table) WHERE id = ?", [id]) ? .conflict : .notFound
  }

  private func has(_ sql: String, _ values: StatementArguments) throws -> Bool {
    try Int64.fetchOne(try db.cachedStatement(sql: sql), arguments: values) != nil
  }

  private func insert(_ item: StoredItem) throws {
    var item = item
    item.revision = 0
    try store(new: item)
  }

  private func put(_ item: StoredItem) throws {
    try run(
      """
      INSERT INTO stored_item (\(StoredItem.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, 0)
      ON CONFLICT (id) DO UPDATE SET payload = excluded.payload, due_at = excluded.due_at,
        expires_at = excluded.expires_at, revision = revision + 1
      """,
      [
        Data(item.id.bytes), item.kind.rawValue, item.subject, item.payload, item.createdAt.milliseconds,
        item.dueAt?.milliseconds, item.expiresAt.milliseconds,
      ])
  }

  private func insert(_ entry: AuditedAction) throws {
    try run(
      "INSERT INTO audit (at, action, actor, account, session, address, details) VALUES (?, ?, ?, ?, ?, ?, ?)",
      entry.storedValues.map(\.databaseValue))
  }

  private func insert(_ record: AccountRecord) throws {
    var record = record
    record.revision = 0
    try store(new: record)
  }

  private func update(_ record: AccountRecord, _ expecting: Int64) throws {
    try changeRow(
      record.id.rawValue, in: "account", ChangeWriter.accountReplacement,
      record.replacement(expecting: expecting).map(\.databaseValue))
  }

  private static let accountReplacement = AccountRecord.replacement(mark: "?")

  private func insert(_ event: RegistryEvent) throws {
    try run(
      "INSERT INTO event (kind, account, session, reason, at) VALUES (?, ?, ?, ?, ?)",
      event.storedValues.map(\.databaseValue))
  }

  private func bytes(_ secret: Secret?) -> Data? { secret?.withExposedBytes { Data($0) } }

  private func run(_ sql: String, _ values: [(any DatabaseValueConvertible)?]) throws {
    do { try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(values)) } catch let error
      as DatabaseError
    {
      switch error.extendedResultCode {
      case .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_UNIQUE: throw RegistryStoreError.alreadyExists
      case .SQLITE_CONSTRAINT_FOREIGNKEY: throw RegistryStoreError.notFound
      default: throw error
      }
    }
  }
}
#endif
