#if PostgreSQL
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

/// A registry store in a PostgreSQL database, version 15 or later, which any number of servers share.
///
/// Each session is one row, updated in place. A refresh is one statement, and refreshes that wait at the same time share a
/// commit. Every commit is as durable as the database makes it before it is acknowledged. Servers tell each other of new events by `NOTIFY`.
///
/// A write whose connection is lost is settled by reading at a server that takes writes. Without such a server, calls throw
/// ``RegistryStoreError/unavailable(_:)``, and work again as soon as there is one.
public final class PostgresRegistryStore: ServerStore {
  let pool: PostgresPool
  let address: PostgresAddress
  let contents: PostgresContents
  private let ends: EndLog
  private let clock: ClockFile
  /// The clock note in the file when this store was opened.
  let keptNote: ClockNote?
  private let writers = Locked<[ObjectIdentifier: PostgresWriter]>([:])

  public var reapplied: Reapplied { contents.reapplied }
  public var replacements: Int { contents.replacements }
  public let unreadableEnds: Int
  /// Whether a pooler such as PgBouncer is between this server and the database. Then this server asks for new events several
  /// times a second, because it cannot be told.
  public let isPooled: Bool

  init(
    pool: PostgresPool, contents: PostgresContents, ends: EndLog, clock: ClockFile, keptNote: ClockNote?,
    isPooled: Bool,
    unreadableEnds: Int
  ) {
    self.pool = pool
    address = pool.address
    self.contents = contents
    self.ends = ends
    self.clock = clock
    self.keptNote = keptNote
    self.isPooled = isPooled
    self.unreadableEnds = unreadableEnds
  }

  /// Finishes accepted writes and closes the connections. Waits for them, so it must not be called where waiting is not allowed.
  public func close() throws(RegistryStoreError) { release() }

  public func release() {
    contents.close()
    pool.close()
  }

  // MARK: Writes

  @concurrent public func write(
    _ changes: [RegistryChange], events: [RegistryEvent]
  ) async throws(RegistryStoreError) {
    try contents.requireSound()
    if let (row, expecting) = PostgresRegistryStore.refreshed(changes, events) {
      let statement = try PostgresStatement.replacing(row, expecting: expecting)
      let replaced = try await answer(to: statement, for: .updating) { $0.changes }
      return try await settle(row, expecting, replaced)
    }
    var removals: [Removal] = []
    for removal in Removal.all(in: changes) { removals.append(removal.after(try await item(removal.key))) }
    let isLong = changes.contains { if case .moveTimes = $0 { true } else { false } }
    try await exclusively(isLong ? .maintenance : .writing) {
      [self, removals] lane, deadline throws(RegistryStoreError) in
      let transaction = PostgresTransaction(
        lane: lane, writer: writer(of: lane), deadline: deadline, patience: isLong ? pool.limit * 60 : pool.patience)
      let ended = try transaction.perform(changes + removals.map { .putItem($0.item) }, events)
      try log(ended, removals, changes)
    }
    for note in changes.compactMap(\.clockNote) { contents.saw(note) }
  }

  /// Reads the session together with the database's clock, which all nodes share, and then writes. A refresh is decided and written on
  /// the queues of the pool, because a way back to its task in between would take time.
  @concurrent public func change<Value: Sendable>(
    _ session: SessionBytes, _ decide: @escaping @Sendable (SessionRow?, UnixTime?) -> Decision<Value>
  ) async throws(RegistryStoreError) -> Value {
    typealias Step = (decision: Decision<Value>, replaced: (changes: Int, isRepeated: Bool)?)
    try contents.requireSound()
    let statement = PostgresStatement(PostgresRegistryStore.rowAndTime, [.bytes(session.bytes)])
    let step = try await submitted(statement, for: .reading) {
      [contents] (answer, _, done: @escaping Done<Step>) throws in
      let decision = try PostgresRegistryStore.decision(on: answer.get(), decide)
      guard let (row, expecting) = PostgresRegistryStore.refreshed(decision.changes, decision.events) else {
        done(.success((decision, nil)))
        return nil
      }
      try contents.requireSound()
      return PostgresPool.Shared(statement: try .replacing(row, expecting: expecting)) { answer, isRepeated in
        done(Result { (decision, (try answer.get().changes, isRepeated)) })
        return nil
      }
    }
    if let replaced = step.replaced {
      for case .replaceSession(let row, let expecting) in step.decision.changes {
        try await settle(row, expecting, replaced)
      }
    } else if !step.decision.isEmpty {
      try await write(step.decision.changes, events: step.decision.events)
    }
    return step.decision.value
  }

  private static let rowAndTime = """
    SELECT \(SessionRow.columns), (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM handstamp.session
    WHERE id = $1
    """

  private static func decision<Value>(
    on result: PostgresResult, _ decide: (SessionRow?, UnixTime?) -> Decision<Value>
  ) throws(DescribedError) -> Decision<Value> {
    guard result.count > 0 else { return decide(nil, nil) }
    var columns = StoredColumns(result[0])
    return decide(try SessionRow(from: &columns), try columns.time())
  }

  /// The row of a write that replaces a session and nothing else, as a refresh does; `nil` for any other. It may be sent again, because
  /// it depends on the revision.
  private static func refreshed(_ changes: [RegistryChange], _ events: [RegistryEvent]) -> (SessionRow, Int64)? {
    guard changes.count == 1, events.isEmpty, case .replaceSession(let row, let expecting)? = changes.first,
      row.end == nil
    else { return nil }
    return (row, expecting)
  }

  /// Finds out why ``refreshed(_:_:)`` has changed no row, if it has not.
  private func settle(
    _ row: SessionRow, _ expecting: Int64, _ replaced: (changes: Int, isRepeated: Bool)
  ) async throws(RegistryStoreError) {
    guard replaced.changes == 0 else { return }
    guard replaced.isRepeated else { throw try await session(row.id) == nil ? .notFound : .conflict }
    // An attempt may have taken place whose answer was lost. Locking the row is a write, and so waits for the standby as that
    // attempt may not have done.
    let settling = PostgresStatement(
      "SELECT \(SessionRow.columns) FROM handstamp.session WHERE id = $1 FOR UPDATE", [.bytes(row.session.bytes)])
    let found = try await answer(to: settling, for: .updating) { result throws(DescribedError) in
      try result.records(SessionRow.self).first
    }.0
    var wanted = row
    wanted.revision = expecting &+ 1
    switch found {
    case wanted?: return
    case let found? where found.revision <= wanted.revision: throw .conflict
    // It may be the first attempt that others have built on.
    case .some, nil: throw .unavailable("the outcome of a write is unknown")
    }
  }

  /// Writes what must survive the loss of the database to files.
  private func log(
    _ ended: [LoggedEnd], _ removals: [Removal], _ changes: [RegistryChange]
  ) throws(RegistryStoreError) {
    do throws(RegistryOpenError) {
      try ends.append(ended, removals)
      for note in changes.compactMap(\.clockNote) { try clock.write(note) }
    } catch { throw .unavailable("\(error)") }
  }

  private func writer(of lane: PostgresLane) -> PostgresWriter {
    writers.withLock { writers in
      if let known = writers[ObjectIdentifier(lane)] { return known }
      let new = PostgresWriter()
      writers[ObjectIdentifier(lane)] = new
      return new
    }
  }

  @concurrent public func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int {
    try contents.requireSound()
    let count = try await exclusively(.maintenance) { lane, deadline throws(RegistryStoreError) in
      do throws(PostgresError) {
        return try PostgresPruning(lane: lane, deadline: deadline).prune(retention, limit: limit)
      } catch { throw RegistryStoreError(error) }
    }
    if count == 0 {
      try await exclusively(.maintenance) { [ends] _, _ throws(RegistryStoreError) in
        do throws(RegistryOpenError) { try ends.compact(now: retention.now) } catch { throw .unavailable("\(error)") }
      }
    }
    return count
  }

  // MARK: Passages to the pool

  /// Runs `body` on a queue with a connection of its own.
  func exclusively<Value: Sendable>(
    _ use: PostgresPool.Use,
    _ body: @escaping @Sendable (PostgresLane, ContinuousClock.Instant) throws(RegistryStoreError) -> Value
  ) async throws(RegistryStoreError) -> Value {
    let limit = use == .maintenance ? pool.limit * 60 : pool.limit
    return try await withCheckedContinuation { (done: CheckedContinuation<Result<Value, RegistryStoreError>, Never>) in
      let isAccepted = pool.submit(for: use, within: limit) { lane, deadline in
        do throws(RegistryStoreError) {
          done.resume(returning: .success(try body(lane, deadline)))
        } catch { done.resume(returning: .failure(error)) }
      }
      if !isAccepted { done.resume(returning: .failure(PostgresRegistryStore.closed)) }
    }.get()
  }

  /// Sends a statement that may be repeated, together with others that wait.
  func answer<Value: Sendable>(
    to statement: PostgresStatement, for use: PostgresPool.Use,
    _ read: @escaping @Sendable (PostgresResult) throws(DescribedError) -> Value
  ) async throws(RegistryStoreError) -> (Value, isRepeated: Bool) {
    try await submitted(statement, for: use) {
      (answer, isRepeated, done: Done<(Value, isRepeated: Bool)>) throws in
      done(.success((try read(answer.get()), isRepeated)))
      return nil
    }
  }

  typealias Done<Value> = @Sendable (Result<Value, any Error>) -> Void

  /// Submits a statement, and waits until `body` or the write that it returns has called its last argument, or `body` has thrown.
  private func submitted<Value: Sendable>(
    _ statement: PostgresStatement, for use: PostgresPool.Use,
    _ body:
      @escaping @Sendable (
        Result<PostgresResult, PostgresError>, _ isRepeated: Bool, @escaping Done<Value>
      ) throws -> PostgresPool.Shared?
  ) async throws(RegistryStoreError) -> Value {
    let result = await withCheckedContinuation { (waiter: CheckedContinuation<Result<Value, any Error>, Never>) in
      let done: Done<Value> = { waiter.resume(returning: $0) }
      let isAccepted = pool.submit(
        PostgresPool.Shared(statement: statement) { answer, isRepeated in
          do { return try body(answer, isRepeated, done) } catch { done(.failure(error)) }
          return nil
        }, for: use)
      if !isAccepted { done(.failure(PostgresRegistryStore.closed)) }
    }
    do { return try result.get() } catch let error as RegistryStoreError {
      throw error
    } catch let fault as PostgresError {
      throw RegistryStoreError(fault)
    } catch {
      throw .unavailable("\(error)")
    }
  }

  static let closed = RegistryStoreError.unavailable("the store is closed")
}
#endif
