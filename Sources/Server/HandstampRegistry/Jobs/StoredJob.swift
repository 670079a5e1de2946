package import HandstampCore
import HandstampSupport

/// Something that a server still has to do, such as to send a mail, stored as an item until it is done. One worker claims it; if that
/// one dies, another does it later. It is tried again after a failure, and given up after many.
package protocol StoredJob: StoredPayload, Sendable, Hashable {
  static var kind: StoredItem.Kind { get }
  var tries: JobTries { get set }
  /// Called when no further attempt is made. The job stays in the store for a while.
  mutating func giveUp()
}

/// The attempts at a job so far.
package struct JobTries: StoredPayload, Sendable, Hashable {
  /// How often it was claimed.
  package var attempts = 0
  /// Drawn by each claim, so that a worker whose lease has passed notices that another has the job.
  var lease = ""
  /// How often it failed. Less than ``attempts`` if a worker had to put it off.
  package var failures = 0
  /// Why the last attempt failed; `nil` before.
  package var failure: String?

  init() {}

  package var fields: [String: String?] {
    ["attempts": String(attempts), "lease": lease, "failures": String(failures), "failure": failure]
  }

  package init?(fields: [String: String]) {
    guard let attempts = fields["attempts"].flatMap({ Int($0) }), let lease = fields["lease"],
      let failures = fields["failures"].flatMap({ Int($0) })
    else { return nil }
    (self.attempts, self.lease, self.failures, failure) = (attempts, lease, failures, fields["failure"])
  }
}

/// A job that one worker may do until its lease passes.
package struct ClaimedJob<Job: StoredJob>: Sendable, Hashable {
  /// As it is stored.
  var item: StoredItem
  package var job: Job

  /// When it was stored.
  package var createdAt: UnixTime { item.createdAt }
  /// The context that its secrets are sealed with, if it has any.
  package var context: String { Base64URL.encode(item.id.bytes) }
}

extension Registry {
  /// When a job that this version does not understand is looked at again.
  private static var deferral: Duration { .seconds(3600) }

  /// Returns at most `limit` jobs to be done at `now` or earlier, the most overdue first.
  package func dueJobs<Job: StoredJob>(
    _ type: Job.Type, at now: UnixTime, limit: Int
  ) async throws(RegistryError) -> [StoredItem] {
    try await read(try await store.dueItems(Job.kind, at: now, limit: limit))
  }

  /// Claims a job until `lease`; then another worker may. Returns `nil` if another has it, or if this version does not understand
  /// it.
  package func claim<Job: StoredJob>(
    _ item: StoredItem, as type: Job.Type, until lease: UnixTime, now: UnixTime
  ) async throws(RegistryError) -> ClaimedJob<Job>? {
    var source = source
    var next = item
    guard var job = PayloadCoding.value(Job.self, item.payload) else {
      next.dueAt = now.advanced(by: Registry.deferral)
      _ = try await write([.replaceItem(next, expecting: item.revision)], [])
      return nil
    }
    job.tries.attempts += 1
    job.tries.lease = Base64URL.encode(randomBytes(9, from: &source))
    next.dueAt = lease
    next.payload = PayloadCoding.text(job)
    guard try await write([.replaceItem(next, expecting: item.revision)], []) else { return nil }
    next.revision += 1
    return ClaimedJob(item: next, job: job)
  }

  /// Ends the work for a job that was done, or that concerns no one.
  package func finish<Job: StoredJob>(_ claimed: ClaimedJob<Job>) async throws(RegistryError) {
    // If it cannot be removed, another worker has it by now.
    _ = try await write([.removeItem(claimed.item)], [])
  }

  /// Has a job done later, because it could not be done now.
  package func postpone<Job: StoredJob>(_ claimed: ClaimedJob<Job>, until later: UnixTime) async throws(RegistryError) {
    _ = try await change(claimed) { $0.dueAt = later }
  }

  /// Records a failed attempt.
  ///
  /// - Parameter later: when the next one is made; `nil` gives the job up.
  package func fail<Job: StoredJob>(
    _ claimed: ClaimedJob<Job>, because failure: String, until later: UnixTime?
  ) async throws(RegistryError) {
    var job = claimed.job
    job.tries.failures += 1
    job.tries.failure = failure.displayable(limit: 200)
    if later == nil { job.giveUp() }
    _ = try await change(claimed) { item in
      item.payload = PayloadCoding.text(job)
      item.dueAt = later
    }
  }

  /// Changes a job that is still claimed by the same worker. Returns `nil` if it is not.
  func change<Job: StoredJob>(
    _ claimed: ClaimedJob<Job>, with more: [RegistryChange] = [], _ change: (inout StoredItem) -> Void
  ) async throws(RegistryError) -> ClaimedJob<Job>? {
    var claimed = claimed
    for _ in 0..<Registry.attempts {
      var next = claimed.item
      change(&next)
      if try await write(more + [.replaceItem(next, expecting: claimed.item.revision)], []) {
        next.revision += 1
        return ClaimedJob(item: next, job: claimed.job)
      }
      // Another request for the same job has written it again, without a change.
      guard let stored = try await item(claimed.item.id), stored.payload == claimed.item.payload else { return nil }
      claimed.item = stored
    }
    throw Registry.contention
  }
}
