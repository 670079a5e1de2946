#if Server
public import HandstampCore

/// The configuration of Sign in with Apple.
public struct AppleSignIn: Sendable {
  /// The issuer of Apple's tokens.
  public static let issuer = "https://appleid.apple.com"
  /// The URL of Apple's keys.
  public static let keysURL = "https://appleid.apple.com/auth/keys"

  /// The apps and services whose tokens are accepted: their `aud`.
  public var clientIDs: Set<String>
  /// The `iss` of the tokens. Values other than Apple's are for tests.
  public var issuer: String
  /// The URL of the keys, as a JWK set (RFC 7517).
  public var keysURL: String
  /// Fetches the keys.
  public var transport: any Transport

  public init(
    clientIDs: Set<String>, issuer: String = AppleSignIn.issuer, keysURL: String = AppleSignIn.keysURL,
    transport: any Transport
  ) {
    self.clientIDs = clientIDs
    self.issuer = issuer
    self.keysURL = keysURL
    self.transport = transport
  }
}
#endif
