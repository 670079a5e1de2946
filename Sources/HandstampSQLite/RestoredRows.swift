#if SQLite
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry
import HandstampStorage

/// A restored database, inside a transaction.
struct RestoredRows: RestoredDatabase {
  let db: Database

  func account(_ id: AccountID) throws -> AccountRecord? { try account("id", id.rawValue) }
  func account(email normalized: String) throws -> AccountRecord? { try account("email", normalized) }

  private func account(_ column: String, _ value: String) throws -> AccountRecord? {
    try Row.fetchOne(
      db, sql: "SELECT \(AccountRecord.columns) FROM account WHERE \(column) = ?", arguments: [value]
    ).map(AccountRecord.init(row:))
  }

  func fact(_ id: FactID) throws -> RegistryFact? { try facts("id = ?", [Data(id.bytes)]).first }

  func facts(_ kind: RegistryFact.Kind, subject: String) throws -> [RegistryFact] {
    try facts("kind = ? AND subject = ?", [kind.rawValue, subject])
  }

  private func facts(_ condition: String, _ arguments: StatementArguments) throws -> [RegistryFact] {
    try Row.fetchAll(
      db, sql: "SELECT \(RegistryFact.columns) FROM fact WHERE \(condition)", arguments: arguments
    ).map(RegistryFact.init(row:))
  }

  func make(_ changes: [RegistryChange]) throws { _ = try ChangeWriter(db: db).write(changes, []) }

  func delete(_ purposes: [OneTimeTokenRecord.Purpose], _ kinds: [RegistryFact.Kind]) throws -> Int {
    var count = 0
    for (table, column, words) in [
      ("ticket", "purpose", purposes.map(\.rawValue)), ("fact", "kind", kinds.map(\.rawValue)),
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
  static func all(in db: Database) throws -> [FactID: Removal] {
    let texts = try String.fetchAll(
      db, sql: "SELECT payload FROM fact WHERE kind = ?", arguments: [RegistryFact.Kind.removal.rawValue])
    let all = texts.compactMap { PayloadCoding.value(Removal.self, $0) }
    return Dictionary(all.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
  }
}
#endif
