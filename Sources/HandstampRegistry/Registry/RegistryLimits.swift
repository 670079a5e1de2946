/// How long sessions last.
public struct RegistryLimits: Sendable, Hashable {
  /// A session ends this long after sign-in, however much it is used. Nothing: never.
  public var absoluteLimit: Duration?
  /// A session ends after this long without use. Nothing: never.
  public var idleLimit: Duration?
  /// "Last seen" is written down at most this often. A short idle limit shortens it, see ``touchInterval(idleLimit:)``.
  public var touchInterval: Duration
  /// How long events and ended sessions are kept, see ``Registry/prune(now:limit:)``.
  public var retention: Duration

  public init(
    absoluteLimit: Duration? = .seconds(365 * 86_400), idleLimit: Duration? = .seconds(90 * 86_400),
    touchInterval: Duration = .seconds(60), retention: Duration = .seconds(30 * 86_400)
  ) {
    self.absoluteLimit = absoluteLimit
    self.idleLimit = idleLimit
    self.touchInterval = touchInterval
    self.retention = max(.zero, retention)
  }

  /// The smaller of ``touchInterval`` and a quarter of the idle limit: a session in use never ends as idle.
  public func touchInterval(idleLimit: Duration?) -> Duration {
    min(touchInterval, idleLimit.map { $0 / 4 } ?? touchInterval)
  }
}
