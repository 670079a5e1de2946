#if PostgreSQL
import Dispatch
import HandstampSupport

/// A bounded number of connections. No task of Swift's own threads waits for the database: each connection has a queue.
///
/// Statements of the same use that wait at the same time share a pipeline and, if they write, a commit.
final class PostgresPool: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// The use of a connection. Each one has connections of its own, so that none has to wait for another.
  enum Use: Int, Sendable, CaseIterable {
    /// Reads of a few rows.
    case reading
    /// Writes of one row, see ``Shared``.
    case updating
    /// Writes of several, each in a transaction of its own.
    case writing
    /// Work that may take long.
    case maintenance

    /// How many connections of `all` it has.
    func connections(of all: Int) -> Int {
      switch self {
      case .reading, .updating: max(1, all / 5)
      case .maintenance: 1
      case .writing: max(1, all - 2 * max(1, all / 5) - 2)
      }
    }
  }

  /// The least number of connections: one of each use, and that of the listener.
  static let fewest = Use.allCases.count + 1

  /// One statement that can be repeated without harm: a read, or a write that depends on a revision.
  struct Shared: Sendable {
    var statement: PostgresStatement
    /// Called with the answer, and whether an earlier attempt may have taken place. Returns the write that the answer leads to.
    var done: @Sendable (Result<PostgresResult, PostgresError>, _ isRepeated: Bool) -> Shared?
    var isRepeated = false
  }

  /// Work with a connection of its own, until a time.
  typealias Exclusive = @Sendable (PostgresLane, Instant) -> Void

  private enum Work: Sendable {
    case shared(Shared)
    case exclusive(Exclusive)
  }

  private struct Job: Sendable {
    var work: Work
    var deadline: Instant
  }

  private struct Line {
    var jobs: [Job] = []
    /// The last ones have a connection.
    var idle: [PostgresLane] = []
    var lanes: [PostgresLane] = []
    var busy = 0
  }

  private struct Content {
    var lines = [Line](repeating: Line(), count: Use.allCases.count)
    var isClosed = false
  }

  /// The most statements in one pipeline, which bounds the wait of later ones.
  private static let batch = 64
  /// The number of waiting statements above which another connection is used.
  private static let patience = 16

  let address: PostgresAddress
  /// How long an operation may take.
  let limit: Duration
  private let connections: Int
  private let check: @Sendable (PostgresConnection) throws(PostgresError) -> Void
  private let outage = PostgresOutage()
  private let content = Locked(Content())

  /// - Parameter check: checks a new connection before it is used.
  init(
    _ address: PostgresAddress, connections: Int, limit: Duration,
    check: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Void
  ) {
    self.address = address
    self.connections = max(connections, PostgresPool.fewest)
    self.limit = limit
    self.check = check
  }

  /// How long one attempt may take, so that there is time for another one at another server.
  var patience: Duration { limit / 3 }

  /// Returns `false` after ``close()``.
  func submit(_ shared: Shared, for use: Use) -> Bool {
    submit([Job(work: .shared(shared), deadline: .now + limit)], for: use)
  }

  /// Returns `false` after ``close()``.
  func submit(for use: Use, within limit: Duration, _ work: @escaping Exclusive) -> Bool {
    submit([Job(work: .exclusive(work), deadline: .now + limit)], for: use)
  }

  private func submit(_ jobs: [Job], for use: Use) -> Bool {
    let (isAccepted, lane) = content.withLock { content -> (Bool, PostgresLane?) in
      guard !content.isClosed else { return (false, nil) }
      content.lines[use.rawValue].jobs += jobs
      return (true, laneToStart(&content.lines[use.rawValue], use))
    }
    if let lane { lane.queue.async { self.drain(lane, use) } }
    return isAccepted
  }

  private func laneToStart(_ line: inout Line, _ use: Use) -> PostgresLane? {
    let wanted =
      switch use {
      case .reading, .updating: 1 + line.jobs.count / PostgresPool.patience
      case .writing, .maintenance: line.busy + line.jobs.count
      }
    guard line.busy < min(wanted, use.connections(of: connections)) else { return nil }
    line.busy += 1
    if let lane = line.idle.popLast() { return lane }
    let lane = PostgresLane(
      address, outage, named: "\(use) \(line.lanes.count + 1)",
      lockLimit: use == .updating ? PostgresConnection.sharedLockLimit : PostgresConnection.lockLimit, check: check)
    line.lanes.append(lane)
    return lane
  }

  private func drain(_ lane: PostgresLane, _ use: Use) {
    while case let jobs = next(lane, use), !jobs.isEmpty {
      var shared: [(Shared, Instant)] = []
      for job in jobs {
        switch job.work {
        case .shared(let one): shared.append((one, job.deadline))
        case .exclusive(let work): work(lane, job.deadline)
        }
      }
      if !shared.isEmpty { perform(shared, lane, use) }
    }
  }

  /// Takes the jobs of one pipeline; none if the lane is idle from now on.
  private func next(_ lane: PostgresLane, _ use: Use) -> [Job] {
    let isConnected = lane.isConnected
    return content.withLock { content in
      let waiting = content.lines[use.rawValue].jobs
      let most = use == .writing ? 1 : PostgresPool.batch
      var count = waiting.prefix(most).prefix { if case .shared = $0.work { true } else { false } }.count
      if count == 0, !waiting.isEmpty { count = 1 }
      content.lines[use.rawValue].jobs.removeFirst(count)
      if count == 0 {
        content.lines[use.rawValue].busy -= 1
        let place = isConnected ? content.lines[use.rawValue].idle.endIndex : 0
        content.lines[use.rawValue].idle.insert(lane, at: place)
      }
      return Array(waiting.prefix(count))
    }
  }

  /// Sends statements in one pipeline, and again those that failed for no fault of their own.
  private func perform(_ jobs: [(job: Shared, deadline: Instant)], _ lane: PostgresLane, _ use: Use) {
    var waiting = jobs
    var attempts = 0
    /// The writes that answers lead to. They wait together for one commit, on a connection of their own.
    var writes: [Shared] = []
    func finish(_ job: Shared, _ answer: Result<PostgresResult, PostgresError>) {
      if let write = job.done(answer, job.isRepeated) { writes.append(write) }
    }
    while !waiting.isEmpty {
      let group = waiting
      waiting = []
      attempts += 1
      let end = group.map(\.deadline).max() ?? .now
      do throws(PostgresError) {
        let answers = try lane.connected(until: end) { connection throws(PostgresError) in
          try connection.run(group.map(\.job.statement), until: min(end, .now + patience))
        }
        let isRolledBack = answers.contains { if case .failure = $0 { true } else { false } }
        for (one, answer) in zip(group, answers) {
          guard isRolledBack else {
            finish(one.job, answer)
            continue
          }
          // Answers before the one that was refused have no effect either.
          let fault: PostgresError
          if case .failure(let refusal) = answer { fault = refusal } else { fault = .aborted }
          if fault.isReadOnly { lane.disconnect() }
          switch true {
          // Waits for its row elsewhere: others must not wait with it.
          case fault.isLocked:
            guard use == .updating, submit([Job(work: .shared(one.job), deadline: one.deadline)], for: .writing) else {
              finish(one.job, .failure(fault))
              continue
            }
          case (fault.isTransient || fault.isReadOnly) && one.deadline > .now && attempts < group.count + 8:
            waiting.append(one)
          default: finish(one.job, .failure(fault))
          }
        }
      } catch {
        for var one in group {
          // The statements that were sent may have been carried out: see ``Shared``.
          if case .lost = error { one.job.isRepeated = true }
          if error.isWorthAnotherTry, one.deadline > .now {
            waiting.append(one)
          } else {
            finish(one.job, .failure(error))
          }
        }
      }
      guard !writes.isEmpty else { continue }
      let jobs = writes.map { Job(work: .shared($0), deadline: .now + limit) }
      if !submit(jobs, for: .updating) { for write in writes { finish(write, .failure(.unconnected("closed"))) } }
      writes = []
    }
  }

  /// Refuses further work, waits for what was accepted, for a limited time, and closes the connections.
  func close() {
    let lanes = content.withLock { content in
      content.isClosed = true
      return content.lines.flatMap(\.lanes)
    }
    let group = DispatchGroup()
    for lane in lanes { lane.queue.async(group: group) { lane.disconnect() } }
    _ = group.wait(timeout: .now() + limit / .seconds(1))
  }
}
#endif
