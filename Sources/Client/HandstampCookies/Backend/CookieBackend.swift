import Foundation
public import HandstampCore

/// A backend whose session is a cookie: signs in with a form, sends the account's own jar with every request, and notices when
/// the server removes the cookie.
///
/// The session's vault stores the jar as ``HandstampCore/Credential/cookies(_:)``. There is no refresh: a server may extend the
/// cookie with any response, and the extended one is stored.
public struct CookieBackend: Backend, RequestCredential {
  /// The site's description.
  public let site: CookieSite
  let transport: any Transport
  let clock: any SessionClock

  /// Creates a backend for `site`.
  public init(_ site: CookieSite, transport: any Transport, clock: any SessionClock) {
    self.site = site
    self.transport = transport
    self.clock = clock
  }

  // MARK: The session

  /// Whether the cookies contain the login cookie, and it has not expired.
  public func isLoggedIn(_ credential: Credential) -> Bool { loginCookie(in: credential) != nil }

  /// Returns when the login cookie expires, by this device's clock; `nil` if there is none, or if it lasts as long as the
  /// session.
  public func loginCookieExpiryDate(_ credential: Credential) -> UnixTime? { loginCookie(in: credential)?.expires }

  private func loginCookie(in credential: Credential) -> Cookie? {
    CookieJar(credential).flatMap { loginCookie(in: $0, at: now) }
  }

  func loginCookie(in jar: CookieJar, at now: UnixTime) -> Cookie? {
    jar.cookie(site.loginCookie, for: site.base, at: now).flatMap { cookie in
      cookie.value.withExposed(site.isSignedOut) ? nil : cookie
    }
  }

  private var now: UnixTime { clock.now().wall }

  // MARK: Backend

  public var abilities: BackendAbilities { BackendAbilities(credential: self) }

  public func authorize(
    _ request: TransportRequest, with credential: Credential, at now: UnixTime
  ) -> TransportRequest? {
    var request = request
    request.headers.removeAll { $0.name.lowercased() == "cookie" }
    // A jar in a later version's format cannot be read here: the server decides.
    guard let jar = CookieJar(credential) else { return request }
    guard loginCookie(in: jar, at: now) != nil else { return nil }
    if let header = jar.header(for: request.url, at: now) {
      request.headers.append(HeaderField("Cookie", header.withExposed { $0 }))
    }
    return request
  }

  public func inspect(
    _ response: TransportResponse, to request: TransportRequest, with credential: Credential, at now: UnixTime
  ) -> ResponseVerdict {
    guard response.headers.contains(where: { $0.name.lowercased() == "set-cookie" }),
      let before = CookieJar(credential)
    else { return .unchanged }
    var jar = before
    jar.take(response, from: request.url, at: now)
    // A slow response to a login cookie that has been replaced since says nothing of the one in use.
    if let login = loginCookie(in: before, at: now), !request.carries(login) { jar.putBack(login) }
    if loginCookie(in: before, at: now) != nil, loginCookie(in: jar, at: now) == nil { return .ended(.rejected) }
    return jar.isNews(after: before, at: now) ? .renewed(.cookies(jar.text)) : .unchanged
  }

  /// A cookie cannot be refreshed: never called, because a session of this backend has no refresh token.
  @concurrent public func refresh(_ request: RefreshRequest) async -> RefreshResult {
    .noDecision(.preparation(.unsupported("a refresh")))
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    // A handle that is not a jar, or has expired, cannot end a session: a retry would not help.
    guard var jar = CookieJar(handle.secret), loginCookie(in: jar, at: now) != nil,
      let request = site.signOut?(jar)
    else { return .ended }
    let response: TransportResponse
    do throws(SessionError) { response = try await send(request, &jar) } catch {
      return .noDecision(.preparation(error))
    }
    let isInTrouble = response.status == 429 || response.status >= 500
    if !isInTrouble, loginCookie(in: jar, at: now) == nil || (200..<300).contains(response.status) { return .ended }
    // Sites answer with a page of any status: retried soon.
    return .noDecision(.server(.init(status: max(response.status, 500))))
  }
}

extension TransportRequest {
  /// Whether the request was sent with this very cookie.
  fileprivate func carries(_ cookie: Cookie) -> Bool {
    let text = cookie.name + "=" + cookie.value.withExposed { $0 }
    return (headers.first(named: "Cookie") ?? "").components(separatedBy: "; ").contains {
      $0.utf8.elementsEqual(text.utf8)
    }
  }
}
