#if PostgreSQL
import CHandstampLibraries
import HandstampRegistry
import HandstampSupport

/// A statement with its parameters, `$1` and so on.
struct PostgresStatement: Sendable {
  var sql: String
  var values: [PostgresValue]
  /// Whether it is sent often enough to be worth a prepared statement.
  var isFrequent = true

  init(_ sql: String, _ values: [PostgresValue] = [], isFrequent: Bool = true) {
    self.sql = sql
    self.values = values
    self.isFrequent = isFrequent
  }
}

extension StoredQuery {
  var statement: PostgresStatement {
    PostgresStatement(
      "SELECT \(Record.columns) FROM handstamp.\(Record.table) \(condition)", values.map { PostgresValue($0) })
  }
}

/// A parameter. Its type is known even if it is null.
struct PostgresValue: Sendable {
  let type: UInt32
  private let content: ColumnValue
  /// An array is sent as text.
  var isBinary: Bool { type != TypeID.byteArrays }

  static func integer(_ number: Int64?) -> PostgresValue {
    PostgresValue(type: TypeID.integer, content: number.map { .integer($0) } ?? .null)
  }
  static func text(_ text: String?) -> PostgresValue {
    PostgresValue(type: TypeID.text, content: text.map { .text($0) } ?? .null)
  }
  static func bytes(_ bytes: [UInt8]?) -> PostgresValue {
    PostgresValue(type: TypeID.bytes, content: bytes.map { .bytes($0) } ?? .null)
  }

  static func list(_ values: some Sequence<[UInt8]>) -> PostgresValue {
    let items = values.map { "\"\\\\x\(Hexadecimal.text($0))\"" }
    return PostgresValue(type: TypeID.byteArrays, content: .text("{\(items.joined(separator: ","))}"))
  }

  private init(type: UInt32, content: ColumnValue) {
    self.type = type
    self.content = content
  }

  /// Appends the value as it is sent. Returns `false` for a null.
  func append(to bytes: inout [UInt8]) -> Bool {
    switch content {
    case .null: return false
    case .integer(let number): withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    case .text(let text): bytes.append(contentsOf: text.utf8)
    case .bytes(let own): bytes.append(contentsOf: own)
    }
    return true
  }

  init(_ value: StoredValue) {
    switch value {
    case .integer(let number): self = .integer(number)
    case .text(let text): self = .text(text)
    case .bytes(let bytes): self = .bytes(bytes)
    }
  }

  /// A value of a row that is copied. The server finds out the type of a null.
  init(_ value: ColumnValue) {
    switch value {
    case .null: self.init(type: 0, content: .null)
    case .integer(let number): self = .integer(number)
    case .text(let text): self = .text(text)
    case .bytes(let bytes): self = .bytes(bytes)
    }
  }
}

/// The answer to a statement: its rows in binary format, or how many it changed.
final class PostgresResult {
  private let pq: HSPostgres
  private let result: OpaquePointer
  let count: Int
  let columnCount: Int

  /// Takes ownership of `result`.
  init(_ result: OpaquePointer, _ pq: HSPostgres) {
    self.result = result
    self.pq = pq
    count = Int(pq.ntuples(result))
    columnCount = Int(pq.nfields(result))
  }

  deinit { pq.clear(result) }

  /// The number of rows that it changed or returned.
  var changes: Int { Int(String(cString: pq.cmdTuples(result))) ?? 0 }

  /// The command, such as `COMMIT`.
  var command: String { String(cString: pq.cmdStatus(result)) }

  subscript(index: Int) -> PostgresRow { PostgresRow(result: self, index: index) }

  /// The integer in the first column of the first row.
  var integer: Int64? {
    guard count > 0, case .integer(let number)? = self[0].value(at: 0) else { return nil }
    return number
  }

  /// The text in the first column of the first row.
  var text: String? {
    guard count > 0, case .text(let text)? = self[0].value(at: 0) else { return nil }
    return text
  }

  /// The texts of the first column.
  var texts: [String] {
    (0..<count).compactMap { if case .text(let text)? = self[$0].value(at: 0) { text } else { nil } }
  }

  func records<Record: StoredRecord>(_ type: Record.Type = Record.self) throws(DescribedError) -> [Record] {
    try (0..<count).map { index throws(DescribedError) in try Record(source: self[index]) }
  }

  fileprivate func name(of column: Int) -> String? { pq.fname(result, Int32(column)).map { String(cString: $0) } }

  fileprivate func value(_ row: Int, _ column: Int) -> ColumnValue? {
    let (row, column) = (Int32(row), Int32(column))
    guard pq.getisnull(result, row, column) == 0 else { return .null }
    let length = Int(pq.getlength(result, row, column))
    let bytes = UnsafeRawBufferPointer(start: pq.getvalue(result, row, column), count: length)
    switch pq.ftype(result, column) {
    case TypeID.integer where length == 8: return .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
    case TypeID.text: return .text(String(decoding: bytes, as: UTF8.self))
    case TypeID.bytes: return .bytes(Array(bytes))
    default: return nil
    }
  }
}

/// A row of an answer.
struct PostgresRow: ColumnSource {
  let result: PostgresResult
  let index: Int

  var count: Int { result.columnCount }
  func name(at column: Int) -> String? { result.name(of: column) }
  func value(at column: Int) -> ColumnValue? { result.value(index, column) }
}
#endif
