/// The server's response to a refresh.
public enum RefreshResult: Sendable, Hashable {
  /// New tokens.
  case granted(TokenResponse)
  /// The session has ended: the status is 400 (at some servers 401 or 403), with a JSON body whose `error` is `invalid_grant`
  /// (RFC 6749 section 5.2), or the response is the equivalent of a server's own protocol, such as GitHub's `bad_refresh_token`. No
  /// other response to a refresh may be reported as `rejected`. For a plain `invalid_grant`, which gives no reason, return ``EndReason/rejected``.
  ///
  /// The client reads the vault again: it continues with a newer token found there; otherwise it ends the session, and revokes
  /// it at the server if it has a handle.
  case rejected(EndReason)
  /// The same response with `superseded` in `error_code`, Handstamp's extension field: the server has already replaced this
  /// refresh token.
  ///
  /// The client reads the vault again: it continues with a newer token found there. Otherwise the vault is an older copy: the
  /// state becomes `unavailable` with ``SessionError/storageOutdated``, nothing is erased here, and the session is revoked at
  /// the server if it has a handle. The user has to sign in again.
  case superseded
  /// Anything else: no response, a time-out, a 5xx, a 429, an HTML page, `invalid_client`. The session continues, and the
  /// refresh is retried after `retryAfter`, but at most ``RetryPolicy/cap``; without one, by the back-off of ``RetryPolicy``.
  /// At a server without rotation keys, the failure also says whether a response may still arrive: after a broken connection, or a
  /// complete response of something else than the endpoint, the token is presented again within seconds, after a time-out only
  /// when the limit of the first attempt has passed.
  case noDecision(RequestError, retryAfter: Duration? = nil)
}

extension RefreshResult {
  /// The end that Handstamp's own server reports, of the session or of this refresh token alone.
  package init(end refusal: TokenRefusal) {
    self =
      refusal.error_code == "superseded"
      ? .superseded : .rejected(EndReason(reported: refusal.reason, at: refusal.provider))
  }
}

/// The server's response to a revocation.
public enum RevocationResult: Sendable, Hashable {
  /// The session has ended at the server, or the server knows no such session.
  case ended
  /// The server refuses permanently, with its error code, such as `unsupported_token_type`. Not retried; recorded in the audit
  /// log.
  case refused(code: String)
  /// Anything else. Retried until there is a decision, also after a restart, by the back-off of ``SessionPolicy/retry`` without
  /// its limit of attempts. After a 4xx that decides nothing, such as a bare 401 (but not a 403, 407, 408, 425 or 429), retries
  /// are a minute apart, doubled each time up to a day. A vault keeps at most 32 such sessions, the newest.
  case noDecision(RequestError)
}
