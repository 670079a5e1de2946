#if Data
import GRDB
import HandstampCore

/// A walk over one table's rows in order of fetching, oldest first.
struct Sweep: Sendable {
  let table: CachedTable
  /// SQL conditions under which a row stays, besides being in use.
  private let stays: [String]
  /// Rows fetched at this time or later are skipped.
  var limit: UnixTime?
  private var fetched = Int64.min
  private var row = Int64.min

  /// Returns one sweep per table; referencing tables come before the tables they reference.
  static func all(_ tables: [CachedTable], _ database: Database) throws -> [Sweep] {
    var references: [String: [String]] = [:]
    var parents: [String: Set<String>] = [:]
    let names = try String.fetchAll(
      database, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for child in names {
      for key in try Row.fetchAll(database, sql: "SELECT * FROM pragma_foreign_key_list(?)", arguments: [child]) {
        let parent: String = key["table"]
        let (from, to): (String, String?) = (key["from"], key["to"])
        let own = "\(parent.quoted).\((to ?? "id").quoted)"
        // A row's reference to itself does not keep it.
        let others = child == parent ? " AND c.id <> \(parent.quoted).id" : ""
        references[parent, default: []].append(
          "EXISTS (SELECT 1 FROM \(child.quoted) AS c WHERE c.\(from.quoted) = \(own)\(others))")
        parents[child, default: []].insert(parent)
      }
    }
    let sweeps = tables.map { table in
      Sweep(
        table: table, stays: (table.pinned.map { ["coalesce((\($0)), 0)"] } ?? []) + (references[table.name] ?? []))
    }
    var (sorted, left) = ([Sweep](), sweeps)
    while !left.isEmpty {
      let free = left.filter { sweep in
        !left.contains { parents[$0.table.name]?.contains(sweep.table.name) ?? false }
      }
      // Tables that reference each other, in any order.
      sorted += free.isEmpty ? left : free
      left = free.isEmpty ? [] : left.filter { sweep in !free.contains { $0.table == sweep.table } }
    }
    return sorted
  }

  /// Returns the fetch time of the next row, or `nil` at the end.
  func next(_ database: Database) throws -> Int64? {
    try Int64.fetchOne(
      database,
      sql: "SELECT fetched FROM \(table.marks) WHERE (fetched, row) > (?, ?) ORDER BY fetched, row LIMIT 1",
      arguments: [fetched, row])
  }

  /// Removes those of the next `count` rows that may go. Returns `nil` at the end of the walk.
  mutating func step(_ database: Database, _ count: Int, inUse: [Int64]) throws -> Int? {
    let window = try Row.fetchOne(
      database,
      sql: """
        SELECT fetched, row FROM (
          SELECT fetched, row FROM \(table.marks) WHERE (fetched, row) > (?, ?) AND fetched < ?
          ORDER BY fetched, row LIMIT ?
        ) ORDER BY fetched DESC, row DESC LIMIT 1
        """, arguments: [fetched, row, limit?.milliseconds ?? .max, count])
    guard let window else { return nil }
    let (lastFetched, lastRow): (Int64, Int64) = (window["fetched"], window["row"])
    var sql = """
      DELETE FROM \(table.name.quoted) WHERE id IN (
        SELECT row FROM \(table.marks) WHERE (fetched, row) > (?, ?) AND (fetched, row) <= (?, ?))
      """
    for condition in stays { sql += " AND NOT \(condition)" }
    if !inUse.isEmpty { sql += " AND id NOT IN (\(inUse.map(String.init).joined(separator: ", ")))" }
    try database.execute(sql: sql, arguments: [fetched, row, lastFetched, lastRow])
    // Excludes rows removed by a trigger.
    let removed = database.changesCount
    (fetched, row) = (lastFetched, lastRow)
    return removed
  }
}
#endif
