/// A backend that also creates, changes and deletes accounts.
///
/// No requirement has a default: a function for a feature that the server does not offer throws
/// ``SessionError/unsupported(_:)`` with the feature's name. Every function throws ``SessionError/refused(code:detail:)`` if
/// the server refuses, and ``SessionError/requestFailed(_:retryAfter:)`` if there is no usable response.
public protocol AccountBackend: Backend {
  /// Creates an account. Some servers require the email address to be confirmed first, see ``SignUpResponse/confirmationSent``.
  ///
  /// - Parameter username: the display name, ``Profile/name``. The user signs in with the email address.
  @concurrent func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpResponse

  /// Completes a sign-up or an upgrade after ``SignUpResponse/confirmationSent``: sets the account's password, and signs in.
  ///
  /// - Parameters:
  ///   - code: the code in the mail, or in its link.
  ///   - password: chosen here, by the user who reads the address's mail.
  @concurrent func confirmSignUp(_ code: Secret, password: Secret) async throws(SessionError) -> TokenResponse

  /// Signs in with an email address and a password.
  @concurrent func signIn(email: String, password: Secret) async throws(SessionError) -> TokenResponse

  /// Creates a guest account, without a name, and signs in to it.
  @concurrent func signInAnonymously() async throws(SessionError) -> TokenResponse

  /// Turns a guest account into a full one, under the same account ID. The new session replaces the guest's. After
  /// ``SignUpResponse/confirmationSent`` the account stays a guest's, with its session, until the address is confirmed.
  ///
  /// - Parameters:
  ///   - username: the display name, ``Profile/name``.
  ///   - token: the guest's access token.
  @concurrent func upgrade(
    email: String, password: Secret, username: String, token: AccessToken
  ) async throws(SessionError) -> SignUpResponse

  /// Signs in with the credential of Sign in with Apple.
  ///
  /// - Parameters:
  ///   - idToken: the identity token that Apple issued.
  ///   - nonce: the value whose SHA-256, in hexadecimal, was passed to Apple's request.
  @concurrent func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) -> TokenResponse

  /// Signs in with a passkey.
  ///
  /// - Parameter ask: passes the server's options to the device, and returns its answer. Both are JSON text of WebAuthn Level 3:
  ///   `PublicKeyCredentialRequestOptionsJSON` and `AuthenticationResponseJSON`.
  @concurrent func signInWithPasskey(
    asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> TokenResponse

  /// Requests a mail with a link or a code that resets the password. The response does not reveal whether the account exists.
  /// The reset is completed by that link, or by a function of the backend that is not part of this protocol.
  @concurrent func requestPasswordReset(email: String) async throws(SessionError)

  /// Changes the account's password.
  ///
  /// - Parameter endingOthers: whether the account's other sessions end.
  @concurrent func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, token: AccessToken
  ) async throws(SessionError)

  /// Deletes the account and ends all its sessions.
  ///
  /// - Parameter password: `nil` for an account without a password.
  @concurrent func deleteAccount(password: Secret?, token: AccessToken) async throws(SessionError)

  /// Ends every session of the account except the caller's.
  @concurrent func endOtherSessions(token: AccessToken) async throws(SessionError)

  /// Registers the token for push messages to this device; `nil` unregisters it.
  @concurrent func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError)
}

/// The result of a sign-up.
public enum SignUpResponse: Sendable, Hashable {
  /// The account exists, and this is its session.
  case signedIn(TokenResponse)
  /// The address must be confirmed first; there is no session yet. A server that requires this responds so for every address,
  /// whether or not a mail was sent, so as not to reveal which addresses have an account. The mail's code begins the session, see
  /// ``AccountBackend/confirmSignUp(_:password:)``.
  case confirmationSent
}
