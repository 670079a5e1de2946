/// Evidence that the person at the device is the account's owner, where a session alone is not enough: to delete the account, to
/// change its password or its passkeys, to end its sessions elsewhere (OWASP ASVS 7.5).
public enum Proof: Sendable {
  /// The password, with the code of an authenticator app if the account has one: six digits.
  case password(Secret, code: Secret? = nil)
  /// A passkey of the account.
  case passkey(PasskeyPrompt)
  /// A new credential of Sign in with Apple.
  case apple(AppleCredential)
  /// The code of the mail that ``AccountBackend/mailProof(token:)`` sends.
  case mailedCode(Secret)

  /// A proof that a server accepts of an account.
  public enum Kind: String, Sendable, CaseIterable {
    case password
    /// The password together with the code of an authenticator app.
    case passwordAndCode = "password_and_code"
    case passkey
    case apple
    /// For accounts that have nothing else of these.
    case mailedCode = "mailed_code"
    /// Only on the server's own page, such as with another identity provider.
    case page
  }
}

/// Passes a server's options to the device, and returns its answer. Both are JSON text of WebAuthn Level 3. On Apple's systems
/// `PasskeySheet` of HandstampUI asks.
public typealias PasskeyPrompt = @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]

/// The result of Apple's sheet.
public struct AppleCredential: Sendable, Hashable {
  /// The identity token, a JWT that the server checks.
  public var idToken: Secret
  /// The value whose SHA-256, in hexadecimal, was the `nonce` of Apple's request: 16 to 256 bytes, for one sign-in only.
  public var nonce: String
  /// The user's name; Apple sends it once, at the first sign-in with an app.
  public var name: String?
  /// With it a server gets the tokens that it revokes when the account is deleted. It is good for five minutes, and once.
  public var authorizationCode: Secret?
  /// Apple's ID of the user, the same for all apps of a team; `AppleSheet.isValid(_:)` asks for its state.
  public var user: String?

  public init(
    idToken: Secret, nonce: String, name: String? = nil, authorizationCode: Secret? = nil, user: String? = nil
  ) {
    self.idToken = idToken
    self.nonce = nonce
    self.name = name
    self.authorizationCode = authorizationCode
    self.user = user
  }
}
