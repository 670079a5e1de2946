#if SQLite
import HandstampRegistry

/// A server's folder: `keys.json`, `registry.sqlite`, `ends.log` and `clock`, which belong together.
///
/// | keys | database | opening |
/// |---|---|---|
/// | missing | missing | creates both |
/// | there, never used | missing or empty | creates the database |
/// | there, in use | missing or empty | refuses: with an empty database all clients would be signed out |
/// | missing | there | refuses: with new keys all clients would be signed out |
/// | there | there | opens, if the two belong together |
///
/// Keys that are handed in, as those of ``KeyFile/keys(text:)``, count as in use: nothing in them can be changed when their
/// database is made, so ``createDatabase(keys:)`` makes it, once.
///
/// `ends.log` has the end of each session that a copy of the database may still show as living, `clock` the time when it was last
/// looked at. To restore a back-up, put the database back and leave the other files where they are: opening ends those sessions
/// again, and those that have expired since stay so.
public struct ServerFolder: Sendable {
  public let path: String

  public init(path: String) { self.path = path }

  public var keyFile: KeyFile { KeyFile(path: path + "/keys.json") }
  public var databasePath: String { path + "/registry.sqlite" }
  /// The log of ended sessions.
  public var endLogPath: String { path + "/ends.log" }

  /// Opens the store and reads the keys. Servers that open one folder at once wait for each other here.
  ///
  /// - Parameter keys: the keys, where they are kept elsewhere than in the folder; `nil`: those of ``keyFile``.
  public func open(keys: ServerKeys? = nil) throws(RegistryOpenError) -> (store: SQLiteRegistryStore, keys: ServerKeys)
  {
    try PrivateFile.createFolder(path)
    return try PrivateFile.locked(path + "/opening.lock") { _ throws(RegistryOpenError) in
      if let keys { return (try store(keys, creating: false), keys) }
      return try openLocked()
    }
  }

  /// Makes the database for keys that are kept elsewhere than in the folder. Where there is one already, nothing changes, and
  /// it must be of these keys.
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

  private func store(_ keys: ServerKeys, creating: Bool) throws(RegistryOpenError) -> SQLiteRegistryStore {
    try SQLiteRegistryStore(
      path: databasePath, keys: keys, creating: creating, clockFile: path + "/clock", endLog: endLogPath)
  }

  private func drawnKeys() throws(RegistryOpenError) -> ServerKeys {
    do throws(MasterKeysError) { return try ServerKeys.drawn() } catch { throw .unavailable("no key could be drawn") }
  }
}
#endif
