#if Server
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Collects writes that arrive while another one is being synced, and makes them in one transaction, with one sync. Each caller
/// waits for the commit with its own write; if the commit fails, all of its writes fail.
final class GroupWriter: Sendable {
  /// Maximum number of writes per transaction, which bounds the wait of later ones.
  static let batch = 256

  /// Reads what the changes depend on, in the same transaction, and returns them.
  typealias Choice = @Sendable (Database) throws -> Decision<Void>

  private struct Job {
    var changes: [RegistryChange] = []
    var events: [RegistryEvent] = []
    /// The removals that the changes are.
    var removals: [Removal] = []
    /// `nil` for changes that are given.
    var choose: Choice?
    var done: CheckedContinuation<Result<Void, RegistryStoreError>, Never>

    var isLogged: Bool { !removals.isEmpty || changes.contains { $0.endedSession != nil } }
  }

  private struct Queue {
    var jobs: [Job] = []
    var isDraining = false
    var isClosed = false
  }

  private let pool: DatabasePool
  private let place: DatabasePlace
  private let clock: ClockFile?
  private let ends: EndLog?
  /// Held as long as there are writes, whose connection it watches.
  private let checkpointer: Checkpointer
  private let queue = Locked(Queue())

  init(
    _ pool: DatabasePool, at place: DatabasePlace, clock: ClockFile?, ends: EndLog?, checkpointer: Checkpointer
  ) {
    self.pool = pool
    self.place = place
    self.clock = clock
    self.ends = ends
    self.checkpointer = checkpointer
  }

  func write(
    _ changes: [RegistryChange], _ events: [RegistryEvent]
  ) async -> Result<Void, RegistryStoreError> {
    await withCheckedContinuation { add(Job(changes: changes, events: events, done: $0)) }
  }

  /// Makes the changes that `choose` returns. It is called once, unless the write fails before.
  func write(_ choose: @escaping Choice) async -> Result<Void, RegistryStoreError> {
    await withCheckedContinuation { add(Job(choose: choose, done: $0)) }
  }

  private func add(_ job: Job) {
    let (accepted, first) = queue.withLock { queue in
      guard !queue.isClosed else { return (false, false) }
      queue.jobs.append(job)
      defer { queue.isDraining = true }
      return (true, !queue.isDraining)
    }
    guard accepted else { return job.done.resume(returning: .failure(.unavailable("the store is closed"))) }
    // Use the pool's own queue, so that no thread that serves requests waits for the disk.
    if first { pool.asyncWriteWithoutTransaction { db in self.drain(db) } }
  }

  /// Refuses further writes. Accepted writes are finished by the time the pool has closed.
  func close() {
    queue.withLock { $0.isClosed = true }
  }

  private func next() -> [Job] {
    queue.withLock { queue in
      let jobs = Array(queue.jobs.prefix(GroupWriter.batch))
      queue.jobs.removeFirst(jobs.count)
      if jobs.isEmpty { queue.isDraining = false }
      return jobs
    }
  }

  private func drain(_ db: Database) {
    while true {
      let jobs = next()
      if jobs.isEmpty { return }
      for (job, result) in zip(jobs, commit(jobs, db)) { job.done.resume(returning: result) }
    }
  }

  private func commit(_ given: [Job], _ db: Database) -> [Result<Void, RegistryStoreError>] {
    var results: [Result<Void, RegistryStoreError>] = []
    var ended: [LoggedEnd] = []
    var jobs = given
    do {
      try db.inTransaction(.immediate) {
        for index in jobs.indices {
          let result = try perform(&jobs[index], db)
          results.append(result)
          guard ends != nil, case .success = result else { continue }
          for session in jobs[index].changes.compactMap(\.endedSession) {
            if let entry = try LoggedEnd(of: session, in: db) { ended.append(entry) }
          }
        }
        return .commit
      }
      // SQLite does not notice that its file was deleted; commits to it are lost.
      if let trouble = place.trouble { return jobs.map { _ in .failure(trouble) } }
      return logged(jobs, results, ended)
    } catch {
      let failure = place.failure(error)
      return given.map { _ in .failure(failure) }
    }
  }

  /// Writes the log entries and clock notes of successful writes to their files. Returns the results, failed where that failed.
  private func logged(
    _ jobs: [Job], _ results: [Result<Void, RegistryStoreError>], _ ended: [LoggedEnd]
  ) -> [Result<Void, RegistryStoreError>] {
    var results = results
    var removals: [Removal] = []
    for case (let job, .success) in zip(jobs, results) { removals += job.removals }
    do throws(RegistryOpenError) { try ends?.append(ended, removals) } catch {
      // The database has these entries; the log gets them with the next ones or at the next start.
      for (index, job) in jobs.enumerated() where job.isLogged {
        results[index] = .failure(.unavailable("\(error)"))
      }
    }
    for (index, job) in jobs.enumerated() {
      guard case .success = results[index], let note = job.changes.compactMap(\.clockNote).last else { continue }
      do throws(RegistryOpenError) { try clock?.write(note) } catch {
        results[index] = .failure(.unavailable("\(error)"))
      }
    }
    return results
  }

  /// Makes one of the writes. If it fails, only its own changes are rolled back.
  private func perform(_ job: inout Job, _ db: Database) throws -> Result<Void, RegistryStoreError> {
    if let choose = job.choose {
      // A row that cannot be read fails its own write, and not those of others.
      do {
        let decision = try choose(db)
        (job.changes, job.events) = (decision.changes, decision.events)
      } catch { return .failure(place.failure(error)) }
    }
    if ends != nil {
      let rows = RestoredRows(db: db)
      job.removals = try Removal.all(in: job.changes).map { removal in removal.after(try rows.item(removal.key)) }
    }
    let changes = job.changes + job.removals.map { .putItem($0.item) }
    let writer = ChangeWriter(db: db)
    // A single statement is atomic by itself.
    if changes.count + job.events.count <= 1 {
      do { return .success(try writer.write(changes, job.events)) } catch let answer as RegistryStoreError {
        return .failure(answer)
      }
    }
    var result = Result<Void, RegistryStoreError>.success(())
    try db.inSavepoint {
      do {
        result = .success(try writer.write(changes, job.events))
        return .commit
      } catch let answer as RegistryStoreError {
        result = .failure(answer)
        return .rollback
      }
    }
    return result
  }
}

extension RegistryChange {
  /// The session that this change ends; `nil` for any other change.
  fileprivate var endedSession: SessionBytes? {
    switch self {
    case .endSession(let id, _): SessionBytes(id)
    case .replaceSession(let row, _): row.end == nil ? nil : row.session
    case .createSession, .createAccount, .replaceAccount, .expectAccount, .expectSession, .createOneTimeToken,
      .redeemOneTimeToken,
      .voidOneTimeTokens, .createItem, .replaceItem, .putItem, .removeItem, .removeItems, .eraseDevices, .audit,
      .noteClock, .moveTimes:
      nil
    }
  }
}

extension RegistryStoreError {
  /// Describes a failure without statements and values, which may contain user data.
  static func trouble(_ error: any Error) -> RegistryStoreError {
    switch error {
    case let error as RegistryStoreError: error
    case let error as DatabaseError: .unavailable(error.reason)
    case let unreadable as DescribedError: .unavailable("\(unreadable)")
    case is CancellationError: .unavailable("cancelled")
    default: .unavailable("the database is not usable")
    }
  }
}

extension DatabaseError {
  /// The reason for an operator, with SQLite's code.
  var reason: String {
    switch extendedResultCode {
    case .SQLITE_READONLY_DBMOVED: "another database took its place while it was open, as by a second restore (1032)"
    default: "SQLite: \(message ?? "error") (\(extendedResultCode.rawValue))"
    }
  }
}
#endif
