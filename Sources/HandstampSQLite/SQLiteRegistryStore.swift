#if SQLite
import Foundation
import GRDB
public import HandstampCore
public import HandstampRegistry

/// The list of sessions in one SQLite file.
///
/// Write-ahead log with `synchronous=FULL`: every commit is synced before it is acknowledged. Writes that come together
/// share a commit. One row per session, updated in place. The file is for its owner alone.
public final class SQLiteRegistryStore: RegistryStore {
  private let pool: DatabasePool
  private let writer: GroupWriter
  private let reader: GroupReader

  /// Opens the database at `path`, or creates it, and brings its tables up to date. Refuses one that belongs to other keys.
  public init(path: String, keys: ServerKeys) throws(RegistryOpenError) {
    try PrivateFile.touch(path)
    do {
      var configuration = Configuration()
      configuration.foreignKeysEnabled = true
      configuration.busyMode = .timeout(5)
      configuration.label = "handstamp registry"
      configuration.prepareDatabase { db in
        // Without it, macOS reports a sync before the disk has done it.
        try db.execute(sql: "PRAGMA fullfsync = ON")
      }
      pool = try DatabasePool(path: path, configuration: configuration)
      // The pool itself sets NORMAL when it turns the log on, so this comes after.
      try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
      let migrator = Schema.migrator
      guard try !pool.read(migrator.hasBeenSuperseded) else { throw RegistryOpenError.newerFormat(path: path) }
      try migrator.migrate(pool)
      try pool.write { db in try Schema.bind(db, to: keys, path: path) }
    } catch let error as RegistryOpenError {
      throw error
    } catch let error as DatabaseError {
      switch error.resultCode {
      case .SQLITE_NOTADB, .SQLITE_CORRUPT: throw .corrupt(path: path)
      default:
        throw .unavailable("cannot open \(path): \(error.message ?? "error") (\(error.extendedResultCode.rawValue))")
      }
    } catch {
      throw .unavailable("cannot open \(path)")
    }
    writer = GroupWriter(pool)
    reader = GroupReader(pool)
  }

  /// Finishes the writes that were taken, and closes the file. Whatever comes later is `unavailable`.
  public func close() throws(RegistryStoreError) {
    writer.close()
    do { try pool.close() } catch { throw .trouble(error) }
  }

  @concurrent public func write(
    _ changes: [RegistryChange], events: [RegistryEvent]
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    try await writer.write(changes, events).get()
  }

  @concurrent public func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow? {
    guard let session = SessionBytes(id) else { return nil }
    return try await sessions("WHERE id = ?", [Data(session.bytes)]).first
  }

  @concurrent public func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    guard !account.rawValue.utf8.contains(0) else { return [] }
    return try await sessions("WHERE account = ? AND ended_at IS NULL ORDER BY created_at, id", [account.rawValue])
  }

  @concurrent public func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow] {
    try await sessions(
      "WHERE ended_at IS NULL AND expiry IS NOT NULL AND expiry <= ? ORDER BY expiry, id LIMIT ?",
      [now.milliseconds, max(limit, 0)])
  }

  @concurrent public func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord? {
    try await account("id", id.rawValue)
  }

  @concurrent public func account(email normalised: String) async throws(RegistryStoreError) -> AccountRecord? {
    try await account("email", normalised)
  }

  @concurrent public func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord? {
    try await account("identity", identity.key)
  }

  @concurrent public func ticket(_ id: TicketID) async throws(RegistryStoreError) -> Ticket? {
    try await read { db in
      let statement = try db.cachedStatement(sql: "SELECT \(Ticket.columns) FROM ticket WHERE id = ?")
      return try Row.fetchOne(statement, arguments: [Data(id.bytes)]).map(Ticket.init(row:))
    }
  }

  @concurrent public func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int {
    do { return try await pool.write { db in try Pruning(db: db).prune(retention, limit: max(limit, 0)) } } catch {
      throw .trouble(error)
    }
  }

  @concurrent public func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    let filter = account == nil ? "" : "AND account = ?"
    let sql = "SELECT \(StoredEvent.columns) FROM event WHERE id > ? \(filter) ORDER BY id LIMIT ?"
    let arguments: StatementArguments = [id.rawValue] + (account.map { [$0.rawValue] } ?? []) + [max(limit, 0)]
    return try await read { db in
      try Row.fetchAll(try db.cachedStatement(sql: sql), arguments: arguments).map(StoredEvent.init(row:))
    }
  }

  @concurrent public func lastEventID() async throws(RegistryStoreError) -> EventID {
    // Of the table of sequences: it remembers the newest event also when that was deleted.
    let id = try await read { db in
      try Int64.fetchOne(
        try db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'event'"))
    }
    return EventID(rawValue: id ?? 0)
  }

  private func sessions(
    _ condition: String, _ arguments: StatementArguments
  ) async throws(RegistryStoreError) -> [SessionRow] {
    try await read { db in
      let statement = try db.cachedStatement(sql: "SELECT \(SessionRow.columns) FROM session \(condition)")
      return try Row.fetchAll(statement, arguments: arguments).map(SessionRow.init(row:))
    }
  }

  private func account(_ column: String, _ value: String) async throws(RegistryStoreError) -> AccountRecord? {
    // SQLite ends a text there, and would find what begins alike.
    guard !value.utf8.contains(0) else { return nil }
    return try await read { db in
      let sql = "SELECT \(AccountRecord.columns) FROM account WHERE \(column) = ?"
      return try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [value]).map(AccountRecord.init(row:))
    }
  }

  private func read<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(RegistryStoreError) -> Value {
    try await reader.read(body).get()
  }
}

/// How the database is kept.
public struct StoreSettings: Sendable, Hashable {
  /// 2 is `FULL`: every commit is synced.
  public var synchronous: Int
  /// `wal`.
  public var journal: String
  public var foreignKeys: Bool
}

extension SQLiteRegistryStore {
  /// The settings of the connection that writes, as SQLite tells them.
  @concurrent public func settings() async throws(RegistryStoreError) -> StoreSettings {
    do {
      return try await pool.writeWithoutTransaction { db in
        StoreSettings(
          synchronous: try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? -1,
          journal: try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? "",
          foreignKeys: try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false)
      }
    } catch { throw .trouble(error) }
  }
}
#endif
