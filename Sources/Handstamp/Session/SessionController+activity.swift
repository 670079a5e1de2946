/// When the session was used last.
extension SessionController {
  /// Somebody used the session: moves the idle limit. From any thread, for every touch: it reads a clock and takes a small
  /// lock, and comes into the actor once a second at most.
  public nonisolated func updateSessionActivity() {
    guard let step = activityStep else { return }
    let now = clock.uptime()
    let isDue = lastUse.withLock { use in
      use.at = now
      guard now - use.told >= step || now < use.told else { return false }
      use.told = now
      return true
    }
    if isDue { Task { await self.tellActivity() } }
  }

  /// Tells the machine when the session was used last, which may be a moment ago.
  func tellActivity() {
    guard let used = lastUse.withLock({ use in exchange(&use.at, with: nil) }) else { return }
    let now = clock.now()
    let ago = max(.zero, now.uptime - used)
    post(.activity, at: Moment(boot: now.boot, uptime: now.uptime - ago, wall: now.wall.advanced(by: .zero - ago)))
  }

  struct LastUse: Sendable {
    /// Nothing when the machine knows it.
    var at: Duration?
    var told: Duration = .seconds(-1_000_000_000)
  }
}
