/// The idle and the absolute limit of a session.
extension SessionMachine {
  /// Returns the reason why a session has ended by policy; `nil` if it has not.
  func overdue(_ session: StoredSession, at now: Moment) -> EndReason? {
    ends(of: session, at: now).first { $0.wait <= .zero }?.reason
  }

  /// Returns the end that is near; `nil` if none is.
  func upcomingEnd(of session: StoredSession, at now: Moment) -> UpcomingEnd? {
    let near = ends(of: session, at: now).filter { $0.wait > .zero && $0.wait <= $0.notice }
    return near.min { $0.wait < $1.wait }.map { UpcomingEnd(reason: $0.reason, at: now.wall.advanced(by: $0.wait)) }
  }

  /// Returns for each limit of the policy the time until the session ends, and how long before it the end counts as near.
  private func ends(
    of session: StoredSession, at now: Moment
  ) -> [(reason: EndReason, wait: Duration, notice: Duration)] {
    let limits = [
      (EndReason.expired, policy.absoluteLimit, session.startedAt), (.idle, policy.idleLimit, session.activeAt),
    ]
    return limits.compactMap { reason, limit, start in
      limit.map { (reason: reason, wait: $0 - now.estimatedElapsed(since: start), notice: policy.notice(of: $0)) }
    }
  }

  /// Publishes which end is near, and sets the timer for the next change of that: the notice of a limit, or its end.
  mutating func scheduleLimit(at now: Moment) -> [Effect] {
    guard let live else { return [] }
    let next = ends(of: live.stored, at: now).map { $0.wait > $0.notice ? $0.wait - $0.notice : $0.wait }.min()
    guard let next else { return [] }
    let near = upcomingEnd(of: live.stored, at: now)
    self.live?.upcomingEnd = near
    return publishSession() + [startTimer(.limit, after: next)]
  }

  /// The session was used. Stored at most once a minute, or ten times within the idle limit.
  mutating func activity(at now: Moment) -> [Effect] {
    guard let live, let limit = policy.idleLimit else { return [] }
    // It may be reported late.
    if let age = live.stored.activeAt.elapsed(since: now), age > .zero { return [] }
    if overdue(live.stored, at: now) != nil { return limitPassed(at: now) }
    self.live?.stored.activeAt = now
    // Where no end is near, the timer finds out when it fires: a new one for each use would be too dear.
    let effects = live.upcomingEnd?.reason == .idle ? scheduleLimit(at: now) : []
    if let touched = live.touchedAt, now.estimatedElapsed(since: touched) < min(.seconds(60), limit / 10) {
      return effects
    }
    self.live?.touchedAt = now
    return effects + [edit(.touch(live.stored.id, at: now), for: .touch)]
  }

  mutating func limitPassed(at now: Moment) -> [Effect] {
    guard case .live(let live) = phase else { return [.ignored] }
    let reason = overdue(live.stored, at: now)
    if (reason ?? upcomingEnd(of: live.stored, at: now)?.reason) == .idle { return [read(for: .idleCheck)] }
    guard let reason else { return scheduleLimit(at: now) }
    return end(live, reason, at: now)
  }

  /// The session was not used here for too long, or soon will not have been. Use in another process keeps it alive.
  mutating func idleChecked(_ reading: VaultReading, at now: Moment) -> [Effect] {
    let effects: [Effect]
    if case .trouble = reading { effects = [] } else { effects = absorb(reading, at: now) }
    guard case .live(let live) = phase else { return effects }
    guard let reason = overdue(live.stored, at: now) else { return effects + scheduleLimit(at: now) }
    return effects + end(live, reason, at: now)
  }
}
