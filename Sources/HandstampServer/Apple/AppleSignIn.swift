#if Server
public import HandstampCore

/// What a server needs to take Sign in with Apple.
public struct AppleSignIn: Sendable {
  /// Whom Apple's tokens are from.
  public static let issuer = "https://appleid.apple.com"
  /// Where Apple's keys are.
  public static let keysURL = "https://appleid.apple.com/auth/keys"

  /// The apps and services whose tokens are taken: their `aud`.
  public var clientIDs: Set<String>
  /// The `iss` of the tokens. Another one than Apple's is for tests.
  public var issuer: String
  /// Where the keys are fetched, as a JWK set (RFC 7517).
  public var keysURL: String
  /// Fetches them.
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

/// Why an identity token was not taken.
enum IdentityTokenFault: Error, Hashable {
  /// Not Apple's, damaged, over, for another app, or with another nonce. Which of these is nobody's business.
  case invalid
  /// The keys cannot be had now; the text says why.
  case unavailable(String)
}
#endif
