/// IP addresses as bytes.
package enum AddressBytes {
  /// Returns the 4 or 16 bytes of an IPv4 or IPv6 address in any spelling of RFC 4291 or dotted decimal, in network order; `nil` for any
  /// other text.
  package static func parse(_ text: String) -> [UInt8]? { parse(text, AF_INET, 4) ?? parse(text, AF_INET6, 16) }

  private static func parse(_ text: String, _ family: Int32, _ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }

  /// Whether the first `length` bits of two addresses are equal; `false` for addresses of different lengths.
  package static func agree(_ one: [UInt8], _ other: [UInt8], upTo length: Int) -> Bool {
    guard one.count == other.count else { return false }
    return zip(one, other).enumerated().allSatisfy { index, pair in
      let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, max(0, length - index * 8)))
      return pair.0 & mask == pair.1 & mask
    }
  }

  /// Returns the spelling of RFC 5952 of 16 bytes; `nil` for another number of bytes.
  package static func text(ofIPv6 bytes: [UInt8]) -> String? {
    var spelt = [CChar](repeating: 0, count: 64)
    guard bytes.count == 16, inet_ntop(AF_INET6, bytes, &spelt, socklen_t(spelt.count)) != nil else { return nil }
    return String(decoding: spelt.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
