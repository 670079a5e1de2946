public import HandstampCore

/// The cookies of one account at one site (RFC 6265). Never the process's own storage, which is everybody's.
public struct CookieJar: Sendable, Hashable {
  /// In the order in which they were first set.
  public private(set) var cookies: [Cookie] = []

  /// The most cookies in a jar. A further one is refused, so that a server which sets many cannot push the session out.
  public static let countLimit = 150

  public init() {}

  /// Those that go along with a request to `url`: longer paths first, then older ones (RFC 6265 section 5.4).
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

  /// The cookie of that name that goes to `url`.
  public func cookie(_ name: String, for url: String, at now: UnixTime) -> Cookie? {
    cookies(for: url, at: now).first { $0.name == name }
  }

  /// The value of the header `Cookie` for `url`; nothing where no cookie goes.
  public func header(for url: String, at now: UnixTime) -> Secret? {
    let going = cookies(for: url, at: now)
    guard !going.isEmpty else { return nil }
    return Secret(going.map { cookie in cookie.name + "=" + cookie.value.withExposed { $0 } }.joined(separator: "; "))
  }

  /// Takes over what an answer from `url` sets, changes and removes.
  ///
  /// A server's `Expires` is measured by the server's own `Date`, so that a device whose clock is wrong neither keeps a cookie
  /// too long nor drops one that is good.
  public mutating func take(_ response: TransportResponse, from url: String, at now: UnixTime) {
    guard let address = WebAddress(url) else { return }
    let ahead = response.header("Date").flatMap { CookieDate.parse($0) }.map { now.since($0) } ?? .zero
    for line in SetCookie.lines(response.headers) { set(line, from: address, ahead: ahead, at: now) }
    cookies.removeAll { $0.isOver(at: now) }
  }

  /// Takes over one `Set-Cookie` line. Whether it was one that may be set from there.
  @discardableResult
  public mutating func set(_ line: String, from url: String, at now: UnixTime) -> Bool {
    guard let address = WebAddress(url) else { return false }
    let isSet = set(line, from: address, ahead: .zero, at: now)
    cookies.removeAll { $0.isOver(at: now) }
    return isSet
  }

  /// - Parameter ahead: how much this device's clock is ahead of the server's.
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
      // RFC 6265 section 5.2.2: zero or less is over at once.
      cookie.expires = seconds <= 0 ? UnixTime(milliseconds: .min) : now.advanced(by: .seconds(min(seconds, 1 << 40)))
    } else {
      cookie.expires = new.expires.map { $0.advanced(by: ahead) }
    }
    // A page that came in the clear may not touch what is for encrypted ones alone (RFC 6265bis section 5.7).
    if !address.isSecure {
      let shadowed = cookies.contains { $0.isSecure && $0.name == cookie.name && $0.domain == cookie.domain }
      if cookie.isSecure || shadowed { return false }
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

  mutating func keep(_ cookies: [Cookie]) { self.cookies = cookies }

  /// Whether the difference to `older` is worth a write: more than ends that moved by less than a hundredth.
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
  func isSamePlace(as other: Cookie) -> Bool {
    name == other.name && domain == other.domain && path == other.path
  }
}
