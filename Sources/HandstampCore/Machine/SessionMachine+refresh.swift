/// Demand for tokens, and the one refresh that serves it.
extension SessionMachine {
  /// The age above which a pair is read again before it is sent: the process may have been suspended.
  static let staleness: Duration = .seconds(30)
  /// How long to wait for the refresh lock.
  static let lockPatience: Duration = .seconds(5)
  static let mostMoves = 64
  /// The shortest time between two refreshes that no caller asked for.
  static let breath: Duration = .seconds(5)

  mutating func demand(_ waiter: Waiter, _ need: Need, at now: Moment) -> [Effect] {
    switch phase {
    case .dormant:
      waiters[waiter] = need
      return []
    case .restoring:
      waiters[waiter] = need
      return look()
    case .unavailable(.storageOutdated): return [.resume([waiter], .failure(.storageOutdated))]
    case .unavailable:
      // The vault may be readable by now.
      waiters[waiter] = need
      return look()
    case .signedOut:
      guard case .signedOut(let reason) = published else { return [.resume([waiter], .failure(.signedOut(nil)))] }
      return [.resume([waiter], .failure(.signedOut(reason)))]
    case .ending(let ending): return [.resume([waiter], .failure(.signedOut(ending.reason)))]
    case .live(let live):
      if let access = live.access, serves(access, need, at: now) {
        return [.resume([waiter], .success(access))] + refreshAheadIfDue(at: now)
      }
      if let access = live.access, need.refused == access.token, isFresh(live, at: now) {
        return [.resume([waiter], .failure(.tokenRejected))]
      }
      waiters[waiter] = need
      // Served when the refresh in flight completes; thousands of callers may join it.
      return live.flight == nil ? settle(at: now) : []
    }
  }

  /// Serves the callers that can be served, and makes sure that there is a refresh for the rest.
  mutating func settle(at now: Moment) -> [Effect] {
    guard case .live(let live) = phase, !waiters.isEmpty else { return [] }
    var effects: [Effect] = []
    if let access = live.access {
      let served = waiters.filter { serves(access, $0.value, at: now) }.keys.sorted()
      if !served.isEmpty {
        for waiter in served { waiters[waiter] = nil }
        effects.append(.resume(served, .success(access)))
      }
    }
    return waiters.isEmpty ? effects : effects + startFlight(at: now)
  }

  /// Starts a refresh unless there is one, or none is possible now.
  private mutating func startFlight(at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.flight == nil else { return [] }
    if live.isRefreshLocked { return resumeAll(.failure(.storage(.locked))) + look() }
    if let unsaved = live.unsaved {
      // First the tokens we have; a rotation that is not durable must not be followed by another.
      live.flight = Flight(step: .saving)
      phase = .live(live)
      return [edit(advance(live.stored.id, unsaved), for: .advance(unsaved))]
    }
    guard live.stored.refresh != nil else { return failWaiters(.noRefreshToken, at: now) }
    if let quiet = live.quietUntil, left(until: quiet, at: now) != nil {
      let wait = live.retryAfter.flatMap { left(until: $0, at: now) }
      return failWaiters(live.failure(retryAfter: wait), at: now)
    }
    live.flight = Flight(step: .locking)
    phase = .live(live)
    return [.lock(begin(.lock), within: SessionMachine.lockPatience)]
  }

  mutating func locked(_ operation: Operation, _ key: RotationKey, at now: Moment) -> [Effect] {
    guard work.removeValue(forKey: operation) == .lock, case .live(var live) = phase, live.flight != nil else {
      return [.unlock(operation), .ignored]
    }
    live.flight?.freshKey = key
    live.flight?.lock = operation
    live.flight?.isFresh = false
    live.flight?.failure = nil
    phase = .live(live)
    return prepare(at: now)
  }

  /// The lock could not be acquired. With rotation keys it only saves work: without it the stored pair is sent.
  mutating func lockRefused(
    _ operation: Operation, _ key: RotationKey, _ trouble: VaultError, at now: Moment
  ) -> [Effect] {
    guard work.removeValue(forKey: operation) == .lock, case .live(var live) = phase, live.flight != nil else {
      return [.ignored]
    }
    live.flight?.freshKey = key
    live.flight?.lock = nil
    if !supportsRotationKeys { live.flight?.step = .checking }
    phase = .live(live)
    return supportsRotationKeys ? prepare(at: now) : [.read(begin(.lockCheck(trouble)))]
  }

  /// Waits for the holder of the lock as long as its response may still arrive.
  mutating func lockChecked(_ trouble: VaultError, _ reading: VaultReading, at now: Moment) -> [Effect] {
    guard case .live(let before) = phase, before.flight?.step == .checking else { return [.ignored] }
    let effects: [Effect]
    if case .trouble = reading { effects = [] } else { effects = absorb(reading, at: now) }
    guard case .live(var live) = phase, live.stored.id == before.stored.id, live.flight?.step == .checking else {
      return effects
    }
    if !isRefreshWanted(at: now) { return effects + endFlight(at: now) }
    if let age = live.stored.attempt?.age(at: now), age < policy.refresh.responseTimeout {
      live.flight?.step = .locking
      phase = .live(live)
      return effects + [.lock(begin(.lock), within: SessionMachine.lockPatience)]
    }
    live.flight?.failure = .storage(trouble)
    phase = .live(live)
    return effects + pause(retryAfter: nil, entropy: 0, at: now)
  }

  /// Stores the rotation key before a byte is sent, and detects whether another process was faster.
  mutating func prepare(at now: Moment) -> [Effect] {
    // Adopted tokens may have served all callers: then another rotation would be superfluous.
    guard isRefreshWanted(at: now) else { return endFlight(at: now) }
    guard case .live(var live) = phase, let key = live.flight?.freshKey, let token = live.stored.refresh else {
      return endFlight(failing: .noRefreshToken, at: now)
    }
    live.flight?.awaited = nil
    var attempt: RefreshAttempt?
    var former: RefreshAttempt?
    if !supportsRotationKeys {
      if let found = live.stored.attempt {
        switch regard(for: found, in: live, at: now) {
        case .goOn: former = found
        case .wait(let rest):
          // It may be settled by now: the vault is read before waiting.
          if live.flight?.isFresh == true { return waitOut(found, for: rest, at: now) }
        case .noteReading: return noteReading(of: found, at: now)
        }
      }
      attempt = RefreshAttempt(since: now, process: process)
      live.attempt = attempt
      live.isAttemptOpen = false
    }
    live.flight?.step = .preparing
    phase = .live(live)
    let access = live.kept ?? live.stored.access?.token
    return [
      edit(
        .prepare(
          live.stored.id, holding: token, replacing: access, key: key, attempt: attempt, over: former),
        for: .prepare)
    ]
  }

  mutating func prepared(_ outcome: VaultOutcome, asOf: Moment, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.flight?.step == .preparing else { return [.ignored] }
    switch outcome {
    case .done(let entry):
      guard let session = entry.session, let token = session.refresh, let key = session.pendingKey else {
        return moved(to: entry, at: now)
      }
      guard let age = now.elapsed(since: asOf), age <= SessionMachine.staleness else {
        return moved(to: entry, at: now)
      }
      // Other processes count from the recorded moment: a process that was suspended since then records a new one.
      let noted = supportsRotationKeys ? .zero : session.attempt?.age(at: now)
      guard let noted, noted <= policy.refresh.responseTimeout / 2 else { return moved(to: entry, at: now) }
      live.adopt(session, in: now.boot)
      live.flight?.step = .asking
      live.isAttemptOpen = !supportsRotationKeys
      phase = .live(live)
      let asking = Effect.askRefresh(begin(.ask(token, since: now)), token, key)
      return supportsRotationKeys
        ? [asking] : [asking, startTimer(.answer, after: policy.refresh.responseTimeout - noted)]
    case .conflict(let entry):
      // The attempt was not recorded.
      live.attempt = nil
      phase = .live(live)
      return moved(to: entry, at: now)
    case .failed(let trouble):
      // Without a durable key nothing may be sent: a later launch would look like token reuse.
      return endFlight(failing: .storage(trouble), at: now)
    }
  }

  /// The vault changed during the refresh. If that serves the waiting callers, the refresh ends; otherwise it continues from
  /// there.
  mutating func moved(to entry: VaultEntry, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, var flight = live.flight else { return [.ignored] }
    flight.moves += 1
    flight.isFresh = true
    live.flight = flight
    phase = .live(live)
    let session = live.stored.id
    let effects = absorb(entry, at: now)
    guard case .live(let after) = phase, after.stored.id == session, after.flight != nil else { return effects }
    if waiters.isEmpty { return effects + endFlight(at: now) }
    guard flight.moves < SessionMachine.mostMoves else {
      return effects + endFlight(failing: .storage(.unavailable("other processes keep changing the vault")), at: now)
    }
    return effects + prepare(at: now)
  }

  mutating func refreshAnswered(_ operation: Operation, _ answer: RefreshAnswer, at now: Moment) -> [Effect] {
    if case .lateAnswer(let session, let sent)? = work[operation] {
      work[operation] = nil
      return lateAnswer(answer, of: session, sent: sent)
    }
    guard case .ask(let sent, let since)? = work[operation] else { return [.ignored] }
    work[operation] = nil
    guard case .live(var live) = phase, live.flight?.step == .asking else { return [.ignored] }
    timers[.answer] = nil
    switch answer {
    case .granted(let grant):
      guard grant.session == nil || grant.session == live.stored.id,
        grant.profile == nil || live.stored.profile == nil || grant.profile?.id == live.stored.profile?.id
      else {
        // Tokens of another session or account must not replace this session's.
        live.cause = .unusableTokens("they belong to another session", successor: nil)
        phase = .live(live)
        return unanswered(retryAfter: nil, entropy: 0, at: now)
      }
      let unsaved = Unsaved(
        sent: sent, successor: grant.tokens.refresh ?? sent,
        access: StoredAccess(
          token: grant.tokens.access, lifetime: grant.tokens.expiresIn.map { Lifetime(start: since, duration: $0) }),
        profile: grant.profile)
      live.flight?.step = .saving
      phase = .live(live)
      return [edit(advance(live.stored.id, unsaved), for: .advance(unsaved))]
    case .unusable(let successor, let reason, _):
      let failure = RequestFailure.unusableTokens(reason, successor: nil)
      guard let access = live.access else {
        live.cause = failure
        phase = .live(live)
        return unanswered(retryAfter: nil, entropy: 0, at: now)
      }
      // The current access token stays valid until it expires; the next attempt begins with the new refresh token.
      let unsaved = Unsaved(sent: sent, successor: successor, access: access, profile: nil)
      live.flight?.step = .saving
      live.flight?.failure = .requestFailed(failure)
      phase = .live(live)
      return [edit(advance(live.stored.id, unsaved), for: .advance(unsaved))]
    case .rejected(let reason):
      live.flight?.step = .ending
      phase = .live(live)
      return [
        edit(
          .end(live.stored.id, holding: sent, reason: reason, at: now, steps: steps(for: reason)),
          for: .reject(reason))
      ]
    case .superseded:
      live.flight?.step = .looking
      phase = .live(live)
      return [.read(begin(.rollbackCheck(sent)))]
    case .noDecision(let cause, let retryAfter, let entropy, let isSettled):
      live.cause = cause
      phase = .live(live)
      guard isSettled else { return unanswered(retryAfter: retryAfter, entropy: entropy, at: now) }
      live.isAttemptOpen = false
      phase = .live(live)
      return pause(retryAfter: retryAfter, entropy: entropy, at: now)
    }
  }

  /// The successor was written, or not.
  mutating func advanced(_ unsaved: Unsaved, _ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.flight?.step == .saving else { return [.ignored] }
    switch outcome {
    case .done(let entry):
      guard let session = entry.session, session.id == live.stored.id else { return moved(to: entry, at: now) }
      let isNew = live.unsaved == nil
      live.adopt(session, in: now.boot)
      live.unsaved = nil
      live.attempt = nil
      live.isAttemptOpen = false
      live.failures = 0
      live.cause = nil
      live.quietUntil = nil
      if isNew { live.mintedAt = session.access?.lifetime?.start ?? now }
      phase = .live(live)
      live.retryAfter = nil
      phase = .live(live)
      if isNew, let failure = live.flight?.failure {
        return [audit(.refresh, session, "unusable", at: now)] + endFlight(failing: failure, at: now)
      }
      let told = publish(live.state) + [audit(.refresh, session, "ok", at: now)]
      guard !isNew else { return told + endFlight(at: now) }
      // Stored at last, but the waiting callers have no use for that token: now it may be rotated.
      let lock = live.flight?.lock.map { [Effect.unlock($0)] } ?? []
      live.flight = nil
      phase = .live(live)
      return told + lock + settle(at: now) + scheduleRefresh(at: now)
    case .conflict(let entry):
      live.unsaved = nil
      keepSuccessor(unsaved, of: live, unlessIn: entry)
      // A refresh that only saved has neither lock nor key: the next one starts over.
      let isSavingAlone = live.flight?.freshKey == nil
      if isSavingAlone { live.flight = nil }
      phase = .live(live)
      return isSavingAlone ? absorb(entry, at: now) : moved(to: entry, at: now)
    case .failed(let trouble):
      let isNew = live.unsaved == nil
      live.unsaved = unsaved
      if isNew { live.mintedAt = now }
      if !supportsRotationKeys, let lock = live.flight?.lock {
        live.lockOfUnsaved = lock
        live.flight?.lock = nil
      }
      phase = .live(live)
      let told = trouble.adding("the new tokens are only in memory until the vault can be written")
      let trouble = [audit(.trouble, live.stored, "advance", at: now)] + endFlight(failing: .storage(told), at: now)
      return trouble + [startTimer(.save, after: .seconds(1))]
    }
  }

  /// Retries to store unsaved tokens, independently of any refresh.
  mutating func saved(_ unsaved: Unsaved, _ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.unsaved == unsaved, live.flight == nil else { return [.ignored] }
    switch outcome {
    case .done(let entry), .conflict(let entry):
      live.unsaved = nil
      phase = .live(live)
      keepSuccessor(unsaved, of: live, unlessIn: entry)
      return absorb(entry, at: now)
    case .failed: return [startTimer(.save, after: .seconds(5))]
    }
  }

  /// The server rejected the token, and the vault has been asked whether it is still the one in use.
  mutating func rejected(_ reason: EndReason, _ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    guard case .live(let live) = phase, live.flight?.step == .ending else { return [.ignored] }
    switch outcome {
    case .done(let entry):
      passedOver = entry.session?.id
      note(entry)
      var ending = Ending(live, reason: reason, steps: steps(for: reason))
      ending.isRejection = true
      return over(ending, at: now)
    case .conflict(let entry): return moved(to: entry, at: now)
    case .failed(let trouble): return endFlight(failing: .storage(trouble), at: now)
    }
  }

  mutating func rollbackChecked(_ sent: RefreshToken, _ reading: VaultReading, at now: Moment) -> [Effect] {
    guard case .live(let live) = phase, live.flight?.step == .looking else { return [.ignored] }
    switch reading {
    case .value(let entry):
      guard entry.session?.id == live.stored.id, entry.session?.refresh == sent else {
        return moved(to: entry, at: now)
      }
      // An older store was restored: nothing is deleted, and nothing is sent again. Or an attacker who had copied token and
      // pending key went on from there: the session, which is unusable here, is revoked.
      dropFlightWork()
      if let handle = live.stored.revocation { outbox[live.stored.id] = handle }
      leftBehind = sent
      phase = .unavailable(.storageOutdated)
      var effects = publish(.unavailable(.storageOutdated)) + [audit(.trouble, live.stored, "rolled_back", at: now)]
      effects += resumeAll(.failure(.storageOutdated))
      if let lock = live.lock { effects.append(.unlock(lock)) }
      return effects + deliver(at: now)
    case .absent: return moved(to: VaultEntry(), at: now)
    case .accessOnly: return endFlight(failing: .storage(.locked), at: now)
    case .trouble(let trouble): return endFlight(failing: .storage(trouble), at: now)
    }
  }

  /// No response: another attempt after a pause, with the same pair, until the policy's limit.
  mutating func pause(retryAfter: Duration?, entropy: UInt64, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, var flight = live.flight else { return [.ignored] }
    guard flight.attempt < policy.retry.attempts else {
      live.failures += 1
      let wait = policy.retry.delay(afterAttempt: live.failures, entropy: entropy, retryAfter: retryAfter)
      return giveUp(for: wait, retryAfter: retryAfter.map { _ in wait }, at: now)
    }
    let delay = policy.retry.delay(afterAttempt: flight.attempt, entropy: entropy, retryAfter: retryAfter)
    flight.attempt += 1
    flight.step = .pausing
    live.flight = flight
    phase = .live(live)
    return [startTimer(.retry, after: delay)]
  }

  /// Gives up for now. An attempt that had no consequences is withdrawn first, so that no other process waits for its limit.
  mutating func giveUp(for quiet: Duration, retryAfter: Duration?, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.flight != nil else { return [.ignored] }
    live.quietUntil = now.advanced(by: quiet)
    live.retryAfter = retryAfter.map { now.advanced(by: $0) }
    let failure = live.flight?.failure ?? live.failure(retryAfter: retryAfter)
    let told = audit(.refresh, live.stored, failure.code, at: now)
    guard let attempt = live.attempt, !live.isAttemptOpen, attempt.isSame(as: live.stored.attempt),
      live.flight?.lock != nil, let stored = live.stored.attempt
    else {
      phase = .live(live)
      return [told] + endFlight(failing: failure, at: now)
    }
    live.flight?.failure = failure
    live.flight?.step = .withdrawing
    phase = .live(live)
    return [told, edit(.note(live.stored.id, stored, as: nil), for: .withdraw)]
  }

  mutating func withdrawn(at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.flight?.step == .withdrawing else { return [.ignored] }
    // If it could not be written, the next attempt replaces it.
    if live.attempt?.isSame(as: live.stored.attempt) == true { live.stored.attempt = nil }
    phase = .live(live)
    return endFlight(failing: live.flight?.failure ?? live.failure(retryAfter: nil), at: now)
  }

  /// The refresh has ended. With an error: callers that the current token satisfies are served, the others get the error.
  mutating func endFlight(failing error: SessionError? = nil, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, let flight = live.flight else { return [.ignored] }
    live.flight = nil
    phase = .live(live)
    var effects: [Effect] = []
    if let error {
      effects += failWaiters(error, at: now)
    } else if let access = live.access {
      // A token that was issued for them satisfies all callers except those for which that very token was rejected.
      let refused = waiters.filter { $0.value.refused == access.token }.keys.sorted()
      for waiter in refused { waiters[waiter] = nil }
      effects += resumeAll(.success(access))
      if !refused.isEmpty { effects.append(.resume(refused, .failure(.tokenRejected))) }
    }
    if let lock = flight.lock { effects.append(.unlock(lock)) }
    // Never at once: otherwise a failing vault, or a server whose tokens have expired on arrival, would be contacted in a tight
    // loop.
    return effects + scheduleRefresh(at: now, atLeast: SessionMachine.breath)
  }

  /// The refresh failed: a token that is still valid remains in use.
  private mutating func failWaiters(_ error: SessionError, at now: Moment) -> [Effect] {
    serveWithWhatLasts(at: now) + resumeAll(.failure(error))
  }

  /// Serves callers that asked for more validity than there is, and can do with less.
  mutating func serveWithWhatLasts(at now: Moment) -> [Effect] {
    guard case .live(let live) = phase, let access = live.access,
      SessionMachine.serves(access.lifetime, for: .zero, at: now)
    else { return [] }
    let served = waiters.filter { $0.value.refused != access.token }.keys.sorted()
    guard !served.isEmpty else { return [] }
    for waiter in served { waiters[waiter] = nil }
    return [.resume(served, .success(access))]
  }

  /// Whether a caller waits for a refresh, or the token is in its margin.
  func isRefreshWanted(at now: Moment) -> Bool {
    guard waiters.isEmpty, case .live(let live) = phase else { return !waiters.isEmpty }
    return isDueAhead(live, at: now)
  }

  private func serves(_ access: StoredAccess, _ need: Need, at now: Moment) -> Bool {
    need.refused != access.token && SessionMachine.serves(access.lifetime, for: need.validity, at: now)
  }

  private func isFresh(_ live: Live, at now: Moment) -> Bool {
    guard let minted = live.mintedAt, let age = now.elapsed(since: minted) else { return false }
    return age < policy.refresh.minimumAge
  }

  private func advance(_ session: SessionID, _ unsaved: Unsaved) -> VaultEdit {
    .advance(
      session, sent: unsaved.sent, to: unsaved.successor, access: unsaved.access, profile: unsaved.profile)
  }

  func left(until moment: Moment, at now: Moment) -> Duration? {
    guard moment.boot == now.boot, moment.uptime > now.uptime else { return nil }
    return moment.uptime - now.uptime
  }
}
