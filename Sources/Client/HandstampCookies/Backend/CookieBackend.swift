import Foundation
public import HandstampCore

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

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

/// The session of a version of the app that kept it in a cookie storage of the system.
///
/// ```swift
/// earlier: [.tokens { backend.earlierSession() } remove: { backend.removeEarlierSession() }]
/// ```
extension CookieBackend {
  /// Returns the session that the storage has: all cookies that the site gets, whatever the path; `nil` without the login cookie, or if
  /// that has expired. The profile is not known: `SessionManager.update(profile:)` completes it.
  ///
  /// - Parameter storage: by default the process-wide one, which `URLSession.shared` uses.
  public func earlierSession(in storage: HTTPCookieStorage = .shared) -> TokenResponse? {
    let found = cookies(in: storage)
    // The login cookie first: a jar has a limit.
    let jar = CookieJar(found.filter { $0.name == site.loginCookie } + found.filter { $0.name != site.loginCookie })
    guard isLoggedIn(.cookies(jar.text)) else { return nil }
    return response(with: jar, of: nil)
  }

  /// Removes the cookies that ``earlierSession(in:)`` returns, and no others.
  public func removeEarlierSession(from storage: HTTPCookieStorage = .shared) {
    for cookie in cookies(in: storage) { storage.deleteCookie(cookie) }
  }

  private func cookies(in storage: HTTPCookieStorage) -> [HTTPCookie] {
    guard let host = WebAddress(site.base)?.host else { return [] }
    let found = (storage.cookies ?? []).filter { Cookie($0)?.isFor(host) ?? false }
    // A storage has no order, and the same cookies are the same session.
    return found.sorted { ($0.name, $0.domain, $0.path) < ($1.name, $1.domain, $1.path) }
  }
}

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
    let own = shown.filter { DomainRules.allow($0.domain, isHostOnly: $0.isHostOnly, at: host) }
    let set = own.filter { !lent.contains($0) }.map { CookieChange($0, field: $0.field(at: now), isRemoval: false) }
    let removed = lent.filter { previous in !own.contains { $0.isSamePlace(as: previous) } }
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

/// Signs in the way a browser does.
extension CookieBackend: CredentialBackend {
  /// Signs in with the site's form. Cookies of a failed attempt are discarded.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with the site's own code; ``SessionError/requestFailed(_:retryAfter:)``
  ///   if the site is down; ``SessionError/invalidResponse(_:)`` for an unknown page, and for a success without the login
  ///   cookie.
  @concurrent public func signIn(
    _ username: String, _ password: Secret
  ) async throws(SessionError) -> TokenResponse {
    guard let address = WebAddress(site.base)?.resolving(site.signInPath) else {
      throw .invalidResponse("the site's URL is not valid")
    }
    return try await SignInTurn.take(by: SignInClaim(.form, as: username)) { () async throws(SessionError) in
      try await submit(username, password, to: address)
    }
  }

  private func submit(
    _ username: String, _ password: Secret, to address: WebAddress
  ) async throws(SessionError) -> TokenResponse {
    var jar = CookieJar()
    let hidden = try await hiddenFields(&jar)
    var form = site.form(username, password)
    // Fields of the app take the place of the page's.
    form.fields += hidden.filter { field in !form.fields.contains { $0.name == field.name } }
    let page = try await send(form.request(to: address.text), &jar)
    switch site.recognize(page) {
    case .refused(let code, let detail): throw .refused(code: code, detail: detail)
    case .unavailable: throw .requestFailed(.server(.init(status: page.status)))
    case .unknown:
      if page.status == 429 || page.status >= 500 { throw .requestFailed(.server(.init(status: page.status))) }
      throw .invalidResponse("an unknown page with status \(page.status)")
    case .success(let profile):
      guard loginCookie(in: jar, at: clock.now().wall) != nil else {
        throw .invalidResponse("a successful sign-in without the cookie \(site.loginCookie)")
      }
      return response(with: jar, of: profile)
    }
  }

  /// The session that a jar is.
  func response(with jar: CookieJar, of profile: Profile?) -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(cookies: jar.text), profile: profile,
      revocation: site.signOut == nil ? nil : RevocationHandle(jar.text))
  }

  /// The most hidden fields that a form may have, and the most bytes in them.
  private static let (fieldLimit, formLimit) = (100, 64 << 10)

  /// Opens the page with the form, if there is one, and takes its cookies.
  private func hiddenFields(_ jar: inout CookieJar) async throws(SessionError) -> [WebForm.Field] {
    guard let form = site.signInForm else { return [] }
    guard let address = WebAddress(site.base)?.resolving(form.path) else {
      throw .invalidResponse("the URL of the sign-in page is not valid")
    }
    let page = try await send(TransportRequest(method: "GET", url: address.text), &jar)
    guard let fields = form.hiddenFields(page) else {
      if page.status == 429 || page.status >= 500 { throw .requestFailed(.server(.init(status: page.status))) }
      throw .invalidResponse("the sign-in page with status \(page.status) has no form")
    }
    let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.count }
    guard fields.count <= CookieBackend.fieldLimit, size <= CookieBackend.formLimit else {
      throw .invalidResponse("the sign-in form is too large")
    }
    return fields
  }

  /// The most redirects that are followed (RFC 9110 section 15.4 sets no limit; browsers follow 20).
  private static let redirectLimit = 10

  /// Sends a request with the jar's cookies, stores the cookies of the response, and follows redirects within the origin.
  func send(_ request: TransportRequest, _ jar: inout CookieJar) async throws(SessionError) -> TransportResponse {
    guard let home = WebAddress(site.base) else { throw .invalidResponse("the site's URL is not valid") }
    var request = request
    for _ in 0...CookieBackend.redirectLimit {
      guard let address = WebAddress(request.url), address.isSameOrigin(as: home) else {
        throw .invalidResponse("the site redirects to another origin")
      }
      request.headers.removeAll { $0.name.lowercased() == "cookie" }
      if let header = jar.header(for: request.url, at: clock.now().wall) {
        request.headers.append(HeaderField("Cookie", header.withExposed { $0 }))
      }
      let response: TransportResponse
      do throws(TransportError) { response = try await transport.send(request) } catch {
        throw SessionError(error)
      }
      jar.take(response, from: request.url, at: clock.now().wall)
      guard let next = request.following(response) else { return response }
      request = next
    }
    throw .invalidResponse("too many redirects")
  }
}

extension TransportRequest {
  /// Returns the request that a redirect leads to (RFC 9110 section 15.4), as browsers build it; `nil` if the response is not a
  /// redirect.
  ///
  /// The caller checks whether the new URL may receive the request.
  public func following(_ response: TransportResponse) -> TransportRequest? {
    guard [301, 302, 303, 307, 308].contains(response.status), let location = response.header("Location"),
      let address = WebAddress(url)?.resolving(location)
    else { return nil }
    var next = self
    next.url = address.text
    let isSeeOther = response.status == 303 && method != "HEAD"
    if isSeeOther || (response.status < 303 && method == "POST") {
      next.method = "GET"
      next.body = []
      next.headers.removeAll { $0.name.lowercased().hasPrefix("content-") }
    }
    return next
  }
}
