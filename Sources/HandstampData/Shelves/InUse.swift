#if Data
import HandstampCore

/// The rows that are shown now, and must not be pruned away from under whoever looks at them.
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

/// Keeps rows from being pruned, for as long as it lives.
public final class Lease: Sendable {
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
  /// Keeps these rows from being pruned until the lease goes away: for what is on the screen.
  public func use(_ shelf: Shelf, _ ids: [Int64]) -> Lease { Lease(inUse, shelf.table, ids) }
}
#endif
