import Crypto
import HandstampSupport

/// A table that every store has, with the same columns. The first column is the key, by which rows are in order.
package struct StoredTable: Sendable, Hashable {
  package let name: String
  package let columns: String

  /// The tables of a store, in an order in which each may be filled. How many rows each log ever had is not in a table, see
  /// ``StoreCounters``.
  package static let all = [
    StoredTable(name: "key_check", columns: "kid, value"), StoredTable(AccountRecord.self),
    StoredTable(SessionRow.self), StoredTable(OneTimeTokenRecord.self), StoredTable(StoredItem.self),
    // Of one row; the key is of no use, and does no harm.
    StoredTable(name: ClockNote.table, columns: "revision, at, doubted_since"),
    StoredTable(StoredEvent.self), StoredTable(StoredAuditedAction.self),
  ]

  private init(name: String, columns: String) { (self.name, self.columns) = (name, columns) }
  private init<Record: StoredRecord>(_ type: Record.Type) { self.init(name: Record.table, columns: Record.columns) }

  package var key: String { String(columns.prefix { $0 != "," }) }
}

/// The last numbers of the logs, also if their entries were deleted.
package struct StoreCounters: Sendable, Hashable {
  package var event: Int64
  package var audit: Int64

  package init(event: Int64, audit: Int64) {
    self.event = event
    self.audit = audit
  }
}

/// A store whose rows are copied as they are. Calls may wait.
package protocol CopiedStore {
  /// Returns the rows after the one with that key, in order.
  func rows(of table: StoredTable, after key: ColumnValue?, limit: Int) throws(RegistryOpenError) -> [[ColumnValue]]
  func counters() throws(RegistryOpenError) -> StoreCounters
  /// Adds rows. They are durable when the method returns.
  func insert(_ rows: [[ColumnValue]], into table: StoredTable) throws(RegistryOpenError)
  func set(_ counters: StoreCounters) throws(RegistryOpenError)
}

/// Names a copy, so that one that was interrupted goes on, and no other one begins in its place.
package struct CopyMark: Sendable, Hashable {
  package var text: String
  /// Whether the source was left before: then only the same target may be completed.
  package var isLeft: Bool

  package init(text: String, isLeft: Bool) {
    self.text = text
    self.isLeft = isLeft
  }

  package static let again = RegistryOpenError.refused(
    "the sessions were moved before", hint: "start the server on the database that they were moved to")
}

/// A store whose sessions move to another one.
package protocol MovedStore {
  /// Runs `body` while no server uses the store. `body` calls its last parameter when the copy is complete, before the target is
  /// opened to servers; from then on none starts on this store.
  func moving(
    keys: ServerKeys?,
    _ body: (
      any CopiedStore, ServerKeys, CopyMark, _ complete: () throws(RegistryOpenError) -> Void
    ) throws(RegistryOpenError) -> Void
  ) throws(RegistryOpenError)

  /// Runs `body` with a store that is empty, or has the beginning of the same copy, and opens it to servers if that succeeds.
  func receiving(
    keys: ServerKeys, mark: CopyMark, _ body: (any CopiedStore) throws(RegistryOpenError) -> Void
  ) throws(RegistryOpenError)
}

extension MovedStore {
  /// Moves all rows to another store.
  package func move(
    to target: any MovedStore, keys: ServerKeys?, batch: Int = 1000,
    progress: (_ table: String, _ count: Int) -> Void = { _, _ in }
  ) throws(RegistryOpenError) -> [StoreCopy.Summary] {
    var summaries: [StoreCopy.Summary] = []
    try moving(keys: keys) { source, keys, mark, complete throws(RegistryOpenError) in
      try target.receiving(keys: keys, mark: mark) { target throws(RegistryOpenError) in
        summaries = try StoreCopy(source: source, target: target, batch: batch).run(progress)
        try complete()
      }
    }
    return summaries
  }
}

/// Copies one store to another. A copy that was interrupted goes on where it ended.
package struct StoreCopy {
  /// The content of a table in both stores after the copy.
  package struct Summary: Sendable, Hashable {
    package var table: String
    package var count: Int
    /// The SHA-256 of all rows in order, in hexadecimal.
    package var checksum: String
  }

  let source: any CopiedStore
  let target: any CopiedStore
  let batch: Int

  /// Copies what the target lacks, then reads both stores and compares them.
  ///
  /// - Parameter progress: called after each batch with the table and the number of rows that it has by then.
  /// - Throws: ``RegistryOpenError/refused(_:hint:)`` if the two differ in the end.
  func run(_ progress: (_ table: String, _ count: Int) -> Void) throws(RegistryOpenError) -> [Summary] {
    for table in StoredTable.all {
      let (last, present) = try read(table, in: target) { _ in }
      var count = present
      _ = try read(table, in: source, after: last) { rows throws(RegistryOpenError) in
        try target.insert(rows, into: table)
        count += rows.count
        progress(table.name, count)
      }
    }
    try target.set(try source.counters())
    guard try source.counters() == target.counters() else { throw differs("counters") }
    var summaries: [Summary] = []
    for table in StoredTable.all {
      let (from, to) = (try summary(of: table, in: source), try summary(of: table, in: target))
      guard from == to else { throw differs(table.name) }
      summaries.append(to)
    }
    return summaries
  }

  /// The target has a row already that its key does not tell of.
  package static let stale = RegistryOpenError.refused(
    "the source has changed since the copy began",
    hint: "empty the target, and copy again: DROP SCHEMA handstamp CASCADE, or delete registry.sqlite.copying-*")

  private func differs(_ table: String) -> RegistryOpenError {
    .refused(
      "source and target differ in the table \(table)",
      hint: "make sure that no server uses either of them, empty the target, and copy again")
  }

  /// Reads the rows after a key. Returns the last key, and the number of rows.
  private func read(
    _ table: StoredTable, in store: any CopiedStore, after start: ColumnValue? = nil,
    _ body: ([[ColumnValue]]) throws(RegistryOpenError) -> Void
  ) throws(RegistryOpenError) -> (last: ColumnValue?, count: Int) {
    var (last, count) = (start, 0)
    while case let rows = try store.rows(of: table, after: last, limit: batch), !rows.isEmpty {
      try body(rows)
      last = rows.last?.first
      count += rows.count
    }
    return (last, count)
  }

  private func summary(of table: StoredTable, in store: any CopiedStore) throws(RegistryOpenError) -> Summary {
    var hash = SHA256()
    let count = try read(table, in: store) { rows in
      for value in rows.joined() { hash.update(data: value.canonical) }
    }.count
    return Summary(table: table.name, count: count, checksum: Hexadecimal.text(hash.finalize()))
  }
}

extension ColumnValue {
  /// Bytes that are equal exactly for equal values: a letter for the type, the length, and the content.
  fileprivate var canonical: [UInt8] {
    switch self {
    case .null: Array("n".utf8)
    case .integer(let number): Array("i\(number);".utf8)
    case .text(let text): Array("t\(text.utf8.count):".utf8) + Array(text.utf8)
    case .bytes(let bytes): Array("b\(bytes.count):".utf8) + bytes
    }
  }
}
