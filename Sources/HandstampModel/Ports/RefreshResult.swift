/// The server's answer to a refresh.
public enum RefreshResult: Sendable, Hashable {
  /// New tokens.
  case granted(TokenResponse)
  /// The session has ended: the token endpoint answered 400 or 401 with a JSON body whose `error` is `invalid_grant` (RFC 6749
  /// section 5.2). No other response ends a session.
  case rejected(EndReason)
  /// The same response with `error_code` `superseded`: the server has already replaced this refresh token.
  case superseded
  /// Anything else: no response, a time-out, a 5xx, a 429, an HTML page, `invalid_client`. The session continues, and the
  /// refresh is retried after `retryAfter` at the earliest.
  case noDecision(RequestFailure, retryAfter: Duration? = nil)
}

/// The server's answer to a revocation.
public enum RevocationResult: Sendable, Hashable {
  /// The session has ended at the server, or the server knows no such session.
  case ended
  /// The server refuses permanently, with its error code, such as `unsupported_token_type`. Recorded in the audit log and in
  /// `SessionController.refusedRevocations`.
  case refused(code: String)
  /// Anything else: retried later. After a refusal without an error code, such as a bare 401, the retry comes much later.
  case noDecision(RequestFailure)
}
