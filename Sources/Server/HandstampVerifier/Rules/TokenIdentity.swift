#if Verifier
public import HandstampCore

/// The content of a verified access token: the user, and the permissions.
public struct TokenIdentity: Sendable, Hashable {
  /// `iss`: the server that issued the token.
  public let issuer: String
  /// `sub`: the account; in a client's own token the client, see ``isMachine``.
  public let subject: String
  /// `client_id`: the client that the token was issued to.
  public let clientID: String
  /// `aud`: the APIs that the token is for.
  public let audiences: [String]
  /// `scope`, split at spaces; empty if the token has none.
  public let scopes: [String]
  /// Whether the token is one of ``VerifierConfiguration/firstPartyClients``, and so needs no scope.
  public let hasAllScopes: Bool
  /// `sid`: the session that the token belongs to; `nil` if the issuer does not say.
  public let sessionID: String?
  /// `jti`: unique for each token of the issuer.
  public let tokenID: String
  /// `iat`, to the second.
  public let issuedAt: UnixTime
  /// `exp`, to the second: the first instant at which the token is no longer valid.
  public let expiresAt: UnixTime
  /// `auth_time`: when the user last proved to be the account's owner; `nil` if the issuer does not say.
  public let authenticatedAt: UnixTime?
  /// `acr`: how strong that proof was; `nil` if the issuer does not say. See ``AuthenticationRule``.
  public let acr: String?
  /// `amr`: how it was made, in words of RFC 8176; empty if the issuer does not say.
  public let methods: [String]
  /// The thumbprint (RFC 7638) of the key that the token is bound to (RFC 9449 section 6); `nil` for a bearer token.
  public let keyThumbprint: String?
  /// How it is known that the session has not ended.
  public internal(set) var assurance: SessionAssurance = .expiryOnly
  /// All claims, as a JSON object in UTF-8, to decode claims of your own from.
  public let claims: [UInt8]

  /// Whether the client got the token for itself, by client credentials for example: the subject is the client, and no user has signed
  /// in (RFC 9068 section 2.2). Only with ``VerifierConfiguration/admitsMachines``.
  public var isMachine: Bool { subject == clientID }

  /// Returns whether the token was granted all of these scopes.
  public func has(scopes required: some Sequence<String>) -> Bool {
    hasAllScopes || required.allSatisfy { scopes.contains($0) }
  }
}

extension TokenIdentity: CustomStringConvertible, CustomReflectable {
  /// Subject and client, without the claims.
  public var description: String { "\(subject) by \(clientID)" }
  public var customMirror: Mirror { Mirror(self, children: ["subject": subject, "client": clientID]) }
}

/// How a verifier knows that the session of a token has not ended.
public enum SessionAssurance: Sendable, Hashable {
  /// The revocation feed is live, and does not list the session.
  case live
  /// The feed was lost at that time; the session had not ended before. ``LostFeedPolicy`` allows going on for a while.
  case stale(since: UnixTime)
  /// The server was asked just now (RFC 7662).
  case introspected
  /// Not known: the verifier follows no feed, or the token names no session. The token ends by its expiry alone.
  case expiryOnly
}
#endif
