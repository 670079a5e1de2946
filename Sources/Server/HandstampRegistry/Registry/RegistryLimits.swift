/// Limits on the lifetime and number of sessions.
public struct RegistryLimits: Sendable, Hashable {
  /// Time from sign-in to the end of a session, however much it is used. `nil` disables the limit.
  public var absoluteLimit: Duration?
  /// Time without use after which a session ends. `nil` disables the limit.
  public var idleLimit: Duration?
  /// Time from the sign-in of a browser to the end of its session. `nil` disables the limit.
  public var browserAbsoluteLimit: Duration?
  /// Time without use after which the session of a browser ends. `nil` disables the limit.
  public var browserIdleLimit: Duration?
  /// Maximum number of sessions per account, at least 1. The first use of one more ends the least recently seen one as
  /// `replaced`. Concurrent first uses may exceed it until the next one. `nil` disables the limit.
  public var maxSessions: Int?
  /// Minimum time between updates of "last seen". A short idle limit shortens it, see ``touchInterval(idleLimit:)``.
  public var touchInterval: Duration
  /// How long events and ended sessions are kept, see ``Registry/prune(now:limit:)``.
  public var retention: Duration
  /// How long the audit log is kept.
  public var auditRetention: Duration
  /// How long the audit log keeps the whole address of a client, of which then the network is left.
  public var addressRetention: Duration
  /// Time without use after which the session of a guest ends, and the account is deleted ``retention`` later. `nil` is
  /// ``idleLimit``. It counts for sessions that begin from then on.
  public var guestIdleLimit: Duration?
  /// Time without use after which the session of an app that does not store it ends, if ``idleLimit`` is not shorter. That of the
  /// server's own app has no absolute limit, for it cannot outlast its program. `nil` is ``idleLimit``.
  public var ephemeralIdleLimit: Duration?

  public init(
    absoluteLimit: Duration? = .seconds(365 * 86_400), idleLimit: Duration? = .seconds(90 * 86_400),
    touchInterval: Duration = .seconds(60), retention: Duration = .seconds(30 * 86_400),
    auditRetention: Duration = .seconds(365 * 86_400), addressRetention: Duration = .seconds(30 * 86_400),
    maxSessions: Int? = nil, browserAbsoluteLimit: Duration? = .seconds(90 * 86_400),
    browserIdleLimit: Duration? = .seconds(14 * 86_400), guestIdleLimit: Duration? = nil,
    ephemeralIdleLimit: Duration? = .seconds(86_400)
  ) {
    self.absoluteLimit = absoluteLimit
    self.idleLimit = idleLimit
    self.touchInterval = touchInterval
    self.retention = max(.zero, retention)
    self.auditRetention = max(.zero, auditRetention)
    self.addressRetention = max(.zero, addressRetention)
    self.guestIdleLimit = guestIdleLimit
    self.ephemeralIdleLimit = ephemeralIdleLimit
    self.browserAbsoluteLimit = browserAbsoluteLimit
    self.browserIdleLimit = browserIdleLimit
    self.maxSessions = maxSessions.map { max(1, $0) }
  }

  /// The smaller of ``touchInterval`` and a quarter of the idle limit, so that a session in use never ends as idle.
  public func touchInterval(idleLimit: Duration?) -> Duration {
    min(touchInterval, idleLimit.map { $0 / 4 } ?? touchInterval)
  }
}
