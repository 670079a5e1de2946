#if Server
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Runs concurrent reads one after the other on one connection, without a transaction and a thread switch for each: a refresh
/// reads one row, and that overhead took most of the time.
///
/// A read starts after it was requested and is a single statement, so it sees every commit that was acknowledged before.
final class GroupReader: Sendable {
  /// Runs a read and returns a closure that completes it, given an error of the database's files, if any.
  private typealias Job = @Sendable (Result<Database, any Error>) -> @Sendable (RegistryStoreError?) -> Void

  /// Maximum number of connections that read at once; below the pool's own limit, so that no thread waits for one.
  private static let lanes = 4
  /// Number of waiting reads per connection above which another connection is used.
  private static let patience = 16

  private struct Queue {
    var jobs: [Job] = []
    var lanes = 0
  }

  private let pool: DatabasePool
  private let place: DatabasePlace
  private let queue = Locked(Queue())

  init(_ pool: DatabasePool, at place: DatabasePlace) {
    self.pool = pool
    self.place = place
  }

  /// - Parameter body: one statement.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async -> Result<Value, RegistryStoreError> {
    await withCheckedContinuation { done in
      add { access in
        let result: Result<Value, RegistryStoreError>
        do { result = .success(try body(access.get())) } catch { result = .failure(self.place.failure(error)) }
        return { trouble in done.resume(returning: trouble.map { .failure($0) } ?? result) }
      }
    }
  }

  private func add(_ job: @escaping Job) {
    let needsLane = queue.withLock { queue in
      queue.jobs.append(job)
      let wanted = min(1 + queue.jobs.count / GroupReader.patience, GroupReader.lanes)
      guard queue.lanes < wanted else { return false }
      queue.lanes += 1
      return true
    }
    if needsLane { pool.asyncUnsafeRead { access in self.drain(access) } }
  }

  private func drain(_ access: Result<Database, any Error>) {
    while true {
      let jobs = queue.withLock { queue in
        let jobs = Array(queue.jobs.prefix(GroupReader.patience))
        queue.jobs.removeFirst(jobs.count)
        if jobs.isEmpty { queue.lanes -= 1 }
        return jobs
      }
      if jobs.isEmpty { return }
      let answers = jobs.map { $0(access) }
      // Check after the reads: the connection may have been opened for them, on a file that was replaced.
      let trouble = place.trouble
      for answer in answers { answer(trouble) }
    }
  }
}
#endif
