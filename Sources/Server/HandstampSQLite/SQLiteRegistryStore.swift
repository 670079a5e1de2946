#if Server
import Foundation
import GRDB
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

/// A registry store in one SQLite file.
///
/// It uses the write-ahead log with `synchronous=FULL`: every commit is synced before it is acknowledged. Concurrent writes
/// share a commit. Each session is one row, updated in place. Only the file's owner can access it.
public final class SQLiteRegistryStore: ServerStore {
  let pool: DatabasePool
  let checkpointer: Checkpointer
  private let writer: GroupWriter
  private let reader: GroupReader
  private let ends: EndLog?
  private let place: DatabasePlace
  /// The highest revision of the clock note seen by this store.
  private let newestNote = Locked<Int64>(-1)
  /// The clock note in the file when this store was opened.
  private let keptNote: ClockNote?

  public let reapplied: Reapplied
  /// How many lines of the log could not be read.
  public let unreadableEnds: Int

  /// Opens the database at `path` and migrates its tables. Refuses a database that belongs to other keys.
  ///
  /// - Parameters:
  ///   - creating: whether to create the database if it is missing or empty. Use it only the first time: with an empty
  ///     database and keys that were in use, every client's token would be refused permanently.
  ///   - clockFile: the path of a file that also holds the last clock note, so that the time of a restored copy of the
  ///     database is not mistaken for the current time. `nil` disables it.
  ///   - endLog: the path of the log of ended sessions and other removals, which is created if it is missing. If `nil`, there
  ///     is no log, and restoring an older copy of the database brings back what was ended or taken away since.
  public convenience init(
    path: String, keys: ServerKeys, creating: Bool = false, clockFile: String? = nil, endLog: String? = nil
  ) throws(RegistryOpenError) {
    try self.init(
      path: path, keys: keys, creating: creating, clockFile: clockFile, endLog: endLog,
      patience: SQLiteRegistryStore.patience)
  }

  /// How long a call waits for the locks of other servers on the same file.
  static let patience: Duration = .seconds(5)

  init(
    path: String, keys: ServerKeys, creating: Bool, migrating: Bool = true, clockFile: String?, endLog: String?,
    patience: Duration
  ) throws(RegistryOpenError) {
    if creating { try PrivateFile.touch(path) }
    guard let identity = FileIdentity(path: path) else { throw .databaseMissing(path: path) }
    ends = endLog.map { EndLog(path: $0, instance: keys.instance) }
    let clock = clockFile.map { ClockFile(path: $0, instance: keys.instance) }
    let (logged, known): (EndLog.Contents, [LoggedEnd])
    let removals: [StoredItemID: Removal]
    do {
      try SQLiteRegistryStore.require(path, isBound: !creating, within: patience)
      pool = try DatabasePool(path: path, configuration: SQLiteRegistryStore.configuration(patience))
      // The pool sets NORMAL when it enables the write-ahead log, so this has to come after.
      try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
      checkpointer = try Checkpointer(path: path, configuration: SQLiteRegistryStore.configuration(patience))
      pool.writeWithoutTransaction { [checkpointer] db in checkpointer.watch(db) }
      let migrator = Schema.migrator
      guard try migrating || pool.read(migrator.hasCompletedMigrations) else {
        throw RegistryOpenError.olderFormat(path: path)
      }
      try migrator.migrate(pool)
      try pool.write { db in try Schema.bind(db, to: keys, path: path) }
      logged = try ends?.read() ?? EndLog.Contents()
      // Read without blocking the writes of other servers: there may be many entries, and only a few matter.
      let living: [LoggedEnd]
      (living, known, removals) = try pool.read { [ends = logged.ends] db in
        guard endLog != nil else { return ([], [], [:]) }
        return (
          try ends.filter { try $0.livingAccount(in: db) != nil }, try LoggedEnd.all(in: db), try Removal.all(in: db)
        )
      }
      let missing = Removal.missing(of: logged.removals, from: removals, at: .systemTime)
      reapplied =
        living.isEmpty && missing.isEmpty
        ? Reapplied() : try pool.write { db in try ChangeWriter(db: db).reapply(living, missing) }
      keptNote = try clock?.read()
      if let kept = keptNote {
        try pool.write { db in try ChangeWriter(db: db).catchUp(with: kept) }
      }
    } catch let error as RegistryOpenError {
      throw error
    } catch let error as DatabaseError {
      switch error.resultCode {
      case .SQLITE_NOTADB, .SQLITE_CORRUPT: throw .corrupt(path: path)
      default:
        throw .unavailable("cannot open \(path): \(error.reason)")
      }
    } catch {
      throw .unavailable("cannot open \(path)")
    }
    unreadableEnds = logged.unreadable.count
    // Add what a crash kept out of the log, and what is from before there was a log.
    try ends?.append(
      Set(known).subtracting(logged.ends).sorted { $0.end.at < $1.end.at },
      Array(Set(removals.values).subtracting(logged.removals)).latest.filter { $0.counts(at: .systemTime) })
    place = DatabasePlace(path: path)
    guard FileIdentity(path: path) == identity else { throw .unavailable("\(path) was replaced during opening") }
    writer = GroupWriter(pool, at: place, clock: clock, ends: ends, checkpointer: checkpointer)
    reader = GroupReader(pool, at: place)
  }

  private static func configuration(_ patience: Duration) -> Configuration {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = true
    configuration.busyMode = .timeout(patience / .seconds(1))
    configuration.label = "handstamp registry"
    configuration.prepareDatabase { db in
      // Without this, macOS reports a sync before the data is on disk.
      try db.execute(sql: "PRAGMA fullfsync = ON")
    }
    return configuration
  }

  /// Refuses a database with the tables of another version, and one that was never bound to keys, before anything is written to it.
  private static func require(_ path: String, isBound: Bool, within patience: Duration) throws {
    var configuration = configuration(patience)
    // The unfinished write of a killed process is taken back first, which a connection for reading cannot do.
    configuration.readonly = !PrivateFile.exists(path + "-journal")
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    let found = try queue.read { db in
      try Schema.requireKnown(db, path: path)
      return try Schema.isBound(db)
    }
    try queue.close()
    guard found || !isBound else { throw RegistryOpenError.databaseEmpty(path: path) }
  }

  /// Finishes accepted writes, moves them from the write-ahead log into the database file, and closes it. After that, a copy of
  /// that file alone is complete, and further calls throw `unavailable`.
  ///
  /// - Throws: ``RegistryStoreError`` if the file is not complete, for example because another process has it open (nothing
  ///   is lost as long as the `-wal` file stays beside it), or if it was deleted or replaced.
  public func close() throws(RegistryStoreError) {
    writer.close()
    let trouble = place.trouble
    checkpointer.close()
    let checkpoint = Result {
      try pool.writeWithoutTransaction { db in
        guard db.sqliteConnection != nil else { throw RegistryStoreError.unavailable("the store is closed") }
        _ = try db.checkpoint(.truncate)
      }
    }
    do {
      try pool.close()
      try checkpoint.get()
      if let trouble { throw trouble }
    } catch { throw .trouble(error) }
  }

  /// Deletes the codes of a restored database, also if the log knows of nothing that was taken away since.
  func voidingCodes() throws -> Reapplied {
    var report = reapplied
    report.codes += try pool.write { db in try RestoredRows(db: db).voidCodes() }
    return report
  }

  /// Refuses further writes.
  func closeQueue() {
    writer.close()
    checkpointer.close()
  }

  @concurrent public func write(
    _ changes: [RegistryChange], events: [RegistryEvent]
  ) async throws(RegistryStoreError) {
    try await writer.write(changes, events).get()
    for note in changes.compactMap(\.clockNote) { newestNote.withLock { $0 = max($0, note.revision) } }
  }

  /// In one transaction, and in one turn of the writer's queue.
  @concurrent public func change<Value: Sendable>(
    _ session: SessionBytes, _ decide: @escaping @Sendable (SessionRow?, UnixTime?) -> Decision<Value>
  ) async throws(RegistryStoreError) -> Value {
    let decided = Locked<Value?>(nil)
    try await writer.write { db in
      let decision = decide(try SessionRow.stored(session, in: db), nil)
      decided.withLock { $0 = decision.value }
      return Decision((), decision.changes, events: decision.events)
    }.get()
    guard let value = decided.withLock({ $0 }) else { throw .unavailable("the write was not decided") }
    return value
  }

  @concurrent public func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow? {
    guard let session = SessionBytes(id) else { return nil }
    return try await reader.read { db in try SessionRow.stored(session, in: db) }.get()
  }

  @concurrent public func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    try await records(.live(of: account))
  }

  @concurrent public func endedSessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    try await records(.ended(of: account))
  }

  @concurrent public func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow] {
    try await records(
      StoredQuery(
        "WHERE ended_at IS NULL AND expiry IS NOT NULL AND expiry <= $1 ORDER BY expiry, id LIMIT $2",
        [StoredValue(now), .limit(limit)]))
  }

  @concurrent public func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord? {
    try await records(.account(id)).first
  }

  @concurrent public func account(email normalized: String) async throws(RegistryStoreError) -> AccountRecord? {
    try await records(.account(email: normalized)).first
  }

  @concurrent public func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord? {
    try await records(.account(identity: identity.key)).first
  }

  @concurrent public func oneTimeToken(_ id: OneTimeTokenID) async throws(RegistryStoreError) -> OneTimeTokenRecord? {
    try await records(.token(id)).first
  }

  @concurrent public func item(_ id: StoredItemID) async throws(RegistryStoreError) -> StoredItem? {
    try await records(.item(id)).first
  }

  @concurrent public func items(
    _ kind: StoredItem.Kind, subject: String
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await records(.items(kind, subject: subject))
  }

  @concurrent public func dueItems(
    _ kind: StoredItem.Kind, at now: UnixTime, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await records(.due(kind, at: now, limit: limit))
  }

  @concurrent public func items(
    _ kind: StoredItem.Kind, after id: StoredItemID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await records(.items(kind, after: id, limit: limit))
  }

  @concurrent public func accounts(
    after id: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [AccountRecord] {
    try await records(.accounts(after: id, limit: limit))
  }

  @concurrent public func auditedActions(
    after id: Int64, about account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction] {
    try await records(.log(after: id, about: account, limit: limit))
  }

  @concurrent public func latestAuditedActions(
    about account: AccountID, before id: Int64?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction] {
    try await records(.latestLog(about: account, before: id, limit: limit))
  }

  @concurrent public func counts() async throws(RegistryStoreError) -> RegistryCounts {
    try await reader.read { db in
      func count(_ rest: String) throws -> Int { try Int.fetchOne(db, sql: "SELECT count(*) FROM \(rest)") ?? 0 }
      return RegistryCounts(
        accounts: try count("account WHERE closed_at IS NULL"),
        guests: try count("account WHERE closed_at IS NULL AND email IS NULL AND identity IS NULL"),
        liveSessions: try count("session WHERE ended_at IS NULL"),
        endedSessions: try count("session WHERE ended_at IS NOT NULL"), oneTimeTokens: try count("one_time_token"),
        items: try count("stored_item WHERE kind <> 'removal'"), events: try count("event"),
        auditedActions: try count("audit"))
    }.get()
  }

  @concurrent public func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int {
    do {
      let count = try await pool.write { db in try Pruning(db: db).prune(retention, limit: max(limit, 0)) }
      if count == 0, let ends {
        // On the writer's queue, because it waits for the disk.
        try await pool.writeWithoutTransaction { _ in try ends.compact(now: retention.now) }
      }
      return count
    } catch let error as RegistryOpenError {
      throw .unavailable("\(error)")
    } catch {
      throw place.failure(error)
    }
  }

  /// Returns the last clock note.
  ///
  /// - Throws: ``RegistryStoreError``, also if the note is older than one seen before, because the contents of the file were
  ///   replaced. From then on every call fails until the next start.
  @concurrent public func clockNote() async throws(RegistryStoreError) -> ClockNote? {
    // The read must find at least the revision that was seen before it started.
    let least = newestNote.withLock { $0 }
    let note = try await records(StoredQuery<ClockNote>()).first
    let found = note?.revision ?? -1
    newestNote.withLock { $0 = max($0, found) }
    guard found < least else { return note?.marked(by: keptNote) }
    place.giveUp()
    throw .unavailable("the contents of the database were replaced: restart the server")
  }

  @concurrent public func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    try await records(.log(after: id.rawValue, about: account, limit: limit))
  }

  public var damage: String? { place.damage }
  public func news() -> StoreNews? { nil }
  public var replacements: Int { 0 }

  @concurrent public func lastEventID() async throws(RegistryStoreError) -> EventID {
    // The sequence table remembers the newest event even after it was deleted.
    let id = try await reader.read { db in
      try Int64.fetchOne(
        try db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'event'"))
    }.get()
    return EventID(rawValue: id ?? 0)
  }

  private func records<Record>(_ query: StoredQuery<Record>) async throws(RegistryStoreError) -> [Record] {
    try await reader.read { db in try query.records(in: db) }.get()
  }
}

/// The effective settings of the database.
public struct StoreSettings: Sendable, Hashable {
  /// 2 is `FULL`: every commit is synced.
  public var synchronous: Int
  /// `wal`.
  public var journal: String
  public var foreignKeys: Bool
}

extension SQLiteRegistryStore {
  /// Returns the settings of the writing connection, as reported by SQLite.
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
