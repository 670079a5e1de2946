public import HandstampCore

extension OAuthBackend {
  /// Signs in with the system's browser: authorization code with PKCE, S256 (RFC 6749 section 4.1, RFC 7636, RFC 8252).
  ///
  /// - Parameters:
  ///   - receiver: opens the page and captures the redirect.
  ///   - redirectURI: the redirect URI as registered at the server. On loopback the port is arbitrary (RFC 8252 section 7.3).
  /// - Throws: ``SessionError/cancelled`` if the user closed the page;
  ///   ``SessionError/refused(code:detail:)`` with the server's code, such as `access_denied`;
  ///   ``SessionError/redirect(_:)`` if the page could not be shown;
  ///   ``SessionError/unsupported(_:)`` if the server has no sign-in page;
  ///   ``SessionError/storage(_:)``, before the page is shown, if the vault cannot be locked for a sign-in.
  @concurrent public func signIn(
    through receiver: some RedirectReceiver, redirectURI: String
  ) async throws(SessionError) -> TokenResponse {
    let flow = try AuthorizationFlow(client: client, metadata: try await metadata(), redirectURI: redirectURI)
    try await SignInTurn.check()
    let callback: Secret
    do throws(RedirectError) {
      callback = try await receiver.receive(from: flow.url, callbackScheme: flow.callbackScheme)
    } catch { throw error.sessionError }
    return try await finish(flow, with: callback)
  }

  /// Begins a sign-in with a browser that the app opens itself; ``finish(_:with:)`` completes it.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` if the server does not offer sign-in by browser.
  @concurrent public func begin(redirectURI: String) async throws(SessionError) -> AuthorizationFlow {
    return try AuthorizationFlow(client: client, metadata: try await metadata(), redirectURI: redirectURI)
  }

  /// Completes a sign-in with the complete URL that the browser was redirected to.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if the URL does not belong to `flow`;
  ///   ``SessionError/refused(code:detail:)`` with the server's code.
  @concurrent public func finish(
    _ flow: AuthorizationFlow, with callback: Secret
  ) async throws(SessionError) -> TokenResponse {
    try await exchange(
      [
        ("grant_type", Secret("authorization_code")), ("code", try flow.code(in: callback)),
        ("redirect_uri", Secret(flow.redirectURI)), ("code_verifier", flow.proof.verifier),
      ], nonce: flow.nonce)
  }
}
