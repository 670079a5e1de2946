#if Data
import HandstampCore
import HandstampSupport

/// The rows on display, which must not be pruned.
final class InUse: Sendable {
  private let counts = Locked<[String: [Int64: Int]]>([:])

  func add(_ table: String, _ ids: [Int64]) {
    counts.withLock { for id in ids { $0[table, default: [:]][id, default: 0] += 1 } }
  }

  func remove(_ table: String, _ ids: [Int64]) {
    counts.withLock { counts in
      for id in ids {
        let left = (counts[table]?[id] ?? 1) - 1
        counts[table]?[id] = left > 0 ? left : nil
      }
    }
  }

  func ids(of table: String) -> [Int64] { counts.withLock { ($0[table] ?? [:]).keys.sorted() } }
}

/// Protects rows from pruning for as long as it lives.
public final class RowsInUse: Sendable {
  private let inUse: InUse
  private let table: String
  private let ids: [Int64]

  init(_ inUse: InUse, _ table: String, _ ids: [Int64]) {
    self.inUse = inUse
    self.table = table
    self.ids = ids
    inUse.add(table, ids)
  }

  deinit { inUse.remove(table, ids) }
}

extension DataStore {
  /// Protects these rows from pruning until the lease is released; for rows on display.
  public func protect(_ ids: [Int64], in table: CachedTable) -> RowsInUse { RowsInUse(inUse, table.name, ids) }
}
#endif
