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
    guard case .live(var live) = phase, live.flight != nil else { return [.ignored] }
    let unanswered = live.flight?.unanswered ?? 0
    live.flight?.unanswered = max(1, unanswered)
    live.flight?.awaited = found
    live.flight?.step = .pausing
    let lock = live.flight?.lock.map { [Effect.unlock($0)] } ?? []
    live.flight?.lock = nil
    phase = .live(live)
    return serveWithWhatLasts(at: now) + lock + [startTimer(.retry, after: wait)]
  }

  mutating func noteReading(of found: RefreshAttempt, at now: Moment) -> [Effect] {
    guard case .live(var live) = phase, live.flight != nil else { return [.ignored] }
    live.flight?.step = .preparing
    phase = .live(live)
    return [edit(.note(live.stored.id, found, as: found.read(at: now)), for: .noteReading)]
  }

  mutating func readingNoted(_ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    guard case .live(let live) = phase, live.flight?.step == .preparing else { return [.ignored] }
    switch outcome {
    case .done(let entry), .conflict(let entry): return moved(to: entry, at: now)
    case .failed(let trouble): return endFlight(failing: .storage(trouble), at: now)
    }
  }

  /// There is no response, or it decides nothing: the token is presented again when the limit has passed, but not for the
  /// callers that wait now.
  mutating func unanswered(
    retryAfter: Duration?, entropy: UInt64, hasPassed: Bool = false, at now: Moment
  ) -> [Effect] {
    guard !supportsRotationKeys else { return pause(retryAfter: retryAfter, entropy: entropy, at: now) }
    guard case .live(var live) = phase, live.flight != nil, let attempt = live.attempt else { return [.ignored] }
    live.flight?.unanswered += 1
    // Time in which the program ran is at most the time on any clock.
    if hasPassed {
      live.isAttemptOpen = false
      live.cause = .network(.timedOut)
    }
    phase = .live(live)
    let rest = hasPassed ? .zero : max(.zero, policy.refresh.responseTimeout - (attempt.age(at: now) ?? .zero))
    let wait = max(rest, min(retryAfter ?? .zero, policy.retry.cap))
    guard live.flight?.unanswered ?? 0 < 2 else {
      live.failures += 1
      phase = .live(live)
      let quiet = max(wait, policy.retry.delay(afterAttempt: live.failures, entropy: entropy, retryAfter: nil))
      return giveUp(for: quiet, retryAfter: wait > .zero ? wait : nil, at: now)
    }
    return wait > .zero ? waitOut(attempt, for: wait, at: now) : prepare(at: now)
  }

  /// The program has run for as long as a response is awaited.
  mutating func responseTimeoutPassed(at now: Moment) -> [Effect] {
    guard case .live(let live) = phase, live.flight?.step == .asking,
      let operation = work.first(where: { if case .ask = $0.value { true } else { false } })?.key
    else { return [.ignored] }
    work[operation] = nil
    return [.abandon(operation)] + unanswered(retryAfter: nil, entropy: 0, hasPassed: true, at: now)
  }
}

/// Successors that arrived after the end of their session. Where the refresh token ends the session, the server needs the
/// newest one: a replaced token ends nothing.
extension SessionMachine {
  struct LateSuccessor: Sendable, Hashable {
    var sent: RefreshToken
    var successor: RefreshToken
    var isTold = false
  }

  mutating func lateAnswer(_ answer: RefreshAnswer, of session: SessionID, sent: RefreshToken) -> [Effect] {
    let successor: RefreshToken? =
      switch answer {
      // Tokens of another session do not count.
      case .granted(let grant): grant.session == nil || grant.session == session ? grant.tokens.refresh : nil
      case .unusable(let successor, _, _): successor
      case .rejected, .superseded, .noDecision: nil
      }
    guard let successor, successor != sent else { return [.ignored] }
    lateSuccessors[session] = LateSuccessor(sent: sent, successor: successor)
    return []
  }

  /// Keeps the successors that an ended session's refresh has returned, or may yet return.
  mutating func keepSuccessors(of live: Live) {
    if let unsaved = live.unsaved { keepSuccessor(unsaved, of: live) }
    for (operation, purpose) in work {
      switch purpose {
      case .ask(let sent, _) where isEnded(live, with: sent): work[operation] = .lateAnswer(live.stored.id, sent: sent)
      case .advance(let tokens), .save(let tokens): keepSuccessor(tokens, of: live)
      default: break
      }
    }
  }

  /// Keeps tokens that could not be written before their session ended; `entry` is the vault as it is now.
  mutating func keepSuccessor(_ tokens: Unsaved, of live: Live, unlessIn entry: VaultEntry? = nil) {
    guard entry?.session?.id != live.stored.id, isEnded(live, with: tokens.sent), tokens.successor != tokens.sent
    else { return }
    lateSuccessors[live.stored.id] = LateSuccessor(sent: tokens.sent, successor: tokens.successor)
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
    lateSuccessors[session] = LateSuccessor(
      sent: RefreshToken(older.secret), successor: RefreshToken(own.secret))
  }

  /// Revokes with late successors, but not before the end is stored.
  mutating func tellOfLateSuccessors(at now: Moment) -> [Effect] {
    guard !lateSuccessors.isEmpty else { return [] }
    if let session { lateSuccessors[session] = nil }
    var effects: [Effect] = []
    for (session, late) in lateSuccessors.sorted(by: { $0.key < $1.key }) where !late.isTold {
      if case .ending(let ending) = phase, ending.session == session { continue }
      lateSuccessors[session]?.isTold = true
      let handle = RevocationHandle(late.successor.secret)
      outbox[session] = handle
      delays[session] = nil
      delivered.removeAll { $0.session == session }
      if delivering.contains(session) { redelivering.insert(session) }
      let former = RevocationHandle(late.sent.secret)
      effects.append(edit(.tell(session, with: handle, insteadOf: former), for: .tell))
    }
    return effects + deliver(at: now)
  }

  /// Returns the newest handle of an ended session, if its tombstone contains an older one.
  func newest(_ handle: RevocationHandle, of session: SessionID) -> RevocationHandle {
    guard let late = lateSuccessors[session], late.sent.secret == handle.secret else { return handle }
    return RevocationHandle(late.successor.secret)
  }
}
