#if Server
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
