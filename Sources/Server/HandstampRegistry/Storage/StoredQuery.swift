package import HandstampCore

/// A read of rows, in words that are the same in every store: the parameters are `$1` and so on, each first named in its order.
package struct StoredQuery<Record: StoredRecord>: Sendable {
  /// Follows the name of the table.
  package let condition: String
  package let values: [StoredValue]

  package init(_ condition: String = "", _ values: [StoredValue] = []) {
    (self.condition, self.values) = (condition, values)
  }

  /// Whether no row can be found: no stored text has a NUL, at which SQLite would end it and find a row with that prefix.
  package var isInVain: Bool {
    values.contains { if case .text(let text?) = $0 { text.utf8.contains(0) } else { false } }
  }
}

extension StoredValue {
  package static func limit(_ count: Int) -> StoredValue { .integer(Int64(max(count, 0))) }
}

extension StoredQuery {
  package static func live(of account: AccountID) -> StoredQuery where Record == SessionRow {
    StoredQuery("WHERE account = $1 AND ended_at IS NULL ORDER BY created_at, id", [.text(account.rawValue)])
  }

  package static func ended(of account: AccountID) -> StoredQuery where Record == SessionRow {
    StoredQuery("WHERE account = $1 AND ended_at IS NOT NULL ORDER BY created_at, id", [.text(account.rawValue)])
  }

  package static func account(_ id: AccountID) -> StoredQuery where Record == AccountRecord {
    StoredQuery("WHERE id = $1", [.text(id.rawValue)])
  }

  package static func account(email normalized: String) -> StoredQuery where Record == AccountRecord {
    StoredQuery("WHERE email = $1", [.text(normalized)])
  }

  package static func account(identity key: String) -> StoredQuery where Record == AccountRecord {
    StoredQuery("WHERE identity = $1", [.text(key)])
  }

  package static func accounts(after id: AccountID?, limit: Int) -> StoredQuery where Record == AccountRecord {
    // No ID is empty.
    StoredQuery("WHERE id > $1 ORDER BY id LIMIT $2", [.text(id?.rawValue ?? ""), .limit(limit)])
  }

  package static func token(_ id: OneTimeTokenID) -> StoredQuery where Record == OneTimeTokenRecord {
    StoredQuery("WHERE id = $1", [.bytes(id.bytes)])
  }

  package static func item(_ id: StoredItemID) -> StoredQuery where Record == StoredItem {
    StoredQuery("WHERE id = $1", [.bytes(id.bytes)])
  }

  package static func items(_ kind: StoredItem.Kind, subject: String) -> StoredQuery where Record == StoredItem {
    StoredQuery("WHERE kind = $1 AND subject = $2 ORDER BY created_at, id", [.text(kind.rawValue), .text(subject)])
  }

  package static func items(
    _ kind: StoredItem.Kind, after id: StoredItemID?, limit: Int
  ) -> StoredQuery where Record == StoredItem {
    let values: [StoredValue] = [.text(kind.rawValue), .bytes(id?.bytes ?? []), .limit(limit)]
    return StoredQuery("WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $3", values)
  }

  package static func due(
    _ kind: StoredItem.Kind, at now: UnixTime, limit: Int
  ) -> StoredQuery where Record == StoredItem {
    StoredQuery(
      "WHERE kind = $1 AND due_at IS NOT NULL AND due_at <= $2 ORDER BY due_at, id LIMIT $3",
      [.text(kind.rawValue), StoredValue(now), .limit(limit)])
  }

  /// The entries of a log after the one with that number; those about one account, or all.
  package static func log(after id: Int64, about account: AccountID?, limit: Int) -> StoredQuery {
    guard let account else { return StoredQuery("WHERE id > $1 ORDER BY id LIMIT $2", [.integer(id), .limit(limit)]) }
    return StoredQuery(
      "WHERE id > $1 AND account = $2 ORDER BY id LIMIT $3", [.integer(id), .text(account.rawValue), .limit(limit)])
  }

  package static func latestLog(about account: AccountID, before id: Int64?, limit: Int) -> StoredQuery {
    StoredQuery(
      "WHERE id < $1 AND account = $2 ORDER BY id DESC LIMIT $3",
      [.integer(id ?? .max), .text(account.rawValue), .limit(limit)])
  }
}
