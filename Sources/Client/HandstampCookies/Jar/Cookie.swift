public import HandstampCore
import HandstampSupport

/// One cookie in a jar (RFC 6265 section 5.3).
public struct Cookie: Sendable, Hashable {
  public var name: String
  public var value: Secret
  /// The domain, in lower case, without a leading dot.
  public var domain: String
  /// Whether the cookie is sent only to this host, and not to its subdomains.
  public var isHostOnly: Bool
  /// The path below which the cookie is sent.
  public var path: String
  /// When the cookie expires, by this device's clock; `nil` if it lasts as long as its session.
  public var expires: UnixTime?
  /// Whether the cookie is sent only over `https`, or to this machine.
  public var isSecure: Bool
  /// Whether the server hides the cookie from scripts.
  public var isHTTPOnly: Bool
  /// When the cookie was first set, by this device's clock.
  public var createdAt: UnixTime

  public init(
    name: String, value: Secret, domain: String, isHostOnly: Bool = true, path: String = "/",
    expires: UnixTime? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, createdAt: UnixTime
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.isHostOnly = isHostOnly
    self.path = path
    self.expires = expires
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.createdAt = createdAt
  }

  /// Whether the cookie has expired at `now`.
  public func isOver(at now: UnixTime) -> Bool { expires.map { $0 <= now } ?? false }

  /// Whether the cookie is sent with a request to `address` (RFC 6265 section 5.4).
  public func goes(to address: WebAddress) -> Bool {
    isFor(address.host) && Cookie.path(address.path, matches: path) && (!isSecure || address.isTrustworthy)
  }

  /// Whether that host gets it, whatever the path.
  func isFor(_ host: String) -> Bool { DomainRules.allow(domain, isHostOnly: isHostOnly, at: host) }

  /// Path matching (RFC 6265 section 5.1.4).
  static func path(_ request: String, matches path: String) -> Bool {
    let (request, path) = (request.utf8, path.utf8)
    guard request.starts(with: path) else { return false }
    let slash = UInt8(ascii: "/")
    return request.count == path.count || path.last == slash || request.dropFirst(path.count).first == slash
  }

  /// Returns the path of a cookie without a `Path` attribute (RFC 6265 section 5.1.4).
  ///
  /// | request | path |
  /// |---|---|
  /// | `/forum/index.php` | `/forum` |
  /// | `/index.php` | `/` |
  static func defaultPath(of request: String) -> String {
    let slash = UInt8(ascii: "/")
    guard request.utf8.first == slash, let last = request.utf8.lastIndex(of: slash), last > request.startIndex else {
      return "/"
    }
    return String(decoding: request.utf8[..<last], as: UTF8.self)
  }
}

/// The rules for the hosts of a domain.
enum DomainRules {
  /// Domain matching (RFC 6265 section 5.1.3).
  static func matches(_ host: String, _ domain: String) -> Bool {
    host == domain || (host.hasSuffix("." + domain) && !isAddress(host))
  }

  /// Whether a host gets a cookie of `domain`.
  static func allow(_ domain: String, isHostOnly: Bool, at host: String) -> Bool {
    isHostOnly ? host == domain : matches(host, domain)
  }

  /// Whether a cookie for all of `domain` is refused. There is no list of public suffixes here: a domain without a dot is
  /// refused, and a jar belongs to one account at one site, so that a cookie for `co.uk` gains a foreign site nothing.
  static func isBroad(_ domain: String) -> Bool {
    !domain.contains(".") || domain.hasPrefix(".") || domain.hasSuffix(".") || domain.contains("..")
  }

  /// An IP address matches only itself.
  static func isAddress(_ host: String) -> Bool {
    host.contains(":") || host.utf8.allSatisfy { $0.isDigit || $0 == 46 }
  }
}
