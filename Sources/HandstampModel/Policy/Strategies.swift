/// The strategies of refreshing, as values. `docs/strategies.md` says which to pick when.
///
/// | | refreshes | margin | attempts | idle limit | absolute limit |
/// |---|---|---|---|---|---|
/// | ``SessionPolicy/onRejection`` | when somebody asks and the token is over or was refused | none | 4 | none | none |
/// | ``SessionPolicy/aheadOfExpiry`` (default) | by timer, before the token is over | 5 min | 4 | none | none |
/// | ``SessionPolicy/background`` | the same, sooner and more patiently | 10 min | 6 | none | none |
/// | ``SessionPolicy/offlineFirst`` | as soon as half an hour or less is left | 30 min | 1 | none | none |
/// | ``SessionPolicy/highSecurity`` | only when somebody asks | none | 2 | 15 min | 12 h |
///
/// A margin is never more than a fifth of a token's life, see ``RefreshPolicy/margin(forLife:)``.
extension SessionPolicy {
  /// Nothing happens until somebody asks for a token: for programs that run for a second, and for battery and data.
  public static var onRejection: SessionPolicy { SessionPolicy(refresh: .onRejection) }

  /// A token is replaced before it is over, so that no caller waits for a refresh. The default.
  public static var aheadOfExpiry: SessionPolicy { SessionPolicy(refresh: .aheadOfExpiry) }

  /// For live streams: the token is replaced early enough to try several times before the server drops the connection, and
  /// a stream moves to the new token while the old one still serves.
  public static var background: SessionPolicy {
    SessionPolicy(refresh: .background, retry: RetryPolicy(attempts: 6, cap: .seconds(60)))
  }

  /// For apps whose writes go through a queue: a fresh token is kept in stock while there is a network, and a caller without
  /// one learns at once that there is none.
  public static var offlineFirst: SessionPolicy {
    SessionPolicy(refresh: .offlineFirst, retry: RetryPolicy(attempts: 1, cap: .seconds(300)))
  }

  /// A small window of exposure: no token is minted that nobody asked for, and the session ends after 15 min without
  /// activity and after 12 h in any case (NIST SP 800-63B section 4.3.3, AAL3). How long a token lives is the server's
  /// choice: pick minutes.
  public static var highSecurity: SessionPolicy {
    SessionPolicy(
      refresh: .highSecurity, retry: RetryPolicy(attempts: 2, cap: .seconds(10)), idleLimit: .seconds(15 * 60),
      absoluteLimit: .seconds(12 * 3600))
  }
}

extension RefreshPolicy {
  /// No timer, no margin.
  public static var onRejection: RefreshPolicy { RefreshPolicy(margin: .zero, aheadOfExpiry: false) }
  /// By timer, 5 min ahead.
  public static var aheadOfExpiry: RefreshPolicy { RefreshPolicy() }
  /// By timer, 10 min ahead.
  public static var background: RefreshPolicy { RefreshPolicy(margin: .seconds(600)) }
  /// By timer, 30 min ahead.
  public static var offlineFirst: RefreshPolicy { RefreshPolicy(margin: .seconds(1800)) }
  /// No timer, no margin.
  public static var highSecurity: RefreshPolicy { RefreshPolicy(margin: .zero, aheadOfExpiry: false) }
}
