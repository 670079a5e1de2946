#if Server
import GRDB
import HandstampCore
import HandstampRegistry

/// Deletes old data, inside a transaction.
struct Pruning {
  let db: Database

  /// Each statement uses an index to find its rows, and deletes at most `limit`.
  func prune(_ retention: Retention, limit: Int) throws -> Int {
    // Events are ordered by time, so only the oldest ones are read.
    let events = try delete(
      "DELETE FROM event WHERE id IN (SELECT id FROM event ORDER BY id LIMIT ?) AND at < ?",
      [limit, retention.eventsBefore.milliseconds])
    // Sessions without an expiry count as expired ``Retention/unlimited`` after their end.
    let unlimited = retention.now.advanced(by: .zero - retention.unlimited)
    let owners = try String.fetchAll(
      try db.cachedStatement(
        sql: """
          DELETE FROM session WHERE id IN (
            SELECT id FROM session WHERE ended_at IS NOT NULL AND ended_at < ?
              AND CASE WHEN expiry IS NULL THEN ended_at <= ? ELSE expiry <= ? END
            ORDER BY ended_at LIMIT ?)
          RETURNING account
          """),
      arguments: [retention.endedBefore.milliseconds, unlimited.milliseconds, retention.now.milliseconds, limit])
    let guests = try Set(owners).reduce(0) { count, account in
      try count
        + delete(
          """
          DELETE FROM account WHERE id = ?1 AND email IS NULL AND identity IS NULL AND closed_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM session WHERE account = ?1)
          """, [account])
    }
    let overdue = try ["one_time_token", "stored_item"].reduce(0) { count, table in
      try count
        + delete(
          "DELETE FROM \(table) WHERE id IN (SELECT id FROM \(table) WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
          [retention.now.milliseconds, limit])
    }
    let audit = try delete(
      "DELETE FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT ?) AND at < ?",
      [limit, retention.auditBefore.milliseconds])
    try coarsen(retention, limit)
    return events + owners.count + guests + overdue + audit
  }

  /// Reduces old addresses of the audit log to networks.
  private func coarsen(_ retention: Retention, _ limit: Int) throws {
    let old = try Row.fetchAll(
      try db.cachedStatement(
        sql: """
          SELECT \(StoredAuditedAction.columns) FROM audit
          WHERE at < ? AND address IS NOT NULL AND instr(address, '/') = 0 ORDER BY at LIMIT ?
          """), arguments: [retention.addressesBefore.milliseconds, limit]
    ).map(StoredAuditedAction.init(row:))
    for entry in old {
      try db.cachedStatement(sql: "UPDATE audit SET address = ? WHERE id = ?")
        .execute(arguments: [entry.audited.network, entry.id])
    }
  }

  private func delete(_ sql: String, _ arguments: StatementArguments) throws -> Int {
    try db.cachedStatement(sql: sql).execute(arguments: arguments)
    return db.changesCount
  }
}
#endif
