/// The server's answer to a refresh.
public enum RefreshResult: Sendable, Hashable {
  /// New tokens.
  case granted(TokenResponse)
  /// The session has ended: the token endpoint answered 400 (some servers: 401 or 403) with a JSON body whose `error` is
  /// `invalid_grant` (RFC 6749 section 5.2), or a server with its own protocol answered with that protocol's equivalent. No
  /// other response to a refresh may be reported as `rejected`.
  ///
  /// The client reads the vault again: it continues with a newer token found there, otherwise it ends the session and
  /// revokes it at the server.
  case rejected(EndReason)
  /// The same response with `superseded` in `error_code`, Handstamp's extension field: the server has already replaced this
  /// refresh token.
  ///
  /// The client reads the vault again: it continues with a newer token found there. Otherwise the vault is an older copy: the
  /// state becomes `unavailable` with ``SessionError/storageOutdated``, nothing is erased, and the session is revoked at the
  /// server.
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
