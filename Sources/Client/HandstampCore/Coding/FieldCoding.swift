import HandstampSupport

/// Writes fields one after the other: a tag (1 byte), a length (4 bytes, big-endian), and that many bytes.
///
/// Readers skip unknown tags, so a version of the format may gain fields as long as losing them does no harm: an older
/// program that edits the vault writes it back without them. Any other change raises the version.
package struct FieldWriter {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// Passes the bytes that `write` wrote to `use`, then wipes them.
  ///
  /// Reserves `capacity` bytes up front: growing would leave copies of secrets behind.
  package static func withBytes<Result, Failure: Error>(
    capacity: Int, write: (inout FieldWriter) -> Void, use: (borrowing [UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var writer = FieldWriter()
    writer.bytes.reserveCapacity(capacity)
    write(&writer)
    defer { wipe(&writer.bytes) }
    return try use(writer.bytes)
  }

  package mutating func field(_ tag: UInt8, _ value: some Collection<UInt8>) {
    bytes.append(tag)
    number(UInt32(truncatingIfNeeded: value.count))
    bytes.append(contentsOf: value)
  }

  package mutating func field(_ tag: UInt8, _ text: String) { field(tag, text.utf8) }

  package mutating func field(_ tag: UInt8, _ secret: Secret) {
    secret.withExposedBytes { field(tag, $0) }
  }

  /// Writes a field whose content `write` writes.
  package mutating func field(_ tag: UInt8, write: (inout FieldWriter) -> Void) {
    bytes.append(tag)
    let start = bytes.count
    number(0 as UInt32)
    write(&self)
    let length = UInt32(truncatingIfNeeded: bytes.count - start - 4)
    for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index)) }
  }

  package mutating func raw(_ value: some Collection<UInt8>) { bytes.append(contentsOf: value) }

  package mutating func number<Number: FixedWidthInteger>(_ number: Number) {
    for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> Number(shift)))
    }
  }
}

/// Reads the output of ``FieldWriter`` from untrusted bytes.
package struct FieldReader {
  private var rest: UnsafeRawBufferPointer

  package init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  package var isAtEnd: Bool { rest.isEmpty }

  package mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
    guard let bytes = take(Number.bitWidth / 8) else { return nil }
    return bytes.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  package mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, count <= rest.count else { return nil }
    let taken = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    return taken
  }

  /// The whole of `bytes` as a number, or `nil` if it is longer or shorter.
  static func number<Number: FixedWidthInteger>(of bytes: UnsafeRawBufferPointer) -> Number? {
    var reader = FieldReader(bytes)
    let number = reader.number(Number.self)
    return reader.isAtEnd ? number : nil
  }

  /// The whole of `bytes` as two numbers, or `nil` if it is longer or shorter.
  static func numbers(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64)? {
    var reader = FieldReader(bytes)
    guard let first = reader.number(UInt64.self), let second = reader.number(UInt64.self), reader.isAtEnd else {
      return nil
    }
    return (first, second)
  }

  /// The whole of `bytes` as text, or `nil` if it is not UTF-8.
  package static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    return text.utf8.elementsEqual(bytes) ? text : nil
  }
}

/// The fields in untrusted bytes. Of several with one tag the last counts, unless the tag has a list, but each has to be valid.
struct StoredFields {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// - Throws: ``VaultError/corrupt`` if the bytes are not fields, or `read` returns `nil`.
  func all<Value>(
    _ tag: UInt8, _ read: (UnsafeRawBufferPointer) throws(VaultError) -> Value?
  ) throws(VaultError) -> [Value] {
    var reader = FieldReader(bytes)
    var values: [Value] = []
    while !reader.isAtEnd {
      guard let found = reader.number(UInt8.self), let length = reader.number(UInt32.self),
        let content = reader.take(Int(length))
      else { throw .corrupt }
      guard found == tag else { continue }
      guard let value = try read(content) else { throw .corrupt }
      values.append(value)
    }
    return values
  }

  /// As ``all(_:_:)``, of fields that consist of fields.
  func nested<Value>(
    _ tag: UInt8, _ read: (StoredFields) throws(VaultError) -> Value
  ) throws(VaultError) -> [Value] {
    try all(tag) { (content) throws(VaultError) -> Value? in try read(StoredFields(content)) }
  }

  func one<Value>(_ tag: UInt8, _ read: (UnsafeRawBufferPointer) -> Value?) throws(VaultError) -> Value? {
    try all(tag, read).last
  }

  /// - Throws: ``VaultError/corrupt`` also without the field.
  func need<Value>(_ tag: UInt8, _ read: (UnsafeRawBufferPointer) -> Value?) throws(VaultError) -> Value {
    guard let value = try one(tag, read) else { throw .corrupt }
    return value
  }

  func secret(_ tag: UInt8) throws(VaultError) -> Secret? { try one(tag) { Secret(bytes: $0) } }
  func text(_ tag: UInt8) throws(VaultError) -> String? { try one(tag, FieldReader.text) }
  func flag(_ tag: UInt8) throws(VaultError) -> Bool { try one(tag) { $0.elementsEqual([1]) } ?? false }
}

/// Overwrites `bytes` with zeroes, in a way that is not optimized away. The array must be uniquely referenced.
package func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { wipe($0) }
}

package func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
  guard let start = bytes.baseAddress else { return }
  #if canImport(Darwin)
  _ = memset_s(start, bytes.count, 0, bytes.count)
  #else
  explicit_bzero(start, bytes.count)
  #endif
}

extension UInt64 {
  /// The eight bytes, most significant first.
  package var octets: [UInt8] { stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) } }

  /// Returns `nil` unless there are exactly eight bytes.
  package init?(octets: some Collection<UInt8>) {
    guard octets.count == 8 else { return nil }
    self = octets.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
