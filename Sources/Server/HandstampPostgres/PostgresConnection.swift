#if PostgreSQL
import CHandstampLibraries
import HandstampRegistry
import HandstampSupport

/// A connection to PostgreSQL. Not thread-safe, and every call may wait, so it belongs to one queue.
final class PostgresConnection {
  private let wire: PostgresWire
  private let warnings: Warnings
  /// The names of prepared statements, by their SQL.
  private var names: [String: String] = [:]
  private var nextName = 0
  /// Whether a pooler is in between, which may give each transaction to another session of the server. Then statements are
  /// unnamed, and nothing is set for the session.
  let isPooled: Bool
  /// Whether the row of its ``PostgresWriter`` is there.
  var hasWriter = false

  /// How long a statement waits for a row that another transaction has locked.
  static let lockLimit = "2s"
  /// The same where several statements share a transaction, and wait for each other.
  static let sharedLockLimit = "250ms"
  /// How long the server waits for the rest of a transaction.
  static let idleLimit = "10s"

  /// Connects to a server that can be written.
  init(
    _ address: PostgresAddress, lockLimit: String = PostgresConnection.lockLimit,
    until deadline: ContinuousClock.Instant
  ) throws(PostgresError) {
    guard let pq = Libpq.library else { throw .unconnected("libpq is missing") }
    let wire = try PostgresWire.connected(address, pq, until: deadline)
    do throws(PostgresError) {
      _ = pq.setnonblocking(wire.connection, 1)
      guard pq.enterPipelineMode(wire.connection) == 1 else { throw wire.lost }
      // A pooler invents the process that it tells its clients.
      let process = try PostgresConnection.only(
        PostgresStatement("SELECT pg_backend_pid()::bigint"), wire, until: deadline
      ).integer
      isPooled = process != Int64(pq.backendPID(wire.connection))
      if !isPooled {
        let settings = PostgresStatement(
          """
          SELECT set_config('lock_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $2, false),
            set_config('statement_timeout', '0', false), set_config('default_transaction_isolation', 'read committed', false),
            set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
              THEN 'on' ELSE current_setting('synchronous_commit') END, false)
          """, [.text(lockLimit), .text(PostgresConnection.idleLimit)])
        _ = try PostgresConnection.only(settings, wire, until: deadline)
      }
    } catch {
      pq.finish(wire.connection)
      switch error {
      case .refused(_, let why), .lost(let why), .unconnected(let why): throw .unconnected(why)
      case .aborted, .late: throw .unconnected("the server refuses statements")
      }
    }
    self.wire = wire
    warnings = Warnings(pq)
    _ = pq.setNoticeReceiver(
      wire.connection,
      { context, result in
        guard let context else { return }
        Unmanaged<Warnings>.fromOpaque(context).takeUnretainedValue().add(result)
      }, Unmanaged.passUnretained(warnings).toOpaque())
  }

  deinit { wire.pq.finish(wire.connection) }

  private static func only(
    _ statement: PostgresStatement, _ wire: PostgresWire, until deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> PostgresResult {
    try wire.send(statement, named: nil)
    try wire.sync()
    let answer = try wire.answer(until: deadline)
    if let fault = try wire.end(until: deadline) { throw fault }
    return try answer.get()
  }

  /// Sends statements in one pipeline and waits for the answers. Outside of a transaction they are one, which is committed
  /// at the end.
  ///
  /// - Returns: an answer for each. If one was refused, those after it were ``PostgresError/aborted``; outside of a
  ///   transaction, those before it had no effect either.
  /// - Throws: ``PostgresError/lost(_:)``: they, and the commit, may or may not have taken place. The connection is of no use.
  func run(
    _ statements: [PostgresStatement], until deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> [Result<PostgresResult, PostgresError>] {
    warnings.isDoubtful = false
    /// The SQL of statements that are prepared, before the statements that use them.
    var preparations: [Int: String] = [:]
    for (index, statement) in statements.enumerated() {
      guard statement.isFrequent, !isPooled else {
        try wire.send(statement, named: nil)
        continue
      }
      if let name = names[statement.sql] {
        try wire.send(statement, named: name)
      } else {
        let name = "h\(nextName)"
        nextName += 1
        try wire.prepare(statement, named: name)
        names[statement.sql] = name
        preparations[index] = statement.sql
        try wire.send(statement, named: name)
      }
    }
    try wire.sync()
    var answers: [Result<PostgresResult, PostgresError>] = []
    for index in statements.indices {
      var isPrepared = true
      if let sql = preparations[index], case .failure(let fault) = try wire.answer(until: deadline) {
        names[sql] = nil
        isPrepared = false
        answers.append(.failure(fault))
      }
      let answer = try wire.answer(until: deadline)
      guard isPrepared else { continue }
      answers.append(answer)
    }
    if let fault = try wire.end(until: deadline) { return answers.map { _ in .failure(fault) } }
    if warnings.isDoubtful { throw .lost("the server has not waited for its standby") }
    return answers
  }

  /// Sends one statement.
  func run(
    _ statement: PostgresStatement, until deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> PostgresResult {
    guard let answer = try run([statement], until: deadline).first else { throw .lost("an answer is missing") }
    return try answer.get()
  }

  /// Waits for a notification, at most until `deadline`. Returns whether there was one.
  func waitForNotification(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
    let pq = wire.pq
    while true {
      var isNotified = false
      while let notification = pq.notifies(wire.connection) {
        pq.freemem(notification)
        isNotified = true
      }
      if isNotified { return true }
      guard wire.wait(forWriting: false, until: deadline) else { return false }
      guard pq.consumeInput(wire.connection) == 1 else { throw wire.lost }
    }
  }

  /// The warnings of a server during a statement.
  private final class Warnings {
    private let pq: HSPostgres
    /// Whether a commit may not have reached the standby.
    var isDoubtful = false

    init(_ pq: HSPostgres) { self.pq = pq }

    func add(_ result: OpaquePointer) {
      guard let state = pq.resultErrorField(result, ErrorField.state).map({ String(cString: $0) }),
        let severity = pq.resultErrorField(result, ErrorField.severity).map({ String(cString: $0) })
      else { return }
      // "canceling the wait for synchronous replication": the commit is on the primary's disk alone.
      if severity == "WARNING", ["01000", "57P01"].contains(state) { isDoubtful = true }
    }
  }
}
#endif
