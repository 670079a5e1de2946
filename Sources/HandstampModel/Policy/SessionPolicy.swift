/// When a session refreshes, how it retries, and when it ends by itself.
public struct SessionPolicy: Sendable, Hashable {
  public var refresh: RefreshPolicy
  public var retry: RetryPolicy
  /// Ends the session after this long without activity. Nothing: never. A jump back of the wall clock counts as zero.
  public var idleLimit: Duration?
  /// Ends the session this long after sign-in. Nothing: never.
  public var absoluteLimit: Duration?

  public init(
    refresh: RefreshPolicy = RefreshPolicy(), retry: RetryPolicy = RetryPolicy(),
    idleLimit: Duration? = nil, absoluteLimit: Duration? = nil
  ) {
    self.refresh = refresh
    self.retry = retry
    self.idleLimit = idleLimit
    self.absoluteLimit = absoluteLimit
  }
}

/// How far ahead of its end a token is replaced.
public struct RefreshPolicy: Sendable, Hashable {
  /// A token with less than this left is replaced in the background while it still serves. Default 5 min. Short-lived
  /// tokens get a smaller margin, see ``margin(forLife:)``.
  public var margin: Duration
  /// Whether to refresh by timer, before anybody asks. A program that runs for a second wants no timer.
  public var aheadOfExpiry: Bool
  /// An API that refuses every token cannot force a refresh of one that is younger than this. Default 5 s.
  public var minimumAge: Duration
  /// At a server that keeps no rotation keys: how long the answer to a refresh is waited for, and how long after a refresh
  /// without an answer the same token is not presented again, by any process. Default 60 s, at least 1 s.
  ///
  /// The sender counts time in which it ran: a suspended program loses none of it. Everybody else counts from the moment that
  /// the refresh was noted in the vault. A server that accepts the former token for a while after it was replaced (a grace
  /// time, overlap or leeway) forgives a repeat only when that lasts longer than this limit.
  public var answerLimit: Duration

  public init(
    margin: Duration = .seconds(300), aheadOfExpiry: Bool = true, minimumAge: Duration = .seconds(5),
    answerLimit: Duration = .seconds(60)
  ) {
    self.answerLimit = max(.seconds(1), answerLimit)
    self.margin = margin
    self.aheadOfExpiry = aheadOfExpiry
    self.minimumAge = minimumAge
  }

  /// The smaller of ``margin`` and a fifth of the token's life.
  ///
  /// | life | margin |
  /// |---|---|
  /// | 1 h | 5 min |
  /// | 10 min | 2 min |
  /// | 60 s | 12 s |
  public func margin(forLife life: Duration) -> Duration {
    max(.zero, min(margin, life / 5))
  }
}

/// How often a question that got no answer is asked again: exponential back-off with full jitter.
public struct RetryPolicy: Sendable, Hashable {
  /// How often one refresh asks before those who wait are told ``SessionError/unreachable(retryAfter:)``. At least 1.
  public var attempts: Int
  /// The upper bound of the first wait.
  public var base: Duration
  /// The upper bound of any wait, `Retry-After` included.
  public var cap: Duration

  public init(attempts: Int = 4, base: Duration = .milliseconds(250), cap: Duration = .seconds(30)) {
    self.attempts = max(1, attempts)
    self.base = base
    self.cap = cap
  }

  /// The wait before attempt `attempt + 1`: `Retry-After` where the server gave one, else a random part of
  /// `base · 2^(attempt − 1)`; never above ``cap``.
  ///
  /// | attempt | upper bound with a base of 250 ms |
  /// |---|---|
  /// | 1 | 250 ms |
  /// | 2 | 500 ms |
  /// | 3 | 1 s |
  public func delay(afterAttempt attempt: Int, entropy: UInt64, retryAfter: Duration?) -> Duration {
    if let retryAfter { return min(max(retryAfter, .zero), cap) }
    let bound = min(base * (1 << min(max(attempt - 1, 0), 20)), cap)
    return bound * (Double(entropy >> 11) / Double(1 << 53))
  }
}
