#if JOSE
import Testing

@testable import HandstampWebAuthn

@Suite(.timeLimit(.minutes(10))) struct `CBOR` {
  private func read(_ bytes: [UInt8]) throws(CBORError) -> CBORValue { try CBORValue(bytes[...]) }

  @Test func `is read as its value`() throws {
    // RFC 8949 appendix A.
    for (bytes, value) in [
      ([0x00], .integer(0)), ([0x17], .integer(23)), ([0x18, 0x18], .integer(24)), ([0x18, 0xFF], .integer(255)),
      ([0x19, 0x03, 0xE8], .integer(1000)), ([0x1A, 0x00, 0x0F, 0x42, 0x40], .integer(1_000_000)),
      ([0x1B, 0, 0, 0, 0xE8, 0xD4, 0xA5, 0x10, 0], .integer(1_000_000_000_000)),
      ([0x20], .integer(-1)), ([0x38, 0x63], .integer(-100)), ([0x39, 0x03, 0xE7], .integer(-1000)),
      ([0x39, 0x01, 0x00], .integer(-257)), ([0xF4], .bool(false)), ([0xF5], .bool(true)), ([0xF6], .null),
      ([0x40], .bytes([])), ([0x44, 1, 2, 3, 4], .bytes([1, 2, 3, 4])), ([0x60], .text("")),
      ([0x64, 0x49, 0x45, 0x54, 0x46], .text("IETF")), ([0x64, 0xF0, 0x90, 0x85, 0x91], .text("\u{10151}")),
      ([0x80], .array([])), ([0x83, 1, 2, 3], .array([.integer(1), .integer(2), .integer(3)])), ([0xA0], .map([:])),
      ([0xA2, 1, 2, 0x61, 0x61, 0x81, 4], .map([.integer(1): .integer(2), .text("a"): .array([.integer(4)])])),
    ] as [([UInt8], CBORValue)] {
      #expect(try read(bytes) == value)
    }
  }

  @Test func `has integers of 64 bits with a sign, and no others`() throws {
    #expect(try read(CBORBytes.head(0, UInt64(Int64.max))) == .integer(.max))
    #expect(try read(CBORBytes.head(1, UInt64(Int64.max))) == .integer(.min))
    for major: UInt8 in [0, 1] {
      for argument in [UInt64(Int64.max) + 1, .max] {
        #expect(throws: CBORError.integerOutOfRange) { try read(CBORBytes.head(major, argument)) }
      }
    }
  }

  @Test(arguments: 0..<6 as Range<UInt8>)
  func `has one form only for each number`(major: UInt8) {
    for (size, argument) in [(0, 23), (1, 255), (2, 65_535), (3, 4_294_967_295)] as [(Int, UInt64)] {
      #expect(throws: CBORError.notShortest) { try read(CBORBytes.head(major, argument, size: size)) }
      // One more needs that size.
      let longer = CBORBytes.head(major, argument + 1, size: size)
      if major < 2 {
        #expect(throws: Never.self) { try read(longer) }
      } else {
        #expect(throws: CBORError.truncated) { try read(longer) }
      }
    }
  }

  @Test func `that lacks bytes is refused`() {
    for bytes in [
      [], [0x18], [0x19, 1], [0x1A, 0, 1, 2], [0x1B, 1, 2, 3, 4, 5, 6, 7], [0x41], [0x42, 1], [0x61], [0x81],
      [0x82, 1], [0xA1], [0xA1, 1], [0xA2, 1, 1, 2], CBORBytes.head(2, .max), CBORBytes.head(3, .max),
      CBORBytes.head(4, .max), CBORBytes.head(5, .max), CBORBytes.head(4, UInt64(Int64.max)),
      CBORBytes.head(2, UInt64(Int64.max)),
    ] as [[UInt8]] {
      #expect(throws: CBORError.truncated, "\(bytes)") { try read(bytes) }
    }
  }

  @Test func `that announces more items than there are bytes is refused at once`() {
    // 2^32 nulls would take 2^32 bytes, and a reader that counts on them much memory.
    for major: UInt8 in [4, 5] {
      #expect(throws: CBORError.truncated) {
        try read(CBORBytes.head(major, 1 << 32) + [UInt8](repeating: 0xF8, count: 100))
      }
    }
    // The first item is a fault as well, but is not read.
    #expect(throws: CBORError.truncated) { try read([0x82, 0xFF]) }
    #expect(throws: CBORError.truncated) { try read([0xA1, 0xFF]) }
  }

  @Test func `that goes on after its item is refused`() {
    #expect(throws: CBORError.trailingBytes) { try read([0x00, 0x00]) }
    #expect(throws: CBORError.trailingBytes) { try read([0xA0, 0xFF]) }
  }

  @Test func `of indefinite length is refused`() {
    for bytes in [[0x5F, 0x41, 1, 0xFF], [0x7F, 0xFF], [0x9F, 0xFF], [0xBF, 0xFF], [0xFF], [0x1F]] as [[UInt8]] {
      #expect(throws: CBORError.indefiniteLength) { try read(bytes) }
    }
  }

  @Test func `has no tags, floating-point numbers and other simple values`() {
    for bytes in [
      [0xC0, 0x60], [0xD8, 0x20, 0x60], [0xF9, 0, 0], [0xFA, 0, 0, 0, 0], [0xFB, 0, 0, 0, 0, 0, 0, 0, 0], [0xF7],
      [0xE0], [0xF3], [0xF8, 0xFF], [0xF8, 20], [0x1C], [0x5D], [0xFE],
    ] as [[UInt8]] {
      #expect(throws: CBORError.unsupported, "\(bytes)") { try read(bytes) }
    }
  }

  @Test func `has texts in UTF-8 only`() {
    for bytes in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]] {
      #expect(throws: CBORError.notUTF8) { try read(CBORBytes.head(3, UInt64(bytes.count)) + bytes) }
    }
  }

  @Test func `has no key twice in a map`() {
    #expect(throws: CBORError.repeatedKey) { try read([0xA2, 1, 1, 1, 2]) }
    #expect(throws: CBORError.repeatedKey) { try read([0xA3, 0x61, 0x61, 1, 0x61, 0x62, 1, 0x61, 0x61, 1]) }
    #expect(throws: Never.self) { try read([0xA2, 1, 1, 0x61, 0x31, 1]) }
  }

  @Test func `has integers and texts as keys`() {
    for key in [[0x41, 1], [0x80], [0xA0], [0xF4], [0xF6]] as [[UInt8]] {
      #expect(throws: CBORError.unsupportedKey) { try read([0xA1] + key + [1]) }
    }
  }

  @Test func `may have the keys of a map in any order`() {
    #expect(throws: Never.self) { try read([0xA2, 0x62, 0x61, 0x61, 1, 0x61, 0x62, 1]) }
  }

  @Test func `is nested at most 8 deep`() {
    for (array, end) in [([0x81], [0x80]), ([0xA1, 0x00], [0xA0])] as [([UInt8], [UInt8])] {
      let deep = { (count: Int) in Array(repeatElement(array, count: count).joined()) }
      #expect(throws: Never.self) { try read(deep(7) + end) }
      #expect(throws: Never.self) { try read(deep(8) + [0]) }
      #expect(throws: CBORError.tooDeep) { try read(deep(8) + end) }
      #expect(throws: CBORError.tooDeep) { try read(deep(1_000_000)) }
    }
    // Beside one another they do not count.
    #expect(throws: Never.self) { try read([0x98, 100] + [UInt8](repeating: 0x80, count: 100)) }
  }

  @Test func `is read from the middle of other bytes`() throws {
    let bytes: [UInt8] = [0xFF, 0x82, 1, 0x41, 7, 0x03, 0xFF]
    var reader = CBORReader(bytes[1..<6])
    #expect(try reader.value() == .array([.integer(1), .bytes([7])]))
    #expect(reader.rest == [3])
    #expect(try reader.value() == .integer(3))
    #expect(throws: CBORError.truncated) { try reader.value() }
  }
}
#endif
