public import HandstampCore

/// One cookie as a jar keeps it (RFC 6265 section 5.3).
public struct Cookie: Sendable, Hashable {
  public var name: String
  public var value: Secret
  /// Lower case, without a leading dot.
  public var domain: String
  /// Whether it goes to that very host alone, and to none below it.
  public var isHostOnly: Bool
  public var path: String
  /// When it ends, by this device's clock. Nothing: it lasts as long as its session.
  public var expires: UnixTime?
  public var isSecure: Bool
  public var isHTTPOnly: Bool
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

  public func isOver(at now: UnixTime) -> Bool { expires.map { $0 <= now } ?? false }

  /// Whether it goes along with a request to `address` (RFC 6265 section 5.4).
  public func goes(to address: WebAddress) -> Bool {
    (isHostOnly ? address.host == domain : DomainRules.matches(address.host, domain))
      && Cookie.path(address.path, matches: path) && (!isSecure || address.isSecure)
  }

  /// RFC 6265 section 5.1.4.
  static func path(_ request: String, matches path: String) -> Bool {
    guard request.hasPrefix(path) else { return false }
    return request.utf8.count == path.utf8.count || path.hasSuffix("/") || request.dropFirst(path.count).hasPrefix("/")
  }

  /// The path of a cookie that names none (RFC 6265 section 5.1.4).
  ///
  /// | request | path |
  /// |---|---|
  /// | `/forum/index.php` | `/forum` |
  /// | `/index.php` | `/` |
  static func defaultPath(of request: String) -> String {
    guard request.hasPrefix("/"), let last = request.lastIndex(of: "/"), last > request.startIndex else { return "/" }
    return String(request[..<last])
  }
}

/// Which hosts a domain covers.
enum DomainRules {
  /// RFC 6265 section 5.1.3.
  static func matches(_ host: String, _ domain: String) -> Bool {
    host == domain || (host.hasSuffix("." + domain) && !isAddress(host))
  }

  /// Whether a cookie may be set for all of `domain`. There is no list of public suffixes here: what has no dot is refused,
  /// and a jar is one account's at one site, so that `co.uk` gains a foreign site nothing.
  static func isBroad(_ domain: String) -> Bool {
    !domain.contains(".") || domain.hasPrefix(".") || domain.hasSuffix(".") || domain.range(of: "..") != nil
  }

  /// An IP address covers nothing but itself.
  static func isAddress(_ host: String) -> Bool {
    host.contains(":") || host.utf8.allSatisfy { (48...57).contains($0) || $0 == 46 }
  }
}
