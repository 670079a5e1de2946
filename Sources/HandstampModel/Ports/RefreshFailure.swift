/// Why a refresh brought no tokens, and what that says about the token that was presented.
public enum RefreshFailure: Error, Sendable, Hashable {
  /// HTTP 400 or 401 of the token endpoint with a JSON body whose `error` is `invalid_grant` (RFC 6749 section 5.2).
  case rejected(EndReason)
  /// The same with `error_code` `superseded`: the server has moved on from this token.
  case rolledBack
  /// Any other error response of RFC 6749 section 5.2: the server has answered, and the token is what it was.
  case refused(code: String, retryAfter: Duration? = nil)
  /// No byte of the request was handed to the system: no network, no such host, no connection. The token is what it was.
  case notSent(retryAfter: Duration? = nil)
  /// A token response without a usable access token, and with a new refresh token: it is stored, the access token stays.
  case unusable(successor: RefreshToken, reason: String)
  /// Everything else: no answer, one that was cut off, a time-out, a 5xx, a 429, a page of HTML. The server may have replaced
  /// the token. When in doubt, this one.
  case unreachable(retryAfter: Duration?)

  /// An error that came up on the way to the token endpoint, before anything was sent there.
  public init(beforeSending error: SessionError) {
    if case .unreachable(let retryAfter) = error { self = .notSent(retryAfter: retryAfter) } else { self = .notSent() }
  }

  /// What any error says that came up when the token may have been sent.
  public init(_ error: SessionError) {
    self =
      switch error {
      case .rejected(let reason): .rejected(reason)
      case .rolledBack: .rolledBack
      case .refused(let code, _): .refused(code: code)
      case .unreachable(let retryAfter): .unreachable(retryAfter: retryAfter)
      default: .unreachable(retryAfter: nil)
      }
  }
}
