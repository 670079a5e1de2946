import Foundation
public import HandstampCore
import HandstampSupport

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// The cookies of one account at one site (RFC 6265). Never the process-wide storage, which all accounts would share.
public struct CookieJar: Sendable, Hashable {
  /// The cookies, in the order in which they were first set.
  public private(set) var cookies: [Cookie] = []

  /// The most cookies in a jar. Further ones are refused, so that a server which sets many cannot evict the session's.
  public static let countLimit = 150

  /// Creates an empty jar.
  public init() {}

  /// Returns the cookies for a request to `url`: longer paths first, then older ones (RFC 6265 section 5.4).
  public func cookies(for url: String, at now: UnixTime) -> [Cookie] {
    guard let address = WebAddress(url) else { return [] }
    let going = cookies.enumerated().filter { !$0.element.isOver(at: now) && $0.element.goes(to: address) }
    return going.sorted { left, right in
      let (a, b) = (left.element, right.element)
      if a.path.utf8.count != b.path.utf8.count { return a.path.utf8.count > b.path.utf8.count }
      if a.createdAt != b.createdAt { return a.createdAt < b.createdAt }
      return left.offset < right.offset
    }.map(\.element)
  }

  /// Returns the cookie with that name for a request to `url`; `nil` if there is none.
  public func cookie(_ name: String, for url: String, at now: UnixTime) -> Cookie? {
    cookies(for: url, at: now).first { $0.name.utf8.elementsEqual(name.utf8) }
  }

  /// Returns the value of the header `Cookie` for `url`; `nil` if no cookie is sent there.
  public func header(for url: String, at now: UnixTime) -> Secret? {
    let going = cookies(for: url, at: now)
    guard !going.isEmpty else { return nil }
    return Secret(going.map { cookie in cookie.name + "=" + cookie.value.withExposed { $0 } }.joined(separator: "; "))
  }

  /// Sets, changes and removes cookies as a response from `url` asks.
  ///
  /// A server's `Expires` is measured against its own `Date`, so that a device whose clock is wrong neither keeps a cookie too
  /// long nor drops a valid one.
  public mutating func take(_ response: TransportResponse, from url: String, at now: UnixTime) {
    guard let address = WebAddress(url) else { return }
    let ahead = response.header("Date").flatMap { CookieDate.parse($0) }.map { now.since($0) } ?? .zero
    for field in response.headers where field.name.lowercased() == "set-cookie" {
      set(field.value, from: address, ahead: ahead, at: now)
    }
    cookies.removeAll { $0.isOver(at: now) }
  }

  /// Applies one `Set-Cookie` line. Returns whether that URL may set it.
  @discardableResult
  public mutating func set(_ line: String, from url: String, at now: UnixTime) -> Bool {
    guard let address = WebAddress(url) else { return false }
    let isSet = set(line, from: address, ahead: .zero, at: now)
    cookies.removeAll { $0.isOver(at: now) }
    return isSet
  }

  /// - Parameter ahead: how far this device's clock is ahead of the server's.
  @discardableResult
  private mutating func set(_ line: String, from address: WebAddress, ahead: Duration, at now: UnixTime) -> Bool {
    guard let new = SetCookie(line) else { return false }
    var cookie = Cookie(
      name: new.name, value: new.value, domain: address.host,
      path: new.path ?? Cookie.defaultPath(of: address.path), isSecure: new.isSecure,
      isHTTPOnly: new.isHTTPOnly, createdAt: now)
    if let domain = new.domain, domain != address.host || !DomainRules.isAddress(domain) {
      guard DomainRules.matches(address.host, domain), domain == address.host || !DomainRules.isBroad(domain) else {
        return false
      }
      cookie.domain = domain
      cookie.isHostOnly = domain == address.host && DomainRules.isBroad(domain)
    }
    if let seconds = new.maxAge {
      // RFC 6265 section 5.2.2: zero or less expires at once.
      cookie.expires = seconds <= 0 ? UnixTime(milliseconds: .min) : now.advanced(by: .seconds(min(seconds, 1 << 40)))
    } else {
      cookie.expires = new.expires.map { $0.advanced(by: ahead) }
    }
    guard CookiePrefix.allows(cookie, hasPath: new.path == "/", from: address) else { return false }
    // A page over plain HTTP must not change or hide secure cookies (RFC 6265bis section 5.7). What never leaves this machine counts as
    // secure, as in browsers.
    if !address.isTrustworthy {
      if cookie.isSecure || cookies.contains(where: { $0.isSecure && $0.isOverlaid(by: cookie) }) { return false }
    }
    if let index = cookies.firstIndex(where: { $0.isSamePlace(as: cookie) }) {
      cookie.createdAt = cookies[index].createdAt
      cookies[index] = cookie
    } else if cookie.isOver(at: now) {
      return true
    } else {
      guard cookies.count < CookieJar.countLimit else { return false }
      cookies.append(cookie)
    }
    return true
  }

  /// Lets the jar have that cookie in place of its later one.
  mutating func putBack(_ cookie: Cookie) {
    if let index = cookies.firstIndex(where: { $0.isSamePlace(as: cookie) }) {
      cookies[index] = cookie
    } else {
      cookies.append(cookie)
    }
  }

  /// Whether the difference to `older` is worth a write: more than expiry times that moved by less than one hundredth.
  func isNews(after older: CookieJar, at now: UnixTime) -> Bool {
    guard cookies.count == older.cookies.count else { return true }
    return zip(cookies, older.cookies).contains { new, old in
      var aligned = new
      aligned.expires = old.expires
      guard aligned == old else { return true }
      guard let end = new.expires, let before = old.expires else { return new.expires != old.expires }
      let shift = end.since(before)
      return (shift < .zero ? .zero - shift : shift) > end.since(now) / 100
    }
  }
}

extension Cookie {
  /// By bytes: texts that are canonically equal are different names and paths to a server.
  func isSamePlace(as other: Cookie) -> Bool {
    name.utf8.elementsEqual(other.name.utf8) && domain == other.domain && path.utf8.elementsEqual(other.path.utf8)
  }

  /// Whether `new` would be sent beside this cookie or in its place.
  fileprivate func isOverlaid(by new: Cookie) -> Bool {
    name.utf8.elementsEqual(new.name.utf8)
      && (DomainRules.matches(domain, new.domain) || DomainRules.matches(new.domain, domain))
      && Cookie.path(new.path, matches: path)
  }
}

/// The names whose cookies promise something (RFC 6265bis section 4.1.3), in any case.
private enum CookiePrefix {
  static func allows(_ cookie: Cookie, hasPath: Bool, from address: WebAddress) -> Bool {
    let name = cookie.name.lowercased()
    if name.hasPrefix("__http-") || name.hasPrefix("__host-http-"), !cookie.isHTTPOnly { return false }
    if name.hasPrefix("__secure-") || name.hasPrefix("__http-") { return cookie.isSecure && address.isTrustworthy }
    guard name.hasPrefix("__host-") else { return true }
    return cookie.isSecure && address.isTrustworthy && cookie.isHostOnly && hasPath
  }
}

/// The cookies of the system's own storages.
extension CookieJar {
  /// Creates a jar with cookies of a cookie storage or of a web view, in their order, such as `HTTPCookieStorage.shared.cookies ?? []`.
  ///
  /// Of two with the same name, domain and path the later one counts. Those that no request can carry are left out, such as one with a line
  /// break, and those beyond ``countLimit``. A storage does not tell when a cookie was first set: ``Cookie/createdAt`` is the same for all.
  /// Ports, and the rule for requests that begin at other sites (`SameSite`), do not apply to a session's own requests, and are dropped.
  public init(_ cookies: [HTTPCookie]) {
    self.init()
    for cookie in cookies.compactMap({ Cookie($0) }) { putBack(cookie) }
    self.cookies = Array(self.cookies.prefix(CookieJar.countLimit))
  }
}

extension Cookie {
  /// `nil` if no request can carry it.
  init?(_ cookie: HTTPCookie) {
    guard !cookie.name.isEmpty, !cookie.name.utf8.contains(UInt8(ascii: "=")),
      cookie.name.utf8.count + cookie.value.utf8.count <= SetCookie.sizeLimit,
      [cookie.name, cookie.value, cookie.domain, cookie.path].allSatisfy({ $0.utf8.allSatisfy(Cookie.isPlain) })
    else { return nil }
    let isForDomain = cookie.domain.hasPrefix(".")
    let domain = HostName.canonical(isForDomain ? String(cookie.domain.dropFirst()) : cookie.domain)
    let milliseconds = cookie.expiresDate.map { ($0.timeIntervalSince1970 * 1000).rounded() }
    self.init(
      name: cookie.name, value: Secret(cookie.value), domain: domain,
      isHostOnly: !isForDomain || DomainRules.isBroad(domain), path: cookie.path.hasPrefix("/") ? cookie.path : "/",
      expires: milliseconds.flatMap { Int64(exactly: $0) }.map { UnixTime(milliseconds: $0) },
      isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly, createdAt: UnixTime(milliseconds: 0))
  }

  /// Whether a byte can be part of a cookie in a header, and in a jar's text.
  private static func isPlain(_ byte: UInt8) -> Bool { byte >= 32 && byte != 127 && byte != UInt8(ascii: ";") }
}

/// The format of a jar in the vault: one line per cookie, with fields separated by tabs, which no cookie contains.
extension CookieJar {
  private static let head = "handstamp-jar 1"

  /// The jar in its storage format.
  public var text: Secret {
    let lines = cookies.map { cookie in
      [
        cookie.name, cookie.value.withExposed { $0 }, cookie.domain, cookie.path,
        cookie.expires.map { String($0.milliseconds) } ?? "", String(cookie.createdAt.milliseconds),
        (cookie.isHostOnly ? "h" : "") + (cookie.isSecure ? "s" : "") + (cookie.isHTTPOnly ? "o" : ""),
      ].joined(separator: "\t")
    }
    return Secret(([CookieJar.head] + lines).joined(separator: "\n"))
  }

  /// Parses the format of ``text``; `nil` for any other text. Lines that are not cookies are skipped, as are fields that a
  /// later version added.
  public init?(_ text: Secret) {
    let lines = text.withExposed { $0.utf8.split(separator: 10).map { String(decoding: $0, as: UTF8.self) } }
    guard lines.first == CookieJar.head else { return nil }
    self.init()
    cookies = Array(lines.dropFirst().compactMap(Cookie.init(line:)).prefix(CookieJar.countLimit))
  }

  /// Parses the cookies of a session; `nil` for an access token, and for the format of a later version.
  public init?(_ credential: Credential) {
    guard case .cookies(let text) = credential else { return nil }
    self.init(text)
  }
}

extension Cookie {
  fileprivate init?(line: String) {
    let fields = line.utf8.split(separator: 9, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard fields.count >= 7, !fields[0].isEmpty, let created = Int64(fields[5]) else { return nil }
    guard fields[4].isEmpty || Int64(fields[4]) != nil else { return nil }
    self.init(
      name: fields[0], value: Secret(fields[1]), domain: fields[2], isHostOnly: fields[6].contains("h"),
      path: fields[3], expires: Int64(fields[4]).map(UnixTime.init(milliseconds:)),
      isSecure: fields[6].contains("s"), isHTTPOnly: fields[6].contains("o"),
      createdAt: UnixTime(milliseconds: created))
  }
}

/// The names of hosts.
enum HostName {
  /// Returns the one spelling of a host: international names in ASCII (UTS 46), IPv6 addresses in short (RFC 5952) without brackets, and
  /// letters in lower case.
  static func canonical(_ host: String) -> String {
    let isBracketed = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
    let text = isBracketed ? String(host.dropFirst().dropLast()) : host
    if let address = AddressBytes.parse(text).flatMap(AddressBytes.text(ofIPv6:)) { return address }
    guard text.utf8.contains(where: { $0 > 127 }) else { return text.lowercased() }
    var parts = URLComponents()
    parts.scheme = "https"
    parts.host = text
    return (parts.encodedHost ?? text).lowercased()
  }
}
