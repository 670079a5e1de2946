#if Server
public import HandstampRegistry

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
#endif
