#if PostgreSQL
import Dispatch
import HandstampSupport

/// A bounded number of connections. No task of Swift's own threads waits for the database: each connection has a queue.
///
/// Statements of the same use that wait at the same time share a pipeline and, if they write, a commit.
final class PostgresPool: Sendable {
  /// What a connection is for. Each use has connections of its own, so that none has to wait for another.
  enum Use: Int, Sendable, CaseIterable {
    /// Reads of a few rows.
    case reading
    /// Writes of one row, see ``Shared``.
    case updating
    /// Writes of several, each in a transaction of its own.
    case writing
    /// What may take long.
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
    /// Called with the answer, and whether an earlier attempt may have taken place.
    var done: @Sendable (Result<PostgresResult, PostgresFault>, _ isRepeated: Bool) -> Void
  }

  /// Work with a connection of its own.
  typealias Exclusive = @Sendable (PostgresLane) -> Void

  private enum Job: Sendable {
    case shared(Shared)
    case exclusive(Exclusive)
  }

  private struct Line {
    var jobs: [Job] = []
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
  /// How often statements are sent.
  private static let attempts = 4

  let address: PostgresAddress
  /// How long an operation may take.
  let limit: Duration
  private let connections: Int
  private let outage = PostgresOutage()
  private let content = Locked(Content())

  init(_ address: PostgresAddress, connections: Int, limit: Duration) {
    self.address = address
    self.connections = max(connections, PostgresPool.fewest)
    self.limit = limit
  }

  /// Returns `false` after ``close()``.
  func submit(_ shared: Shared, for use: Use) -> Bool { submit(.shared(shared), for: use) }

  /// Returns `false` after ``close()``.
  func submit(for use: Use, _ work: @escaping Exclusive) -> Bool { submit(.exclusive(work), for: use) }

  private func submit(_ job: Job, for use: Use) -> Bool {
    let (isAccepted, lane) = content.withLock { content -> (Bool, PostgresLane?) in
      guard !content.isClosed else { return (false, nil) }
      content.lines[use.rawValue].jobs.append(job)
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
    let lane = PostgresLane(address, outage, named: "\(use) \(line.lanes.count + 1)")
    line.lanes.append(lane)
    return lane
  }

  private func drain(_ lane: PostgresLane, _ use: Use) {
    while case let jobs = next(lane, use), !jobs.isEmpty {
      var shared: [Shared] = []
      for job in jobs {
        switch job {
        case .shared(let one): shared.append(one)
        case .exclusive(let work): work(lane)
        }
      }
      if !shared.isEmpty { perform(shared, lane) }
    }
  }

  /// Takes the jobs of one pipeline; none if the lane is idle from now on.
  private func next(_ lane: PostgresLane, _ use: Use) -> [Job] {
    content.withLock { content in
      let line = content.lines[use.rawValue]
      var count = 0
      if case .exclusive? = line.jobs.first {
        count = 1
      } else {
        count = line.jobs.prefix(PostgresPool.batch).prefix { if case .shared = $0 { true } else { false } }.count
      }
      content.lines[use.rawValue].jobs.removeFirst(count)
      if count == 0 {
        content.lines[use.rawValue].busy -= 1
        content.lines[use.rawValue].idle.append(lane)
      }
      return Array(line.jobs.prefix(count))
    }
  }

  /// Sends statements in one pipeline, and again those that failed for no fault of their own.
  private func perform(_ jobs: [Shared], _ lane: PostgresLane) {
    let deadline = ContinuousClock.now + limit
    var groups = [jobs]
    var isRepeated = false
    var attempts = 0
    while let group = groups.popLast() {
      do throws(PostgresFault) {
        let answers = try lane.connected(until: deadline) { connection throws(PostgresFault) in
          try connection.run(group.map(\.statement), until: deadline)
        }
        var again: [Shared] = []
        let isRolledBack = answers.contains { if case .failure = $0 { true } else { false } }
        for (job, answer) in zip(group, answers) {
          var answer = answer
          if isRolledBack, case .success = answer { answer = .failure(.aborted) }
          if case .failure(let fault) = answer, fault.isTransient || fault.isReadOnly, attempts < PostgresPool.attempts
          {
            if fault.endsConnection { lane.disconnect() }
            again.append(job)
          } else {
            job.done(answer, isRepeated)
          }
        }
        // One by one, so that one that is refused stops no other.
        if !again.isEmpty { attempts += 1 }
        groups += again.reversed().map { [$0] }
      } catch {
        // What was sent may have been carried out: see ``Shared``.
        if case .lost = error { isRepeated = true }
        attempts += 1
        if error.isWorthAnotherTry, deadline > .now, attempts < PostgresPool.attempts {
          groups.append(group)
        } else {
          for job in group { job.done(.failure(error), isRepeated) }
        }
      }
    }
  }

  /// Refuses further work, waits for what was accepted, and closes the connections.
  func close() {
    let lanes = content.withLock { content in
      content.isClosed = true
      return content.lines.flatMap(\.lanes)
    }
    for lane in lanes { lane.queue.sync { lane.disconnect() } }
  }
}

extension PostgresFault {
  /// Whether another connection may do better at once.
  var isWorthAnotherTry: Bool {
    switch self {
    case .lost: true
    case .refused, .aborted, .unconnected: false
    }
  }
}
#endif
