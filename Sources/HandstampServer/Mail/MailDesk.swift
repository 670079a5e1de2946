#if Server
import HandstampCore
import HandstampRegistry
import Logging
import ServiceLifecycle

/// Does what a request asks for only after its answer: whether an address has an account cannot be told from the answer,
/// from its time, or from a failure. One job at a time, and not more than a few in line.
final class MailDesk: Sendable {
  typealias Job = @Sendable () async -> Void

  private struct Line {
    var jobs: [Job] = []
    var isBusy = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// When an address was last written to, by kind and address.
    var written: [String: UnixTime] = [:]
  }

  private let capacity: Int
  private let interval: Duration
  private let line = Locked(Line())

  /// - Parameters:
  ///   - capacity: how many jobs may wait.
  ///   - interval: the least time between two mails of one kind to one address.
  init(capacity: Int, interval: Duration) {
    self.capacity = max(1, capacity)
    self.interval = interval
  }

  /// Puts a job in line. False when there are too many already.
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

  /// Whether a mail of that kind may go to that address now, and notes that it does. Asked alike for every address.
  func mayWrite(_ kind: String, to email: EmailAddress, now: UnixTime) -> Bool {
    line.withLock { line in
      let key = kind + " " + email.normalised
      if let last = line.written[key], now.since(last) < interval, now >= last { return false }
      if line.written.count >= MailDesk.memory {
        line.written = line.written.filter { now.since($0.value) < interval }
        // A flood of addresses within the interval: forget them all rather than grow.
        if line.written.count >= MailDesk.memory { line.written = [:] }
      }
      line.written[key] = now
      return true
    }
  }

  /// The most addresses that are remembered.
  private static let memory = 10_000

  /// Returns when nothing is in line any more.
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

/// Lets the mails that are in line go out when the server is told to stop.
struct MailFinisher: Service, CustomStringConvertible {
  let desk: MailDesk
  var description: String { "MailFinisher" }

  func run() async throws {
    try? await gracefulShutdown()
    await desk.idle()
  }
}
#endif
