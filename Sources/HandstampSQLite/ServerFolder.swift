#if SQLite
import HandstampRegistry

/// A server's folder: `keys.json` and `registry.sqlite`, which belong together.
///
/// | keys | database | opening |
/// |---|---|---|
/// | missing | missing | creates both |
/// | there, never used | missing | creates the database |
/// | there, in use | missing | refuses: with an empty database everybody would be signed out |
/// | missing | there | refuses: with new keys everybody would be signed out |
/// | there | there | opens, if the two belong together |
public struct ServerFolder: Sendable {
  public let path: String

  public init(path: String) { self.path = path }

  public var keyFile: KeyFile { KeyFile(path: path + "/keys.json") }
  public var databasePath: String { path + "/registry.sqlite" }

  /// Opens the store and reads the keys. Servers that open one folder at once wait for each other here.
  public func open() throws(RegistryOpenError) -> (store: SQLiteRegistryStore, keys: ServerKeys) {
    try PrivateFile.createFolder(path)
    return try PrivateFile.locked(path + "/opening.lock") { () throws(RegistryOpenError) in try openLocked() }
  }

  private func openLocked() throws(RegistryOpenError) -> (store: SQLiteRegistryStore, keys: ServerKeys) {
    let contents: KeyFile.Contents
    if let found = try keyFile.read() {
      guard !found.inUse || PrivateFile.exists(databasePath) else { throw .databaseMissing(path: databasePath) }
      contents = found
    } else {
      guard !PrivateFile.exists(databasePath) else { throw .keyFileMissing(path: keyFile.path) }
      contents = try keyFile.create(try drawnKeys())
    }
    let store = try SQLiteRegistryStore(path: databasePath, keys: contents.keys)
    if !contents.inUse { try keyFile.markInUse(contents.keys) }
    return (store, contents.keys)
  }

  private func drawnKeys() throws(RegistryOpenError) -> ServerKeys {
    do throws(MasterKeysError) { return try ServerKeys.drawn() } catch { throw .unavailable("no key could be drawn") }
  }
}
#endif
