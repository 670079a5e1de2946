/// The idle and the absolute limit of a session.
extension SessionMachine {
  /// Returns the reason why a session has ended by policy; `nil` if it has not.
  func overdue(_ session: StoredSession, at now: Moment) -> EndReason? {
    if let limit = policy.absoluteLimit, now.estimatedElapsed(since: session.startedAt) >= limit { return .expired }
    if let limit = policy.idleLimit, now.estimatedElapsed(since: session.activeAt) >= limit { return .idle }
    return nil
  }

  /// Sets the timer for the nearer of the two limits.
  mutating func scheduleLimit(at now: Moment) -> [Effect] {
    guard case .live(let live) = phase else { return [] }
    var waits: [Duration] = []
    if let limit = policy.absoluteLimit { waits.append(limit - now.estimatedElapsed(since: live.stored.startedAt)) }
    if let limit = policy.idleLimit { waits.append(limit - now.estimatedElapsed(since: live.stored.activeAt)) }
    guard let wait = waits.min() else { return [] }
    return [startTimer(.limit, after: wait)]
  }

  /// The session was used. Stored at most once a minute, or ten times within the idle limit.
  mutating func activity(at now: Moment) -> [Effect] {
    guard let live, let limit = policy.idleLimit else { return [] }
    // It may be reported late.
    if let age = live.stored.activeAt.elapsed(since: now), age > .zero { return [] }
    if overdue(live.stored, at: now) != nil { return limitPassed(at: now) }
    self.live?.stored.activeAt = now
    if let touched = live.touchedAt, now.estimatedElapsed(since: touched) < min(.seconds(60), limit / 10) { return [] }
    self.live?.touchedAt = now
    return [edit(.touch(live.stored.id, at: now), for: .touch)]
  }

  mutating func limitPassed(at now: Moment) -> [Effect] {
    guard case .live(let live) = phase else { return [.ignored] }
    switch overdue(live.stored, at: now) {
    case nil: return scheduleLimit(at: now)
    case .idle?: return [read(for: .idleCheck)]
    case let reason?: return end(live, reason, at: now)
    }
  }

  /// The session was not used here for too long. Use in another process keeps it alive.
  mutating func idleChecked(_ reading: VaultReading, at now: Moment) -> [Effect] {
    let effects: [Effect]
    if case .trouble = reading { effects = [] } else { effects = absorb(reading, at: now) }
    guard case .live(let live) = phase else { return effects }
    guard let reason = overdue(live.stored, at: now) else { return effects + scheduleLimit(at: now) }
    return effects + end(live, reason, at: now)
  }
}
