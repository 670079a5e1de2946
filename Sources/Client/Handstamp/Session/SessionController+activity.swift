import HandstampCore
import HandstampSupport

/// Tracks the last use of the session.
extension SessionController {
  /// Records that the session was used, which restarts the idle limit: nothing else does, see ``SessionPolicy/idleLimit``.
  /// Cheap enough for every touch event, from any thread: it reads a clock and takes a small lock, and enters the actor once a
  /// second at most. Without an idle limit it does nothing.
  public nonisolated func updateSessionActivity() {
    guard let step = activityStep else { return }
    let now = clock.uptime()
    if lastUse.withLock({ $0.isDue(at: now, every: step) }) { Task { await self.reportActivity() } }
  }

  /// Reports the use of the session to the machine, which may be a moment ago: the first time, which kept the session from
  /// ending, and the last.
  func reportActivity() {
    // There is no session yet: the time is kept until one is restored.
    guard machine.session != nil else { return }
    let use = lastUse.withLock { use in
      defer { (use.first, use.last) = (nil, nil) }
      return use
    }
    let now = clock.now()
    for used in [use.first, use.last].compactMap({ $0 }) {
      let ago = max(.zero, now.uptime - used)
      post(.activity, at: Moment(boot: now.boot, uptime: now.uptime - ago, wall: now.wall.advanced(by: .zero - ago)))
    }
  }

  struct LastUse: Sendable {
    /// The first and the last time that have not been reported to the machine.
    var first: Duration?
    var last: Duration?
    /// The last report; `nil` before the first.
    var reportedAt: Duration?

    /// Notes a use, and returns whether it is to be reported now. Only such a use costs a task.
    mutating func isDue(at now: Duration, every step: Duration) -> Bool {
      if first == nil { first = now }
      last = now
      if let reportedAt, reportedAt <= now, now - reportedAt < step { return false }
      reportedAt = now
      return true
    }
  }
}
