public import HandstampCore

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
