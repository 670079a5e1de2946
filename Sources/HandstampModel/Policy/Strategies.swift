/// The refresh strategies, as values. `docs/strategies.md` compares them.
///
/// | | refreshes | margin | attempts | idle limit | absolute limit |
/// |---|---|---|---|---|---|
/// | ``SessionPolicy/onRejection`` | when a caller asks and the token has expired or was rejected | none | 4 | none | none |
/// | ``SessionPolicy/aheadOfExpiry`` (default) | by timer, before the token expires | 5 min | 4 | none | none |
/// | ``SessionPolicy/background`` | by timer, earlier and with more attempts | 10 min | 6 | none | none |
/// | ``SessionPolicy/offlineFirst`` | by timer, when 30 min or less remain | 30 min | 1 | none | none |
/// | ``SessionPolicy/highSecurity`` | only when a caller asks | none | 2 | 15 min | 12 h |
///
/// A margin is never more than a fifth of a token's lifetime, see ``RefreshPolicy/margin(forLifetime:)``.
extension SessionPolicy {
  /// Refreshes only when a caller asks for a token: for short-lived programs, and to save battery and data.
  public static var onRejection: SessionPolicy { SessionPolicy(refresh: .onRejection) }

  /// Replaces a token before it expires, so that no caller waits for a refresh. The default.
  public static var aheadOfExpiry: SessionPolicy { SessionPolicy(refresh: .aheadOfExpiry) }

  /// For live streams: replaces the token early enough to retry several times before the server drops the connection, so that a
  /// stream can move to the new token while the old one is still valid.
  public static var background: SessionPolicy {
    SessionPolicy(refresh: .background, retry: RetryPolicy(attempts: 6, cap: .seconds(60)))
  }

  /// For apps that queue their writes: keeps a fresh token available while there is a network; without one, callers get an
  /// error at once.
  public static var offlineFirst: SessionPolicy {
    SessionPolicy(refresh: .offlineFirst, retry: RetryPolicy(attempts: 1, cap: .seconds(300)))
  }

  /// Minimises exposure: requests no token ahead of need, and ends the session after 15 min without activity and after 12 h in
  /// any case (NIST SP 800-63B section 4.3.3, AAL3). The server decides the lifetime of tokens: choose minutes.
  public static var highSecurity: SessionPolicy {
    SessionPolicy(
      refresh: .highSecurity, retry: RetryPolicy(attempts: 2, cap: .seconds(10)), idleLimit: .seconds(15 * 60),
      absoluteLimit: .seconds(12 * 3600))
  }
}

extension RefreshPolicy {
  /// No timer, no margin.
  public static var onRejection: RefreshPolicy { RefreshPolicy(margin: .zero, usesTimer: false) }
  /// By timer, 5 min ahead.
  public static var aheadOfExpiry: RefreshPolicy { RefreshPolicy() }
  /// By timer, 10 min ahead.
  public static var background: RefreshPolicy { RefreshPolicy(margin: .seconds(600)) }
  /// By timer, 30 min ahead.
  public static var offlineFirst: RefreshPolicy { RefreshPolicy(margin: .seconds(1800)) }
  /// No timer, no margin.
  public static var highSecurity: RefreshPolicy { RefreshPolicy(margin: .zero, usesTimer: false) }
}
