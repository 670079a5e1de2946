public import HandstampCore

/// Signing in, as a browser would.
extension CookieBackend {
  /// Signs in with the site's form. Nothing is kept of an attempt that fails, whatever cookies came with it.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with the site's own code; ``SessionError/unreachable(retryAfter:)`` when
  ///   the site is down; ``SessionError/invalidAnswer(_:)`` for a page that is not known, and when a success came without the
  ///   login cookie.
  public func signIn(_ username: String, _ password: Secret) async throws(SessionError) -> Grant {
    guard let address = WebAddress(site.baseURL)?.resolving(site.signInPath) else {
      throw .invalidAnswer("the site's address is none")
    }
    return try await SignInTurn.take { () async throws(SessionError) in
      try await submit(username, password, to: address)
    }
  }

  private func submit(
    _ username: String, _ password: Secret, to address: WebAddress
  ) async throws(SessionError) -> Grant {
    var jar = CookieJar()
    let page = try await send(site.form(username, password).request(to: address.text), &jar)
    switch site.recognize(page) {
    case .refused(let code, let detail): throw .refused(code: code, detail: detail)
    case .unavailable: throw .unreachable(retryAfter: nil)
    case .unknown:
      if page.status == 429 || page.status >= 500 { throw .unreachable(retryAfter: nil) }
      throw .invalidAnswer("a page that is not known, with status \(page.status)")
    case .success(let profile):
      guard jar.cookie(site.loginCookie, for: site.baseURL, at: clock.now().wall) != nil else {
        throw .invalidAnswer("a success without the cookie \(site.loginCookie)")
      }
      return Grant(
        tokens: TokenSet(access: AccessToken(jar.text), life: nil, refresh: nil), profile: profile,
        revocation: site.signOut == nil ? nil : RevocationHandle(jar.text))
    }
  }

  /// The most redirects that are followed (RFC 9110 section 15.4 leaves the number open; browsers follow 20).
  private static let redirectLimit = 10

  /// Sends a request with what the jar has for it, takes over what comes back, and follows redirects within the origin.
  func send(_ request: TransportRequest, _ jar: inout CookieJar) async throws(SessionError) -> TransportResponse {
    guard let home = WebAddress(site.baseURL) else { throw .invalidAnswer("the site's address is none") }
    var request = request
    for _ in 0...CookieBackend.redirectLimit {
      guard let address = WebAddress(request.url), address.isSameOrigin(as: home) else {
        throw .invalidAnswer("the site sends to another origin")
      }
      request.headers.removeAll { $0.name.lowercased() == "cookie" }
      if let header = jar.header(for: request.url, at: clock.now().wall) {
        request.headers.append(HeaderField("Cookie", header.withExposed { $0 }))
      }
      let response: TransportResponse
      do throws(TransportError) { response = try await transport.send(request) } catch {
        throw SessionError(cookies: error)
      }
      jar.take(response, from: request.url, at: clock.now().wall)
      guard let next = request.following(response) else { return response }
      request = next
    }
    throw .invalidAnswer("too many redirects")
  }
}

extension TransportRequest {
  /// The request that a redirect asks for (RFC 9110 section 15.4), as browsers make it; nothing where the answer is none.
  ///
  /// Whoever sends it looks first whether its address is still one that may have it.
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

extension SessionError {
  fileprivate init(cookies error: TransportError) {
    switch error {
    case .cancelled: self = .cancelled
    case .notConnected, .unreachable, .timedOut: self = .unreachable(retryAfter: nil)
    case .tooLarge: self = .invalidAnswer("the answer was too large")
    case .invalidRequest(let text): self = .invalidAnswer(text)
    }
  }
}
