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
  private let ends: EndLog?
  private let place: DatabasePlace
  /// The revision of the newest note of the clock that was seen here.
  private let newestNote = Locked<Int64>(-1)

  /// How many sessions the log of ends ended again when the store was opened: an older copy of the database was put back.
  public let endedAgain: Int
  /// How many lines of the log of ends could not be read.
  public let unreadableEnds: Int

  /// Opens the database at `path` and brings its tables up to date. Refuses one that belongs to other keys.
  ///
  /// - Parameters:
  ///   - creating: whether the database may be missing or empty, and is made then. Only right the first time: with an empty
  ///     database beside keys in use, every client's token would be refused for good.
  ///   - clockFile: the path of a file that has the last note of the clock as well: a copy of the database that is put back is not
  ///     taken for the time that it was made at. `nil`: no such file.
  ///   - endLog: the path of the log of ended sessions, which is made when it is missing. `nil`: no log is kept, and an older
  ///     copy of the database that is put back revives what ended since.
  public init(
    path: String, keys: ServerKeys, creating: Bool = false, clockFile: String? = nil, endLog: String? = nil
  ) throws(RegistryOpenError) {
    if creating { try PrivateFile.touch(path) }
    guard let identity = FileIdentity(path: path) else { throw .databaseMissing(path: path) }
    ends = endLog.map { EndLog(path: $0, instance: keys.instance) }
    let clock = clockFile.map { ClockFile(path: $0, instance: keys.instance) }
    let (logged, known): (EndLog.Contents, [LoggedEnd])
    do {
      if !creating { try SQLiteRegistryStore.requireBound(path) }
      pool = try DatabasePool(path: path, configuration: SQLiteRegistryStore.configuration)
      // The pool itself sets NORMAL when it turns the log on, so this comes after.
      try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
      let migrator = Schema.migrator
      guard try !pool.read(migrator.hasBeenSuperseded) else { throw RegistryOpenError.newerFormat(path: path) }
      try migrator.migrate(pool)
      try pool.write { db in try Schema.bind(db, to: keys, path: path) }
      logged = try ends?.read() ?? EndLog.Contents()
      // What is read is read without keeping another server from writing: there may be many, and few that matter.
      let (living, all) = try pool.read { [ends = logged.ends] db in
        (try ends.filter { try $0.livingAccount(in: db) != nil }, endLog == nil ? [] : try LoggedEnd.all(in: db))
      }
      known = all
      endedAgain = living.isEmpty ? 0 : try pool.write { db in try ChangeWriter(db: db).endAgain(living) }
      if let kept = try clock?.read() {
        try pool.write { db in try ChangeWriter(db: db).catchUp(with: kept) }
      }
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
    unreadableEnds = logged.unreadable.count
    // What a crash kept from the log, and what ended before there was one.
    try ends?.append(Array(Set(known).subtracting(logged.ends)).sorted { $0.end.at < $1.end.at })
    place = DatabasePlace(path: path)
    guard FileIdentity(path: path) == identity else { throw .unavailable("\(path) was replaced while it was opened") }
    writer = GroupWriter(pool, at: place, clock: clock, ends: ends)
    reader = GroupReader(pool, at: place)
  }

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = true
    configuration.busyMode = .timeout(5)
    configuration.label = "handstamp registry"
    configuration.prepareDatabase { db in
      // Without it, macOS reports a sync before the disk has done it.
      try db.execute(sql: "PRAGMA fullfsync = ON")
    }
    return configuration
  }

  /// Refuses a database that was never bound to keys, before anything is written to it.
  private static func requireBound(_ path: String) throws {
    var configuration = configuration
    configuration.readonly = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    let isBound = try queue.read(Schema.isBound)
    try queue.close()
    guard isBound else { throw RegistryOpenError.databaseEmpty(path: path) }
  }

  /// Finishes the writes that were taken, moves them from the write-ahead log into the database file, and closes it: a copy of
  /// that file alone is whole then. Whatever comes later is `unavailable`.
  ///
  /// - Throws: when the file is not whole, as while another process has it open: nothing is lost then as long as the `-wal` file
  ///   stays beside it; or when it no longer stands where it was opened.
  public func close() throws(RegistryStoreError) {
    writer.close()
    let trouble = place.trouble
    let checkpoint = Result { try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) } }
    do {
      try pool.close()
      try checkpoint.get()
      if let trouble { throw trouble }
    } catch { throw .trouble(error) }
  }

  @concurrent public func write(
    _ changes: [RegistryChange], events: [RegistryEvent]
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    let stored = try await writer.write(changes, events).get()
    for note in changes.compactMap(\.clockNote) { newestNote.withLock { $0 = max($0, note.revision) } }
    return stored
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
    do {
      let count = try await pool.write { db in try Pruning(db: db).prune(retention, limit: max(limit, 0)) }
      if count == 0, let ends {
        // On the queue of writes: it waits for the disk.
        try await pool.writeWithoutTransaction { _ in try ends.compact(now: retention.now) }
      }
      return count
    } catch let error as RegistryOpenError {
      throw .unavailable("\(error)")
    } catch {
      throw .trouble(error)
    }
  }

  /// The last note of the clock.
  ///
  /// - Throws: also when it is older than one that was seen before: another content was copied into the file. From then on nothing
  ///   is answered, until the next start looks at it anew.
  @concurrent public func clockNote() async throws(RegistryStoreError) -> ClockNote? {
    // What had been seen before the reading began is the least that it must find.
    let least = newestNote.withLock { $0 }
    let note = try await read { db in
      try Row.fetchOne(try db.cachedStatement(sql: "SELECT at, doubted_since, revision FROM clock"))
        .map(ClockNote.init(row:))
    }
    let found = note?.revision ?? -1
    newestNote.withLock { $0 = max($0, found) }
    guard found < least else { return note }
    place.giveUp()
    throw .unavailable("another content was copied into the database: start anew")
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
