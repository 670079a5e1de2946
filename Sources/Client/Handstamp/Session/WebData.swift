#if canImport(WebKit) && !os(watchOS)
import Foundation
public import HandstampCore
public import WebKit

/// Removes what web views keep on the device.
@MainActor enum WebData {
  /// Removes a host's cookies, and its records. A record is that of a registrable domain: where the host is only a part of one, the
  /// record is other hosts' as well, and stays.
  static func remove(of host: String) async {
    let store = WKWebsiteDataStore.default()
    for cookie in await store.httpCookieStore.allCookies() where cookie.isOf(host) {
      await store.httpCookieStore.deleteCookie(cookie)
    }
    let types = WKWebsiteDataStore.allWebsiteDataTypes().subtracting([WKWebsiteDataTypeCookies])
    let records = await store.dataRecords(ofTypes: types).filter { $0.displayName == host }
    await store.removeData(ofTypes: types, for: records)
  }

  /// Removes a store with its content. Succeeds if there is none.
  static func remove(_ identifier: UUID) async throws {
    guard await WKWebsiteDataStore.allDataStoreIdentifiers.contains(identifier) else { return }
    try await WKWebsiteDataStore.remove(forIdentifier: identifier)
  }
}

extension SessionManager {
  /// Returns a store for web views in which the user is signed in to the site: the session lends it its cookies. For sessions that are
  /// cookies, such as a `CookieBackend`'s.
  ///
  /// ```swift
  /// configuration.websiteDataStore = try await session.webData()
  /// ```
  /// The site's changes there come back into the vault, before the session's next request uses what was there before. If the site
  /// removes its login cookie, the server is asked: the session ends if it says so, and otherwise the web view gets the cookie back. Call
  /// this before each page that you load, so that the web view has the newest cookies: it returns the same store until the session ends,
  /// which takes the cookies back. A session has one store at a time.
  ///
  /// - Parameter isPersistent: whether cookies, local storage and caches of the site outlive the program: in the account's own store,
  ///   `AccountID.webDataIdentifier`, which the end of the session removes. Default `false`.
  /// - Throws: ``SessionError/unsupported(_:)`` for a session that is no cookie, and for a persistent store while the account is not known;
  ///   otherwise as ``SessionController/credential(minimumValidity:)``.
  public func webData(isPersistent: Bool = false) async throws(SessionError) -> WKWebsiteDataStore {
    let store = try await lendCookies { (held: WebViewCookies) in
      held.data.isPersistent == isPersistent
    } to: { (facts: SignedIn) throws(SessionError) in
      guard isPersistent else { return WebViewCookies(.nonPersistent()) }
      let ended = EndedSession(id: facts.id, account: facts.profile?.id, reason: .signedOut)
      guard let account = clearing?(ended) else { throw .unsupported("web data of an account that is not known") }
      return WebViewCookies(WKWebsiteDataStore(forIdentifier: account.webDataIdentifier))
    }
    return store.data
  }
}

/// WebKit's cookies.
@MainActor private final class WebViewCookies: NSObject, WebCookies, WKHTTPCookieStoreObserver {
  let data: WKWebsiteDataStore
  private var changed: (@MainActor () -> Void)?

  init(_ data: WKWebsiteDataStore) { self.data = data }

  func cookies() async -> [LentCookie] { await data.httpCookieStore.allCookies().map { LentCookie($0) } }

  func set(_ cookie: LentCookie) async {
    if let cookie = cookie.httpCookie { await data.httpCookieStore.setCookie(cookie) }
  }

  func remove(_ cookie: LentCookie) async {
    for found in await data.httpCookieStore.allCookies() where LentCookie(found).isSamePlace(as: cookie) {
      await data.httpCookieStore.deleteCookie(found)
    }
  }

  /// WebKit does not hold on to its observers.
  func observe(_ changed: (@MainActor () -> Void)?) {
    self.changed = changed
    if changed == nil { data.httpCookieStore.remove(self) } else { data.httpCookieStore.add(self) }
  }

  func cookiesDidChange(in cookieStore: WKHTTPCookieStore) { changed?() }
}
#endif
