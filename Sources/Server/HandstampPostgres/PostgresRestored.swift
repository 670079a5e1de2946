#if PostgreSQL
import HandstampCore
import HandstampRegistry

/// A database that is being opened, and may have been restored. Each call is a transaction.
struct PostgresRestored: RestoredDatabase {
  let opening: PostgresOpening
  let writer: PostgresWriter

  func records<Record>(_ query: StoredQuery<Record>) throws -> [Record] {
    guard !query.isInVain else { return [] }
    return try opening.rows(query.statement.sql, query.statement.values).records()
  }

  func make(_ changes: [RegistryChange]) throws {
    let transaction = PostgresTransaction(
      lane: opening.lane, writer: writer, deadline: .now + .seconds(30), patience: .seconds(10))
    _ = try transaction.perform(changes, [])
  }

  func delete(_ purposes: [OneTimeTokenRecord.Purpose], _ kinds: [StoredItem.Kind]) throws -> Int {
    func list(_ words: [String]) -> String { words.isEmpty ? "NULL" : words.map { "'\($0)'" }.joined(separator: ", ") }
    let tokens = try opening.rows(
      "DELETE FROM handstamp.one_time_token WHERE purpose IN (\(list(purposes.map(\.rawValue))))", [])
    let items = try opening.rows("DELETE FROM handstamp.stored_item WHERE kind IN (\(list(kinds.map(\.rawValue))))", [])
    return tokens.changes + items.changes
  }

  /// Returns the entries of a log that the database does not know.
  func missing(of log: [Removal]) throws -> [Removal] {
    let now = UnixTime.systemTime
    let latest = log.latest
    var missing: [Removal] = []
    for start in stride(from: 0, to: latest.count, by: 1000) {
      let batch = latest[start..<min(start + 1000, latest.count)]
      let known = try opening.rows(
        "SELECT payload FROM handstamp.stored_item WHERE id = ANY($1)", [.list(batch.map(\.key.bytes))]
      ).texts.compactMap { PayloadCoding.value(Removal.self, $0) }
      missing += Removal.missing(
        of: Array(batch), from: Dictionary(known.map { ($0.key, $0) }, uniquingKeysWith: { $1 }), at: now)
    }
    return missing
  }
}
#endif
