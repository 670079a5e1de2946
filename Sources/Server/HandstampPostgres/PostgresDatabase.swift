#if PostgreSQL
import Dispatch
public import HandstampRegistry

/// A PostgreSQL database with a server's sessions, and the folder of one of the nodes that use it.
///
/// The folder has what is not in the database: `keys.json`, unless the keys are given; `ends.log`, the sessions that this node has
/// ended; and `clock`, its last clock note. After an older copy of the database was restored, every node that starts ends its sessions
/// again.
///
/// | keys | database | opening |
/// |---|---|---|
/// | missing | empty | creates both |
/// | present, never used | empty | creates the tables |
/// | present, in use | empty | refuses: with an empty database all clients would be signed out |
/// | missing | with sessions | refuses: copy `keys.json` from another node |
/// | present | with sessions | opens, if the two belong together |
///
/// Keys that are given count as in use: ``createTables(keys:)`` creates the tables for them, once.
public struct PostgresDatabase: Sendable {
  public let address: PostgresAddress
  /// The path of the node's folder.
  public let folder: String
  /// The most connections that a store opens, at least 5.
  public let connections: Int
  /// How long a call may take before it fails as unavailable.
  package var limit = Duration.seconds(10)

  public init(_ address: PostgresAddress, folder: String, connections: Int = PostgresDatabase.standardConnections) {
    self.address = address
    self.folder = folder
    self.connections = connections
  }

  /// The number of connections unless another one is given.
  public static let standardConnections = 12

  public var keyFile: KeyFile { KeyFile(path: folder + "/keys.json") }

  /// Opens the database, and creates its tables the first time. Any number of nodes may do so at once.
  ///
  /// - Parameter keys: the keys, if they are stored outside the folder; `nil` uses ``keyFile``.
  @concurrent public func open(
    keys: ServerKeys? = nil
  ) async throws(RegistryOpenError) -> (store: PostgresRegistryStore, keys: ServerKeys) {
    try await onQueue { lane throws(RegistryOpenError) in
      try PrivateFile.createFolder(folder)
      return try PrivateFile.locked(folder + "/opening.lock") { _ throws(RegistryOpenError) in
        let opening = PostgresOpening(lane: lane, address: address)
        let isPooled = try opening.checkServer()
        let isGiven = keys != nil
        let keys = try opening.prepared(migrating: true) { connection, found throws(RegistryOpenError) -> ServerKeys in
          let keys = if let keys { keys } else { try self.keys(for: found) }
          let isUsed = if isGiven { true } else { try isInUse() }
          if case .empty = found, isUsed { throw .tablesMissing(path: address.description) }
          try opening.bind(connection, found, to: keys)
          return keys
        }
        if !isGiven, try !isInUse() { try keyFile.markInUse(keys) }
        return (try store(opening, keys, isPooled), keys)
      }
    }
  }

  /// Opens a database that a server has created and may be using. Creates nothing, and migrates nothing.
  @concurrent public func openExisting(
    keys: ServerKeys? = nil
  ) async throws(RegistryOpenError) -> (store: PostgresRegistryStore, keys: ServerKeys) {
    try await onQueue { lane throws(RegistryOpenError) in
      let known = try keyFile.keys(or: keys)
      let opening = PostgresOpening(lane: lane, address: address)
      let isPooled = try opening.checkServer()
      guard case .bound = try opening.found() else { throw .tablesMissing(path: address.description) }
      try opening.prepared(migrating: false) { connection, found throws(RegistryOpenError) in
        try opening.bind(connection, found, to: known)
      }
      return (try store(opening, known, isPooled), known)
    }
  }

  /// Creates the tables for keys that are stored outside the folder. Those that are there are not changed, and must belong to these keys.
  @concurrent public func createTables(keys: ServerKeys) async throws(RegistryOpenError) {
    try await onQueue { lane throws(RegistryOpenError) in
      let opening = PostgresOpening(lane: lane, address: address)
      _ = try opening.checkServer()
      try opening.prepared(migrating: true) { connection, found throws(RegistryOpenError) in
        try opening.bind(connection, found, to: keys)
      }
    }
  }

  private func keys(for found: PostgresOpening.Found) throws(RegistryOpenError) -> ServerKeys {
    if let known = try keyFile.load() { return known }
    guard case .empty = found else { throw .keyFileMissing(path: keyFile.path) }
    let new: ServerKeys
    do { new = try ServerKeys.drawn() } catch { throw .unavailable("cannot create a key") }
    return try keyFile.create(new).keys
  }

  /// Whether a database was created for the keys of the file before.
  private func isInUse() throws(RegistryOpenError) -> Bool { try keyFile.read()?.inUse ?? true }

  private func store(
    _ opening: PostgresOpening, _ keys: ServerKeys, _ isPooled: Bool
  ) throws(RegistryOpenError) -> PostgresRegistryStore {
    let ends = EndLog(path: folder + "/ends.log", instance: keys.instance)
    let clock = ClockFile(path: folder + "/clock", instance: keys.instance)
    let identity = try opening.identity()
    let logged = try ends.read()
    let reapplied = try opening.reapply(logged, writer: PostgresWriter())
    try ends.append(
      try Set(opening.recentEnds()).subtracting(logged.ends).sorted { $0.end.at < $1.end.at },
      try Array(Set(opening.recentRemovals()).subtracting(logged.removals)).latest)
    let kept = try clock.read()
    if let kept { try opening.catchUp(with: kept) }
    let contents = PostgresContents(address, keys: keys, ends: ends, clock: clock, reapplied: reapplied)
    _ = contents.saw(identity)
    let pool = PostgresPool(
      address, connections: connections, limit: limit,
      check: { connection throws(PostgresError) in try contents.check(connection) })
    return PostgresRegistryStore(
      pool: pool, contents: contents, ends: ends, clock: clock, keptNote: kept, isPooled: isPooled,
      unreadableEnds: logged.unreadable.count)
  }

  /// Runs `body` where it may wait.
  func onQueue<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresLane) throws(RegistryOpenError) -> Value
  ) async throws(RegistryOpenError) -> Value {
    let lane = PostgresLane(address, PostgresOutage(), named: "opening")
    return try await withCheckedContinuation { (done: CheckedContinuation<Result<Value, RegistryOpenError>, Never>) in
      lane.queue.async {
        do throws(RegistryOpenError) { done.resume(returning: .success(try body(lane))) } catch {
          done.resume(returning: .failure(error))
        }
        lane.disconnect()
      }
    }.get()
  }
}
#endif
