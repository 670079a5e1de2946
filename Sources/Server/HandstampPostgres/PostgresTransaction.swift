#if PostgreSQL
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// One write in a transaction of its own, on a lane's queue.
///
/// A transaction has two parts. The first makes the changes, and its answers tell whether each was possible. The second
/// appends to the logs, and commits. If the connection is lost during the first, nothing took place. If it is lost during the second, the
/// outcome is unknown, and is settled by reading: the first part has put a number into the row of this writer, which stays
/// locked until the transaction is over. So a reader that locks that row knows.
struct PostgresTransaction {
  let lane: PostgresLane
  let writer: PostgresWriter
  let deadline: ContinuousClock.Instant
  /// How long one attempt may take, so that there is time for another one at another server.
  let patience: Duration

  /// When the present attempt must have an answer.
  private var end: ContinuousClock.Instant { min(deadline, .now + patience) }

  /// How often a transaction is tried that was in the way of another one.
  private static let attempts = 6

  /// Makes the write. Returns the ends that a restored copy of the database would have as live sessions.
  func perform(_ changes: [RegistryChange], _ events: [RegistryEvent]) throws(RegistryStoreError) -> [LoggedEnd] {
    let steps = try PostgresStep.steps(of: changes)
    let actions = changes.compactMap(\.loggedAction)
    var last = PostgresError.aborted
    var attempts = 0
    while deadline > .now, attempts < PostgresTransaction.attempts || last.isLocked {
      attempts += 1
      let result: Result<[LoggedEnd], RegistryStoreError>
      do throws(PostgresError) { result = try attempt(steps, actions, events) } catch {
        last = error
        guard error.isTransient || error.isReadOnly || error.isWorthAnotherTry else { break }
        continue
      }
      return try result.get()
    }
    throw RegistryStoreError(last)
  }

  /// - Throws: a fault if nothing took place, so that it may be tried again.
  private func attempt(
    _ steps: [PostgresStep], _ actions: [AuditedAction], _ events: [RegistryEvent]
  ) throws(PostgresError) -> Result<[LoggedEnd], RegistryStoreError> {
    let mark = writer.next()
    let commit = commit(actions, events)
    var ends: [LoggedEnd] = []
    var isCommitting = false
    do throws(PostgresError) {
      return try lane.connected(until: deadline) { connection throws(PostgresError) in
        try writer.begin(on: connection, until: end)
        let opening = writer.opening(mark, on: connection)
        let answers = try connection.run(opening + steps.map(\.statement), until: end)
        // Also if an earlier change is not possible: that may be because of the same other transaction.
        for case .failure(let fault) in answers where fault != .aborted && fault.isTransient {
          try rollBack(connection)
          throw fault
        }
        for answer in answers.prefix(opening.count) { _ = try rolledBack(answer, connection) }
        if let refusal = try refusal(steps, Array(answers.dropFirst(opening.count)), connection) {
          return .failure(refusal)
        }
        ends = try self.ends(steps, Array(answers.dropFirst(opening.count)), connection)
        isCommitting = true
        let last = try connection.run(commit, until: end)
        isCommitting = false
        for answer in last { _ = try rolledBack(answer.mapError(\.ofLog), connection) }
        guard case .success(let answer)? = last.last, answer.command == "COMMIT" else { throw PostgresError.aborted }
        return .success(ends)
      }
    } catch {
      guard isCommitting, case .lost = error else { throw error }
      return try settle(mark, ends)
    }
  }

  /// Returns why the first change that is not possible is not.
  private func refusal(
    _ steps: [PostgresStep], _ answers: [Result<PostgresResult, PostgresError>], _ connection: PostgresConnection
  ) throws(PostgresError) -> RegistryStoreError? {
    for (step, answer) in zip(steps, answers) {
      let result: PostgresResult
      do throws(PostgresError) { result = try rolledBack(answer, connection) } catch {
        let refusal = RegistryStoreError(error)
        if case .unavailable = refusal { throw error }
        return refusal
      }
      guard let refusal = step.refusal(result) else { continue }
      guard case .current(let existence) = step.expectation else {
        try rollBack(connection)
        return refusal
      }
      // A later change may have been refused, and then nothing else can be asked in the transaction.
      let isRefused = answers.contains { if case .failure = $0 { true } else { false } }
      if isRefused { try rollBack(connection) }
      let isThere = try connection.run(existence, until: end).count > 0
      if !isRefused { try rollBack(connection) }
      return isThere ? .conflict : .notFound
    }
    return nil
  }

  /// The ends that a restored copy of the database would have as live sessions.
  private func ends(
    _ steps: [PostgresStep], _ answers: [Result<PostgresResult, PostgresError>], _ connection: PostgresConnection
  ) throws(PostgresError) -> [LoggedEnd] {
    var ends: [LoggedEnd] = []
    for (step, answer) in zip(steps, answers) where step.endsSession {
      guard case .success(let result) = answer, result.count > 0 else { continue }
      do throws(DescribedError) {
        let end = try LoggedEnd(source: result[0])
        if end.isNeeded { ends.append(end) }
      } catch {
        try rollBack(connection)
        throw .refused(state: "XX000", message: "\(error)")
      }
    }
    return ends
  }

  private func commit(_ actions: [AuditedAction], _ events: [RegistryEvent]) -> [PostgresStatement] {
    var statements = actions.map {
      PostgresStatement.appending($0.storedValues, to: "audit", columns: StoredAuditedAction.columns)
    }
    statements += events.map { .appending($0.storedValues, to: "event", columns: StoredEvent.columns) }
    if !events.isEmpty { statements.append(PostgresStatement("SELECT pg_notify('\(PostgresSchema.channel)', '')")) }
    return statements + [PostgresStatement("COMMIT")]
  }

  /// Returns the result of a statement. If it was refused, rolls back and throws.
  private func rolledBack(
    _ answer: Result<PostgresResult, PostgresError>, _ connection: PostgresConnection
  ) throws(PostgresError) -> PostgresResult {
    do throws(PostgresError) { return try answer.get() } catch {
      try rollBack(connection)
      throw error
    }
  }

  private func rollBack(_ connection: PostgresConnection) throws(PostgresError) {
    _ = try connection.run(PostgresStatement("ROLLBACK"), until: end)
  }

  /// Finds out whether a transaction was committed whose answer was lost.
  ///
  /// - Throws: a fault if it was not.
  private func settle(
    _ mark: Int64, _ ends: [LoggedEnd]
  ) throws(PostgresError) -> Result<[LoggedEnd], RegistryStoreError> {
    lane.disconnect()
    var why = "no server could be asked"
    repeat {
      do throws(PostgresError) {
        let last = try lane.connected(until: deadline) { connection throws(PostgresError) in
          try connection.run(writer.last, until: end).integer
        }
        guard let last else { return .failure(.unavailable("PostgreSQL: the outcome of a commit is unknown")) }
        // The number is there only if the transaction is.
        guard last == mark else { throw PostgresError.aborted }
        return .success(ends)
      } catch {
        if error == .aborted { throw error }
        if case .unavailable(let text) = RegistryStoreError(error) { why = text }
        // Another node must not have to wait for this one.
        if deadline > .now { usleep(20_000) }
      }
    } while deadline > .now
    return .failure(.unavailable("the outcome of a commit is unknown: \(why)"))
  }
}

extension PostgresError {
  /// The fault of a statement that appends to a log: none of them is about what the caller wants to change.
  fileprivate var ofLog: PostgresError {
    switch self {
    case .refused(let state, let message) where state.hasPrefix("23"): .refused(state: "XX001", message: message)
    case .refused, .aborted, .lost, .unconnected, .late: self
    }
  }
}

/// The row that a lane marks in each of its transactions.
final class PostgresWriter: Sendable {
  private let id = randomBytes(16)
  private let mark = Locked<Int64>(0)

  func next() -> Int64 {
    mark.withLock { mark in
      mark += 1
      return mark
    }
  }

  /// Makes the row, before the first transaction of a connection: one that is not committed could not be seen.
  func begin(on connection: PostgresConnection, until deadline: ContinuousClock.Instant) throws(PostgresError) {
    guard !connection.hasWriter else { return }
    _ = try connection.run(
      PostgresStatement(
        "INSERT INTO handstamp.writer (id, mark) VALUES ($1, 0) ON CONFLICT (id) DO NOTHING", [.bytes(id)],
        isFrequent: false), until: deadline)
    connection.hasWriter = true
  }

  func opening(_ mark: Int64, on connection: PostgresConnection) -> [PostgresStatement] {
    var statements = [PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED")]
    if connection.isPooled {
      statements += [
        PostgresStatement("SET LOCAL synchronous_commit = on"),
        PostgresStatement("SET LOCAL lock_timeout = '\(PostgresConnection.lockLimit)'"),
        PostgresStatement("SET LOCAL idle_in_transaction_session_timeout = '\(PostgresConnection.idleLimit)'"),
      ]
    }
    // Not there if the row was deleted after a long time without use.
    let marked = PostgresStatement(
      """
      INSERT INTO handstamp.writer (id, mark) VALUES ($1, $2)
      ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, at = now()
      """, [.bytes(id), .integer(mark)])
    return statements + [marked]
  }

  /// Reads the last mark, once the transaction that made it is over.
  var last: PostgresStatement {
    PostgresStatement(
      "SELECT mark FROM handstamp.writer WHERE id = $1 FOR UPDATE", [.bytes(id)], isFrequent: false)
  }
}
#endif
