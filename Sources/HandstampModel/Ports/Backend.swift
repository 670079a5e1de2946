/// The client side of one server's session protocol.
///
/// A backend refreshes and revokes; signing in is any function that returns a ``TokenResponse``. No requirement has a default,
/// so that a wrapper which forwards only some of them does not compile.
public protocol Backend: Sendable {
  /// The server's optional features.
  var abilities: BackendAbilities { get }

  /// Requests new tokens.
  ///
  /// With ``BackendAbilities/rotationKeys`` the same pair may be sent any number of times. Without, one call sends the token at
  /// most once and allows more time than ``RefreshPolicy/answerLimit``: the caller measures that limit in time during which the
  /// program runs, and cancels the task when it has passed. A transport time-out that fires earlier only lengthens the wait.
  ///
  /// - Parameters:
  ///   - token: the current refresh token.
  ///   - key: the rotation key to send with it; ignored without ``BackendAbilities/rotationKeys``.
  @concurrent func refresh(_ token: RefreshToken, key: RotationKey) async -> RefreshResult

  /// Ends one session at the server (RFC 7009). Called again later until it returns anything but
  /// ``RevocationResult/noDecision(_:)``.
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult
}

/// The optional features of a backend, as one value.
public struct BackendAbilities: Sendable {
  /// Whether the server accepts ``RotationKey``s. If not, a refresh token is presented only under the vault's refresh lock, and
  /// never again before ``RefreshPolicy/answerLimit`` has passed. Default `false`.
  public var rotationKeys: Bool
  /// The URL of the server that issues the tokens: only its 401 responses with the code `session_ended` end the session, those
  /// of other APIs do not. `nil` (the default) if no API's response ends the session.
  public var sessionAuthority: String?
  /// How requests carry the credential; `nil` (the default) for a bearer token (RFC 6750).
  public var credential: (any RequestCredential)?

  public init(
    rotationKeys: Bool = false, sessionAuthority: String? = nil, credential: (any RequestCredential)? = nil
  ) {
    self.rotationKeys = rotationKeys
    self.sessionAuthority = sessionAuthority
    self.credential = credential
  }

  package var usesBearerTokens: Bool { credential == nil }

  package func authorize(_ request: TransportRequest, with token: AccessToken, at now: UnixTime) -> AuthorizedRequest {
    credential?.authorize(request, with: token, at: now) ?? .ready(request.authorized(by: token))
  }

  package func inspect(
    _ response: TransportResponse, to request: TransportRequest, with token: AccessToken, at now: UnixTime
  ) -> ResponseVerdict {
    credential?.inspect(response, to: request, with: token, at: now) ?? .unchanged
  }
}

/// A credential other than a bearer token, such as a cookie. Requests with one carry no `Authorization` header, and it does not
/// support streams.
public protocol RequestCredential: Sendable {
  /// Returns the request with the credential in `token`, or the reason why that credential can no longer be used.
  func authorize(_ request: TransportRequest, with token: AccessToken, at now: UnixTime) -> AuthorizedRequest

  /// Returns the changes to the session that a response implies, apart from its content.
  func inspect(
    _ response: TransportResponse, to request: TransportRequest, with token: AccessToken, at now: UnixTime
  ) -> ResponseVerdict
}

/// A request with its credential.
public enum AuthorizedRequest: Sendable, Hashable {
  /// Send this request.
  case ready(TransportRequest)
  /// The credential has expired: nothing is sent, and the session ends for this reason.
  case ended(EndReason)
}

/// The effect of a response on the session.
public enum ResponseVerdict: Sendable, Hashable {
  /// The response does not affect the session.
  case unchanged
  /// The server replaced the credential. The new one is stored in the vault and used from then on.
  case renewed(AccessToken)
  /// The session has ended. Return this only if the response is unambiguous.
  case ended(EndReason)
}
