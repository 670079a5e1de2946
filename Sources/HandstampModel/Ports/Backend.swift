/// Speaks one sign-in protocol to someone's server. Two functions make a backend; signing in is any function of yours that
/// returns a ``Grant``.
public protocol Backend: Sendable {
  /// Whether the server keeps ``RotationKey``s. Where it does not, a refresh is never asked for without the flight lock.
  var keepsRotationKeys: Bool { get }

  /// An address of the server that issues the tokens: its word, and no other API's, that a session is over ends the session.
  /// Nothing, which is the default, where no API is believed.
  var authority: String? { get }

  /// Whether requests carry the access token as a bearer (RFC 6750). Where they do not, nothing but ``authorize(_:with:at:)``
  /// knows what to do with it: there is no header to be had, and no stream.
  var sendsBearer: Bool { get }

  /// The request as it goes out with `token`, or the reason why that token makes no request any more.
  func authorize(_ request: TransportRequest, with token: AccessToken, at now: UnixTime) -> AuthorizedRequest

  /// What an answer says about the session, beside its content: by default nothing.
  func notice(
    in response: TransportResponse, to request: TransportRequest, with token: AccessToken, at now: UnixTime
  ) -> SessionNotice

  /// Asks for new tokens.
  ///
  /// Where the server keeps rotation keys, the same pair may be sent any number of times. Where it does not, one call sends the
  /// token at most once, and waits for the answer for longer than ``RefreshPolicy/answerLimit``: the caller counts that limit
  /// in time during which the program ran, and cancels the task when it is over. A time-out of the transport that strikes
  /// earlier costs nothing but waiting.
  ///
  /// Only ``RefreshFailure/rejected(_:)`` and ``RefreshFailure/rolledBack`` end anything; every other failure keeps the session.
  @concurrent func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure>

  /// Ends one session at the server. Asked again until it returns, or throws ``SessionError/rejected(_:)`` because the server
  /// knows no such session, or ``SessionError/refused(code:detail:)`` because the server said that it will never end it: that
  /// is written to the audit log and to `SessionController.refusedRevocations`. After ``SessionError/invalidAnswer(_:)``, an answer
  /// of the server that decides nothing, such as a bare 401, it is asked again much later (``DeliveryDelay``).
  @concurrent func revoke(_ handle: RevocationHandle) async throws(SessionError)
}

extension Backend {
  public var keepsRotationKeys: Bool { true }
  public var authority: String? { nil }
  public var sendsBearer: Bool { true }

  public func authorize(_ request: TransportRequest, with token: AccessToken, at now: UnixTime) -> AuthorizedRequest {
    .ready(request.authorized(by: token))
  }

  public func notice(
    in response: TransportResponse, to request: TransportRequest, with token: AccessToken, at now: UnixTime
  ) -> SessionNotice { .nothing }
}

/// A request, as far as it can go out for a session.
public enum AuthorizedRequest: Sendable, Hashable {
  case ready(TransportRequest)
  /// What the session has is over by itself: nothing is sent, and the session ends for this reason.
  case over(EndReason)
}

/// What an answer said about the session that asked.
public enum SessionNotice: Sendable, Hashable {
  case nothing
  /// The server replaced what the next requests carry. It is kept in the vault, and used from then on.
  case renewed(AccessToken)
  /// The session is over. For the backend to say only where the server's word leaves no doubt.
  case over(EndReason)
}
