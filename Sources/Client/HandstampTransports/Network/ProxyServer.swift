public import HandstampCore
import HandstampSupport

/// A proxy server that connections are made through: an HTTP proxy by `CONNECT` (RFC 9110 section 9.3.6), or SOCKS version 5 (RFC 1928).
///
/// It sees the names of hosts and encrypted bytes. What goes to an `http` URL is not encrypted, at the proxy neither. Names are
/// resolved by the proxy.
public struct ProxyServer: Sendable, Hashable {
  /// The protocol that the proxy speaks.
  public enum Kind: String, Sendable, Hashable {
    /// An HTTP proxy, spoken to in clear text.
    case http
    /// SOCKS version 5, without authentication.
    case socks5
  }

  public var kind: Kind
  /// A name or an address, without brackets.
  public var host: String
  /// 1 to 65535.
  public var port: Int
  /// `name:password`, sent by the scheme Basic (RFC 7617); `nil` sends none.
  public var credentials: Secret?

  public init(_ kind: Kind, host: String, port: Int, credentials: Secret? = nil) {
    (self.kind, self.host, self.port, self.credentials) = (kind, host, port, credentials)
  }

  /// Parses the URL of a proxy, as in `HTTPS_PROXY`.
  ///
  /// | text | proxy |
  /// |---|---|
  /// | `proxy.example.org` | HTTP, port 80 |
  /// | `http://name:pass%20word@proxy.example.org:3128` | HTTP, with credentials |
  /// | `socks5://[::1]`, `socks5h://[::1]` | SOCKS 5, port 1080 |
  ///
  /// - Throws: ``NetworkSettingsError``; `https` and `socks4` are no protocols of this library, and SOCKS has no credentials here.
  public init(parsing text: String) throws(NetworkSettingsError) {
    var rest = Substring(text)
    var scheme = "http"
    if let end = text.firstRange(of: "://") {
      scheme = text[..<end.lowerBound].lowercased()
      rest = text[end.upperBound...]
    }
    let kinds: [String: Kind] = ["http": .http, "socks5": .socks5, "socks5h": .socks5]
    guard let kind = kinds[scheme] else {
      throw NetworkSettingsError(
        ["https", "socks4", "socks4a", "socks"].contains(scheme) ? .unsupportedProxy : .invalidProxy)
    }
    if rest.hasSuffix("/") { rest.removeLast() }
    var credentials: Secret?
    if let at = rest.lastIndex(of: "@") {
      guard let bytes = PercentEncoding.decode(Array(rest[..<at].utf8)), bytes.allSatisfy({ $0 >= 32 && $0 != 127 })
      else {
        throw NetworkSettingsError(.invalidProxy)
      }
      credentials = Secret(bytes: bytes.contains(UInt8(ascii: ":")) ? bytes : bytes + [UInt8(ascii: ":")])
      rest = rest[at...].dropFirst()
    }
    guard let url = WebURL("http://" + rest), url.path == "/", url.query == nil, !rest.hasSuffix("/"),
      !rest.contains("#")
    else { throw NetworkSettingsError(.invalidProxy) }
    guard kind == .http || credentials == nil else { throw NetworkSettingsError(.unsupportedCredentials) }
    let hasPort = rest.drop { $0 != "]" && rest.hasPrefix("[") }.contains(":")
    self.init(
      kind, host: url.origin.host, port: hasPort || kind == .http ? url.origin.port : 1080, credentials: credentials)
  }
}

extension ProxyServer: CustomStringConvertible {
  /// The URL without credentials.
  public var description: String {
    "\(kind.rawValue)://" + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
  }
}
