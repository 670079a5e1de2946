#if Data
public import GRDB
public import HandstampCore
import HandstampSupport

/// The result of upserting a fetched row.
public struct Upserted: Sendable, Hashable {
  public var id: Int64
  /// Whether the row is new or any of its columns changed.
  public var isChanged: Bool
}

extension CachedTable {
  /// Stores a fetched row: inserts it, or updates the columns that differ in the row with the same key. Either way the
  /// row counts as fetched at `now`.
  ///
  /// | stored | fetched | result |
  /// |---|---|---|
  /// | `a` | `b` | `b` |
  /// | `a` | null or an empty text | `a` |
  /// | null | `b` | `b` |
  ///
  /// - Parameters:
  ///   - key: The values of ``key``, in its order. None may be null.
  ///   - values: The other columns on the page.
  ///   - clearing: The columns that may become empty, because their empty value is information rather than a gap.
  @discardableResult
  public func upsert(
    _ database: Database, _ key: [any DatabaseValueConvertible],
    _ values: [String: (any DatabaseValueConvertible)?], clearing: Set<String> = [], at now: UnixTime
  ) throws -> Upserted {
    let names = values.keys.sorted()
    let before = database.totalChangesCount
    let sql = SQLTexts.text(of: SQLTexts.Shape(table: self, names: names, clearing: clearing))
    let statement = try database.cachedStatement(sql: sql.upsert)
    try statement.execute(arguments: arguments(key, names.map { values[$0] ?? nil }))
    let isChanged = database.totalChangesCount != before
    let marking = try database.cachedStatement(sql: sql.mark)
    guard let id = try Int64.fetchOne(marking, arguments: arguments([now.milliseconds], key)) else {
      throw DatabaseError(resultCode: .SQLITE_CONSTRAINT, message: "a key column of \(name) is null")
    }
    return Upserted(id: id, isChanged: isChanged)
  }

  private func arguments(
    _ first: [(any DatabaseValueConvertible)?], _ then: [(any DatabaseValueConvertible)?]
  ) -> StatementArguments { StatementArguments(first + then) }

  fileprivate func upsertSQL(_ names: [String], _ clearing: Set<String>) -> String {
    let columns = (key + names).map(\.quoted)
    var sql = "INSERT INTO \(name.quoted) (\(columns.joined(separator: ", "))) VALUES "
    sql += "(\(columns.map { _ in "?" }.joined(separator: ", "))) "
    sql += "ON CONFLICT (\(key.map(\.quoted).joined(separator: ", "))) DO "
    guard !names.isEmpty else { return sql + "NOTHING" }
    let own = name.quoted
    let sets = names.map { name -> String in
      let column = name.quoted
      if clearing.contains(name) { return "\(column) = excluded.\(column)" }
      return "\(column) = CASE WHEN \(isEmpty(column)) THEN \(own).\(column) ELSE excluded.\(column) END"
    }
    let differs = names.map { name -> String in
      let column = name.quoted
      let isOther = "excluded.\(column) IS NOT \(own).\(column)"
      return clearing.contains(name) ? "(\(isOther))" : "(\(isOther) AND NOT \(isEmpty(column)))"
    }
    return sql + "UPDATE SET \(sets.joined(separator: ", ")) WHERE \(differs.joined(separator: " OR "))"
  }

  private func isEmpty(_ column: String) -> String { "coalesce(excluded.\(column), '') IN ('', x'')" }

  fileprivate var markSQL: String {
    let condition = key.map { "\($0.quoted) = ?" }.joined(separator: " AND ")
    return """
      INSERT INTO \(marks) (row, fetched) SELECT id, ? FROM \(name.quoted) WHERE \(condition)
      ON CONFLICT (row) DO UPDATE SET fetched = max(fetched, excluded.fetched) RETURNING row
      """
  }
}

/// The SQL for each kind of row, cached because building it takes longer than running it.
private enum SQLTexts {
  struct Shape: Hashable, Sendable {
    var table: CachedTable
    var names: [String]
    var clearing: Set<String>
  }
  /// A program has as many shapes as it has call sites of upsert; the limit guards against generated column names.
  private static let limit = 500
  private static let texts = Locked<[Shape: (upsert: String, mark: String)]>([:])

  static func text(of shape: Shape) -> (upsert: String, mark: String) {
    if let known = texts.withLock({ $0[shape] }) { return known }
    let text = (upsert: shape.table.upsertSQL(shape.names, shape.clearing), mark: shape.table.markSQL)
    texts.withLock { texts in
      if texts.count >= limit { texts = [:] }
      texts[shape] = text
    }
    return text
  }
}
#endif
