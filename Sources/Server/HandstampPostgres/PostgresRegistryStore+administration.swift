#if PostgreSQL
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

extension PostgresRegistryStore {
  /// Looks for rows that cannot be read, and returns the size of the tables. PostgreSQL checks itself with `pg_amcheck`.
  @concurrent public func inspect() async throws(RegistryStoreError) -> StoreInspection {
    let migrations = PostgresStatement(
      "SELECT 'format ' || number FROM handstamp.format ORDER BY number", isFrequent: false)
    let formats = try await slowly(migrations) { $0.texts }
    let size = PostgresStatement(
      """
      SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
      WHERE relnamespace = to_regnamespace('handstamp') AND relkind = 'r'
      """, isFrequent: false)
    let orphans = PostgresStatement(
      """
      SELECT count(*) FROM handstamp.session s
      WHERE NOT EXISTS (SELECT 1 FROM handstamp.account a WHERE a.id = s.account)
      """, isFrequent: false)
    let bytes = try await slowly(size) { $0.integer ?? 0 }
    let lost = try await slowly(orphans) { $0.integer ?? 0 }
    return StoreInspection(
      faults: lost > 0 ? ["\(lost) session(s) without their account"] : [], migrations: formats, size: bytes)
  }

  @concurrent public func keysEverUsed() async throws(RegistryStoreError) -> [KeyID] {
    let statement = PostgresStatement("SELECT kid FROM handstamp.key_check ORDER BY kid", isFrequent: false)
    return try await slowly(statement) { $0.texts.map { KeyID($0) } }
  }

  @concurrent public func liveSessions(
    upTo time: UnixTime?
  ) async throws(RegistryStoreError) -> (refreshed: Int, begun: Int) {
    let statement = PostgresStatement(
      """
      SELECT count(*) FILTER (WHERE rotated_at <= $1), count(*) FILTER (WHERE created_at <= $1)
      FROM handstamp.session WHERE ended_at IS NULL
      """, [.integer(time?.milliseconds ?? .max)], isFrequent: false)
    return try await slowly(statement) { result throws(DescribedError) in
      var columns = StoredColumns(result[0])
      return (Int(try columns.integer()), Int(try columns.integer()))
    }
  }

  @concurrent public func clientSessions() async throws(RegistryStoreError) -> [String: Int] {
    let statement = PostgresStatement(
      """
      SELECT client, count(*) FROM handstamp.session WHERE ended_at IS NULL AND client IS NOT NULL GROUP BY client
      """, isFrequent: false)
    return try await slowly(statement) { result throws(DescribedError) in
      var counts: [String: Int] = [:]
      for index in 0..<result.count {
        var columns = StoredColumns(result[index])
        counts[try columns.text()] = Int(try columns.integer())
      }
      return counts
    }
  }
}
#endif
