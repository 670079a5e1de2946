package import HandstampCore

/// A value of a column, as it is written. Also a null has a type.
package enum StoredValue: Sendable, Hashable {
  case integer(Int64?)
  case text(String?)
  case bytes([UInt8]?)

  package init(_ number: Int64?) { self = .integer(number) }
  package init(_ text: String?) { self = .text(text) }
  package init(_ time: UnixTime?) { self = .integer(time?.milliseconds) }
  package init(_ secret: Secret?) { self = .bytes(secret.map { $0.withExposedBytes { Array($0) } }) }
}

/// A value of a column, as it is read.
package enum ColumnValue: Sendable {
  case null
  case integer(Int64)
  case text(String)
  case bytes([UInt8])
}

/// A row as its database returns it.
package protocol ColumnSource {
  var count: Int { get }
  func name(at index: Int) -> String?
  /// Returns `nil` for a value of a type that no column has.
  func value(at index: Int) -> ColumnValue?
}

/// Reads the columns of a row in order. A value of the wrong type is an error, never a trap.
package struct StoredColumns<Source: ColumnSource> {
  private let source: Source
  private var next = 0

  package init(_ source: Source) { self.source = source }

  /// The error for the value that was read last.
  package var unreadable: UnreadableRowError { UnreadableRowError(column: next > 0 ? source.name(at: next - 1) : nil) }

  private mutating func read() throws(UnreadableRowError) -> ColumnValue {
    guard next < source.count else { throw UnreadableRowError(column: nil) }
    next += 1
    guard let value = source.value(at: next - 1) else { throw unreadable }
    return value
  }

  package mutating func optionalInteger() throws(UnreadableRowError) -> Int64? {
    switch try read() {
    case .null: return nil
    case .integer(let number): return number
    case .text, .bytes: throw unreadable
    }
  }

  package mutating func optionalText() throws(UnreadableRowError) -> String? {
    switch try read() {
    case .null: return nil
    case .text(let text): return text
    case .integer, .bytes: throw unreadable
    }
  }

  package mutating func optionalBytes() throws(UnreadableRowError) -> [UInt8]? {
    switch try read() {
    case .null: return nil
    case .bytes(let bytes): return bytes
    case .integer, .text: throw unreadable
    }
  }

  package mutating func integer() throws(UnreadableRowError) -> Int64 { try present(try optionalInteger()) }
  package mutating func text() throws(UnreadableRowError) -> String { try present(try optionalText()) }
  package mutating func bytes() throws(UnreadableRowError) -> [UInt8] { try present(try optionalBytes()) }

  package mutating func time() throws(UnreadableRowError) -> UnixTime { UnixTime(milliseconds: try integer()) }
  package mutating func optionalTime() throws(UnreadableRowError) -> UnixTime? {
    try optionalInteger().map { UnixTime(milliseconds: $0) }
  }

  package mutating func word<Word: RawRepresentable<String>>() throws(UnreadableRowError) -> Word {
    guard let word = Word(rawValue: try text()) else { throw unreadable }
    return word
  }

  package mutating func optionalWord<Word: RawRepresentable<String>>() throws(UnreadableRowError) -> Word? {
    guard let text = try optionalText() else { return nil }
    guard let word = Word(rawValue: text) else { throw unreadable }
    return word
  }

  private func present<Value>(_ value: Value?) throws(UnreadableRowError) -> Value {
    guard let value else { throw unreadable }
    return value
  }
}

/// A stored row that is not valid, because it was edited by hand or written by a newer version.
package struct UnreadableRowError: Error, CustomStringConvertible {
  /// The column with the invalid value; `nil` if the row has too few.
  package var column: String?

  package init(column: String?) { self.column = column }

  package var description: String {
    column.map { "a stored row has an invalid value in the column \($0)" } ?? "a stored row has too few columns"
  }
}
