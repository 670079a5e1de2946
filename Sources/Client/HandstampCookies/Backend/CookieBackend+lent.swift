package import HandstampCore

/// The session's cookies in a web view.
extension CookieBackend: CookieCredential {
  package func expiry(of credential: Credential) -> UnixTime? { loginCookieExpiryDate(credential) }

  package func cookies(of credential: Credential, at now: UnixTime) -> [LentCookie] {
    guard let jar = CookieJar(credential), let host = WebAddress(site.base)?.host else { return [] }
    return jar.cookies.filter { !$0.isOver(at: now) && $0.isFor(host) }.map { LentCookie($0) }
  }

  package func changes(from lent: [LentCookie], to shown: [LentCookie], at now: UnixTime) -> [CookieChange] {
    guard let host = WebAddress(site.base)?.host else { return [] }
    // Another site's cookie would become the session's: a field without a domain is for the host that it comes from.
    let own = shown.filter { Cookie($0, createdAt: now).isFor(host) }
    let set = own.filter { !lent.contains($0) }.map { CookieChange($0, field: $0.field(at: now), isRemoval: false) }
    let removed = lent.filter { former in !own.contains { $0.isSamePlace(as: former) } }
    return set + removed.map { CookieChange($0, field: $0.removal, isRemoval: true) }
  }
}

extension LentCookie {
  fileprivate init(_ cookie: Cookie) {
    self.init(
      name: cookie.name, value: cookie.value, domain: cookie.domain, isHostOnly: cookie.isHostOnly, path: cookie.path,
      expires: cookie.expires, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly)
  }

  /// The field that sets it (RFC 6265 section 4.1).
  fileprivate func field(at now: UnixTime) -> HeaderField {
    line(value.withExposed { $0 }, lifetime: expires.map { max(1, $0.since(now).components.seconds) })
  }

  /// The field that removes it.
  fileprivate var removal: HeaderField { line("", lifetime: 0) }

  private func line(_ value: String, lifetime: Int64?) -> HeaderField {
    var parts = ["\(name)=\(value)", "Path=\(path)"]
    if !isHostOnly { parts.append("Domain=\(domain)") }
    if let lifetime { parts.append("Max-Age=\(lifetime)") }
    if isSecure { parts.append("Secure") }
    if isHTTPOnly { parts.append("HttpOnly") }
    return HeaderField("Set-Cookie", parts.joined(separator: "; "))
  }
}

extension Cookie {
  fileprivate init(_ cookie: LentCookie, createdAt: UnixTime) {
    self.init(
      name: cookie.name, value: cookie.value, domain: cookie.domain, isHostOnly: cookie.isHostOnly, path: cookie.path,
      expires: cookie.expires, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly, createdAt: createdAt)
  }
}
