#if PostgreSQL
import Dispatch
import HandstampSupport

/// A queue with a connection of its own, on which calls may wait. The connection is made when it is needed, and again after
/// it was lost.
// Unchecked: everything but `queue` is used on the queue alone.
final class PostgresLane: @unchecked Sendable {
  let queue: DispatchQueue
  private let address: PostgresAddress
  private let outage: PostgresOutage
  private let lockLimit: String
  /// Checks a new connection before it is used.
  private let check: @Sendable (PostgresConnection) throws(PostgresError) -> Void
  private var connection: PostgresConnection?

  init(
    _ address: PostgresAddress, _ outage: PostgresOutage, named name: String,
    lockLimit: String = PostgresConnection.lockLimit,
    check: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Void = { _ throws(PostgresError) in }
  ) {
    self.address = address
    self.outage = outage
    self.lockLimit = lockLimit
    self.check = check
    queue = DispatchQueue(label: "handstamp postgres \(name)")
  }

  /// Runs `body` with the connection. Forgets one that was lost, or that is to a server that may no longer be written.
  func connected<Value>(
    until deadline: ContinuousClock.Instant, _ body: (PostgresConnection) throws(PostgresError) -> Value
  ) throws(PostgresError) -> Value {
    do throws(PostgresError) {
      let connection = try current(until: deadline)
      return try body(connection)
    } catch {
      if error.endsConnection { disconnect() }
      throw error
    }
  }

  func disconnect() { connection = nil }

  var isConnected: Bool { connection != nil }

  private func current(until deadline: ContinuousClock.Instant) throws(PostgresError) -> PostgresConnection {
    guard deadline > .now else { throw .late }
    if let connection { return connection }
    if let fault = outage.fault { throw fault }
    do throws(PostgresError) {
      let new = try PostgresConnection(address, lockLimit: lockLimit, until: deadline)
      try check(new)
      connection = new
      return new
    } catch {
      if deadline > .now { outage.began(error) }
      throw error
    }
  }
}

/// That no connection could be made a moment ago: requests then fail at once instead of one after another.
final class PostgresOutage: Sendable {
  /// How long nothing else is tried.
  private static let pause = Duration.milliseconds(250)

  private let last = Locked<(fault: PostgresError, end: ContinuousClock.Instant)?>(nil)

  var fault: PostgresError? {
    last.withLock { last in
      guard let known = last, known.end > .now else { return nil }
      return known.fault
    }
  }

  func began(_ fault: PostgresError) {
    last.withLock { $0 = (fault, .now + PostgresOutage.pause) }
  }
}
#endif
