import HandstampSupport

/// Which proxy a connection goes through.
public struct ProxyRules: Sendable, Hashable {
  /// The proxy of `http` and `ws` URLs; `nil` connects directly.
  public var http: ProxyServer?
  /// The proxy of `https` and `wss` URLs; `nil` connects directly.
  public var https: ProxyServer?
  /// Hosts that are reached without a proxy.
  public var exceptions: ProxyExceptions
  /// Whether this machine's own addresses are reached through the proxy, too: `localhost`, 127.0.0.0/8 and `::1`. Default `false`,
  /// as in most languages' libraries; curl does use the proxy there.
  public var includesLoopback: Bool

  public init(
    http: ProxyServer? = nil, https: ProxyServer? = nil, exceptions: ProxyExceptions = ProxyExceptions(),
    includesLoopback: Bool = false
  ) {
    (self.http, self.https, self.exceptions, self.includesLoopback) = (http, https, exceptions, includesLoopback)
  }

  /// Connects directly.
  public static let none = ProxyRules()

  /// Uses one proxy for all connections, this machine's own addresses included.
  public static func all(through server: ProxyServer) -> ProxyRules {
    ProxyRules(http: server, https: server, includesLoopback: true)
  }

  /// Returns the proxy for a URL of `http`, `https`, `ws` or `wss`; `nil` for a direct connection.
  public func server(for url: String) -> ProxyServer? {
    guard http != nil || https != nil else { return nil }
    let isSocket = url.prefix(2).lowercased() == "ws"
    guard let origin = Origin(isSocket ? "http" + url.dropFirst(2) : url) else { return nil }
    guard let server = origin.scheme == "https" ? https : http else { return nil }
    guard includesLoopback || !Loopback.contains(host: origin.host) else { return nil }
    return exceptions.contains(host: origin.host, port: origin.port) ? nil : server
  }
}
