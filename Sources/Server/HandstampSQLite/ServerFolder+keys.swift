#if Server
import HandstampCore
public import HandstampRegistry

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
      var known = keys
      if known == nil { known = try keyFile.load() }
      guard let known else { throw .keyFileMissing(path: keyFile.path) }
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
      guard let contents = try keyFile.read() else { throw .keyFileMissing(path: keyFile.path) }
      let master: MasterKeys
      do { master = try change(contents.keys.master) } catch {
        throw .keyFileInvalid(path: keyFile.path, "the change leaves no usable keys")
      }
      try keyFile.replace(
        KeyFile.Contents(
          keys: ServerKeys(instance: contents.keys.instance, master: master), inUse: contents.inUse))
      return master
    }
  }
}
#endif
