/// How long sessions last.
public struct RegistryLimits: Sendable, Hashable {
  /// A session ends this long after sign-in, however much it is used. Nothing: never.
  public var absoluteLimit: Duration?
  /// A session ends after this long without use. Nothing: never.
  public var idleLimit: Duration?
  /// How many sessions an account has at most, from 1. One more ends the one that was seen longest ago, as `replaced`. Sign-ins at
  /// the same instant may make it more until the next. Nothing: any number.
  public var maxSessions: Int?
  /// "Last seen" is written down at most this often. A short idle limit shortens it, see ``touchInterval(idleLimit:)``.
  public var touchInterval: Duration
  /// How long events and ended sessions are kept, see ``Registry/prune(now:limit:)``.
  public var retention: Duration

  public init(
    absoluteLimit: Duration? = .seconds(365 * 86_400), idleLimit: Duration? = .seconds(90 * 86_400),
    touchInterval: Duration = .seconds(60), retention: Duration = .seconds(30 * 86_400), maxSessions: Int? = nil
  ) {
    self.absoluteLimit = absoluteLimit
    self.idleLimit = idleLimit
    self.touchInterval = touchInterval
    self.retention = max(.zero, retention)
    self.maxSessions = maxSessions.map { max(1, $0) }
  }

  /// The smaller of ``touchInterval`` and a quarter of the idle limit: a session in use never ends as idle.
  public func touchInterval(idleLimit: Duration?) -> Duration {
    min(touchInterval, idleLimit.map { $0 / 4 } ?? touchInterval)
  }
}
