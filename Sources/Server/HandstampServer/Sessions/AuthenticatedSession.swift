#if Server
public import HandstampCore
public import HandstampRegistry

/// The session that a request belongs to, according to its access token and the registry.
public struct AuthenticatedSession: Sendable, Hashable {
  public let account: AccountID
  public let id: SessionID
  /// The scopes granted to the client that the token was issued to. `nil` if the token allows everything that the account's
  /// owner may do.
  public internal(set) var scopes: [String]?
  /// When the access token expires; the session may last longer.
  public let tokenExpiresAt: UnixTime
  /// The JWK thumbprint of the key that the token is bound to, whose possession the request has proved (RFC 9449).
  var thumbprint: String?
  /// When the user proved to be the account's owner, as the access token says, in whole seconds; `nil` if it does not say.
  public internal(set) var authenticatedAt: UnixTime?
  /// How, as the access token says; empty if it does not say.
  public internal(set) var methods: AuthenticationMethods = []
}
#endif
