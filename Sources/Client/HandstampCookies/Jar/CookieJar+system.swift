#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif
import HandstampCore

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
    keep(Array(self.cookies.prefix(CookieJar.countLimit)))
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
