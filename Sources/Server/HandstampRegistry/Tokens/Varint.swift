/// Variable-length integers, seven bits per byte, the least significant first (LEB128). Only the shortest encoding of a
/// number is accepted; otherwise several tokens would have the same meaning.
enum Varint {
  /// The maximum number of bytes: 56 bits, which no counter reaches and which fits every database.
  static let maxSize = 8
  static let limit: UInt64 = 1 << 56

  static func encode(_ number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = number
    while rest >= 128 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
    return bytes
  }

  /// Decodes all of `bytes`. Returns `nil` if they are empty, too many, truncated, or longer than needed.
  static func decode(_ bytes: some BidirectionalCollection<UInt8>) -> UInt64? {
    guard (1...maxSize).contains(bytes.count), let last = bytes.last else { return nil }
    guard last < 128, last != 0 || bytes.count == 1 else { return nil }
    var number: UInt64 = 0
    for byte in bytes.reversed() { number = number << 7 | UInt64(byte & 127) }
    // Every byte but the last has the continuation bit.
    return bytes.dropLast().allSatisfy { $0 >= 128 } ? number : nil
  }
}
