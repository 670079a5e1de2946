public import Handstamp

/// Asks the user of the device for a passkey.
public protocol PasskeySource: Sendable {
  /// Returns the device's answer. A cancelled task ends the request and throws ``SessionError/cancelled``.
  ///
  /// - Parameter options: `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 section 5.1.10) for a sign-in,
  ///   `PublicKeyCredentialCreationOptionsJSON` (section 5.1.9) for a new passkey.
  /// - Returns: `AuthenticationResponseJSON` (section 5.1.8.2) or `RegistrationResponseJSON` (section 5.1.8.1).
  /// - Throws: ``SessionError/unsupported(_:)`` for a request that the system does not have.
  @concurrent func answer(to options: [UInt8], for request: PasskeyRequest) async throws(SessionError) -> [UInt8]

  /// Tells the device's password managers of what has changed at the server. A hint: nothing tells whether they act on it.
  @concurrent func report(_ signal: PasskeySignal) async
}

/// The way in which a passkey is asked for.
public enum PasskeyRequest: Sendable, Hashable, CaseIterable {
  /// A sheet for a sign-in.
  case signIn
  /// An offer above the keyboard, which waits until the user takes it.
  case offer
  /// A sheet for a new passkey.
  case add
  /// A new passkey without a sheet, if the password manager has just filled in the account's password.
  case upgrade
}

/// The news about passkeys for the device's password managers.
public enum PasskeySignal: Sendable, Hashable {
  /// No account has this passkey: it was removed. The ID is in base64url.
  case unknown(id: String, domain: String)
  /// The account's passkeys are these; others of it were removed.
  case accepted(PasskeyList)
}
