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
    case .done(let entry), .conflict(let entry): continueRefresh(from: entry, at: now)
    case .failed(let trouble): endRefresh(failing: .storage(trouble), at: now)
    }
  }

  /// There is no response, or it decides nothing. The first time, the callers wait until the limit has passed and the token is
  /// presented again; the second time they get the error.
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
