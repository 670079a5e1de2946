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

  /// Stores what was read; `false` if that is nothing.
  static func set<Value>(_ place: inout Value?, _ value: Value?) -> Bool {
    place = value
    return value != nil
  }

  /// Passes every field of `bytes` to `body`. Returns `false` if the bytes are not fields, or if `body` does.
  package static func fields(_ bytes: UnsafeRawBufferPointer, _ body: (UInt8, UnsafeRawBufferPointer) -> Bool) -> Bool {
    var reader = FieldReader(bytes)
    while !reader.rest.isEmpty {
      guard let tag = reader.number(UInt8.self), let length = reader.number(UInt32.self),
        let value = reader.take(Int(length)), body(tag, value)
      else { return false }
    }
    return true
  }

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

  /// The whole of `bytes` as text, or `nil` if it is not UTF-8.
  package static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    return text.utf8.elementsEqual(bytes) ? text : nil
  }
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
