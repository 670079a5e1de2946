#if HTTP
import HandstampSupport
public import NIOCore

/// An IPv4 or IPv6 address. An IPv4 address mapped into IPv6 (RFC 4291 section 2.5.5.2) is the IPv4 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// 4 or 16 bytes, in network order.
  package let bytes: [UInt8]

  /// - Parameter text: in any spelling of RFC 4291 or dotted decimal, without brackets; a zone such as `%eth0` is ignored.
  public init?(_ text: some StringProtocol) {
    guard text.utf8.count <= 64 else { return nil }
    let text = String(text.prefix { $0 != "%" })
    guard let parsed = AddressBytes.parse(text) else { return nil }
    let isMapped = parsed.count == 16 && parsed.starts(with: IPAddress.mapped)
    bytes = isMapped ? Array(parsed.suffix(4)) : parsed
  }

  /// Returns `nil` for the address of a Unix domain socket.
  public init?(_ address: SocketAddress?) {
    guard let text = address?.ipAddress else { return nil }
    self.init(text)
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private static let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

  /// The network that limits count by: an IPv4 address itself, the first 64 bits of an IPv6 address. One subscriber has at least a
  /// whole /64 (RFC 6177 advises more), so single addresses say nothing.
  public var network: IPAddress {
    bytes.count == 4 ? self : IPAddress(bytes: bytes.prefix(8) + Array(repeating: 0, count: 8))
  }

  /// The address in the spelling of RFC 5952 for IPv6, in dotted decimal for IPv4.
  public var description: String {
    guard bytes.count == 16 else { return bytes.map { String($0) }.joined(separator: ".") }
    let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    guard let zeros = IPAddress.longestZeros(in: groups) else { return IPAddress.text(groups) }
    return IPAddress.text(groups[..<zeros.lowerBound]) + "::" + IPAddress.text(groups[zeros.upperBound...])
  }

  private static func text(_ groups: some Collection<UInt16>) -> String {
    groups.map { String($0, radix: 16) }.joined(separator: ":")
  }

  /// Returns the first of the longest runs of at least two zeros.
  private static func longestZeros(in groups: [UInt16]) -> Range<Int>? {
    var longest: Range<Int>?
    var start: Int?
    for (index, group) in (groups + [1]).enumerated() {
      guard group == 0 else {
        if let first = start, index - first > max(1, longest?.count ?? 0) { longest = first..<index }
        start = nil
        continue
      }
      start = start ?? index
    }
    return longest
  }
}

/// A range of IP addresses in CIDR notation (RFC 4632, RFC 4291 section 2.3), such as `10.0.0.0/8` or `2001:db8::/32`; a
/// single address is a range of one.
public struct AddressRange: Sendable, Hashable, CustomStringConvertible {
  private let base: IPAddress
  private let length: Int

  /// Returns `nil` if the text is no address, the prefix is longer than the address, or bits are set behind the prefix.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let base = IPAddress(parts[0]) else { return nil }
    let longest = base.bytes.count * 8
    var length = longest
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy(\.isDigit), let bits = Int(parts[1]), bits <= longest else { return nil }
      length = bits
    }
    self.base = base
    self.length = length
    let isZeroBehind = base.bytes.enumerated().allSatisfy { index, byte in
      byte & ~UInt8(truncatingIfNeeded: 0xFF00 >> min(8, max(0, length - index * 8))) == 0
    }
    guard isZeroBehind else { return nil }
  }

  /// Whether so many addresses are in it that they are not those of one operator: more than 10.0.0.0/8 or fc00::/7 have.
  package var isWide: Bool { length < (base.bytes.count == 4 ? 8 : 7) }

  public func contains(_ address: IPAddress) -> Bool {
    AddressBytes.agree(address.bytes, base.bytes, upTo: length)
  }

  public var description: String { "\(base)/\(length)" }
}
#endif
