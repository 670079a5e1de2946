import HandstampCore

/// When the session was used last.
extension SessionController {
  /// Somebody used the session: moves the idle limit. From any thread, for every touch: it reads a clock and takes a small
  /// lock, and comes into the actor once a second at most.
  public nonisolated func updateSessionActivity() {
    guard let step = activityStep else { return }
    let now = clock.uptime()
    let isDue = lastUse.withLock { use in
      if use.first == nil { use.first = now }
      use.last = now
      guard now - use.told >= step || now < use.told else { return false }
      use.told = now
      return true
    }
    if isDue { Task { await self.tellActivity() } }
  }

  /// Tells the machine when the session was used, which may be a moment ago: the first time, which kept it from ending, and
  /// the last.
  func tellActivity() {
    // Nobody to tell yet: it is kept until the session is restored.
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
    /// The first and the last time that the machine has not heard of.
    var first: Duration?
    var last: Duration?
    var told: Duration = .seconds(-1_000_000_000)
  }
}
