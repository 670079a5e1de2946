/// What a session may do next. Knows nothing of clocks, networks or disks.
///
/// Rule 1: every change of state begins in ``handle(_:at:)``, which never waits.
/// Rule 2: time and randomness come in, work goes out as an ``Effect``.
/// Rule 3: an event that makes no sense here changes nothing, never traps, and comes back as ``Effect/ignored``: the
/// network answers late, and that is not a bug.
/// Rule 4: nothing that depends on work follows it in one list; it comes out of the event that answers the work.
package struct SessionMachine: Sendable, Hashable {
  package let policy: SessionPolicy
  /// Whether the server knows rotation keys. If not, a refresh is never asked for without the flight lock.
  package let keepsRotationKeys: Bool
  /// The clean-up steps that this program can do.
  package let cleanups: [Cleanup]
  /// The process id that its attempts are noted with.
  package let process: Int32
  /// Raised by every sign-in and sign-out; what belongs to an older one comes to nothing.
  package internal(set) var epoch: UInt64 = 0

  var phase: Phase = .dormant
  /// Callers who wait for a token.
  var waiters: [Waiter: Need] = [:]
  /// The sign-in that is under way.
  var signingIn: Waiter?
  /// What has been asked for and is not answered yet.
  var work: [Operation: Purpose] = [:]
  /// Ended sessions that the server has not been told about.
  package internal(set) var outbox: [SessionID: RevocationHandle] = [:]
  var delivering: Set<SessionID> = []
  /// Those among them that the server must be told of once more, with a newer token.
  var redelivering: Set<SessionID> = []
  /// Refresh tokens that came after the end of their session.
  var lateSuccessors: [SessionID: LateSuccessor] = [:]
  /// Those that it was told of while this program ran, newest last: a look that was under way may still show their handle.
  var delivered: [Delivered] = []
  var deliveryFailures = 0
  /// Those in the outbox that wait, since the server answered in a way that decides nothing.
  var delays: [SessionID: DeliveryDelay] = [:]
  /// Sessions that ended while this program ran, newest last: nothing brings one of these back.
  var ended: [SessionID] = []
  var timers: [Timer: UInt64] = [:]
  var published: SessionState = .restoring
  var lastNumber: UInt64 = 0
  var looksAgain = false
  /// The highest revision of the vault that was seen since the session in use began. A lower one is an older vault that was
  /// put back.
  package internal(set) var revision: UInt64 = 0
  /// The session of another program that the vault held when one ended here that was never stored. It is not adopted.
  var passedOver: SessionID?
  /// A token that the server has left behind, while the vault still holds it: the vault went back in time.
  var leftBehind: RefreshToken?
  /// A tombstone that could not be written.
  var buryLater: BuryLater?
  /// A sign-in that has succeeded and waits until the former session's things are cleared away.
  var held: Held?
  /// Clean-up steps of ended sessions that are not done yet.
  package internal(set) var chores: [SessionID: Chores] = [:]
  /// Those that are: a look that was under way may still show them.
  var doneChores: [SessionID: Set<String>] = [:]

  package init(
    policy: SessionPolicy = SessionPolicy(), keepsRotationKeys: Bool = true, cleanups: [Cleanup] = [],
    process: Int32 = 0
  ) {
    self.process = process
    self.policy = policy
    self.keepsRotationKeys = keepsRotationKeys
    self.cleanups = cleanups
  }

  struct Delivered: Sendable, Hashable {
    var session: SessionID
    var handle: RevocationHandle
  }

  enum Phase: Sendable, Hashable {
    /// Before ``Event/start``.
    case dormant
    case restoring
    case signedOut
    case live(Live)
    /// The fence: the session is over for everybody here, the tombstone is being written.
    case ending(Ending)
    /// The vault or the server keeps the session from being used.
    case unavailable(SessionError)
  }

  /// A session that is in use.
  struct Live: Sendable, Hashable {
    /// As the vault last showed it.
    var stored: StoredSession
    /// Tokens newer than the vault's, which could not be written yet. While there are any, no rotation starts.
    var unsaved: Unsaved?
    /// The flight lock, kept while there are unsaved tokens at a server without rotation keys: another process would send a
    /// token that the server has replaced.
    var lockOfUnsaved: Operation?
    var flight: Flight?
    /// The attempt that this process noted last, and whether it may have had consequences.
    var attempt: RefreshAttempt?
    var isAttemptOpen = false
    /// The refresh item is locked: only the access token can be had.
    var isRefreshLocked = false
    /// When the current access token came.
    var mintedAt: Moment?
    /// Refreshes in a row that found no answer, and until when nobody is sent again.
    var failures = 0
    var quietUntil: Moment?
    /// Until when the server does not want to be asked, or must not be.
    var retryAfter: Moment?
    var touchedAt: Moment?
    /// What the vault holds, while what the server put in its place could not be written.
    var kept: AccessToken?

    var access: StoredAccess? { unsaved?.access ?? stored.access }
    var lock: Operation? { flight?.lock ?? lockOfUnsaved }

    /// Takes over what the vault shows, but for activity that it has not been told of.
    ///
    /// - Parameter boot: the one that runs now: what is stamped by it is later than anything of another. The wall clock, which
    ///   may have been set back, has a say only between two others.
    mutating func adopt(_ session: StoredSession, in boot: UInt64) {
      let (own, shown) = (stored.activeAt, session.activeAt)
      let newer = kept == nil || session.access?.token != kept ? nil : stored
      if newer == nil { kept = nil }
      stored = session
      if let newer { (stored.access, stored.revocation) = (newer.access, newer.revocation) }
      let isNewer: Bool
      if own.boot == shown.boot {
        isNewer = own.uptime > shown.uptime
      } else {
        isNewer = own.boot == boot || (shown.boot != boot && own.wall > shown.wall)
      }
      if isNewer { stored.activeAt = own }
    }
  }

  struct Unsaved: Sendable, Hashable {
    var sent: RefreshToken
    var successor: RefreshToken
    var access: StoredAccess
    var profile: Profile?
  }

  /// One refresh, from the lock to the stored successor.
  struct Flight: Sendable, Hashable {
    enum Step: Sendable, Hashable {
      case locking, preparing, asking, saving, ending, looking, pausing
      /// The lock could not be taken: a look at the vault tells whether its holder may still be waiting for an answer.
      case checking
      /// The attempt that had no consequences is being taken back; then the refresh is over.
      case withdrawing
    }
    var step: Step
    var attempt = 1
    var freshKey: RotationKey?
    var lock: Operation?
    /// How many attempts stayed without an answer, one of another process included.
    var unanswered = 0
    /// Whether the vault has been looked at since the lock was taken.
    var isFresh = false
    /// The attempt whose limit it waits for.
    var awaited: RefreshAttempt?
    /// What those who wait are told when it is over.
    var failure: SessionError?
    /// How often the vault moved under this flight; bounded, so that a vault that never settles cannot keep it for ever.
    var moves = 0
  }

  struct Ending: Sendable, Hashable {
    var session: SessionID?
    var revocation: RevocationHandle?
    var lock: Operation?
    var reason: EndReason
    var account: AccountID?
    /// Names of the clean-up steps that this end asks for.
    var steps: [String]
    var commands: [Waiter]
    /// The server rejected it: those who wait are told so.
    var isRejection = false
  }

  /// What is to be done after one ended session.
  package struct Chores: Sendable, Hashable {
    package var ended: EndedSession
    /// Asked for and not answered.
    package var running: Set<String> = []
    /// Failed; tried again later.
    package var failed: Set<String> = []
    var attempts = 0
  }

  struct Held: Sendable, Hashable {
    var waiter: Waiter
    var session: StoredSession
  }

  struct BuryLater: Sendable, Hashable {
    var session: SessionID?
    var edit: VaultEdit
    /// What the vault should show then.
    var tombstone: Tombstone?
  }

  /// Why work was asked for.
  enum Purpose: Sendable, Hashable {
    case look
    case begin(Waiter, StoredSession, isWanted: Bool)
    case lock
    /// A look at the vault after the lock could not be taken, for this reason.
    case lockCheck(VaultTrouble)
    case prepare
    /// An attempt that was found is noted as read under this boot.
    case noteReading
    case withdraw
    case ask(RefreshToken, since: Moment)
    /// The session ended while its refresh was in flight.
    case lateAnswer(SessionID, sent: RefreshToken)
    case advance(Unsaved)
    case save(Unsaved)
    case renew(Waiter?, SessionID, StoredAccess)
    case reject(EndReason)
    case rollbackCheck(RefreshToken)
    case end
    case endAgain
    case delivered
    /// A tombstone is to name a newer token.
    case tell
    case postpone
    case cleaned
    case touch
    case putBack
    /// A look before the session ends for want of activity: another process may have been used.
    case idleCheck
  }

  /// Takes an event and says what is to be done about it.
  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    decide(event, at: now) + releaseLockOfUnsaved() + tellOfLateSuccessors(at: now)
  }

  private mutating func decide(_ event: Event, at now: Moment) -> [Effect] {
    switch event {
    case .start:
      guard case .dormant = phase else { return [.ignored] }
      phase = .restoring
      return look()
    case .vaultChanged: return look()
    case .timer(let timer, let ticket):
      guard timers[timer] == ticket else { return [.ignored] }
      timers[timer] = nil
      return fired(timer, at: now)
    case .read(let operation, let reading): return answered(operation, reading, at: now)
    case .edited(let operation, let outcome, let asOf): return answered(operation, outcome, asOf: asOf, at: now)
    case .signIn(let waiter):
      let former = signingIn
      signingIn = waiter
      return dropHeld(at: now) + (former.map { [.finish($0, .failure(.cancelled))] } ?? [])
    case .signInAnswered(let waiter, let result, let fallback, let remember):
      return signInAnswered(waiter, result, fallback: fallback, remember: remember, at: now)
    case .signOut(let waiter, let reason, let plan): return signOut(waiter, reason, plan, at: now)
    case .cleaned(let session, let step, let succeeded, let entropy):
      return cleaned(session, step, succeeded: succeeded, entropy: entropy, at: now)
    case .ended(let session, let reason): return endedByServer(session, reason, at: now)
    case .renewed(let waiter, let session, let old, let new):
      return renewed(waiter, session, from: old, to: new)
    case .demand(let waiter, let need): return demand(waiter, need, at: now)
    case .gone(let waiter):
      if signingIn == waiter {
        signingIn = nil
        return []
      }
      return waiters.removeValue(forKey: waiter) == nil ? [.ignored] : []
    case .activity: return activity(at: now)
    case .nudge: return nudge(at: now)
    case .locked(let operation, let key): return locked(operation, key, at: now)
    case .lockFailed(let operation, let key, let trouble): return lockRefused(operation, key, trouble, at: now)
    case .answered(let operation, let answer): return refreshAnswered(operation, answer, at: now)
    case .revoked(let session, let delivered, let refusal, let isAnswered, let entropy):
      return revocationAnswered(
        session, delivered: delivered, refusal: refusal, isAnswered: isAnswered, entropy: entropy, at: now)
    }
  }

  /// What an app shows now.
  package var state: SessionState { published }

  /// The access token that may go out now; nothing while nobody is signed in and behind the fence of a sign-out.
  package var access: StoredAccess? {
    if case .live(let live) = phase { live.access } else { nil }
  }

  /// Whether an access token with that lifetime serves a caller who needs `validity` more of it.
  package static func serves(_ lifetime: Lifetime?, for validity: Duration, at now: Moment) -> Bool {
    guard let lifetime else { return true }
    let remaining = lifetime.remaining(at: now)
    return remaining > .zero && remaining >= clamp(validity, toLife: lifetime.duration)
  }

  /// The validity that may be asked of a token: at most four fifths of its life, or nobody would ever be served.
  ///
  /// | asked | life | clamped |
  /// |---|---|---|
  /// | 60 s | 1 h | 60 s |
  /// | 10 min | 60 s | 48 s |
  package static func clamp(_ validity: Duration, toLife life: Duration) -> Duration {
    min(validity, life / 5 * 4)
  }
}

// MARK: - Small parts that every aspect uses

extension SessionMachine {
  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  mutating func begin(_ purpose: Purpose) -> Operation {
    let operation = Operation(nextNumber())
    work[operation] = purpose
    return operation
  }

  mutating func edit(_ edit: VaultEdit, for purpose: Purpose) -> Effect {
    .edit(begin(purpose), edit)
  }

  mutating func startTimer(_ timer: Timer, after delay: Duration) -> Effect {
    let ticket = nextNumber()
    timers[timer] = ticket
    return .startTimer(timer, ticket: ticket, after: max(.zero, delay))
  }

  /// Publishes `state` if it is news.
  mutating func publish(_ state: SessionState) -> [Effect] {
    guard published != state else { return [] }
    published = state
    return [.publish(state)]
  }

  /// Everybody who waits for a token gets this answer.
  mutating func resumeAll(_ result: Result<StoredAccess, SessionError>) -> [Effect] {
    guard !waiters.isEmpty else { return [] }
    let all = waiters.keys.sorted()
    waiters = [:]
    return [.resume(all, result)]
  }

  func audit(
    _ action: AuditEntry.Action, _ session: StoredSession?, _ outcome: String, at now: Moment
  ) -> Effect {
    .audit(
      AuditEntry(action: action, session: session?.id, account: session?.profile.id, at: now.wall, outcome: outcome))
  }

  /// Gives back the lock that was kept for unsaved tokens, once they are stored or of no use any more.
  private mutating func releaseLockOfUnsaved() -> [Effect] {
    guard case .live(var live) = phase, let lock = live.lockOfUnsaved, live.unsaved == nil else { return [] }
    live.lockOfUnsaved = nil
    phase = .live(live)
    return [.unlock(lock)]
  }

  /// What was asked for on behalf of a refresh is nobody's any more. Gives the flight lock back if it is held.
  mutating func dropFlightWork() {
    if case .live(let live) = phase { keepSuccessors(of: live) }
    work = work.filter { _, purpose in
      switch purpose {
      case .lock, .lockCheck, .prepare, .noteReading, .withdraw, .ask, .advance, .save, .reject, .rollbackCheck, .touch:
        false
      case .look, .begin, .renew, .lateAnswer, .putBack, .end, .endAgain, .delivered, .tell, .postpone, .cleaned,
        .idleCheck:
        true
      }
    }
    timers[.retry] = nil
    timers[.answer] = nil
    timers[.refresh] = nil
  }
}

extension SessionMachine {
  /// When the attempt was noted that is under way.
  package var attemptNotedAt: Moment? {
    if case .live(let live) = phase { live.attempt?.since } else { nil }
  }

  package func isWaiting(for timer: Timer) -> Bool { timers[timer] != nil }

  /// Whether that sign-in will still be answered.
  package func isSigningIn(_ waiter: Waiter) -> Bool {
    signingIn == waiter || held?.waiter == waiter
      || work.values.contains { purpose in
        if case .begin(waiter, _, isWanted: true) = purpose { true } else { false }
      }
  }
}

extension SessionMachine {
  /// Whether a refresh token has been sent, or the session is being ended, and what came of it is not stored yet.
  package var isRefreshUnsettled: Bool {
    let isLate = work.values.contains { purpose in
      switch purpose {
      case .lateAnswer, .tell: true
      default: false
      }
    }
    if isLate { return true }
    if case .ending = phase { return !keepsRotationKeys }
    guard case .live(let live) = phase else { return false }
    return switch live.flight?.step {
    case .asking, .saving, .ending, .looking: true
    case .locking, .checking, .preparing, .pausing, .withdrawing, nil: live.unsaved != nil
    }
  }

  /// Ended sessions whose newest refresh token is known here alone, or on its way here.
  package var sessionsWithLateSuccessors: [SessionID] {
    work.values.compactMap { if case .lateAnswer(let session, _) = $0 { session } else { nil } } + lateSuccessors.keys
  }

  /// Whether there are tokens that the vault could not take.
  package var hasUnsavedTokens: Bool {
    if case .live(let live) = phase { live.unsaved != nil } else { false }
  }

  /// The session that is in use.
  package var session: SessionID? {
    if case .live(let live) = phase { live.stored.id } else { nil }
  }

  /// Whether it may be written to a disk.
  package var isRemembered: Bool {
    if case .live(let live) = phase { live.stored.isRemembered } else { true }
  }
}
