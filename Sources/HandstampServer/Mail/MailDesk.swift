#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// Runs jobs after the response to their request, so that neither the response, its timing nor a failure reveals whether an
/// address has an account. Runs one job at a time, with a bounded queue.
final class MailDesk: Sendable {
  typealias Job = @Sendable () async -> Void

  private struct Line {
    var jobs: [Job] = []
    var isBusy = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// The time of the last mail, by kind and address.
    var written: [String: UnixTime] = [:]
  }

  private let capacity: Int
  private let interval: Duration
  private let line = Locked(Line())

  /// - Parameters:
  ///   - capacity: maximum number of queued jobs.
  ///   - interval: minimum time between two mails of one kind to one address.
  init(capacity: Int, interval: Duration) {
    self.capacity = max(1, capacity)
    self.interval = interval
  }

  /// Queues a job. Returns `false` if the queue is full.
  func add(_ job: @escaping Job) -> Bool {
    let (taken, first) = line.withLock { line in
      guard line.jobs.count < capacity else { return (false, false) }
      line.jobs.append(job)
      defer { line.isBusy = true }
      return (true, !line.isBusy)
    }
    if first { Task.detached { await self.work() } }
    return taken
  }

  /// Returns whether a mail of this kind may be sent to this address now, and if so records it. Called for every address alike.
  func mayWrite(_ kind: String, to email: EmailAddress, now: UnixTime) -> Bool {
    line.withLock { line in
      let key = kind + " " + email.normalized
      if let last = line.written[key], now.since(last) < interval, now >= last { return false }
      if line.written.count >= MailDesk.memory {
        line.written = line.written.filter { now.since($0.value) < interval }
        // Too many addresses within the interval: clear the table rather than let it grow.
        if line.written.count >= MailDesk.memory { line.written = [:] }
      }
      line.written[key] = now
      return true
    }
  }

  /// Maximum number of remembered addresses.
  private static let memory = 10_000

  /// Returns when the queue is empty.
  func idle() async {
    await withCheckedContinuation { continuation in
      let isIdle = line.withLock { line in
        if line.isBusy { line.waiters.append(continuation) }
        return !line.isBusy
      }
      if isIdle { continuation.resume() }
    }
  }

  private func work() async {
    while let job = next() { await job() }
  }

  private func next() -> Job? {
    let (job, waiters) = line.withLock { line -> (Job?, [CheckedContinuation<Void, Never>]) in
      guard line.jobs.isEmpty else { return (line.jobs.removeFirst(), []) }
      line.isBusy = false
      defer { line.waiters = [] }
      return (nil, line.waiters)
    }
    for waiter in waiters { waiter.resume() }
    return job
  }
}

/// Sends the queued mails before the server shuts down.
struct MailFinisher: Service, CustomStringConvertible {
  let desk: MailDesk
  var description: String { "MailFinisher" }

  func run() async throws {
    try? await gracefulShutdown()
    await desk.idle()
  }
}
#endif
