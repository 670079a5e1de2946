#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif
public import HandstampCore

/// The session of a version of the app that kept it in a cookie storage of the system.
///
/// ```swift
/// formerly: [.tokens { backend.formerSession() } remove: { backend.removeFormerSession() }]
/// ```
extension CookieBackend {
  /// Returns the session that the storage has: all cookies that the site gets, whatever the path; `nil` without the login cookie, or if
  /// that has expired. The profile is not known: `SessionManager.update(profile:)` completes it.
  ///
  /// - Parameter storage: by default the process-wide one, which `URLSession.shared` uses.
  public func formerSession(in storage: HTTPCookieStorage = .shared) -> TokenResponse? {
    let found = cookies(in: storage)
    // The login cookie first: a jar has a limit.
    let jar = CookieJar(found.filter { $0.name == site.loginCookie } + found.filter { $0.name != site.loginCookie })
    guard isLoggedIn(.cookies(jar.text)) else { return nil }
    return response(with: jar, of: nil)
  }

  /// Removes the cookies that ``formerSession(in:)`` returns, and no others.
  public func removeFormerSession(from storage: HTTPCookieStorage = .shared) {
    for cookie in cookies(in: storage) { storage.deleteCookie(cookie) }
  }

  private func cookies(in storage: HTTPCookieStorage) -> [HTTPCookie] {
    guard let host = WebAddress(site.base)?.host else { return [] }
    let found = (storage.cookies ?? []).filter { Cookie($0)?.isFor(host) ?? false }
    // A storage has no order, and the same cookies are the same session.
    return found.sorted { ($0.name, $0.domain, $0.path) < ($1.name, $1.domain, $1.path) }
  }
}
