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
#endif
