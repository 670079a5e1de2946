#if PostgreSQL
import HandstampCore
import HandstampRegistry

/// Deletes old rows, a batch at a time, at one node at a time. Rows that another transaction has locked are left for later.
struct PostgresPruning {
  let lane: PostgresLane
  let deadline: ContinuousClock.Instant

  /// Returns how many were deleted; 0 also while another node deletes.
  func prune(_ retention: Retention, limit: Int) throws(PostgresError) -> Int {
    try lane.connected(until: deadline) { connection throws(PostgresError) in
      do throws(PostgresError) {
        return try prune(retention, Int64(max(limit, 0)), connection)
      } catch {
        if !error.endsConnection { _ = try connection.run(PostgresStatement("ROLLBACK"), until: deadline) }
        throw error
      }
    }
  }

  private func prune(
    _ retention: Retention, _ limit: Int64, _ connection: PostgresConnection
  ) throws(PostgresError) -> Int {
    let opening = try results(
      [
        PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"),
        PostgresStatement(
          "SELECT pg_try_advisory_xact_lock($1)::int::bigint", [.integer(PostgresSchema.pruningLock)], isFrequent: false
        ),
      ], connection)
    guard opening.last?.integer == 1 else {
      _ = try connection.run(PostgresStatement("ROLLBACK"), until: deadline)
      return 0
    }
    // Sessions without an expiry count as expired ``Retention/unlimited`` after their end.
    let unlimited = retention.now.advanced(by: .zero - retention.unlimited)
    let now = PostgresValue.integer(retention.now.milliseconds)
    let deletions = [
      // Events are ordered by time, so only the oldest ones are read.
      oldest(of: "event", before: retention.eventsBefore, limit),
      oldest(of: "audit", before: retention.auditBefore, limit),
      overdue(in: "one_time_token", now, limit), overdue(in: "stored_item", now, limit),
      PostgresStatement(
        """
        DELETE FROM handstamp.session WHERE id IN (
          SELECT id FROM handstamp.session WHERE ended_at IS NOT NULL AND ended_at < $1
            AND CASE WHEN expiry IS NULL THEN ended_at <= $2 ELSE expiry <= $3 END
          ORDER BY ended_at LIMIT $4 FOR UPDATE SKIP LOCKED)
        RETURNING account
        """,
        [.integer(retention.endedBefore.milliseconds), .integer(unlimited.milliseconds), now, .integer(limit)],
        isFrequent: false),
      PostgresStatement("DELETE FROM handstamp.writer WHERE at < now() - interval '7 days'", isFrequent: false),
    ]
    let results = try results(deletions, connection)
    var count = results.dropLast().reduce(0) { $0 + $1.changes }
    let guests = Set(results[4].texts).sorted().map { owner in
      PostgresStatement(
        """
        DELETE FROM handstamp.account WHERE id = $1 AND email IS NULL AND identity IS NULL AND closed_at IS NULL
          AND NOT EXISTS (SELECT 1 FROM handstamp.session WHERE account = $1)
        """, [.text(owner)])
    }
    count += try self.results(guests, connection).reduce(0) { $0 + $1.changes }
    try coarsen(retention, limit, connection)
    _ = try connection.run(PostgresStatement("COMMIT"), until: deadline)
    return count
  }

  /// Reduces old addresses of the audit log to networks.
  private func coarsen(
    _ retention: Retention, _ limit: Int64, _ connection: PostgresConnection
  ) throws(PostgresError) {
    let find = PostgresStatement(
      """
      SELECT \(StoredAuditedAction.columns) FROM handstamp.audit
      WHERE at < $1 AND address IS NOT NULL AND position('/' in address) = 0 ORDER BY at LIMIT $2
      """, [.integer(retention.addressesBefore.milliseconds), .integer(limit)], isFrequent: false)
    let old: [StoredAuditedAction]
    do { old = try results([find], connection)[0].records(StoredAuditedAction.self) } catch let fault as PostgresError {
      throw fault
    } catch { throw .refused(state: "XX000", message: "\(error)") }
    _ = try results(
      old.map { entry in
        PostgresStatement(
          "UPDATE handstamp.audit SET address = $1 WHERE id = $2", [.text(entry.audited.network), .integer(entry.id)])
      }, connection)
  }

  private func oldest(of log: String, before time: UnixTime, _ limit: Int64) -> PostgresStatement {
    PostgresStatement(
      "DELETE FROM handstamp.\(log) WHERE id IN (SELECT id FROM handstamp.\(log) ORDER BY id LIMIT $1) AND at < $2",
      [.integer(limit), .integer(time.milliseconds)], isFrequent: false)
  }

  private func overdue(in table: String, _ now: PostgresValue, _ limit: Int64) -> PostgresStatement {
    PostgresStatement(
      """
      DELETE FROM handstamp.\(table) WHERE id IN (
        SELECT id FROM handstamp.\(table) WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
      """, [now, .integer(limit)], isFrequent: false)
  }

  private func results(
    _ statements: [PostgresStatement], _ connection: PostgresConnection
  ) throws(PostgresError) -> [PostgresResult] {
    guard !statements.isEmpty else { return [] }
    return try connection.run(statements, until: deadline).map { answer throws(PostgresError) in try answer.get() }
  }
}
#endif
