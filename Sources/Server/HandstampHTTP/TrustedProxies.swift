#if HTTP
/// The proxies in front of the server whose word about a client's address counts.
///
/// Only one header field is believed, the one that these proxies write: a proxy that writes one field passes the other on as
/// the client sent it.
public struct TrustedProxies: Sendable, Hashable {
  /// The field that the proxies append the address of their peer to.
  public enum Field: String, Sendable, Hashable, CaseIterable {
    /// `X-Forwarded-For`, as written by nginx, HAProxy, Caddy and most load balancers.
    case xForwardedFor = "x-forwarded-for"
    /// `Forwarded` (RFC 7239).
    case forwarded
  }

  public var ranges: [AddressRange]
  /// Whether a peer on a Unix domain socket is a proxy too. File permissions decide who may connect there.
  public var trustsUnixSockets: Bool
  public var field: Field

  public init(_ ranges: [AddressRange] = [], trustsUnixSockets: Bool = false, field: Field = .xForwardedFor) {
    self.ranges = ranges
    self.trustsUnixSockets = trustsUnixSockets
    self.field = field
  }

  /// No proxies: a client is the peer of its connection, whatever its headers say.
  public static let none = TrustedProxies()

  package func contains(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }

  /// Returns whether the peer of a connection is a proxy; `nil` is one on a Unix domain socket.
  package func trusts(_ peer: IPAddress?) -> Bool { peer.map(contains) ?? trustsUnixSockets }
}
#endif
