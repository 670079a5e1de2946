import Foundation
public import HandstampCore
import HandstampSupport

/// One sign-out in the browser (OpenID Connect RP-Initiated Logout 1.0): the URL to open, and the check of the response. Valid for
/// one response.
public struct LogoutFlow: Sendable {
  /// The URL to open in the browser in which the user signed in. It contains the ID token, if there is one.
  public let url: String
  /// The URI that the browser is sent to in the end.
  public let redirectURI: String
  private let state: String

  init(
    client: OAuthClient, metadata: ServerMetadata, redirectURI: String, idToken: Secret?, loginHint: String?
  ) throws(SessionError) {
    guard let endpoint = metadata.endSessionEndpoint else {
      throw metadata.missing("end_session_endpoint", for: "sign-out in the browser")
    }
    self.redirectURI = redirectURI
    state = Base64URL.encode(randomBytes(16))
    // The client's ID as well: an ID token may be encrypted (section 2).
    var fields = [("client_id", client.id), ("post_logout_redirect_uri", redirectURI), ("state", state)]
    if let idToken {
      fields.append(("id_token_hint", idToken.withExposed { $0 }))
    } else if let loginHint {
      fields.append(("logout_hint", loginHint))
    }
    url = Address.adding(fields, to: endpoint)
  }

  /// Checks the URL that the browser was redirected to.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if it does not belong to this sign-out: it may be that the user is still signed
  ///   in.
  public func check(_ callback: Secret) throws(SessionError) {
    try callback.withExposed { text throws(SessionError) in
      let fields = try RedirectFields.fields(of: text, to: redirectURI, naming: ["state"])
      guard let state = fields["state"] else { throw .invalidResponse("the response has no state") }
      guard Secret(state) == Secret(self.state) else {
        throw .invalidResponse("the response belongs to another request")
      }
    }
  }
}

extension OAuthBackend {
  /// Ends the user's session in the browser, so that the next sign-in there asks for the account again. The session of the app is
  /// another one: `session.signOut()` ends it, and works without a network.
  ///
  /// ```swift
  /// await session.signOut()
  /// try await identity.signOutOfBrowser(through: browser, redirectURI: "org.example.forum:/signed-out")
  /// ```
  /// - Parameters:
  ///   - receiver: opens the page in the browser in which the user signed in, and captures the redirect. A private browser session
  ///     has nothing to end.
  ///   - redirectURI: the URI that the client registered for this (`post_logout_redirect_uri`).
  ///   - idToken: an ID token of the session: with it most servers do not ask the user. `nil` (the default) if there is none at
  ///     hand.
  ///   - loginHint: without an ID token, whose session it is, such as an email address.
  /// - Throws: ``SessionError/unsupported(_:)`` if the server has no such page; ``SessionError/cancelled`` if the user closed the
  ///   page, as one who chose to stay signed in does; ``SessionError/redirect(_:)`` if it could not be shown;
  ///   ``SessionError/invalidResponse(_:)`` if the response belongs to another request.
  @concurrent public func signOutOfBrowser(
    through receiver: some RedirectReceiver, redirectURI: String, idToken: Secret? = nil, loginHint: String? = nil
  ) async throws(SessionError) {
    let flow = try await beginLogout(redirectURI: redirectURI, idToken: idToken, loginHint: loginHint)
    let callback: Secret
    do throws(RedirectError) {
      callback = try await receiver.receive(
        from: flow.url, callbackScheme: RedirectFields.scheme(of: redirectURI))
    } catch { throw error.sessionError }
    try flow.check(callback)
  }

  /// Begins a sign-out with a browser that the app opens itself; ``LogoutFlow/check(_:)`` completes it.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` if the server has no page for it.
  @concurrent public func beginLogout(
    redirectURI: String, idToken: Secret? = nil, loginHint: String? = nil
  ) async throws(SessionError) -> LogoutFlow {
    try LogoutFlow(
      client: client, metadata: try await metadata(), redirectURI: redirectURI, idToken: idToken, loginHint: loginHint)
  }
}
