/// Timers, limits, activity, and revocations.
extension SessionMachine {
  /// Sets the timer of the refresh ahead of expiry, at least `least` from now.
  mutating func scheduleRefresh(at now: Moment, atLeast least: Duration = .zero) -> [Effect] {
    guard policy.refresh.usesTimer, case .live(let live) = phase, live.flight == nil, live.unsaved == nil,
      live.stored.refresh != nil, let lifetime = live.access?.lifetime
    else { return [] }
    var wait = max(least, lifetime.remaining(at: now) - policy.refresh.margin(forLifetime: lifetime.duration))
    if let quiet = live.quietUntil, let left = left(until: quiet, at: now) { wait = max(wait, left) }
    return [startTimer(.refresh, after: wait)]
  }

  /// Refreshes while the old token is still valid, if it is in its margin and no refresh has failed just now.
  mutating func refreshAheadIfDue(at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.flight == nil, live.unsaved == nil, !live.isRefreshLocked,
      live.stored.refresh != nil, isDueAhead(live, at: now)
    else { return [] }
    if let quiet = live.quietUntil, left(until: quiet, at: now) != nil { return [] }
    live.flight = Flight(step: .locking)
    phase = .live(live)
    return [.lock(begin(.lock), within: SessionMachine.lockPatience)]
  }

  /// Whether the token is in the margin in which it is replaced before a caller asks.
  func isDueAhead(_ live: Live, at now: Moment) -> Bool {
    guard policy.refresh.usesTimer, let lifetime = live.access?.lifetime else { return false }
    return lifetime.remaining(at: now) <= policy.refresh.margin(forLifetime: lifetime.duration)
  }

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
    guard case .live(var live) = phase, let limit = policy.idleLimit else { return [] }
    // It may be reported late.
    if let age = live.stored.activeAt.elapsed(since: now), age > .zero { return [] }
    if overdue(live.stored, at: now) != nil { return fired(.limit, at: now) }
    live.stored.activeAt = now
    let since = live.touchedAt.map { now.estimatedElapsed(since: $0) } ?? .seconds(1_000_000_000)
    guard since >= min(.seconds(60), limit / 10) else {
      phase = .live(live)
      return []
    }
    live.touchedAt = now
    phase = .live(live)
    return [edit(.touch(live.stored.id, at: now), for: .touch)]
  }

  /// The session was not used here for too long. Use in another process keeps it alive.
  mutating func idleChecked(_ reading: VaultReading, at now: Moment) -> [Effect] {
    let effects: [Effect]
    if case .trouble = reading { effects = [] } else { effects = absorb(reading, at: now) }
    guard case .live(let live) = phase else { return effects }
    guard let reason = overdue(live.stored, at: now) else { return effects + scheduleLimit(at: now) }
    return effects + end(live, reason, at: now)
  }

  mutating func nudge(at now: Moment) -> [Effect] {
    deliveryFailures = 0
    var effects = clean(again: true) + deliver(at: now)
    switch phase {
    case .dormant, .signedOut, .ending: return effects
    case .restoring, .unavailable: return effects + look()
    case .live(var live):
      live.quietUntil = nil
      phase = .live(live)
      if live.flight?.step == .pausing { effects.append(startTimer(.retry, after: .zero)) }
      if live.isRefreshLocked { effects += look() }
      return effects + refreshAheadIfDue(at: now)
    }
  }

  /// Whether no revocation is in flight or due.
  package var isDeliveryOver: Bool { outbox.keys.allSatisfy { delays[$0] != nil && !delivering.contains($0) } }

  /// Sends every pending revocation that is due.
  mutating func deliver(at now: Moment) -> [Effect] {
    var effects: [Effect] = []
    for session in outbox.keys.sorted() where !delivering.contains(session) {
      guard let handle = outbox[session], delays[session]?.rest(at: now) ?? .zero <= .zero else { continue }
      delivering.insert(session)
      effects.append(.revoke(session, handle))
    }
    // All others are being sent now.
    let rests = outbox.keys.filter { !delivering.contains($0) }.compactMap { delays[$0]?.rest(at: now) }
    if let first = rests.min() { effects.append(startTimer(.deliver, after: max(.seconds(1), first))) }
    return effects
  }

  mutating func revocationAnswered(
    _ session: SessionID, delivered: Bool, refusal: String?, isAnswered: Bool, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    guard delivering.remove(session) != nil else { return [.ignored] }
    if !delivered, isAnswered, !redelivering.contains(session), let handle = outbox[session] {
      let delay = DeliveryDelay.next(after: delays[session], at: now)
      delays[session] = delay
      return [edit(.postpone(session, with: handle, delay), for: .postpone)] + deliver(at: now)
    }
    guard delivered else {
      deliveryFailures += 1
      let delay = policy.retry.delay(afterAttempt: deliveryFailures, entropy: entropy, retryAfter: nil)
      // No caller waits for it: never at once, whatever the policy's base.
      return [startTimer(.deliver, after: max(.seconds(1), delay))]
    }
    deliveryFailures = 0
    if lateSuccessors[session]?.isTold == true, !redelivering.contains(session) { lateSuccessors[session] = nil }
    if redelivering.remove(session) != nil { return deliver(at: now) }
    delays[session] = nil
    let handle = outbox.removeValue(forKey: session)
    if let handle { self.delivered = self.delivered.suffix(31) + [Delivered(session: session, handle: handle)] }
    let told = edit(.delivered(session, with: handle), for: .delivered)
    guard let refusal else { return [told] }
    let entry = AuditEntry(
      action: .end, session: session, account: nil, at: now.wall, outcome: "server_not_told_\(refusal)")
    return [told, .audit(entry)]
  }

  mutating func answered(
    _ operation: Operation, _ outcome: VaultOutcome, asOf: Moment, at now: Moment
  ) -> [Effect] {
    guard let purpose = work.removeValue(forKey: operation) else { return [.ignored] }
    if case .begin = purpose, case .done(let entry) = outcome { revision = entry.revision }
    if case .putBack = purpose { return wasPutBack(outcome, at: now) }
    return answered(purpose, outcome, asOf: asOf, at: now) + noteRevision(of: outcome)
  }

  private mutating func answered(
    _ purpose: Purpose, _ outcome: VaultOutcome, asOf: Moment, at now: Moment
  ) -> [Effect] {
    switch purpose {
    case .begin(let waiter, let session, let isWanted):
      return began(waiter, session, isWanted: isWanted, outcome, at: now)
    case .prepare: return prepared(outcome, asOf: asOf, at: now)
    case .noteReading: return readingNoted(outcome, at: now)
    case .withdraw: return withdrawn(at: now)
    case .advance(let unsaved): return advanced(unsaved, outcome, at: now)
    case .save(let unsaved): return saved(unsaved, outcome, at: now)
    case .renew(let waiter, let session, let access): return renewed(waiter, session, access, outcome, at: now)
    case .reject(let reason): return rejected(reason, outcome, at: now)
    case .end: return endAnswered(outcome, at: now)
    case .endAgain: return buriedAgain(outcome, at: now)
    case .delivered:
      guard case .conflict(let entry) = outcome else { return [] }
      // It was revoked with a handle that the vault knows to be outdated.
      note(entry)
      return deliver(at: now)
    case .tell, .postpone, .cleaned, .touch: return []
    case .look, .lock, .lockCheck, .ask, .lateAnswer, .rollbackCheck, .idleCheck, .putBack: return [.ignored]
    }
  }
}
