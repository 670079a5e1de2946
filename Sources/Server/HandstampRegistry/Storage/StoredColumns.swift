package import HandstampCore
package import HandstampSupport

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

/// A row of one column.
extension ColumnValue: ColumnSource {
  package var count: Int { 1 }
  package func name(at index: Int) -> String? { nil }
  package func value(at index: Int) -> ColumnValue? { self }
}

extension ColumnSource {
  func readableValue(at index: Int) throws(DescribedError) -> ColumnValue {
    guard let value = value(at: index) else { throw DescribedError.unreadable(column: name(at: index)) }
    return value
  }

  package func readableValues() throws(DescribedError) -> [ColumnValue] {
    try (0..<count).map { index throws(DescribedError) in try readableValue(at: index) }
  }
}

/// Reads the columns of a row in order. A value of the wrong type is an error, never a trap.
package struct StoredColumns<Source: ColumnSource> {
  private let source: Source
  private var next = 0

  package init(_ source: Source) { self.source = source }

  /// The error for the value that was read last.
  package var unreadable: DescribedError { .unreadable(column: next > 0 ? source.name(at: next - 1) : nil) }

  mutating func read() throws(DescribedError) -> ColumnValue {
    guard next < source.count else { throw DescribedError.unreadable(column: nil) }
    next += 1
    return try source.readableValue(at: next - 1)
  }

  /// Leaves out columns.
  package mutating func skip(_ count: Int) { next += count }

  package mutating func optionalInteger() throws(DescribedError) -> Int64? {
    switch try read() {
    case .null: return nil
    case .integer(let number): return number
    case .text, .bytes: throw unreadable
    }
  }

  package mutating func optionalText() throws(DescribedError) -> String? {
    switch try read() {
    case .null: return nil
    case .text(let text): return text
    case .integer, .bytes: throw unreadable
    }
  }

  package mutating func optionalBytes() throws(DescribedError) -> [UInt8]? {
    switch try read() {
    case .null: return nil
    case .bytes(let bytes): return bytes
    case .integer, .text: throw unreadable
    }
  }

  package mutating func integer() throws(DescribedError) -> Int64 {
    let value = try optionalInteger()
    return try present(value)
  }
  package mutating func text() throws(DescribedError) -> String {
    let value = try optionalText()
    return try present(value)
  }
  package mutating func bytes() throws(DescribedError) -> [UInt8] {
    let value = try optionalBytes()
    return try present(value)
  }

  package mutating func time() throws(DescribedError) -> UnixTime { UnixTime(milliseconds: try integer()) }
  package mutating func optionalTime() throws(DescribedError) -> UnixTime? {
    try optionalInteger().map { UnixTime(milliseconds: $0) }
  }

  package mutating func word<Word: RawRepresentable<String>>() throws(DescribedError) -> Word {
    guard let word = Word(rawValue: try text()) else { throw unreadable }
    return word
  }

  package mutating func optionalWord<Word: RawRepresentable<String>>() throws(DescribedError) -> Word? {
    guard let text = try optionalText() else { return nil }
    guard let word = Word(rawValue: text) else { throw unreadable }
    return word
  }

  /// Call this after the column is read: the error names the one that was read last.
  private func present<Value>(_ value: Value?) throws(DescribedError) -> Value {
    guard let value else { throw unreadable }
    return value
  }
}

extension DescribedError {
  /// A stored row was edited by hand or written by a newer version. `column` has the invalid value; `nil` if there are too few.
  package static func unreadable(column: String?) -> DescribedError {
    DescribedError(
      column.map { "a stored row has an invalid value in the column \($0)" } ?? "a stored row has too few columns")
  }
}
