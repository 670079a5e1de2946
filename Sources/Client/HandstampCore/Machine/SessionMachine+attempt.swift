/// Refreshes at servers without rotation keys: a token is not presented a second time while a response to the first presentation
/// may arrive.
extension SessionMachine {
  /// The outcome of an attempt of this process.
  enum AttemptState: Sendable, Hashable {
    /// It had no consequences: nothing was sent, or the server refused.
    case harmless
    /// A response may still arrive.
    case open
    /// No response can arrive, and the server may have acted.
    case over
  }

  /// The effect of a recorded attempt on a refresh.
  enum AttemptDisposition {
    case goOn
    case wait(Duration)
    /// Its age is unknown under this boot.
    case noteReading
    /// Whether its sender has ended decides.
    case checkSender
  }

  /// Whether the server is known to accept rotation keys of the session in use: then a refresh may be repeated freely.
  var isKeyed: Bool { supportsRotationKeys || live?.stored.rotationKeys == .accepted }

  func rule(for session: StoredSession) -> RepeatRule {
    var reuse = policy.refresh.reuse
    if reuse == nil, session.isRotated == false { reuse = .notRotated }
    if reuse == .notRotated, session.isRotated == true { reuse = nil }
    return RepeatRule(reuse: reuse, timeout: policy.refresh.responseTimeout)
  }

  func disposition(of found: RefreshAttempt, in live: Live, at now: Moment) -> AttemptDisposition {
    if found.isSame(as: live.attempt), live.attemptState != .open { return .goOn }
    guard let age = found.age(at: now) else { return .noteReading }
    guard age < found.limit, !found.isOver else { return .goOn }
    // Without a number for the boot, a lock may be another machine's.
    let isVisible = found.sender.isVisible(to: sender) || found.lock != nil && now.boot != 0
    guard found.since.boot == now.boot, isVisible, found.sender != sender else { return .wait(found.limit - age) }
    switch live.refresh?.senderHasEnded {
    case nil: return .checkSender
    case true?: return age < RepeatRule.pause ? .wait(RepeatRule.pause - age) : .goOn
    // It may end at any time.
    case false?: return .wait(min(found.limit - age, RepeatRule.look))
    }
  }

  mutating func checkSender(of found: RefreshAttempt) -> [Effect] {
    let operation = nextOperation()
    live?.refresh?.state = .checkingSender(operation)
    return [.checkSender(operation, found)]
  }

  /// Whether this process holds the lock of its attempt, if it has one: the attempt is being recorded, a response may arrive,
  /// or it is not stored. Once the limit has passed, other processes do not ask.
  package func holdsAttempt(at now: Moment) -> Bool {
    if isRefreshUnstored { return true }
    if case .preparing? = live?.refresh?.state { return true }
    guard let live, live.attemptState == .open, let attempt = live.attempt, attempt.isSame(as: live.stored.attempt)
    else { return false }
    return attempt.age(at: now).map { $0 < attempt.limit } ?? true
  }

  mutating func senderChecked(_ operation: Operation, hasEnded: Bool, at now: Moment) -> [Effect] {
    guard case .checkingSender(operation)? = live?.refresh?.state else { return [.ignored] }
    live?.refresh?.senderHasEnded = hasEnded
    return prepare(at: now)
  }

  /// Waits until the limit of `found` has passed, without the lock: other processes wait for the same.
  mutating func waitOut(_ found: RefreshAttempt, for wait: Duration, at now: Moment) -> [Effect] {
    guard let refresh = live?.refresh else { return [.ignored] }
    live?.refresh?.unanswered = max(1, refresh.unanswered)
    live?.refresh?.awaited = found
    live?.refresh?.state = .pausing
    live?.refresh?.lock = nil
    let lock = refresh.lock.map { [Effect.unlock($0)] } ?? []
    return serveWaitersWithCurrentToken(at: now) + lock + [startTimer(.retry, after: wait)]
  }

  mutating func noteReading(of found: RefreshAttempt, at now: Moment) -> [Effect] {
    guard let live, live.refresh != nil else { return [.ignored] }
    let operation = nextOperation()
    self.live?.refresh?.state = .notingReading(operation)
    return [.edit(operation, .updateAttempt(live.stored.id, found, as: found.read(at: now)))]
  }

  mutating func readingNoted(_ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    switch outcome {
    case .done(let entry), .conflict(let entry): continueRefresh(from: entry, at: now)
    case .failed(let trouble): endRefresh(failing: .storage(trouble), at: now)
    }
  }

  /// There is no response, or it decides nothing, and the server may have acted on the request.
  ///
  /// If no response can arrive any more, the token is presented again after a short pause, as often as the policy allows. If one
  /// may, the callers wait until the limit has passed and the token is presented again; the second time they get the error.
  mutating func unanswered(
    _ exchange: AttemptState, retryAfter: Duration? = nil, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    guard !isKeyed else { return pause(retryAfter: retryAfter, entropy: entropy, at: now) }
    guard let live, let attempt = live.attempt, let refresh = live.refresh else { return [.ignored] }
    self.live?.attemptState = exchange
    self.live?.refresh?.unanswered = refresh.unanswered + 1
    let rule = rule(for: live.stored)
    let age = now.elapsed(since: attempt.first ?? attempt.since)
    let pause = rule.pause(
      before: refresh.unanswered + 1, sinceFirst: age, retryAfter: retryAfter, entropy: entropy)
    switch exchange {
    case .over where refresh.attempt < policy.retry.attempts:
      self.live?.refresh?.attempt += 1
      self.live?.refresh?.state = .pausing
      return serveWaitersWithCurrentToken(at: now) + [startTimer(.retry, after: pause)]
    case .over: return giveUp(for: max(pause, quiet(entropy)), retryAfter: retryAfter ?? pause, at: now)
    case .open, .harmless:
      let rest = max(.zero, attempt.limit - (attempt.age(at: now) ?? .zero))
      let wait = max(rest, min(retryAfter ?? .zero, policy.retry.cap))
      guard refresh.unanswered == 0 else {
        return giveUp(for: max(wait, quiet(entropy)), retryAfter: wait > .zero ? wait : nil, at: now)
      }
      return waitOut(attempt, for: wait, at: now)
    }
  }

  /// The back-off after another refresh that brought no tokens.
  private mutating func quiet(_ entropy: UInt64) -> Duration {
    let failures = policy.retry.count(afterFailure: live?.failures ?? 0)
    live?.failures = failures
    return policy.retry.delay(afterAttempt: failures, entropy: entropy, retryAfter: nil)
  }

  /// The program has run for as long as a response is awaited: it is given up, so none can arrive, and the token is presented again.
  mutating func responseTimeoutPassed(at now: Moment) -> [Effect] {
    guard let live, let refresh = live.refresh, let attempt = live.attempt,
      case .sending(let operation, _, _) = refresh.state
    else { return [.ignored] }
    self.live?.attemptState = .over
    self.live?.cause = .network(.timedOut)
    self.live?.refresh?.unanswered = refresh.unanswered + 1
    let age = now.elapsed(since: attempt.first ?? attempt.since)
    let isTolerated = rule(for: live.stored).isTolerated(sinceFirst: age) && refresh.attempt < policy.retry.attempts
    guard refresh.unanswered == 0 || isTolerated else {
      return [.abandon(operation)] + giveUp(for: quiet(0), retryAfter: nil, at: now)
    }
    self.live?.refresh?.attempt += 1
    return [.abandon(operation)] + prepare(at: now)
  }
}
