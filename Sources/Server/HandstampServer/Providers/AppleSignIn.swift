#if Server
public import HandstampCore

/// The configuration of Sign in with Apple.
public struct AppleSignIn: Sendable {
  /// The issuer of Apple's tokens.
  public static let issuer = "https://appleid.apple.com"
  /// The URL of Apple's keys.
  public static let keysURL = "https://appleid.apple.com/auth/keys"
  /// The URL that exchanges codes for tokens.
  public static let tokenURL = "https://appleid.apple.com/auth/token"
  /// The URL that revokes tokens.
  public static let revocationURL = "https://appleid.apple.com/auth/revoke"

  /// The apps and services whose tokens are accepted: their `aud`.
  public var clientIDs: Set<String>
  /// The `iss` of the tokens. Values other than Apple's are for tests.
  public var issuer: String
  /// The URL of the keys, as a JWK set (RFC 7517).
  public var keysURL: String
  /// The team's key, with which Apple's tokens of an account are revoked when it is deleted; `nil` leaves that to the user, in the
  /// settings of the device.
  public var key: AppleKey?
  public var tokenURL: String
  public var revocationURL: String
  /// Fetches the keys.
  public var transport: any Transport

  public init(
    clientIDs: Set<String>, issuer: String = AppleSignIn.issuer, keysURL: String = AppleSignIn.keysURL,
    key: AppleKey? = nil, tokenURL: String = AppleSignIn.tokenURL, revocationURL: String = AppleSignIn.revocationURL,
    transport: any Transport
  ) {
    self.clientIDs = clientIDs
    self.issuer = issuer
    self.keysURL = keysURL
    self.key = key
    self.tokenURL = tokenURL
    self.revocationURL = revocationURL
    self.transport = transport
  }
}
#endif
