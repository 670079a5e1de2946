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
  ///
  /// - Parameter code: the code of an authenticator app, six digits, after a refusal with `second_factor_required`; else `nil`.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials`; with `second_factor_required` if the account has such an
  ///   app; with `second_factor_wrong` if the code is wrong or was used before.
  @concurrent func signIn(email: String, password: Secret, code: Secret?) async throws(SessionError) -> TokenResponse

  /// Creates a guest account, without a name, and signs in to it.
  @concurrent func signInAnonymously() async throws(SessionError) -> TokenResponse

  /// Turns a guest account into a full one, under the same account ID. The new session replaces the guest's. After
  /// ``SignUpResponse/confirmationSent`` the account stays a guest's, with its session, until the address is confirmed.
  ///
  /// - Parameter token: the guest's access token.
  /// - Throws: ``SessionError/refused(code:detail:)`` with ``GuestUpgrade/taken`` if another account has the address or the Apple
  ///   account: the guest's account and session are then unchanged.
  @concurrent func upgrade(by way: GuestUpgrade, token: AccessToken) async throws(SessionError) -> SignUpResponse

  /// Signs in with the credential of Sign in with Apple. The first sign-in creates the account, with the credential's name.
  @concurrent func signInWithApple(_ credential: AppleCredential) async throws(SessionError) -> TokenResponse

  /// Signs in with a passkey.
  ///
  /// - Parameter ask: asks the device. Its options are `PublicKeyCredentialRequestOptionsJSON`, its answer is
  ///   `AuthenticationResponseJSON` (WebAuthn Level 3 sections 5.1.10 and 5.1.8.2).
  @concurrent func signInWithPasskey(asking ask: @escaping PasskeyPrompt) async throws(SessionError) -> TokenResponse

  /// Requests a mail with a link or a code that resets the password. The response does not reveal whether the account exists.
  /// The reset is completed by that link, or by a function of the backend that is not part of this protocol.
  @concurrent func requestPasswordReset(email: String) async throws(SessionError)

  /// Returns how the account's owner can prove to be that; empty for a guest, who has nothing to prove it with.
  @concurrent func proofs(token: AccessToken) async throws(SessionError) -> Set<Proof.Kind>

  /// Proves that the user is the account's owner.
  ///
  /// - Returns: another access token of the same session, which for a while may do what the session alone may not. The session keeps its
  ///   own tokens.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials`, `second_factor_required`, `second_factor_wrong`,
  ///   `passkey_refused`, `id_token_invalid` or `link_invalid`, by the kind of the proof.
  @concurrent func reauthenticate(_ proof: Proof, token: AccessToken) async throws(SessionError) -> AccessToken

  /// Mails a code for ``Proof/mailedCode(_:)`` to the account's address.
  @concurrent func mailProof(token: AccessToken) async throws(SessionError)

  /// Changes the account's password, or sets its first one.
  ///
  /// - Parameters:
  ///   - endingOthers: whether the account's other sessions end.
  ///   - proof: that the user is the owner; `nil` if `token` shows it.
  @concurrent func changePassword(
    to new: Secret, endingOthers: Bool, proof: Proof?, token: AccessToken
  ) async throws(SessionError)

  /// Deletes the account and ends all its sessions.
  ///
  /// - Parameter proof: that the user is the owner; `nil` for a guest, or if `token` shows it.
  @concurrent func deleteAccount(proof: Proof?, token: AccessToken) async throws(SessionError)

  /// Ends every session of the account except the caller's.
  @concurrent func endOtherSessions(token: AccessToken) async throws(SessionError)

  /// Registers the token for push messages to this device; `nil` unregisters it.
  @concurrent func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError)
}

/// A way in that makes a guest's account a full one.
public enum GuestUpgrade: Sendable {
  /// - Parameter username: the display name, ``Profile/name``. The user signs in with the email address.
  case password(email: String, password: Secret, username: String)
  /// Signs in with Apple from then on.
  case apple(AppleCredential)
  /// Signs in with a passkey from then on. The address is where a lost one is replaced.
  case passkey(email: String, username: String, asking: PasskeyPrompt)

  /// The codes of a refusal because another account has the address or the Apple account.
  public static let taken: Set<String> = ["email_taken", "identity_taken"]

  package var claim: SignInClaim {
    switch self {
    case .password(let email, _, _), .passkey(let email, _, _): SignInClaim(.upgrade, as: email)
    case .apple: SignInClaim(.upgrade)
    }
  }
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
