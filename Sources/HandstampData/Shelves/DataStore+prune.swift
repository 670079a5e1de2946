#if Data
import GRDB
import HandstampCore

/// How much of a cache may stay.
public struct PruneLimits: Sendable, Hashable {
  /// The most bytes that the rows may take. Nothing: as many as there are.
  public var bytes: Int?
  /// How many rows are looked at in one transaction: readers and other writers have their turn in between.
  public var batch: Int

  public init(bytes: Int? = nil, batch: Int = 1000) {
    self.bytes = bytes
    self.batch = max(1, batch)
  }
}

/// What a pruning did.
public struct PruneReport: Sendable, Hashable {
  /// Rows that went, by table.
  public var removed: [String: Int] = [:]
  /// What the rows take now.
  public var bytes = 0
  /// Whether that is more than the budget: everything that is left is pinned, in use, or needed by what is.
  public var isOverBudget = false

  public init() {}
}

extension DataStore {
  /// Removes what was not fetched for too long, then, if the budget asks for it, what was fetched longest ago; and gives the
  /// space back.
  ///
  /// A row stays while it is pinned, in use, or referred to by another row: a thread goes after its last post. So nothing that
  /// is to be kept goes along with something that is not. Cancelling the task ends it after the batch.
  @concurrent @discardableResult
  public func prune(_ limits: PruneLimits = PruneLimits()) async throws -> PruneReport {
    let now = clock.now().wall
    var report = PruneReport()
    let sweeps = try await write { [schema] database -> [Sweep] in
      for shelf in schema.shelves { try shelf.adopt(database, at: now) }
      return try Sweep.all(schema.shelves, database)
    }
    let aged = sweeps.compactMap { sweep in
      sweep.shelf.keeps.map { keeps in
        var aged = sweep
        aged.limit = now.advanced(by: .zero - keeps)
        return aged
      }
    }
    // What refers to a row may go in the same pruning: then the row is looked at once more.
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

  /// Prunes after `delay`, and then again and again, until its task is cancelled: start it when the app becomes active, cancel
  /// it when it goes to the background. A pruning that fails is tried again at the next turn.
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

  /// One look at everything that the sweeps cover. How many rows went.
  private func round(_ sweeps: [Sweep], _ batch: Int, _ report: inout PruneReport) async throws -> Int {
    var count = 0
    for sweep in sweeps {
      var sweep = sweep
      while let removed = try await step(&sweep, batch) {
        report.removed[sweep.shelf.table, default: 0] += removed
        count += removed
        try Task.checkCancellation()
      }
    }
    return count
  }

  /// Removes the oldest rows of all tables, until the budget is met or all have been looked at.
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
      report.removed[sweeps[index].shelf.table, default: 0] += removed
      count += removed
      if removed > 0 { report.bytes = try await usedBytes() }
    }
    return count
  }

  /// Looks at the next rows of a sweep and removes those that may go. Nothing when there are none.
  private func step(_ sweep: inout Sweep, _ batch: Int) async throws -> Int? {
    let now = sweep
    let (next, removed) = try await write { [inUse] database in
      var sweep = now
      let removed = try sweep.step(database, batch, inUse: inUse.ids(of: sweep.shelf.table))
      return (sweep, removed)
    }
    sweep = next
    return removed
  }

  /// A little at a time, so that nobody waits long; then the log, if nobody reads in it.
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
      // Somebody reads: the log is used again, and cut the next time.
    }
  }
}
#endif
