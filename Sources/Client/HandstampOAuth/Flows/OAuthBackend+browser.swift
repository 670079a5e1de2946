public import HandstampCore

extension OAuthBackend: BrowserBackend {
  /// Signs in with the system's browser: authorization code with PKCE, S256 (RFC 6749 section 4.1, RFC 7636, RFC 8252).
  ///
  /// - Parameters:
  ///   - receiver: opens the page and captures the redirect.
  ///   - redirectURI: the redirect URI as registered at the server. On loopback the port is arbitrary (RFC 8252 section 7.3).
  ///   - loginHint: whose sign-in it is, such as an email address, which the page may fill in; `nil` (the default) for any
  ///     account's (OpenID Connect Core 1.0 section 3.1.2.1).
  ///   - selectsAccount: whether the page asks which account to use, even if the browser is signed in to one
  ///     (`prompt=select_account`). Default `false`.
  /// - Throws: ``SessionError/cancelled`` if the user closed the page;
  ///   ``SessionError/refused(code:detail:)`` with the server's code, such as `access_denied`;
  ///   ``SessionError/redirect(_:)`` if the page could not be shown;
  ///   ``SessionError/unsupported(_:)`` if the server has no sign-in page;
  ///   ``SessionError/storage(_:)``, before the page is shown, if the vault cannot be locked for a sign-in.
  @concurrent public func signIn(
    through receiver: some RedirectReceiver, redirectURI: String, loginHint: String? = nil,
    selectsAccount: Bool = false
  ) async throws(SessionError) -> TokenResponse {
    SignInTurn.name(SignInClaim(.browser, as: loginHint))
    let flow = try await begin(redirectURI: redirectURI, loginHint: loginHint, selectsAccount: selectsAccount)
    try await SignInTurn.check()
    let callback: Secret
    do throws(RedirectError) {
      callback = try await receiver.receive(from: flow.url, callbackScheme: flow.callbackScheme)
    } catch { throw error.sessionError }
    return try await finish(flow, with: callback)
  }

  @concurrent public func signIn(on page: BrowserPage) async throws(SessionError) -> TokenResponse {
    try await signIn(through: page.receiver, redirectURI: page.redirectURI)
  }

  /// Begins a sign-in with a browser that the app opens itself; ``finish(_:with:)`` completes it.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` if the server does not offer sign-in by browser.
  @concurrent public func begin(
    redirectURI: String, loginHint: String? = nil, selectsAccount: Bool = false
  ) async throws(SessionError) -> AuthorizationFlow {
    var hints: [String: String] = [:]
    if let loginHint { hints["login_hint"] = loginHint }
    if selectsAccount { hints["prompt"] = "select_account" }
    return try await begin(redirectURI: redirectURI, hints: hints)
  }

  /// Begins a sign-in with parameters of its own, or continues one that a caller has kept the memory of.
  @concurrent package func begin(
    redirectURI: String, hints: [String: String], memory: AuthorizationFlow.Memory? = nil
  ) async throws(SessionError) -> AuthorizationFlow {
    try AuthorizationFlow(
      client: client, metadata: try await metadata(), redirectURI: redirectURI, hints: hints, memory: memory)
  }

  /// Completes a sign-in with the complete URL that the browser was redirected to.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if the URL does not belong to `flow`;
  ///   ``SessionError/refused(code:detail:)`` with the server's code.
  @concurrent public func finish(
    _ flow: AuthorizationFlow, with callback: Secret
  ) async throws(SessionError) -> TokenResponse {
    try await exchange(try fields(of: flow, with: callback), by: .browser, nonce: flow.nonce)
  }

  /// Completes a sign-in with the token endpoint's own response. For servers, which verify the ID token's signature and claims
  /// themselves; nothing in it is checked here but that the access token can be used.
  @concurrent package func tokens(
    of flow: AuthorizationFlow, with callback: Secret
  ) async throws(SessionError) -> TokenResponseBody {
    let metadata = try await metadata()
    let response = try await post(try fields(of: flow, with: callback), to: metadata.tokenEndpoint)
    guard case .tokens(let found) = EndpointWord(response) else {
      throw SessionError(asking: response, at: time.now())
    }
    return try checked(found, of: metadata)
  }

  private func fields(
    of flow: AuthorizationFlow, with callback: Secret
  ) throws(SessionError) -> [(String, Secret)] {
    [
      ("grant_type", Secret("authorization_code")), ("code", try flow.code(in: callback)),
      ("redirect_uri", Secret(flow.redirectURI)), ("code_verifier", flow.proof.verifier),
    ]
  }
}
