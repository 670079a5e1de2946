public import HandstampCore

/// A session that is a cookie: signs in by a form, sends the account's own jar with every request, and notices when the
/// server takes the cookie away.
///
/// The jar is what the session's vault keeps as access token. There is no refresh: a server that lengthens the cookie does so
/// with any answer, and the longer one is kept.
public struct CookieBackend: Backend {
  public let site: CookieSite
  let transport: any Transport
  let clock: any SessionClock

  public init(_ site: CookieSite, transport: any Transport, clock: any SessionClock) {
    self.site = site
    self.transport = transport
    self.clock = clock
  }

  // MARK: The session

  /// The jar of a session; nothing for a token that is none.
  public func jar(of token: AccessToken) -> CookieJar? { CookieJar(token.secret) }

  /// Whether that jar holds the login cookie, and it is not over.
  public func isLoggedIn(_ token: AccessToken) -> Bool { loginCookie(in: token) != nil }

  /// When the login cookie ends, by this device's clock. Nothing where there is none, and where it lasts as long as the
  /// session.
  public func loginCookieExpiryDate(_ token: AccessToken) -> UnixTime? { loginCookie(in: token)?.expires }

  private func loginCookie(in token: AccessToken) -> Cookie? { jar(of: token).flatMap { loginCookie(in: $0, at: now) } }

  private func loginCookie(in jar: CookieJar, at now: UnixTime) -> Cookie? {
    jar.cookie(site.loginCookie, for: site.baseURL, at: now)
  }

  private var now: UnixTime { clock.now().wall }

  // MARK: Backend

  public var keepsRotationKeys: Bool { false }
  public var sendsBearer: Bool { false }

  public func authorize(_ request: TransportRequest, with token: AccessToken, at now: UnixTime) -> AuthorizedRequest {
    var request = request
    request.headers.removeAll { $0.name.lowercased() == "cookie" }
    // What a later version wrote cannot be read here: the server decides.
    guard let jar = jar(of: token) else { return .ready(request) }
    guard loginCookie(in: jar, at: now) != nil else { return .over(.expired) }
    if let header = jar.header(for: request.url, at: now) {
      request.headers.append(HeaderField("Cookie", header.withExposed { $0 }))
    }
    return .ready(request)
  }

  public func notice(
    in response: TransportResponse, to request: TransportRequest, with token: AccessToken, at now: UnixTime
  ) -> SessionNotice {
    guard response.headers.contains(where: { $0.name.lowercased() == "set-cookie" }), let before = jar(of: token) else {
      return .nothing
    }
    var jar = before
    jar.take(response, from: request.url, at: now)
    if loginCookie(in: before, at: now) != nil, loginCookie(in: jar, at: now) == nil { return .over(.rejected) }
    return jar.isNews(after: before, at: now) ? .renewed(AccessToken(jar.text)) : .nothing
  }

  /// A cookie cannot be asked for anew: nobody comes here.
  @concurrent public func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    .failure(.notSent())
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    // What is no jar, or one that is over, ends nothing: asking again would not help.
    guard var jar = CookieJar(handle.secret), loginCookie(in: jar, at: now) != nil,
      let request = site.signOut?(jar)
    else { return }
    let response: TransportResponse
    do throws(SessionError) { response = try await send(request, &jar) } catch {
      if case .invalidAnswer = error { throw .unreachable(retryAfter: nil) }
      throw error
    }
    if loginCookie(in: jar, at: now) == nil { return }
    guard (200..<300).contains(response.status) else { throw .unreachable(retryAfter: nil) }
  }
}
