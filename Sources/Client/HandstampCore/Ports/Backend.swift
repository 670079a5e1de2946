/// The client side of one server's session protocol.
///
/// A backend refreshes and revokes; signing in is any function that returns a ``TokenResponse``. No requirement has a default,
/// so that a wrapper which forwards only some of them does not compile.
public protocol Backend: Sendable {
  /// The server's optional features.
  var abilities: BackendAbilities { get }

  /// Requests new tokens.
  ///
  /// If the server accepts the rotation key, this call may send the same token and key again. If not, it must send the token at
  /// most once, with ``TransportRequest/mayReuseConnection`` set to `false`, and with a ``TransportRequest/timeout`` longer
  /// than ``RefreshPolicy/responseTimeout`` (default 60 s): the default of 20 s is too short. A response that arrives after the
  /// time-out is lost, and the new refresh token with it. The controller cancels the call after at most
  /// ``RefreshPolicy/responseTimeout``, not counting time in which the program was suspended.
  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult

  /// Ends one session at the server (RFC 7009).
  ///
  /// Called again later, also after a restart, until it returns anything but ``RevocationResult/noDecision(_:)``: a session
  /// that the server has already ended is ``RevocationResult/ended``.
  ///
  /// - Parameter handle: the ``TokenResponse/revocation`` of the session's sign-in. If that was the session's refresh token,
  ///   the newest one.
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult
}

/// The optional features of a backend, as one value.
public struct BackendAbilities: Sendable {
  /// Whether the server accepts a ``RotationKey`` with every refresh of every session: an idempotency key for one rotation of the
  /// refresh token, not a cryptographic key. If not, a refresh token is presented only under the vault's refresh lock, and never
  /// again while a response to it may arrive; except in sessions whose last response has
  /// ``TokenResponse/acceptsRotationKey``. Default `false`.
  public var supportsRotationKeys: Bool
  /// Whether ``Backend/refresh(_:)`` obeys a ``RefreshRequest/target``. Default `false`.
  public var supportsTargets: Bool
  /// How the server treats a refresh token that it has replaced; `nil` (the default) if that is not known.
  /// ``RefreshPolicy/reuse`` takes precedence.
  public var reuse: RefreshTokenReuse?
  /// The URL of the server that issues the tokens. Its 401 responses end the session if the `code` of the problem document (RFC
  /// 9457) is `session_ended`. Matched as an origin (scheme, host, port); responses of other origins do not end the session.
  /// `nil` (the default) if no API's response ends it.
  public var sessionEndingOrigin: String?
  /// The server that issues the tokens: the issuer's URL (RFC 8414 section 2), or the URL of the server. It is stored with each
  /// session, whose tokens are sent to no other server: a vault that holds another server's session is
  /// ``VaultError/otherServer(_:)``. Compared without regard to the case of scheme and host, the usual port, and slashes at the
  /// end. `nil` (the default) if that is not checked.
  public var issuer: String?
  /// Whether every ``TokenResponse`` names the issuer, so that a list of accounts tells servers apart by it.
  package var namesIssuer = false
  /// Whether the refresh token ends its session at the server (RFC 7009), so that a session that was taken over without a
  /// ``TokenResponse/revocation`` can be revoked with it. Default `false`.
  public var revokesRefreshTokens: Bool
  /// How requests carry the credential; `nil` (the default) for a bearer token (RFC 6750), and for a DPoP-bound token, to whose
  /// requests the transport adds the proof.
  public var credential: (any RequestCredential)?

  public init(
    supportsRotationKeys: Bool = false, sessionEndingOrigin: String? = nil,
    credential: (any RequestCredential)? = nil, reuse: RefreshTokenReuse? = nil, supportsTargets: Bool = false,
    issuer: String? = nil, revokesRefreshTokens: Bool = false
  ) {
    self.issuer = issuer
    self.revokesRefreshTokens = revokesRefreshTokens
    self.supportsTargets = supportsTargets
    self.reuse = reuse
    self.supportsRotationKeys = supportsRotationKeys
    self.sessionEndingOrigin = sessionEndingOrigin
    self.credential = credential
  }

  package var usesBearerTokens: Bool { credential == nil }

  package func authorize(
    _ request: TransportRequest, with credential: Credential, at now: UnixTime
  ) -> TransportRequest? {
    if let scheme = self.credential { return scheme.authorize(request, with: credential, at: now) }
    return credential.token.map(request.authorized(by:)) ?? request
  }
}

/// How requests carry a credential other than a bearer token: cookies, or an access token in a header of the server's own. Such
/// requests carry no `Authorization` header, and streams are not supported.
public protocol RequestCredential: Sendable {
  /// Returns the request with `credential`; `nil` if that has expired: nothing is sent, and the session ends with
  /// ``EndReason/expired``.
  func authorize(_ request: TransportRequest, with credential: Credential, at now: UnixTime) -> TransportRequest?

  /// Returns the changes to the session that a response implies, apart from its content. `credential` is the one in use, which may
  /// have replaced the one that `request` was sent with.
  func inspect(
    _ response: TransportResponse, to request: TransportRequest, with credential: Credential, at now: UnixTime
  ) -> ResponseVerdict
}

/// The effect of a response on the session.
public enum ResponseVerdict: Sendable, Hashable {
  /// The response does not affect the session.
  case unchanged
  /// The server replaced the credential. The new one is stored in the vault and used from then on, for the lifetime of the
  /// previous one: sign in without ``TokenSet/expiresIn`` where each response may extend it.
  case renewed(Credential)
  /// The session has ended. Return this only if the response is unambiguous.
  case ended(EndReason)
}
