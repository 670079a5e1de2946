#if Data
import GRDB
import HandstampCore

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
