/// A registry store together with what its operator needs to know of it.
public protocol ServerStore: RegistryStore {
  /// The removals that were made again at opening, by the log beside the database, after an older copy of it was restored.
  var reapplied: Reapplied { get }
  /// How many lines of that log could not be read.
  var unreadableEnds: Int { get }

  /// Reads the whole database and checks it, which takes long on a large one.
  @concurrent func inspect() async throws(RegistryStoreError) -> StoreInspection

  /// Returns the IDs of all keys that the database was ever used with. An ID is never given to another key.
  @concurrent func keysEverUsed() async throws(RegistryStoreError) -> [KeyID]

  /// Finishes accepted writes and closes the database. After that, further calls throw `unavailable`.
  func close() throws(RegistryStoreError)

  /// Closes the database without waiting for others that have it open.
  func release()
}

/// The state of a database, for its operator.
public struct StoreInspection: Sendable, Hashable {
  /// The faults that were found; empty if the database is intact.
  public var faults: [String]
  /// The formats that the tables have had, oldest first.
  public var migrations: [String]
  /// The size of the database in bytes; of SQLite's without its write-ahead log.
  public var size: Int64

  public init(faults: [String], migrations: [String], size: Int64) {
    self.faults = faults
    self.migrations = migrations
    self.size = size
  }
}
