#if Data
import Foundation
public import GRDB
import Handstamp
public import HandstampCore
import HandstampSupport

/// One account's database: a cache of content that can be fetched from the server again.
///
/// ```swift
/// let place = try StorePlace("org.example.forum", account: account)
/// let store = try DataStore(place, schema: .forum)
/// for try await threads in store.values({ try Thread.fetchAll($0) }) { show(threads) }
/// ```
/// Reads run in parallel with each other and with the single writer, and see what was committed when they began. An
/// acknowledged write survives the end of the process, however it ends; a power cut may lose the latest writes.
///
/// Since it is a cache, a defective file is replaced instead of reported: one that is corrupt, not an SQLite database,
/// or written by a newer version. ``rebuilds`` counts the replacements.
public final class DataStore: Sendable {
  public let place: StorePlace
  let schema: StoreSchema
  let clock: any SessionClock
  let content: Locked<Content>
  /// Serializes opening, erasing and rebuilding, in this program and in others.
  let turn = NSLock()
  let inUse = InUse()
  /// The database in use, `nil` after its removal, for observers.
  let generations = Multicast<Generation?>(startingWith: .some(nil), buffering: .bufferingNewest(1))

  struct Content: Sendable {
    var generation: Generation?
    var rebuilds = 0
    var isRemoved = false
  }

  /// Opens the account's database, creating it if there is none.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if the disk prevents it; ``StoreError/statement(_:)`` if a migration is
  ///   wrong.
  public init(_ place: StorePlace, schema: StoreSchema, clock: any SessionClock = WallClock()) throws(StoreError) {
    self.place = place
    self.schema = schema
    self.clock = clock
    content = Locked(Content())
    _ = try current()
  }

  /// The number of times a corrupt database was rebuilt since this object was created, including at opening.
  public var rebuilds: Int { content.withLock { $0.rebuilds } }

  // MARK: Reading and writing

  /// Changes the database in one transaction, off the caller's thread. When it returns, the change is committed; when
  /// it throws, nothing was changed.
  ///
  /// - Parameter change: May run a second time, on an empty database, if the first run encountered a corrupt file.
  @concurrent @discardableResult
  public func write<Result: Sendable>(
    _ change: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let generation = try current()
    do { return try await generation.pool.write(change) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try await current().pool.write(change)
    }
  }

  /// Reads on the caller's thread without waiting for writers, which makes it suitable for the main actor.
  public func read<Result>(_ fetch: (Database) throws -> Result) throws -> Result {
    let generation = try current()
    do { return try generation.pool.read(fetch) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try current().pool.read(fetch)
    }
  }

  /// Reads off the caller's thread.
  @concurrent public func fetch<Result: Sendable>(
    _ fetch: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let generation = try current()
    do { return try await generation.pool.read(fetch) } catch {
      guard try renew(after: error, generation) else { throw error }
      return try await current().pool.read(fetch)
    }
  }

  /// Waits for all earlier writes and moves them into the database's main file. Call it when the app enters the
  /// background.
  @concurrent public func flush() async throws {
    let generation = try current()
    do {
      try await generation.pool.writeWithoutTransaction { database in _ = try database.checkpoint(.full) }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      // A reader still uses the older part. The writes are safe in the log.
    } catch {
      guard try renew(after: error, generation) else { throw error }
    }
  }

  /// Returns the disk space of all rows in bytes, without the write-ahead log.
  @concurrent public func usedBytes() async throws -> Int {
    try await fetch { database in
      func count(_ name: String) throws -> Int { try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0 }
      return try (count("page_count") - count("freelist_count")) * count("page_size")
    }
  }
}

/// The device's wall-clock time, by which a cache measures ages, since these must survive restarts.
public struct WallClock: SessionClock {
  public init() {}

  public func now() -> Moment {
    Moment(
      boot: 0, uptime: uptime(), wall: UnixTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
  }

  public func uptime() -> Duration { SystemClock().uptime() }

  @concurrent public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// Opening, erasing and rebuilding.
extension DataStore {
  /// Erases everything and continues with an empty database. Safe during reads: they finish on the old database, and
  /// observers receive the empty one.
  ///
  /// A write in progress counts as having come before.
  public func erase() throws(StoreError) { _ = try advance(from: nil) }

  /// Erases everything and closes the store, for the account's sign-out. Observers' sequences end, and every later use
  /// throws ``StoreError/removed``. Calling it twice is harmless.
  public func remove() throws(StoreError) {
    turn.lock()
    defer { turn.unlock() }
    content.withLock { content in
      content.isRemoved = true
      content.generation = nil
    }
    generations.publish(nil)
    generations.finish()
    try place.remove()
  }

  /// Returns the database in use.
  func current() throws(StoreError) -> Generation {
    if let known = try known(), known.isCurrent { return known }
    turn.lock()
    defer { turn.unlock() }
    if let now = try known(), now.isCurrent { return now }
    try place.prepare()
    let lock = try FolderLock(place.folder)
    return try withExtendedLifetime(lock) { () throws(StoreError) in try open() }
  }

  private func known() throws(StoreError) -> Generation? {
    let (known, isRemoved) = content.withLock { ($0.generation, $0.isRemoved) }
    if isRemoved { throw .removed }
    return known
  }

  /// Replaces the database with an empty one if `error` means that it is corrupt. Returns whether it did.
  func renew(after error: any Error, _ generation: Generation) throws -> Bool {
    guard DataStore.isBroken(error) else { return false }
    _ = try advance(from: generation)
    return true
  }

  /// - Parameter broken: The database to replace, unless already replaced; `nil` replaces the current one.
  private func advance(from broken: Generation?) throws(StoreError) -> Generation {
    turn.lock()
    defer { turn.unlock() }
    let now = try known()
    if let now, let broken, now !== broken { return now }
    if broken != nil { content.withLock { $0.rebuilds += 1 } }
    try place.prepare()
    let lock = try FolderLock(place.folder)
    return try withExtendedLifetime(lock) { () throws(StoreError) in
      let last = Generation.numbers(in: place.folder).last ?? now?.number ?? 0
      // Another program may have replaced the corrupt one already.
      if let broken, last > broken.number { return try open() }
      return try open(at: last + 1)
    }
  }

  /// Opens the newest file, replacing a corrupt one. The caller holds both locks.
  private func open() throws(StoreError) -> Generation {
    let last = Generation.numbers(in: place.folder).last ?? 1
    if let generation = try make(last) { return use(generation) }
    content.withLock { $0.rebuilds += 1 }
    return try open(at: last + 1)
  }

  private func open(at number: Int) throws(StoreError) -> Generation {
    Generation.remove(number, in: place.folder)
    guard let generation = try make(number) else { throw .unusable("a new database is broken") }
    return use(generation)
  }

  /// Opens or creates a database; `nil` if it is corrupt, or a newer version of the program wrote it.
  private func make(_ number: Int) throws(StoreError) -> Generation? {
    do { return try Generation(number: number, in: place.folder, schema: schema) } catch {
      if DataStore.isBroken(error) { return nil }
      if let error = error as? DatabaseError {
        let isStatement = [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode)
        let text = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        throw isStatement ? StoreError.statement(text) : .unusable(text)
      }
      throw .unusable(String(describing: type(of: error)))
    }
  }

  /// Switches to `generation`, and unlinks older files.
  private func use(_ generation: Generation) -> Generation {
    content.withLock { $0.generation = generation }
    generations.publish(generation)
    for number in Generation.numbers(in: place.folder) where number < generation.number {
      Generation.remove(number, in: place.folder)
    }
    return generation
  }

  static func isBroken(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
      || error.extendedResultCode == .SQLITE_IOERR_SHORT_READ
  }
}

/// Limits for the size of a cache.
public struct PruneLimits: Sendable, Hashable {
  /// The maximum size of all rows in bytes; `nil` means no limit.
  public var bytes: Int?
  /// The number of rows examined per transaction. Readers and other writers get their turn in between.
  public var batch: Int

  public init(bytes: Int? = nil, batch: Int = 1000) {
    self.bytes = bytes
    self.batch = max(1, batch)
  }
}

/// The result of pruning.
public struct PruneReport: Sendable, Hashable {
  /// The number of rows removed, by table.
  public var removed: [String: Int] = [:]
  /// The size of all remaining rows in bytes.
  public var bytes = 0
  /// Whether the remaining rows exceed the budget: all of them are pinned, in use, or needed by such rows.
  public var isOverBudget = false

  public init() {}
}

extension DataStore {
  /// Removes rows that were last fetched too long ago, then, if over budget, the rows fetched longest ago, and frees
  /// their disk space.
  ///
  /// A row stays while it is pinned, in use, or referenced by another row: a thread is removed only after its last
  /// post, so a row to be kept never disappears along with one that is not. Cancelling the task stops the pruning after
  /// the current batch.
  @concurrent @discardableResult
  public func prune(_ limits: PruneLimits = PruneLimits()) async throws -> PruneReport {
    let now = clock.now().wall
    var report = PruneReport()
    let sweeps = try await write { [schema] database -> [Sweep] in
      for table in schema.tables { try table.adopt(database, at: now) }
      return try Sweep.all(schema.tables, database)
    }
    let aged = sweeps.compactMap { sweep in
      sweep.table.keeps.map { keeps in
        var aged = sweep
        aged.limit = now.advanced(by: .zero - keeps)
        return aged
      }
    }
    // Rows referencing another one may be removed in the same pruning; that one is then examined again.
    while try await round(aged, limits.batch, &report) > 0 { try Task.checkCancellation() }
    report.bytes = try await usedBytes()
    if let budget = limits.bytes {
      while report.bytes > budget {
        try Task.checkCancellation()
        guard try await shrink(sweeps, to: budget, limits.batch, &report) > 0 else { break }
      }
      report.isOverBudget = report.bytes > budget
    }
    try await giveSpaceBack()
    return report
  }

  /// Prunes after `delay` and then regularly, until its task is cancelled. Start it when the app becomes active, and
  /// cancel it when the app enters the background. A failed pruning is retried at the next interval.
  @concurrent public func pruneRegularly(
    _ limits: PruneLimits = PruneLimits(), after delay: Duration = .seconds(30),
    every pause: Duration = .seconds(6 * 3600)
  ) async {
    var wait = delay
    while (try? await clock.sleep(for: wait)) != nil, !Task.isCancelled {
      _ = try? await prune(limits)
      wait = pause
    }
  }

  /// Examines all rows of the sweeps once. Returns the number of rows removed.
  private func round(_ sweeps: [Sweep], _ batch: Int, _ report: inout PruneReport) async throws -> Int {
    var count = 0
    for sweep in sweeps {
      var sweep = sweep
      while let removed = try await step(&sweep, batch) {
        report.removed[sweep.table.name, default: 0] += removed
        count += removed
        try Task.checkCancellation()
      }
    }
    return count
  }

  /// Removes the oldest rows of all tables until the budget is met or all rows have been examined.
  private func shrink(
    _ sweeps: [Sweep], to budget: Int, _ batch: Int, _ report: inout PruneReport
  ) async throws -> Int {
    var (sweeps, count) = (sweeps, 0)
    while report.bytes > budget {
      try Task.checkCancellation()
      let shown = sweeps
      let oldest = try await fetch { database -> (Int, Int64)? in
        try shown.enumerated().compactMap { index, sweep in try sweep.next(database).map { (index, $0) } }
          .min { $0.1 < $1.1 }
      }
      guard let (index, _) = oldest else { break }
      let removed = try await step(&sweeps[index], min(batch, 250)) ?? 0
      report.removed[sweeps[index].table.name, default: 0] += removed
      count += removed
      if removed > 0 { report.bytes = try await usedBytes() }
    }
    return count
  }

  /// Examines the next rows of a sweep and removes those that may go. Returns `nil` at the end of the sweep.
  private func step(_ sweep: inout Sweep, _ batch: Int) async throws -> Int? {
    let now = sweep
    let (next, removed) = try await write { [inUse] database in
      var sweep = now
      let removed = try sweep.step(database, batch, inUse: inUse.ids(of: sweep.table.name))
      return (sweep, removed)
    }
    sweep = next
    return removed
  }

  /// Frees disk space in small steps, to keep waits short, then truncates the log unless it is being read.
  private func giveSpaceBack() async throws {
    while true {
      try Task.checkCancellation()
      let left = try await write { database in
        for _ in try Row.fetchAll(database, sql: "PRAGMA incremental_vacuum(1000)") {}
        return try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
      }
      if left == 0 { break }
    }
    do {
      try await current().pool.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      // The log is being read. It is reused, and truncated the next time.
    }
  }
}
#endif
