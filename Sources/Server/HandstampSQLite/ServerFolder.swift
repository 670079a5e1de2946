#if Server
import Foundation
import GRDB
import HandstampCore
public import HandstampRegistry
import HandstampSupport

/// A server's folder with `keys.json`, `registry.sqlite`, `ends.log` and `clock`, which belong together.
///
/// | keys | database | opening |
/// |---|---|---|
/// | missing | missing | creates both |
/// | present, never used | missing or empty | creates the database |
/// | present, in use | missing or empty | refuses: with an empty database all clients would be signed out |
/// | missing | present | refuses: with new keys all clients would be signed out |
/// | present | present | opens, if the two belong together |
///
/// Keys passed in by the caller, such as those of ``KeyFile/keys(text:named:)``, count as in use: they cannot be marked as
/// used when their database is created, so ``createDatabase(keys:)`` creates it, once.
///
/// `ends.log` records the end of each session that a copy of the database may still show as live, `clock` the last clock
/// note. To restore a backup, replace the database and keep the other files: opening ends those sessions again, and sessions
/// that have expired since stay expired.
public struct ServerFolder: Sendable {
  public let path: String
  package var patience = SQLiteRegistryStore.patience

  public init(path: String) { self.path = path }

  public var keyFile: KeyFile { KeyFile(path: path + "/keys.json") }
  public var databasePath: String { path + "/registry.sqlite" }
  /// The log of ended sessions.
  public var endLogPath: String { path + "/ends.log" }

  /// Opens the store and reads the keys. Servers that open the same folder at once wait for each other here.
  ///
  /// - Parameter keys: the keys, if they are stored outside the folder; `nil` uses ``keyFile``.
  public func open(keys: ServerKeys? = nil) throws(RegistryOpenError) -> (store: SQLiteRegistryStore, keys: ServerKeys)
  {
    try PrivateFile.createFolder(path)
    return try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
      if let keys { return (try store(keys, creating: false), keys) }
      return try openLocked()
    }
  }

  /// Creates the database for keys that are stored outside the folder. An existing database is not changed, and must belong to
  /// these keys.
  public func createDatabase(keys: ServerKeys) throws(RegistryOpenError) {
    try PrivateFile.createFolder(path)
    try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
      let store = try store(keys, creating: true)
      do throws(RegistryStoreError) { try store.close() } catch { throw .unavailable("\(error)") }
    }
  }

  private func openLocked() throws(RegistryOpenError) -> (store: SQLiteRegistryStore, keys: ServerKeys) {
    let contents: KeyFile.Contents
    if let found = try keyFile.read() {
      contents = found
    } else {
      guard !PrivateFile.exists(databasePath) else { throw .keyFileMissing(path: keyFile.path) }
      contents = try keyFile.create(try drawnKeys())
    }
    let store = try store(contents.keys, creating: !contents.inUse)
    if !contents.inUse { try keyFile.markInUse(contents.keys) }
    return (store, contents.keys)
  }

  /// - Parameter draft: a database that is to take the place of the folder's.
  func store(
    _ keys: ServerKeys, creating: Bool, migrating: Bool = true, at draft: String? = nil
  ) throws(RegistryOpenError) -> SQLiteRegistryStore {
    let database = draft ?? databasePath
    if draft == nil {
      try requireNotMoved()
      // A restore was killed, and the former database is still in use.
      removeRestoringDraft()
    }
    for file in [database, database + "-wal", database + "-shm", endLogPath, path + "/clock"] {
      try PrivateFile.requireOwn(file)
    }
    return try SQLiteRegistryStore(
      path: database, keys: keys, creating: creating, migrating: migrating, clockFile: path + "/clock",
      endLog: endLogPath, patience: patience)
  }

  private func drawnKeys() throws(RegistryOpenError) -> ServerKeys {
    do { return try ServerKeys.drawn() } catch { throw .unavailable("cannot create a key") }
  }
}

/// How a backup was restored.
public enum RestoredBackup: Sendable, Hashable {
  /// Everything, to a folder that had no server's data.
  case everything
  /// Only the database. What was taken away since the backup was taken away again; the former database is at `former`.
  case database(Reapplied, former: String?)
}

extension ServerFolder {
  /// The files of a backup besides the database, in the order in which they are restored. `keys.json` comes last: without it, no
  /// server starts on the others.
  private static let companions = ["signing.pem", "signing.json", "ends.log", "clock", "keys.json"]
  private static let database = "registry.sqlite"

  /// Writes a consistent copy of the folder, while servers use it. It has the keys of every session.
  ///
  /// - Parameter target: a folder that does not exist yet or is empty. It gets mode 0700, as do missing folders above it, and appears
  ///   when it is complete.
  /// - Returns: the names of the files in it.
  @concurrent public func backUp(
    _ store: SQLiteRegistryStore, to target: String
  ) async throws(RegistryOpenError) -> [String] {
    guard ServerFolder.isFree(target) else { throw .backupNotEmpty(path: target) }
    // "b/" is the folder b, and its draft must not be inside.
    var target = target
    while target.count > 1, target.hasSuffix("/") { target.removeLast() }
    let draft = "\(target).\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
    do {
      try PrivateFile.createParents(of: target)
      try PrivateFile.createFolder(draft)
      try await store.copy(to: "\(draft)/\(ServerFolder.database)")
      var names = [ServerFolder.database]
      // After the database: the newest keys read every token in it, and the newest log has every end that it lacks.
      for name in ServerFolder.companions {
        guard let (data, _) = try PrivateFile.read("\(path)/\(name)", limit: .max) else { continue }
        _ = try PrivateFile.create("\(draft)/\(name)", data)
        names.append(name)
      }
      try PrivateFile.move(draft, to: target)
      return names
    } catch {
      try? FileManager.default.removeItem(atPath: draft)
      throw RegistryOpenError(error)
    }
  }

  /// Restores a backup: everything if the folder has no server's data, otherwise only the database, so that what ended or was
  /// taken away since the backup does not come back. No server may be running. The former database is kept.
  ///
  /// - Parameter keys: the keys, if they are stored outside the folder.
  public func restore(from backup: String, keys: ServerKeys? = nil) throws(RegistryOpenError) -> RestoredBackup {
    let instance = try ServerFolder.instance(of: backup)
    do {
      try PrivateFile.createFolder(path)
      return try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
        try restoreLocked(from: backup, of: instance, keys)
      }
    } catch { throw RegistryOpenError(error) }
  }

  private func restoreLocked(
    from backup: String, of instance: InstanceID, _ given: ServerKeys?
  ) throws(RegistryOpenError) -> RestoredBackup {
    do {
      let isWithoutDatabase = !PrivateFile.exists(keyFile.path) && !PrivateFile.exists(databasePath)
      // A log that is there knows what was taken away since, also if nothing else is left.
      let isNew = isWithoutDatabase && !PrivateFile.exists(endLogPath)
      if isWithoutDatabase {
        for name in ServerFolder.companions where given == nil || name != "keys.json" {
          guard !PrivateFile.exists("\(path)/\(name)"),
            let (data, _) = try PrivateFile.read("\(backup)/\(name)", limit: .max)
          else { continue }
          try PrivateFile.replace("\(path)/\(name)", data)
        }
      }
      guard let keys = try given ?? keyFile.load() else {
        throw isNew
          ? RegistryOpenError.notABackup(path: backup, "it has no keys.json") : .keyFileMissing(path: keyFile.path)
      }
      guard keys.instance == instance else { throw RegistryOpenError.backupOfOtherServer(path: backup) }
      try requireUnused()
      let counters = try consult(keys)
      let lacksEntries = try isNew ? false : completeLog(from: backup, instance)
      // A draft, so that a crash leaves the former database or all of the restored one.
      let draft = restoringPath
      removeRestoringDraft()
      defer { removeRestoringDraft() }
      try PrivateFile.copy("\(backup)/\(ServerFolder.database)", to: draft)
      // Takes away again what the log has, and reads the clock's file.
      let store = try store(keys, creating: false, at: draft)
      var reapplied = try store.voidingCodes()
      reapplied.isIncomplete = lacksEntries
      reapplied.unreadableLines = store.unreadableEnds
      if let counters { try store.raise(counters) }
      try store.close()
      let former = try setAside()
      do { try PrivateFile.move(draft, to: databasePath) } catch {
        if let former, !PrivateFile.exists(databasePath) { try? PrivateFile.move(former, to: databasePath) }
        throw error
      }
      return isNew ? .everything : .database(reapplied, former: former)
    } catch { throw RegistryOpenError(error) }
  }

  /// Where a restored database is until it is complete.
  var restoringPath: String { databasePath + ".restoring" }

  /// Only while `opening.lock` is held: no other process restores then.
  func removeRestoringDraft() { for end in ["", ".new", "-wal", "-shm", "-journal"] { unlink(restoringPath + end) } }

  /// Reads in the database that is to be replaced what the log lacks, if it can be read, and the last numbers of its logs, which are
  /// never used again.
  private func consult(_ keys: ServerKeys) throws -> StoreCounters? {
    guard PrivateFile.exists(databasePath) else { return nil }
    do {
      let present = try store(keys, creating: false)
      defer { try? present.close() }
      return try present.counters()
    } catch {
      // A log of another server is no reason to give this one's up.
      if case .endLogForeign? = error as? RegistryOpenError { throw error }
      return nil
    }
  }

  /// Adds what the backup's log has and this one lacks, such as one that was emptied.
  ///
  /// - Returns: whether there was such an entry: then others may be missing that no file has any more.
  private func completeLog(from backup: String, _ instance: InstanceID) throws -> Bool {
    guard PrivateFile.exists("\(backup)/ends.log") else { return false }
    let own = EndLog(path: endLogPath, instance: instance)
    let (former, present) = (try EndLog(path: "\(backup)/ends.log", instance: instance).read(), try own.read())
    let now = UnixTime.systemTime
    let ends = Set(former.ends).subtracting(present.ends).filter { $0.expiry.map { $0 > now } ?? true }
    let known = Dictionary(present.removals.latest.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
    let removals = Removal.missing(of: former.removals, from: known, at: now)
    try own.append(ends.sorted { $0.end.at < $1.end.at }, removals)
    return !ends.isEmpty || !removals.isEmpty
  }

  /// Gives the present database a second name, and moves its log there. Returns the name; `nil` if the folder has no database.
  private func setAside() throws -> String? {
    // Again: a program may have opened it while the other one was prepared.
    try requireUnused()
    let isThere = PrivateFile.exists(databasePath)
    var number = 1
    func former() -> String { "\(databasePath).former-\(number)" }
    // A restore that was killed here has left the name.
    func isItself() -> Bool { isThere && FileIdentity(path: former()) == FileIdentity(path: databasePath) }
    let logs = ["-wal", "-journal"]
    func isTaken() -> Bool { PrivateFile.exists(former()) && !isItself() }
    while isTaken() || logs.contains(where: { PrivateFile.exists(former() + $0) }) { number += 1 }
    // Those of a damaged database, or of one that is gone: SQLite would write what they hold into the restored one.
    for log in logs where PrivateFile.exists(databasePath + log) {
      try PrivateFile.move(databasePath + log, to: former() + log)
    }
    try? FileManager.default.removeItem(atPath: databasePath + "-shm")
    guard isThere else { return nil }
    // Where a file system has one name for a file, a crash between the two moves leaves no database, and a server does not start.
    if !isItself(), link(databasePath, former()) != 0 { try PrivateFile.move(databasePath, to: former()) }
    return former()
  }

  /// Refuses a database that another process has open. One without another user can leave the write-ahead log, which empties it.
  func requireUnused() throws {
    guard PrivateFile.exists(databasePath) else { return }
    var configuration = Configuration()
    configuration.busyMode = .immediateError
    do {
      let queue = try DatabaseQueue(path: databasePath, configuration: configuration)
      let journal = try queue.writeWithoutTransaction { db in
        try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
      }
      try queue.close()
      guard journal == "delete" else { throw RegistryOpenError.inUse(path: databasePath) }
    } catch let error as DatabaseError {
      switch error.resultCode {
      // A damaged database is what a backup is for.
      case .SQLITE_NOTADB, .SQLITE_CORRUPT: return
      case .SQLITE_BUSY, .SQLITE_LOCKED: throw RegistryOpenError.inUse(path: databasePath)
      default: throw error
      }
    }
  }

  /// Checks the database of a backup, and returns whose it is.
  private static func instance(of backup: String) throws(RegistryOpenError) -> InstanceID {
    let path = "\(backup)/\(database)"
    guard PrivateFile.exists(path) else { throw .notABackup(path: backup, "it has no \(database)") }
    guard PrivateFile.size(path + "-wal") ?? 0 == 0 else {
      throw .notABackup(path: backup, "its database was copied while a server used it")
    }
    do {
      var configuration = Configuration()
      configuration.readonly = true
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      let (instance, faults) = try queue.read { db in
        try Schema.requireKnown(db, path: path)
        return (
          try Schema.isBound(db) ? String.fetchOne(db, sql: "SELECT id FROM instance") : nil,
          try String.fetchAll(db, sql: "PRAGMA integrity_check(1)").filter { $0 != "ok" }
        )
      }
      try queue.close()
      guard faults.isEmpty else { throw RegistryOpenError.notABackup(path: backup, "its database is damaged") }
      guard let instance else { throw RegistryOpenError.notABackup(path: backup, "its database is not a server's") }
      return InstanceID(instance)
    } catch let error as RegistryOpenError {
      throw error
    } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
      throw .notABackup(path: backup, "its database is damaged")
    } catch {
      throw .notABackup(path: backup, "its database cannot be read")
    }
  }

  /// Whether there is nothing, or an empty folder.
  private static func isFree(_ path: String) -> Bool {
    guard PrivateFile.exists(path) else { return true }
    return (try? FileManager.default.contentsOfDirectory(atPath: path).isEmpty) ?? false
  }
}

extension RegistryOpenError {
  fileprivate init(_ error: any Error) {
    switch error {
    case let error as RegistryOpenError: self = error
    case RegistryStoreError.unavailable(let why): self = .unavailable(why)
    case let error as DatabaseError:
      self = .unavailable(error.reason)
    default: self = .unavailable("the folder cannot be used")
    }
  }
}

extension ServerFolder {
  /// Opens a folder that a server has created and may be using. Creates nothing, and migrates nothing: a server of an earlier
  /// version may be running.
  ///
  /// - Parameter keys: the keys, if they are stored outside the folder; `nil` uses ``keyFile``.
  public func openExisting(
    keys: ServerKeys? = nil
  ) throws(RegistryOpenError) -> (store: SQLiteRegistryStore, keys: ServerKeys) {
    try requireNotMoved()
    guard PrivateFile.exists(databasePath) else { throw .databaseMissing(path: databasePath) }
    return try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
      let known = try keyFile.keys(or: keys)
      return (try store(known, creating: false, migrating: false), known)
    }
  }

  /// Adds a key to the key file and makes it the current one. The others stay accepted. Servers use it from their next start.
  ///
  /// - Parameter used: IDs that the database knows, see ``SQLiteRegistryStore/keysEverUsed()``.
  /// - Returns: the ID of the new key.
  public func rotateKey(besides used: [KeyID]) throws(RegistryOpenError) -> KeyID {
    try changeKeys { master in
      let known = used + master.keys.keys + master.retired
      let last = known.compactMap { id in
        id.rawValue.hasPrefix("k") ? Int(id.rawValue.dropFirst().prefix { $0 != "-" }) : nil
      }
      var random = SystemRandomNumberGenerator()
      // After an older copy of database and key file was restored, no one knows the IDs that were given since.
      let id = KeyID("k\((last.max() ?? 0) + 1)-\(String(UInt32.random(in: 0...0xFFFFF, using: &random), radix: 36))")
      let new = try MasterKeys(drawing: id, from: &random)
      return try MasterKeys(
        current: id, keys: master.keys.merging(new.keys) { old, _ in old }, retired: master.retired)
    }.current
  }

  /// Removes a key from the key file, which remembers that it was retired: from the servers' next start, tokens made with it are
  /// refused for good, so that a client which has none but these is signed out.
  ///
  /// - Throws: ``RegistryOpenError/keyFileInvalid(path:_:)`` if the key is the current one.
  public func retireKey(_ id: KeyID) throws(RegistryOpenError) {
    _ = try changeKeys { master in try master.retiring(id) }
  }

  private func changeKeys(
    _ change: (MasterKeys) throws -> MasterKeys
  ) throws(RegistryOpenError) -> MasterKeys {
    try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
      guard var contents = try keyFile.read() else { throw .keyFileMissing(path: keyFile.path) }
      let master: MasterKeys
      do { master = try change(contents.keys.master) } catch {
        throw .keyFileInvalid(path: keyFile.path, "the change leaves no usable keys")
      }
      contents.keys = ServerKeys(instance: contents.keys.instance, master: master)
      try keyFile.replace(contents)
      return master
    }
  }
}
#endif
