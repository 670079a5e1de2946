public import HandstampCore

extension OAuthBackend {
  /// Signs in by the system's browser: authorization code with PKCE, S256 (RFC 6749 section 4.1, RFC 7636, RFC 8252).
  ///
  /// - Parameters:
  ///   - receiver: opens the page and catches the redirect.
  ///   - redirectURI: as it is registered at the server. On loopback the port may be any (RFC 8252 section 7.3).
  /// - Throws: ``HandstampCore/SessionError/cancelled`` when the person closed the page;
  ///   ``HandstampCore/SessionError/refused(code:detail:)`` with the server's word, such as `access_denied`;
  ///   ``HandstampCore/SessionError/unsupported(_:)`` where the server, or the device, has no sign-in page.
  @concurrent public func signIn(
    through receiver: some RedirectReceiver, redirectURI: String
  ) async throws(SessionError) -> Grant {
    var random = SystemRandomNumberGenerator()
    let flow = try AuthorizationFlow(
      client: client, metadata: try await metadata(), redirectURI: redirectURI, random: &random)
    let callback: Secret
    do throws(RedirectError) {
      callback = try await receiver.receive(from: flow.url, callbackScheme: flow.callbackScheme)
    } catch { throw error.sessionError }
    return try await finish(flow, with: callback)
  }

  /// Begins a sign-in by a browser that the app opens itself; ``finish(_:with:)`` ends it.
  @concurrent public func begin(redirectURI: String) async throws(SessionError) -> AuthorizationFlow {
    var random = SystemRandomNumberGenerator()
    return try AuthorizationFlow(
      client: client, metadata: try await metadata(), redirectURI: redirectURI, random: &random)
  }

  /// Ends a sign-in with the address that the browser was sent back to, whole.
  @concurrent public func finish(
    _ flow: AuthorizationFlow, with callback: Secret
  ) async throws(SessionError) -> Grant {
    try await exchange(
      [
        ("grant_type", Secret("authorization_code")), ("code", try flow.code(in: callback)),
        ("redirect_uri", Secret(flow.redirectURI)), ("code_verifier", flow.proof.verifier),
      ], nonce: flow.nonce)
  }
}
