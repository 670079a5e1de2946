#if Server
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry

/// A restored database, inside a transaction.
struct RestoredRows: RestoredDatabase {
  let db: Database

  func records<Record>(_ query: StoredQuery<Record>) throws -> [Record] { try query.records(in: db) }

  func make(_ changes: [RegistryChange]) throws { try ChangeWriter(db: db).write(changes, []) }

  func delete(_ purposes: [OneTimeTokenRecord.Purpose], _ kinds: [StoredItem.Kind]) throws -> Int {
    var count = 0
    for (table, column, words) in [
      ("one_time_token", "purpose", purposes.map(\.rawValue)), ("stored_item", "kind", kinds.map(\.rawValue)),
    ] {
      let marks = words.map { _ in "?" }.joined(separator: ", ")
      try db.execute(
        sql: "DELETE FROM \(table) WHERE \(column) IN (\(marks))", arguments: StatementArguments(words))
      count += db.changesCount
    }
    return count
  }
}

extension Removal {
  /// The removals of the database, by their keys.
  static func all(in db: Database) throws -> [StoredItemID: Removal] {
    let texts = try String.fetchAll(
      db, sql: "SELECT payload FROM stored_item WHERE kind = ?", arguments: [StoredItem.Kind.removal.rawValue])
    let all = texts.compactMap { PayloadCoding.value(Removal.self, $0) }
    return Dictionary(all.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
  }
}
#endif
