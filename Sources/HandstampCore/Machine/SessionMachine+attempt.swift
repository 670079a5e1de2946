/// Refreshes at servers without rotation keys: a token is not presented a second time before the first presentation is settled,
/// or its limit has passed.
extension SessionMachine {
  /// The effect of a recorded attempt on a refresh.
  enum Regard {
    case goOn
    case wait(Duration)
    /// Its age is unknown under this boot.
    case noteReading
  }

  func regard(for found: RefreshAttempt, in live: Live, at now: Moment) -> Regard {
    // Its outcome is known here.
    if found.isSame(as: live.attempt), !live.isAttemptOpen { return .goOn }
    guard let age = found.age(at: now) else { return .noteReading }
    return age < policy.refresh.responseTimeout ? .wait(policy.refresh.responseTimeout - age) : .goOn
  }

  /// Waits until the limit of `found` has passed, without the lock: other processes wait for the same.
  mutating func waitOut(_ found: RefreshAttempt, for wait: Duration, at now: Moment) -> [Effect] {
    guard let refresh = live?.refresh else { return [.ignored] }
    live?.refresh?.unanswered = max(1, refresh.unanswered)
    live?.refresh?.awaited = found
    live?.refresh?.state = .pausing
    live?.refresh?.lock = nil
    let lock = refresh.lock.map { [Effect.unlock($0)] } ?? []
    return serveWithWhatLasts(at: now) + lock + [startTimer(.retry, after: wait)]
  }

  mutating func noteReading(of found: RefreshAttempt, at now: Moment) -> [Effect] {
    guard let live, live.refresh != nil else { return [.ignored] }
    let operation = nextOperation()
    self.live?.refresh?.state = .notingReading(operation)
    return [.edit(operation, .note(live.stored.id, found, as: found.read(at: now)))]
  }

  mutating func readingNoted(_ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    switch outcome {
    case .done(let entry), .conflict(let entry): moved(to: entry, at: now)
    case .failed(let trouble): endRefresh(failing: .storage(trouble), at: now)
    }
  }

  /// There is no response, or it decides nothing: the token is presented again when the limit has passed, but not for the
  /// callers that wait now.
  mutating func unanswered(
    retryAfter: Duration?, entropy: UInt64, hasPassed: Bool = false, at now: Moment
  ) -> [Effect] {
    guard !supportsRotationKeys else { return pause(retryAfter: retryAfter, entropy: entropy, at: now) }
    guard let attempt = live?.attempt, let number = live?.refresh?.unanswered else { return [.ignored] }
    live?.refresh?.unanswered = number + 1
    // Time in which the program ran is at most the time on any clock.
    if hasPassed {
      live?.isAttemptOpen = false
      live?.cause = .network(.timedOut)
    }
    let rest = hasPassed ? .zero : max(.zero, policy.refresh.responseTimeout - (attempt.age(at: now) ?? .zero))
    let wait = max(rest, min(retryAfter ?? .zero, policy.retry.cap))
    guard number == 0 else {
      let failures = policy.retry.count(afterFailure: live?.failures ?? 0)
      live?.failures = failures
      let quiet = max(wait, policy.retry.delay(afterAttempt: failures, entropy: entropy, retryAfter: nil))
      return giveUp(for: quiet, retryAfter: wait > .zero ? wait : nil, at: now)
    }
    return wait > .zero ? waitOut(attempt, for: wait, at: now) : prepare(at: now)
  }

  /// The program has run for as long as a response is awaited.
  mutating func responseTimeoutPassed(at now: Moment) -> [Effect] {
    guard case .sending(let operation, _, _)? = live?.refresh?.state else { return [.ignored] }
    return [.abandon(operation)] + unanswered(retryAfter: nil, entropy: 0, hasPassed: true, at: now)
  }
}

/// Successors that arrived after the end of their session. Where the refresh token ends the session, the server needs the
/// newest one: a replaced token ends nothing.
extension SessionMachine {
  mutating func lateAnswer(_ answer: RefreshAnswer, of session: SessionID, sent: RefreshToken) -> [Effect] {
    let successor: RefreshToken? =
      switch answer {
      // Tokens of another session do not count.
      case .granted(let grant): grant.session == nil || grant.session == session ? grant.tokens.refresh : nil
      case .unusable(let successor, _, _): successor
      case .rejected, .superseded, .noDecision: nil
      }
    guard let successor, successor != sent else { return [.ignored] }
    revocations.keep(successor, after: sent, of: session)
    return []
  }

  /// Keeps the successors that an ended session's refresh has returned, or may yet return.
  mutating func keepSuccessors(of live: Live) {
    if let unsaved = live.unsaved { keepSuccessor(unsaved, of: live) }
    switch live.refresh?.state {
    case .sending(let operation, let sent, _) where isEnded(live, with: sent):
      work[operation] = .lateAnswer(live.stored.id, sent: sent)
    case .saving(_, let tokens): keepSuccessor(tokens, of: live)
    default: break
    }
    for case .save(let tokens) in work.values { keepSuccessor(tokens, of: live) }
  }

  /// Keeps tokens that could not be written before their session ended; `entry` is the vault as it is now.
  mutating func keepSuccessor(_ tokens: Unsaved, of live: Live, unlessIn entry: VaultEntry? = nil) {
    guard entry?.session?.id != live.stored.id, isEnded(live, with: tokens.sent), tokens.successor != tokens.sent
    else { return }
    revocations.keep(tokens.successor, after: tokens.sent, of: live.stored.id)
  }

  private func isEnded(_ live: Live, with token: RefreshToken) -> Bool {
    !supportsRotationKeys && live.stored.revocation?.secret == token.secret
  }

  /// An older vault had been restored: its tombstone contains a replaced token.
  mutating func keepNewerHandle(of ending: Ending, than entry: VaultEntry) {
    guard !supportsRotationKeys, revision > 0, entry.revision <= revision, let session = ending.session,
      let own = ending.revocation,
      let older = entry.tombstone(of: session)?.revocation, older != own
    else { return }
    revocations.keep(RefreshToken(own.secret), after: RefreshToken(older.secret), of: session)
  }
}
