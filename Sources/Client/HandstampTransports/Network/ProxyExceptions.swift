import HandstampSupport

/// Hosts that are reached without a proxy, by the rules of curl for `NO_PROXY`, and ports besides.
///
/// Entries are separated by commas or spaces. Case does not matter.
///
/// | entry | hosts |
/// |---|---|
/// | `*` | all; only as the whole text |
/// | `example.org`, `.example.org`, `*.example.org` | that name and every name below it |
/// | `10.0.0.1`, `::1`, `[::1]` | that address |
/// | `10.0.0.0/8`, `fd00::/8` | the addresses of that network (RFC 4632) |
/// | `example.org:8443`, `[::1]:8443` | as above, on that port alone |
///
/// An address in a URL is compared with addresses, a name with names: no name is resolved.
public struct ProxyExceptions: Sendable, Hashable {
  private enum Hosts: Sendable, Hashable {
    case all
    case names(String)
    case addresses([UInt8], bits: Int)
  }
  private struct Entry: Sendable, Hashable {
    var hosts: Hosts
    var port: Int?
  }
  private let entries: [Entry]

  /// - Parameter text: as in `NO_PROXY`. Any other entry excepts no host.
  public init(_ text: String = "") {
    if text.filter({ $0 != " " }) == "*" {
      entries = [Entry(hosts: .all)]
    } else {
      entries = text.split { $0 == "," || $0.isWhitespace }.compactMap { ProxyExceptions.entry($0.lowercased()) }
    }
  }

  /// Whether connections to that host and port use no proxy.
  ///
  /// - Parameter host: a name or an address, without brackets.
  public func contains(host: String, port: Int) -> Bool {
    guard !entries.isEmpty else { return false }
    var name = host.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    let address = AddressBytes.parse(name)
    return entries.contains { entry in
      guard entry.port == nil || entry.port == port else { return false }
      switch entry.hosts {
      case .all: return true
      case .names(let suffix): return address == nil && (name == suffix || name.hasSuffix("." + suffix))
      case .addresses(let base, let bits): return address.map { AddressBytes.agree($0, base, upTo: bits) } ?? false
      }
    }
  }

  private static func entry(_ text: String) -> Entry? {
    if let hosts = addresses(Substring(text)) { return Entry(hosts: hosts) }
    var host = Substring(text)
    var port: Int?
    if let colon = text.lastIndex(of: ":") {
      guard let number = Int(text[colon...].dropFirst()), (1...65_535).contains(number) else { return nil }
      (host, port) = (text[..<colon], number)
    }
    if let hosts = addresses(host) { return Entry(hosts: hosts, port: port) }
    if host.hasPrefix("*.") { host.removeFirst() }
    if host.hasPrefix(".") { host.removeFirst() }
    if host.hasSuffix(".") { host.removeLast() }
    guard !host.isEmpty, !host.contains(where: { "*:/[]".contains($0) }) else { return nil }
    return Entry(hosts: .names(String(host)), port: port)
  }

  private static func addresses(_ text: Substring) -> Hosts? {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard var base = parts.first else { return nil }
    if base.hasPrefix("["), base.hasSuffix("]") { base = base.dropFirst().dropLast() }
    guard let bytes = AddressBytes.parse(String(base)) else { return nil }
    guard parts.count == 2 else { return .addresses(bytes, bits: bytes.count * 8) }
    guard let bits = Int(parts[1]), (0...bytes.count * 8).contains(bits) else { return nil }
    return .addresses(bytes, bits: bits)
  }
}
