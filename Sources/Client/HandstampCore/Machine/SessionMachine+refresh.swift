/// The one refresh: from the lock, over the request, to the stored successor.
extension SessionMachine {
  /// The age above which refresh token and rotation key are read again before they are sent: the process may have been
  /// suspended.
  package static let staleness: Duration = .seconds(30)
  /// How long to wait for the refresh lock.
  package static let lockPatience: Duration = .seconds(5)
  static let mostRereads = 64

  // MARK: The lock

  mutating func acquireLock() -> [Effect] {
    let operation = nextOperation()
    if live?.refresh == nil {
      live?.refresh = Refresh(state: .locking(operation))
    } else {
      live?.refresh?.state = .locking(operation)
    }
    return [.lock(operation, within: SessionMachine.lockPatience)]
  }

  /// The lock was acquired, or could not be. With rotation keys it only saves work: without it the stored pair is sent.
  mutating func locked(
    _ operation: Operation, _ key: RotationKey, failing trouble: VaultError?, at now: Moment
  ) -> [Effect] {
    guard case .locking(operation)? = live?.refresh?.state else {
      return trouble == nil ? [.unlock(operation), .ignored] : [.ignored]
    }
    live?.refresh?.newKey = key
    live?.refresh?.lock = trouble == nil ? operation : nil
    guard let trouble else {
      live?.refresh?.hasReadVault = false
      live?.refresh?.senderHasEnded = nil
      live?.refresh?.failure = nil
      return prepare(at: now)
    }
    if isKeyed { return prepare(at: now) }
    let reading = nextOperation()
    live?.refresh?.state = .checkingHolder(reading, trouble)
    return [.read(reading)]
  }

  /// Waits for the holder of the lock as long as its response may still arrive.
  mutating func holderChecked(
    _ operation: Operation, _ trouble: VaultError, _ reading: VaultReading, at now: Moment
  ) -> [Effect] {
    let id = live?.stored.id
    let effects: [Effect]
    if case .trouble = reading { effects = [] } else { effects = absorb(reading, at: now) }
    guard let live, live.stored.id == id, case .checkingHolder(operation, _)? = live.refresh?.state else {
      return effects
    }
    if !isRefreshWanted(at: now) { return effects + endRefresh(at: now) }
    if let found = live.stored.attempt, let age = found.age(at: now), age < found.limit {
      return effects + acquireLock()
    }
    self.live?.refresh?.failure = .storage(trouble)
    return effects + pause(retryAfter: nil, entropy: 0, at: now)
  }

  // MARK: Before the request

  /// Stores the rotation key before a byte is sent, and detects whether another process was faster.
  mutating func prepare(at now: Moment) -> [Effect] {
    // Adopted tokens may have served all callers: then another rotation would be superfluous.
    guard isRefreshWanted(at: now) else { return endRefresh(at: now) }
    guard let live, let key = live.refresh?.newKey, let token = live.stored.refresh else {
      return endRefresh(failing: .noRefreshToken, at: now)
    }
    var attempt: RefreshAttempt?
    var former: RefreshAttempt?
    if !isKeyed {
      var first: Moment?
      if let found = live.stored.attempt {
        switch disposition(of: found, in: live, at: now) {
        case .goOn:
          former = found
          let isHarmless = found.isSame(as: live.attempt) && live.attemptState == .harmless
          first = found.first ?? (isHarmless ? nil : found.since)
        case .wait(let rest):
          // It may be over by now: the vault is read before waiting.
          if live.refresh?.hasReadVault == true { return waitOut(found, for: rest, at: now) }
        case .noteReading: return noteReading(of: found, at: now)
        case .checkSender: return checkSender(of: found)
        }
      }
      let age = first.map { now.elapsed(since: $0) } ?? .zero
      attempt = RefreshAttempt(
        since: now, sender: sender, first: first, limit: rule(for: live.stored).patience(sinceFirst: age))
      self.live?.attempt = attempt
      self.live?.attemptState = .harmless
    }
    let operation = nextOperation()
    self.live?.refresh?.awaited = nil
    self.live?.refresh?.state = .preparing(operation)
    let target = nextTarget(at: now)
    self.live?.refresh?.target = target
    // A refresh of the session's own token by another process does not serve a caller for another target.
    let access = target == nil ? live.stored.access?.token : nil
    return [
      .edit(
        operation,
        .prepare(live.stored.id, holding: token, replacing: access, key: key, attempt: attempt, over: former))
    ]
  }

  mutating func prepared(_ outcome: VaultOutcome, asOf: Moment, at now: Moment) -> [Effect] {
    switch outcome {
    case .done(let entry):
      guard let session = entry.session, let token = session.refresh, let key = session.pendingKey else {
        return continueRefresh(from: entry, at: now)
      }
      guard let age = now.elapsed(since: asOf), age <= SessionMachine.staleness else {
        return continueRefresh(from: entry, at: now)
      }
      // Other processes count from the recorded moment: a process that was suspended since then records a new one.
      let isKeyed = isKeyed
      let limit = session.attempt?.limit ?? policy.refresh.responseTimeout
      let noted = isKeyed ? .zero : session.attempt?.age(at: now)
      guard let noted, noted <= limit / 2 else { return continueRefresh(from: entry, at: now) }
      let operation = nextOperation()
      live?.adopt(session, in: now.boot)
      if let target = live?.refresh?.target, isServed(target, at: now) {
        // Another process has stored a token for it, under a refresh token that stays: the server is not asked.
        guard !isKeyed, var attempt = session.attempt else { return continueRefresh(from: entry, at: now) }
        let recorded = attempt
        attempt.isOver = true
        live?.refresh?.state = .notingReading(operation)
        return [.edit(operation, .updateAttempt(session.id, recorded, as: attempt.first == nil ? nil : attempt))]
      }
      live?.refresh?.state = .sending(operation, token, since: now)
      if !isKeyed { live?.attemptState = .open }
      var request = RefreshRequest(token: token, key: key, target: live?.refresh?.target)
      request.alwaysSendsKey = session.rotationKeys != .unknown
      request.access = request.target == nil ? nil : session.access?.token
      request.isRepeatable = isKeyed
      let asking = Effect.askRefresh(operation, request)
      return isKeyed ? [asking] : [asking, startTimer(.answer, after: limit - noted)]
    case .conflict(let entry):
      // The attempt was not recorded.
      live?.attempt = nil
      return continueRefresh(from: entry, at: now)
    case .failed(let trouble):
      // Without a durable key nothing may be sent: a later launch would look like token reuse.
      return endRefresh(failing: .storage(trouble), at: now)
    }
  }

  /// Continues with what the vault holds now. If that serves the waiting callers, the refresh ends.
  mutating func continueRefresh(from entry: VaultEntry, at now: Moment) -> [Effect] {
    guard let session = live?.stored.id, var rereads = live?.refresh?.rereads else { return [.ignored] }
    rereads += 1
    live?.refresh?.rereads = rereads
    live?.refresh?.hasReadVault = true
    let effects = absorb(entry, at: now)
    guard live?.stored.id == session, live?.refresh != nil else { return effects }
    if waiters.isEmpty { return effects + endRefresh(at: now) }
    guard rereads < SessionMachine.mostRereads else {
      return effects + endRefresh(failing: .storage(.unavailable("other processes keep changing the vault")), at: now)
    }
    return effects + prepare(at: now)
  }

  // MARK: The answer

  mutating func refreshCompleted(
    _ operation: Operation, _ answer: RefreshResult, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    if case .lateAnswer(let session, let sent)? = work[operation] {
      work[operation] = nil
      return lateAnswer(answer, of: session, sent: sent)
    }
    guard let live, case .sending(operation, let sent, let since)? = live.refresh?.state else { return [.ignored] }
    timers[.answer] = nil
    let target = live.refresh?.target
    switch answer {
    case .granted(var grant):
      // An ID that was made here is not the server's.
      guard grant.sessionID == nil || grant.sessionID == live.stored.id || live.stored.id.isLocal,
        live.stored.isOf(grant.profile?.id ?? grant.subject)
      else {
        // Tokens of another session or account must not replace this session's.
        self.live?.cause = .unusableTokens("they belong to another session", successor: nil)
        return unanswered(.over, entropy: entropy, at: now)
      }
      // An earlier response to this refresh may have had no usable token.
      let failure = target.flatMap { objection(to: grant, for: $0) }
      self.live?.refresh?.failure = failure
      grant.revocation = grant.handle(revokesRefreshTokens: revokesRefreshTokens)
      var tokens = RefreshedTokens(grant, sent: sent, since: since)
      (tokens.target, tokens.servesTarget) = (target, failure == nil)
      return save(tokens)
    case .rejected(let reason) where target != nil: return targetRefused(.sessionEnded(reason), at: now)
    case .superseded where target != nil: return targetRefused(.storageOutdated, at: now)
    case .rejected(var reason):
      if reason == .rejected, !isKeyed, live.attempt?.first != nil { reason = .repeatRefused }
      let operation = nextOperation()
      self.live?.refresh?.state = .rejecting(operation, reason)
      return [
        .edit(
          operation, .end(live.stored.id, holding: sent, reason: reason, at: now, steps: steps(for: reason)))
      ]
    case .superseded:
      let operation = nextOperation()
      self.live?.refresh?.state = .checkingRollback(operation, sent)
      return [.read(operation)]
    case .noDecision(let cause, let retryAfter):
      return undecided(cause, sent: sent, retryAfter: retryAfter, entropy: entropy, at: now)
    }
  }

  /// The response, if there is one, decides nothing: the session continues, and the cause says how.
  private mutating func undecided(
    _ cause: RequestError, sent: RefreshToken, retryAfter: Duration?, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    if case .unusableTokens(let reason, let successor?) = cause {
      let failure = RequestError.unusableTokens(reason, successor: nil)
      guard let access = live?.access else {
        live?.cause = failure
        return unanswered(.over, entropy: entropy, at: now)
      }
      // The current access token stays valid until it expires; the next attempt begins with the new refresh token.
      live?.refresh?.failure = .requestFailed(failure)
      let tokens = TokenSet(access.credential, expiresIn: access.lifetime?.duration, refresh: successor)
      let since = access.lifetime?.start ?? now
      return save(RefreshedTokens(TokenResponse(tokens: tokens), sent: sent, since: since))
    }
    if case .configuration = cause, live?.refresh?.target != nil {
      return targetRefused(.requestFailed(cause), at: now)
    }
    live?.cause = cause
    // One more attempt may come to the endpoint.
    let lastButOne = policy.retry.attempts - 1
    if cause.isAstray, let attempt = live?.refresh?.attempt { live?.refresh?.attempt = max(attempt, lastButOne) }
    switch cause.exchange {
    case .over: return unanswered(.over, retryAfter: retryAfter, entropy: entropy, at: now)
    case .open: return unanswered(.open, retryAfter: retryAfter, entropy: entropy, at: now)
    case .withoutEffect:
      live?.attemptState = .harmless
      // The endpoint would say the same again.
      let attempts = policy.retry.attempts
      if cause.isEndpointRefusal { live?.refresh?.attempt = attempts }
      return pause(retryAfter: retryAfter, entropy: entropy, at: now)
    }
  }

  // MARK: After the answer

  /// Stores new tokens, as the refresh in progress or as one that does nothing else.
  mutating func save(_ unsaved: RefreshedTokens) -> [Effect] {
    guard let session = live?.stored.id else { return [.ignored] }
    let operation = nextOperation()
    if live?.refresh == nil {
      live?.refresh = Refresh(state: .saving(operation, unsaved))
    } else {
      live?.refresh?.state = .saving(operation, unsaved)
    }
    return [.edit(operation, .advance(session, unsaved))]
  }

  /// The successor was written, or not.
  mutating func advanced(_ unsaved: RefreshedTokens, _ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    guard let live else { return [.ignored] }
    let isNew = live.unsaved == nil
    switch outcome {
    case .done(let entry):
      guard let session = entry.session, session.id == live.stored.id else {
        return continueRefresh(from: entry, at: now)
      }
      self.live?.advanced(to: session, isNew: isNew && unsaved.target == nil, at: now)
      if let target = live.refresh?.target, live.refresh?.failure == nil {
        self.live?.targeted[target] = unsaved.access
      }
      if isNew, let failure = live.refresh?.failure {
        return [audit(.refresh, session, "unusable", at: now), .refreshed(session.id, failure)]
          + endRefresh(failing: failure, at: now)
      }
      let effects = publishSession() + [audit(.refresh, session, "ok", at: now), .refreshed(session.id, nil)]
      guard !isNew else { return effects + endRefresh(at: now) }
      // Stored at last, but the waiting callers have no use for that token: now it may be rotated.
      self.live?.refresh = nil
      let lock = live.refresh?.lock.map { [Effect.unlock($0)] } ?? []
      return effects + lock + serveWaiters(at: now) + scheduleRefresh(at: now)
    case .conflict(let entry) where wentBack(entry) && entry.session?.id == live.stored.id:
      // An older copy was restored meanwhile: first the previous state is written again, then the new tokens.
      let trouble = VaultError.unavailable("an older copy was restored").adding(SessionMachine.onlyInMemory)
      return absorb(entry, at: now) + keepInMemory(unsaved, isNew: isNew, trouble, at: now)
    case .conflict(let entry):
      self.live?.unsaved = nil
      keepSuccessor(unsaved, of: live, unlessIn: entry)
      // A refresh that only saved has neither lock nor key: the next one starts over.
      guard live.refresh?.newKey == nil else { return continueRefresh(from: entry, at: now) }
      self.live?.refresh = nil
      return absorb(entry, at: now)
    case .failed(let trouble):
      return keepInMemory(unsaved, isNew: isNew, trouble.adding(SessionMachine.onlyInMemory), at: now)
    }
  }

  private static let onlyInMemory = "the new tokens are only in memory until the vault can be written"

  /// New tokens that could not be written are used nevertheless, and the write is retried.
  private mutating func keepInMemory(
    _ unsaved: RefreshedTokens, isNew: Bool, _ trouble: VaultError, at now: Moment
  ) -> [Effect] {
    guard let live else { return [.ignored] }
    self.live?.unsaved = unsaved
    if isNew, unsaved.target == nil { self.live?.mintedAt = now }
    if !isKeyed, let lock = live.refresh?.lock {
      self.live?.lockOfUnsaved = lock
      self.live?.refresh?.lock = nil
    }
    return [audit(.trouble, live.stored, "advance", at: now), .refreshed(live.stored.id, .storage(trouble))]
      + endRefresh(failing: .storage(trouble), at: now) + [startTimer(.save, after: .seconds(1))]
  }

  /// The server rejected the token, and the vault has been asked whether it is still the one in use.
  mutating func rejected(_ reason: EndReason, _ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    switch outcome {
    case .done(let entry):
      guard let live else { return [.ignored] }
      sessionNotToAdopt = entry.session?.id
      note(entry)
      var ending = Ending(live, reason: reason, steps: steps(for: reason))
      ending.isRejection = true
      return over(ending, at: now)
    case .conflict(let entry): return continueRefresh(from: entry, at: now)
    case .failed(let trouble): return endRefresh(failing: .storage(trouble), at: now)
    }
  }

  // MARK: Without tokens

  /// No response: another attempt after a pause, with the same pair, until the policy's limit.
  mutating func pause(retryAfter: Duration?, entropy: UInt64, at now: Moment) -> [Effect] {
    guard let live, let refresh = live.refresh else { return [.ignored] }
    guard refresh.attempt < policy.retry.attempts else {
      let failures = policy.retry.count(afterFailure: live.failures)
      self.live?.failures = failures
      let wait = policy.retry.delay(afterAttempt: failures, entropy: entropy, retryAfter: retryAfter)
      return giveUp(for: wait, retryAfter: retryAfter.map { _ in wait }, at: now)
    }
    self.live?.refresh?.attempt += 1
    self.live?.refresh?.state = .pausing
    return [
      startTimer(
        .retry, after: policy.retry.delay(afterAttempt: refresh.attempt, entropy: entropy, retryAfter: retryAfter))
    ]
  }

  mutating func retry(at now: Moment) -> [Effect] {
    guard case .pausing? = live?.refresh?.state else { return [.ignored] }
    live?.refresh?.senderHasEnded = nil
    return live?.refresh?.lock == nil && !isKeyed ? acquireLock() : prepare(at: now)
  }

  /// Gives up for now.
  mutating func giveUp(for quiet: Duration, retryAfter: Duration?, at now: Moment) -> [Effect] {
    guard let live, live.refresh != nil else { return [.ignored] }
    self.live?.quietUntil = now.advanced(by: quiet)
    self.live?.retryAfter = retryAfter.map { now.advanced(by: $0) }
    let failure = live.refresh?.failure ?? live.failure(retryAfter: retryAfter)
    let outcome = AuditEntry.outcome(of: failure.code)
    return [audit(.refresh, live.stored, outcome, at: now), .refreshed(live.stored.id, failure)]
      + withdraw(failing: failure, at: now)
  }

  /// Ends the refresh. The record of an attempt that no process needs to wait for is removed first, or marked as over.
  mutating func withdraw(failing failure: SessionError, at now: Moment) -> [Effect] {
    guard let live, let attempt = live.attempt, live.attemptState != .open, attempt.isSame(as: live.stored.attempt),
      live.refresh?.lock != nil, let stored = live.stored.attempt
    else { return endRefresh(failing: failure, at: now) }
    // An earlier attempt with this token may have had consequences.
    var left: RefreshAttempt? = stored
    left?.isOver = true
    if live.attemptState == .harmless, stored.first == nil { left = nil }
    let operation = nextOperation()
    self.live?.refresh?.failure = failure
    self.live?.refresh?.state = .withdrawing(operation)
    return [.edit(operation, .updateAttempt(live.stored.id, stored, as: left))]
  }

  mutating func withdrawn(at now: Moment) -> [Effect] {
    guard let live else { return [.ignored] }
    // If it could not be written, the next attempt replaces it.
    if live.attempt?.isSame(as: live.stored.attempt) == true {
      if live.attemptState == .harmless, live.stored.attempt?.first == nil {
        self.live?.stored.attempt = nil
      } else {
        self.live?.stored.attempt?.isOver = true
      }
    }
    return endRefresh(failing: live.refresh?.failure ?? live.failure(retryAfter: nil), at: now)
  }

  /// The refresh has ended. With an error: callers that the current token satisfies are served, the others get the error.
  mutating func endRefresh(failing error: SessionError? = nil, at now: Moment) -> [Effect] {
    guard let live, let refresh = live.refresh else { return [.ignored] }
    self.live?.refresh = nil
    var effects: [Effect] = []
    if let error {
      effects += serveWaitersWithCurrentToken(at: now) + resume(for: refresh.target, .failure(error))
    } else if let access = refresh.target.map({ live.targeted[$0] }) ?? live.access {
      // A token that was issued for them satisfies all callers except those for which that very token was rejected.
      let refused = waiters.filter { $0.value.target == refresh.target && $0.value.refused == access.credential }
        .keys.sorted()
      for waiter in refused { waiters[waiter] = nil }
      effects += resume(for: refresh.target, .success(access))
      if !refused.isEmpty { effects.append(.resume(refused, .failure(.tokenRejected))) }
    }
    if let lock = refresh.lock { effects.append(.unlock(lock)) }
    // Callers for other targets; then the timer. Never at once for the same target: otherwise a failing vault, or a server whose
    // tokens have expired on arrival, would be contacted in a tight loop.
    return effects + serveWaiters(at: now) + scheduleRefresh(at: now, atLeast: SessionMachine.leastPause)
  }

  /// Answers every caller that waits for a token for `target`.
  private mutating func resume(
    for target: TokenTarget?, _ result: Result<StoredAccess, SessionError>
  ) -> [Effect] {
    let all = waiters.filter { $0.value.target == target }.keys.sorted()
    guard !all.isEmpty else { return [] }
    for waiter in all { waiters[waiter] = nil }
    return [.resume(all, result)]
  }

  /// Ends the refresh without an answer to its callers, keeping what the server may have issued.
  mutating func dropRefresh() {
    if let live { keepSuccessors(of: live) }
    live?.refresh = nil
    work = work.filter { _, purpose in
      switch purpose {
      case .save, .touch: false
      case .reload, .begin, .renew, .identify, .lateAnswer, .restoreEntry, .end, .retryEnd, .revoked, .updateRevocation,
        .postpone, .cleaned, .idleCheck:
        true
      }
    }
    timers[.retry] = nil
    timers[.answer] = nil
    timers[.refresh] = nil
  }
}
