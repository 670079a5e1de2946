#if Server
package import HandstampCore
import HandstampSupport

/// The way to hosts that others name, such as receivers of webhooks.
package struct PinnedNetwork: Sendable {
  /// Returns all addresses of a host; none if there is no such host.
  package var resolve: @concurrent @Sendable (_ host: String) async -> [IPAddress]
  /// Returns a transport that connects to a host at that address and no other, without following redirects. The certificate is
  /// checked against the host's name.
  package var connect: @Sendable (_ host: String, _ address: IPAddress) -> any Transport
  package var close: @Sendable (any Transport) async -> Void

  package init(
    resolve: @escaping @concurrent @Sendable (_ host: String) async -> [IPAddress],
    connect: @escaping @Sendable (_ host: String, _ address: IPAddress) -> any Transport,
    close: @escaping @Sendable (any Transport) async -> Void
  ) {
    self.resolve = resolve
    self.connect = connect
    self.close = close
  }

  /// Returns a transport to a host, whose addresses are looked up and checked now.
  ///
  /// - Parameter turn: which of several addresses is taken, so that one that cannot be reached does not hide the others.
  func open(_ host: String, allowingPrivate: Bool = false, turn: Int = 0) async throws(DescribedError) -> any Transport
  {
    let addresses = await resolve(host)
    guard !addresses.isEmpty else { throw DescribedError("its host has no address") }
    // All of them: a host with both kinds of addresses tries what a resolver lets through.
    guard allowingPrivate || addresses.allSatisfy(\.isPublic) else {
      throw DescribedError("its host has an address that is not public")
    }
    guard !addresses.contains(where: \.isOfLink) else {
      throw DescribedError("its host has a link-local address, which is never asked")
    }
    return connect(host, addresses[abs(turn % addresses.count)])
  }
}

extension IPAddress {
  /// Whether any machine of the Internet may have this address: it is in none of the ranges for special use (RFC 6890 and the
  /// registries of IANA).
  var isPublic: Bool {
    bytes.count == 4
      ? !IPAddress.specialOfVersion4.contains { $0.contains(self) }
      : IPAddress.global?.contains(self) == true && !IPAddress.specialOfVersion6.contains { $0.contains(self) }
  }

  /// Whether it leads to this machine's own link alone, where a cloud gives a machine its credentials without asking for any.
  var isOfLink: Bool { IPAddress.linkLocal.contains { $0.contains(self) } }

  /// RFC 3927 section 2.1, RFC 4291 section 2.5.6, and what Amazon's metadata service has in IPv6 ("Use IMDS").
  private static let linkLocal = ["169.254.0.0/16", "fe80::/10", "fd00:ec2::/32"].compactMap { AddressRange($0) }

  private static let specialOfVersion4 = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
  ].compactMap { AddressRange($0) }

  /// All unicast addresses that are assigned (RFC 4291 section 2.4). Loopback, link-local, unique-local, multicast, and those that
  /// contain an IPv4 address for a translator are elsewhere.
  private static let global = AddressRange("2000::/3")

  /// Protocols such as Teredo, documentation, and 6to4, which contains an IPv4 address.
  private static let specialOfVersion6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]
    .compactMap { AddressRange($0) }
}
#endif
