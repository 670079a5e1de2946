/// When a session refreshes its tokens, how it retries, and when it ends on its own.
public struct SessionPolicy: Sendable, Hashable {
  /// When tokens are refreshed. Default: by timer, 5 min before they expire.
  public var refresh: RefreshPolicy
  /// How failed refreshes, revocations and clean-up steps are retried. Default: 4 attempts.
  public var retry: RetryPolicy
  /// The longest time without activity before the session ends; `nil` (the default) disables the limit.
  ///
  /// Activity is only a call of `SessionController.updateSessionActivity()`, in this program or in another that shares the
  /// vault. The view `AuthGuardView` makes one for each input of the user. Requests and refreshes do not count: without such
  /// calls the session ends this long after sign-in. A backward jump of the wall clock counts as zero.
  public var idleLimit: Duration?
  /// The longest time since sign-in before the session ends; `nil` (the default) disables the limit.
  public var absoluteLimit: Duration?
  /// How long before an end by a limit the session's state has its ``SignedIn/upcomingEnd``. Default 60 s; zero for never. At
  /// most a fifth of the limit: use in another program that shares the vault is known by then.
  ///
  /// | limit | the state says so |
  /// |---|---|
  /// | 15 min | 60 s before |
  /// | 5 min | 60 s before |
  /// | 60 s | 12 s before |
  public var endNotice: Duration

  /// Creates a policy; by default tokens are refreshed ahead of expiry, and the session has no limits.
  public init(
    refresh: RefreshPolicy = RefreshPolicy(), retry: RetryPolicy = RetryPolicy(),
    idleLimit: Duration? = nil, absoluteLimit: Duration? = nil, endNotice: Duration = .seconds(60)
  ) {
    self.refresh = refresh
    self.retry = retry
    self.idleLimit = idleLimit
    self.absoluteLimit = absoluteLimit
    self.endNotice = endNotice
  }

  /// Returns how long before an end by `limit` it counts as near.
  package func notice(of limit: Duration) -> Duration { max(.zero, min(endNotice, limit / 5)) }
}

/// How far ahead of its expiry a token is replaced.
public struct RefreshPolicy: Sendable, Hashable {
  /// The remaining lifetime below which a token is replaced in the background while it is still valid, if ``usesTimer``.
  /// Default 5 min. Short-lived tokens get a smaller margin, at most a fifth of their lifetime.
  public var margin: Duration
  /// Whether a token is replaced within its ``margin``, by a timer or when a caller asks for it. `false`: only when it has
  /// expired, does not last long enough for a caller, or was rejected. Default `true`. Short-lived programs do not need the
  /// timer.
  public var usesTimer: Bool
  /// The age below which a rejected token is not refreshed again, so that an API which rejects every token cannot force a
  /// refresh loop. Default 5 s.
  public var minimumAge: Duration
  /// For servers without rotation keys: how long to wait for the response to a refresh that may still arrive, and how long no
  /// process presents the same token again meanwhile. Default 60 s, at least 1 s. What is known of the server shortens it, see
  /// ``reuse``.
  ///
  /// The sending process counts only time in which it was running, so a suspended program loses none of it. Other processes
  /// count from the moment the refresh was recorded in the vault.
  public var responseTimeout: Duration
  /// For servers without rotation keys: how the server treats a refresh token that it has replaced. `nil` (the default) uses
  /// ``BackendAbilities/reuse``, and what the session's own refreshes have shown.
  ///
  /// | reuse | a response is awaited for |
  /// |---|---|
  /// | ``RefreshTokenReuse/overlap(_:)`` | a third of the overlap, so that two lost responses in a row fit into it |
  /// | ``RefreshTokenReuse/predecessor`` | 20 s |
  /// | ``RefreshTokenReuse/notRotated`` | 10 s |
  /// | ``RefreshTokenReuse/never``, `nil` | ``responseTimeout`` |
  ///
  /// No value exceeds ``responseTimeout``.
  public var reuse: RefreshTokenReuse?

  /// Creates a policy with ``SessionPolicy/aheadOfExpiry``'s defaults. A `responseTimeout` below 1 s is raised to 1 s.
  public init(
    margin: Duration = .seconds(300), usesTimer: Bool = true, minimumAge: Duration = .seconds(5),
    responseTimeout: Duration = .seconds(60), reuse: RefreshTokenReuse? = nil
  ) {
    self.reuse = reuse
    self.responseTimeout = max(.seconds(1), responseTimeout)
    self.margin = margin
    self.usesTimer = usesTimer
    self.minimumAge = minimumAge
  }

  /// Returns the smaller of ``margin`` and one fifth of the token's lifetime.
  ///
  /// | lifetime | margin |
  /// |---|---|
  /// | 1 h | 5 min |
  /// | 10 min | 2 min |
  /// | 60 s | 12 s |
  package func margin(forLifetime lifetime: Duration) -> Duration {
    max(.zero, min(margin, lifetime / 5))
  }
}

/// How work that failed transiently is retried: exponential back-off with full jitter.
///
/// | work | ends after ``attempts`` | `Retry-After` |
/// |---|---|---|
/// | refreshes, ``SessionPolicy/retry`` | yes, for the waiting callers | counts, at most ``cap``; where a second use may end the session, only from the second repeat on |
/// | revocations, the same policy | no; retries are at least 1 s apart | ignored |
/// | clean-up steps, the same policy | yes, until the next launch or `retryPendingWork()`; at least 1 s apart | |
/// | API calls, `APIClient.Options.retryPolicy` | yes | counts in full; the call ends if it exceeds ``cap`` |
/// | `RequestQueue.run(retry:)` | no | counts, at most ``cap`` |
/// | streams, `StreamOptions` | no | counts, at most 1 h |
public struct RetryPolicy: Sendable, Hashable {
  /// The number of attempts before waiting callers get the error, of a refresh ``SessionError/requestFailed(_:retryAfter:)``.
  /// Default 4, at least 1.
  ///
  /// At a server without rotation keys, a refresh to which a response may still arrive is repeated once only, when the limit of
  /// ``RefreshPolicy/reuse`` has passed; within a known overlap as often as here.
  public var attempts: Int
  /// The upper bound of the first delay. Default 250 ms.
  public var base: Duration
  /// The upper bound of every delay of the back-off, and of `Retry-After` where the table says so. Default 30 s.
  public var cap: Duration

  /// Creates a policy. Fewer than one attempt counts as one.
  public init(attempts: Int = 4, base: Duration = .milliseconds(250), cap: Duration = .seconds(30)) {
    self.attempts = max(1, attempts)
    self.base = base
    self.cap = cap
  }

  /// Returns the delay before attempt `attempt + 1`: `retryAfter` if given, otherwise a random fraction of
  /// `base · 2^(attempt − 1)`; never more than ``cap``.
  ///
  /// | attempt | upper bound with a base of 250 ms |
  /// |---|---|
  /// | 1 | 250 ms |
  /// | 2 | 500 ms |
  /// | 3 | 1 s |
  package func delay(afterAttempt attempt: Int, entropy: UInt64, retryAfter: Duration?) -> Duration {
    if let retryAfter { return min(max(retryAfter, .zero), cap) }
    return bound(ofAttempt: attempt) * (Double(entropy >> 11) / Double(1 << 53))
  }

  private func bound(ofAttempt attempt: Int) -> Duration { min(base * (1 << min(max(attempt - 1, 0), 20)), cap) }

  /// The number of failures after one more, as far as it makes a difference to the delay.
  package func count(afterFailure failures: Int) -> Int {
    failures > 0 && bound(ofAttempt: failures) == bound(ofAttempt: failures + 1) ? failures : failures + 1
  }
}

/// How a server without rotation keys treats a refresh token that it has replaced, as far as that is known.
///
/// It decides how soon a refresh without a usable response is repeated; never whether two are in flight at once.
public enum RefreshTokenReuse: Sendable, Hashable {
  /// The server does not replace refresh tokens. Disregarded once it has.
  case notRotated
  /// The server accepts the token again for this long after its first use (an overlap, grace period, leeway or reuse interval).
  case overlap(Duration)
  /// The server accepts the predecessor of the token in use at any time.
  case predecessor
  /// The server accepts no second use.
  case never
}
