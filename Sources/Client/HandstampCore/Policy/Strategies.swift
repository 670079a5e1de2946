/// The refresh strategies, as values. `docs/strategies.md` compares them.
///
/// | | refreshes | margin | attempts | longest delay | idle limit | absolute limit |
/// |---|---|---|---|---|---|---|
/// | ``SessionPolicy/onRejection`` | on demand | none | 4 | 30 s | none | none |
/// | ``SessionPolicy/aheadOfExpiry`` (default) | by timer | 5 min | 4 | 30 s | none | none |
/// | ``SessionPolicy/background`` | by timer | 10 min | 6 | 60 s | none | none |
/// | ``SessionPolicy/offlineFirst`` | by timer | 30 min | 1 | 5 min | none | none |
/// | ``SessionPolicy/highSecurity`` | on demand | none | 2 | 10 s | 15 min | 12 h |
///
/// On demand: when a caller asks for a token, and the current one has expired, does not last long enough for that caller, or
/// was rejected. By timer: also when no more of the lifetime remains than the margin, which is at most a fifth of it,
/// see ``RefreshPolicy/margin``. The idle limit counts from the last call of
/// `SessionController.updateSessionActivity()`, see ``SessionPolicy/idleLimit``.
extension SessionPolicy {
  /// Refreshes on demand only: for short-lived programs, and to save battery and data.
  public static var onRejection: SessionPolicy {
    SessionPolicy(refresh: RefreshPolicy(margin: .zero, usesTimer: false))
  }

  /// Replaces a token before it expires, so that no caller waits for a refresh. The default.
  public static var aheadOfExpiry: SessionPolicy { SessionPolicy() }

  /// For live streams: replaces the token early enough to retry several times before the server drops the connection, so that a
  /// stream can move to the new token while the old one is still valid.
  public static var background: SessionPolicy {
    SessionPolicy(refresh: RefreshPolicy(margin: .seconds(600)), retry: RetryPolicy(attempts: 6, cap: .seconds(60)))
  }

  /// For apps that queue their writes: keeps a fresh token available while there is a network; without one, callers get an
  /// error at once.
  public static var offlineFirst: SessionPolicy {
    SessionPolicy(refresh: RefreshPolicy(margin: .seconds(1800)), retry: RetryPolicy(attempts: 1, cap: .seconds(300)))
  }

  /// Minimizes exposure: refreshes on demand only, and ends the session after 15 min without activity and after 12 h in any
  /// case (AAL3 of NIST SP 800-63B-4; section 4.3.3 in the edition of 2017). The server decides the lifetime of tokens: choose
  /// minutes.
  ///
  /// Activity is only a call of `SessionController.updateSessionActivity()`: `AuthGuardView` makes one for each input of the
  /// user, and an app without it makes its own. Without any, the session ends 15 min after sign-in, whatever requests are sent.
  public static var highSecurity: SessionPolicy {
    SessionPolicy(
      refresh: RefreshPolicy(margin: .zero, usesTimer: false), retry: RetryPolicy(attempts: 2, cap: .seconds(10)),
      idleLimit: .seconds(15 * 60),
      absoluteLimit: .seconds(12 * 3600))
  }
}
