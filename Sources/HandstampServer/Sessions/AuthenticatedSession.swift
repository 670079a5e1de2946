#if Server
public import HandstampCore

/// The session that a request belongs to, according to its access token and the registry.
public struct AuthenticatedSession: Sendable, Hashable {
  public let account: AccountID
  public let id: SessionID
  /// The scopes granted to the client that the token was issued to. `nil` if the token allows everything that the account's
  /// owner may do.
  public let scopes: [String]?
  /// When the access token expires; the session may last longer.
  public let tokenExpiresAt: UnixTime

  init(account: AccountID, id: SessionID, scopes: [String]? = nil, tokenExpiresAt: UnixTime) {
    self.account = account
    self.id = id
    self.scopes = scopes
    self.tokenExpiresAt = tokenExpiresAt
  }
}
#endif
