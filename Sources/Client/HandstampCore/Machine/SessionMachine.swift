/// Decides the next step of a session. Knows nothing of clocks, networks or disks.
///
/// Rule 1: every change of state begins in ``handle(_:at:)``, which never waits.
/// Rule 2: time and randomness come in, work goes out as an ``Effect``.
/// Rule 3: an event that makes no sense here changes no state, never traps, and comes back as ``Effect/ignored``: late network
/// responses are normal.
/// Rule 4: nothing that depends on work follows it in the same list; it comes out of the event that answers the work.
package struct SessionMachine: Sendable, Hashable {
  package let policy: SessionPolicy
  /// Whether the server accepts rotation keys with every session. If not, see ``isKeyed``.
  package let supportsRotationKeys: Bool
  /// The server, as each new session records it.
  package let issuer: String?
  /// Whether a refresh token is the revocation handle of a session without one.
  package let revokesRefreshTokens: Bool
  /// The last session that ended, if nothing can end it at the server.
  package internal(set) var unrevoked: SessionID?
  /// The process that its attempts are recorded with.
  package let sender: ProcessIdentity
  /// Incremented whenever a session comes into use or ends; requests of an earlier epoch are discarded.
  package internal(set) var epoch: UInt64 = 0

  var phase: Phase = .dormant
  /// Callers that wait for a token.
  var waiters: [Waiter: Need] = [:]
  /// The sign-in in progress.
  var signingIn: Waiter?
  /// Requested work that is not answered yet.
  var work: [Operation: Purpose] = [:]
  /// The ends that the server does not know of yet.
  package internal(set) var revocations = RevocationQueue()
  /// Sessions that ended while this program ran, newest last: none of these is restored.
  var ended: [SessionID] = []
  var timers: [Timer: UInt64] = [:]
  var published: SessionState = .restoring
  var lastNumber: UInt64 = 0
  var reloadsAgain = false
  /// The revision at which the vault was last read or written. A lower one means that an older vault was restored.
  package internal(set) var revision: UInt64 = 0
  /// The session of another program that the vault held when a never-stored one ended here. It is not adopted.
  var sessionNotToAdopt: SessionID?
  /// A token that the server has superseded while the vault still holds it: an older vault was restored.
  var supersededToken: RefreshToken?
  /// A tombstone that could not be written.
  var unwrittenEnd: UnwrittenEnd?
  /// A sign-in that has succeeded and waits until the previous session's data is erased.
  var heldSignIn: Held?
  /// The data of ended sessions that is not erased yet.
  package internal(set) var cleanups: CleanupQueue

  package init(
    policy: SessionPolicy = SessionPolicy(), supportsRotationKeys: Bool = true, cleanups: [Cleanup] = [],
    sender: ProcessIdentity = ProcessIdentity(id: 0), issuer: String? = nil, revokesRefreshTokens: Bool = false
  ) {
    self.issuer = issuer
    self.revokesRefreshTokens = revokesRefreshTokens
    self.sender = sender
    self.policy = policy
    self.supportsRotationKeys = supportsRotationKeys
    self.cleanups = CleanupQueue(cleanups)
  }

  /// A valid transition leads from the state before one event to the state after it. Listed are those that the exploration and
  /// random events find (`docs/session-machine.md`, with which a test compares the comments); a strange vault may cause others.
  enum Phase: Sendable, Hashable {
    /// Before ``Event/start``.
    ///
    /// Valid transitions from `dormant`: `ending`, `restoring`.
    case dormant
    /// The vault is being read for the first time.
    ///
    /// Valid transitions from `restoring`: `ending`, `idle`, `locking`, `signedOut`, `unavailable`.
    case restoring
    /// No session is in use.
    ///
    /// Valid transitions from `signedOut`: `ending`, `idle`.
    case signedOut
    /// A session is in use: `idle` without a refresh, else in a state of ``Live/refresh``.
    ///
    /// Valid transitions from `idle`: `ending`, `locking`, `saving`, `signedOut`.
    case live(Live)
    /// The fence: the session has ended for all callers, the tombstone is being written.
    ///
    /// Valid transitions from `ending`: `idle`, `signedOut`.
    case ending(Ending)
    /// The vault or the server prevents the session from being used.
    ///
    /// Valid transitions from `unavailable`: `ending`, `idle`, `locking`, `signedOut`.
    case unavailable(SessionError)
  }

  /// The session in use, changed in place; `nil` in every other phase. Never set to `nil`.
  var live: Live? {
    get { if case .live(let live) = phase { live } else { nil } }
    _modify {
      var live: Live?
      if case .live(let current) = phase {
        live = current
        // The phase lets go of its copy, so that changes are made in place.
        phase = .signedOut
      }
      yield &live
      if let live { phase = .live(live) }
    }
  }

  /// A session that is in use.
  struct Live: Sendable, Hashable {
    /// The session as the vault last returned it.
    var stored: StoredSession
    /// Tokens newer than the vault's, which could not be written yet. While there are any, no rotation starts.
    var unsaved: RefreshedTokens?
    /// The refresh lock, kept while there are unsaved tokens at a server without rotation keys: another process would send a
    /// token that the server has replaced.
    var lockOfUnsaved: Operation?
    var refresh: Refresh?
    /// Tokens for other targets.
    var targeted: [TokenTarget: StoredAccess] = [:]
    /// The attempt that this process recorded last, and its outcome.
    var attempt: RefreshAttempt?
    var attemptState = AttemptState.harmless
    /// The refresh item is locked: only the access token is available.
    var hasOnlyAccess = false
    /// When the current access token was issued.
    var mintedAt: Moment?
    /// Consecutive refreshes without a response.
    var failures = 0
    /// Why the last attempt brought no tokens; `nil` after a successful one.
    var cause: RequestError?
    /// No refresh is sent before this moment.
    var quietUntil: Moment?
    /// The end of the pause that the server asked for, or that an attempt without a response requires.
    var retryAfter: Moment?
    var touchedAt: Moment?
    /// The end by a limit that is near.
    var upcomingEnd: UpcomingEnd?
    /// The credential in the vault, while its replacement could not be written.
    var credentialInVault: Credential?

    var access: StoredAccess? { unsaved?.ownAccess ?? stored.access }
    var lock: Operation? { refresh?.lock ?? lockOfUnsaved }

    /// Takes over the vault's session, except for activity that has not been reported to the vault.
    ///
    /// - Parameter boot: the current one: its stamps are later than those of any other. The wall clock, which may have been set
    ///   back, only decides between two other boots.
    mutating func adopt(_ session: StoredSession, in boot: UInt64) {
      let (own, shown) = (stored.activeAt, session.activeAt)
      let newer = credentialInVault == nil || session.access?.credential != credentialInVault ? nil : stored
      if newer == nil { credentialInVault = nil }
      stored = session
      if let newer { (stored.access, stored.revocation) = (newer.access, newer.revocation) }
      let isNewer: Bool
      if own.boot == shown.boot {
        isNewer = own.uptime > shown.uptime
      } else {
        isNewer = own.boot == boot || (shown.boot != boot && own.wall > shown.wall)
      }
      if isNewer { stored.activeAt = own }
      // Use in another process puts the end off.
      if stored.activeAt != own, upcomingEnd?.reason == .idle { upcomingEnd = nil }
    }

    /// Takes over what the vault holds of this session: all of it, if only the access item was readable before.
    mutating func take(over found: StoredSession, at now: Moment) {
      if let unsaved, found.refresh != unsaved.sent { self.unsaved = nil }
      if found.access != stored.access { mintedAt = found.access?.lifetime?.start ?? now }
      adopt(found, in: now.boot)
      // The locked vault did not show when the session began and was last used: its limits apply from here on.
      if hasOnlyAccess, touchedAt == nil { stored.activeAt = found.activeAt }
      hasOnlyAccess = false
    }

    /// The vault stored new tokens.
    ///
    /// - Parameter isNew: whether they were not in use before, as unsaved ones.
    mutating func advanced(to session: StoredSession, isNew: Bool, at now: Moment) {
      adopt(session, in: now.boot)
      unsaved = nil
      attempt = nil
      attemptState = .harmless
      failures = 0
      cause = nil
      quietUntil = nil
      retryAfter = nil
      if isNew { mintedAt = session.access?.lifetime?.start ?? now }
    }

    /// The error for callers without a usable token.
    func failure(retryAfter: Duration?) -> SessionError {
      if case .preparation(let error)? = cause { return error }
      return .requestFailed(cause ?? .network(.timedOut), retryAfter: retryAfter)
    }
  }

  struct Ending: Sendable, Hashable {
    var session: SessionID?
    var revocation: RevocationHandle?
    var lock: Operation?
    var reason: EndReason
    var account: AccountID?
    /// The names of the clean-up steps of this end.
    var steps: [String]
    var commands: [Waiter]
    /// When the user signed out of a session that is not known yet.
    var at: Moment?
    /// The server rejected the session: waiting callers get that error.
    var isRejection = false
  }

  struct Held: Sendable, Hashable {
    var waiter: Waiter
    var session: StoredSession
    var method: SignInMethod
  }

  struct UnwrittenEnd: Sendable, Hashable {
    var session: SessionID?
    var edit: VaultEdit
    /// The tombstone that the vault should contain then.
    var tombstone: Tombstone?
  }

  /// Why work was requested that no refresh waits for.
  enum Purpose: Sendable, Hashable {
    case reload
    case begin(Waiter, StoredSession, by: SignInMethod, isWanted: Bool)
    /// The session ended while its refresh was in flight.
    case lateAnswer(SessionID, sent: RefreshToken)
    case save(RefreshedTokens)
    case renew(Waiter?, SessionID, StoredAccess)
    case identify(Waiter, SessionID)
    case end
    case retryEnd
    /// The server has decided on a revocation.
    case revoked
    /// A tombstone gets a newer token.
    case updateRevocation
    case postpone
    case cleaned
    case touch
    case restoreEntry
    /// A read before the session ends for lack of activity: it may have been used in another process.
    case idleCheck
  }

  /// Handles an event and returns the resulting work.
  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    let effects: [Effect] =
      switch event {
      case .start: start()
      case .vaultChanged: reload()
      case .timer(let timer, let ticket): fired(timer, ticket: ticket, at: now)
      case .read(let operation, let reading): readCompleted(operation, reading, at: now)
      case .edited(let operation, let outcome, let asOf): editCompleted(operation, outcome, asOf: asOf, at: now)
      case .signIn(let waiter): signIn(waiter, at: now)
      case .signInAnswered(let waiter, let result, let claim, let fallback, let remember):
        signInAnswered(waiter, result, by: claim, fallback: fallback, remember: remember, at: now)
      case .signOut(let waiter, let reason, let plan): signOut(waiter, reason, plan, at: now)
      case .cleaned(let session, let step, let succeeded, let entropy):
        cleaned(session, step, succeeded: succeeded, entropy: entropy, at: now)
      case .ended(let session, let reason): endedByServer(session, reason, at: now)
      case .renewed(let waiter, let session, let old, let new): renewed(waiter, session, from: old, to: new)
      case .identified(let waiter, let session, let profile): identified(waiter, session, as: profile)
      case .demand(let waiter, let need): demand(waiter, need, at: now)
      case .gone(let waiter): forget(waiter)
      case .activity: activity(at: now)
      case .conditionsChanged: conditionsChanged(at: now)
      case .locked(let operation, let key, let trouble): locked(operation, key, failing: trouble, at: now)
      case .refreshCompleted(let operation, let answer, let entropy):
        refreshCompleted(operation, answer, entropy: entropy, at: now)
      case .senderChecked(let operation, let hasEnded): senderChecked(operation, hasEnded: hasEnded, at: now)
      case .revoked(let session, let result, let entropy):
        revocationCompleted(session, result, entropy: entropy, at: now)
      }
    return effects + releaseLockOfUnsaved() + revokeSuccessors(at: now)
  }

  /// The number of the refresh's attempt, from 1 on; 0 without a refresh.
  package var refreshAttempt: Int { live?.refresh?.attempt ?? 0 }

  /// The state that an app shows now.
  package var state: SessionState { published }

  /// The credential that may be sent with requests now; `nil` while signed out and behind the fence of a sign-out.
  package var access: StoredAccess? {
    live?.access
  }

  /// Whether an access token with that lifetime is valid for `validity` more.
  package static func serves(_ lifetime: Lifetime?, for validity: Duration, at now: Moment) -> Bool {
    guard let lifetime else { return true }
    let remaining = lifetime.remaining(at: now)
    return remaining > .zero && remaining >= clamp(validity, toLifetime: lifetime.duration)
  }

  /// Returns the validity that may be requested of a token: at most four fifths of its lifetime, because otherwise no token
  /// would ever suffice.
  ///
  /// | requested | lifetime | clamped |
  /// |---|---|---|
  /// | 60 s | 1 h | 60 s |
  /// | 10 min | 60 s | 48 s |
  package static func clamp(_ validity: Duration, toLifetime life: Duration) -> Duration {
    min(validity, life / 5 * 4)
  }
}

// MARK: - Shared by all aspects

extension SessionMachine {
  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  mutating func nextOperation() -> Operation { Operation(nextNumber()) }

  mutating func read(for purpose: Purpose) -> Effect {
    let operation = nextOperation()
    work[operation] = purpose
    return .read(operation)
  }

  mutating func edit(_ edit: VaultEdit, for purpose: Purpose) -> Effect {
    let operation = nextOperation()
    work[operation] = purpose
    return .edit(operation, edit)
  }

  mutating func startTimer(_ timer: Timer, after delay: Duration) -> Effect {
    let ticket = nextNumber()
    timers[timer] = ticket
    return .startTimer(timer, ticket: ticket, after: max(.zero, delay))
  }

  /// Publishes `state` if it has changed.
  mutating func publish(_ state: SessionState) -> [Effect] {
    guard published != state else { return [] }
    published = state
    return [.publish(state)]
  }

  /// Publishes the session in use, if it has changed.
  mutating func publishSession() -> [Effect] {
    guard let live else { return [] }
    return publish(live.state)
  }

  /// A caller no longer waits.
  private mutating func forget(_ waiter: Waiter) -> [Effect] {
    if signingIn == waiter {
      signingIn = nil
      return []
    }
    return waiters.removeValue(forKey: waiter) == nil ? [.ignored] : []
  }

  /// Answers every caller that waits for a token.
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
      AuditEntry(action: action, session: session?.id, account: session?.profile?.id, at: now.wall, outcome: outcome))
  }
}

extension SessionMachine {
  /// When the attempt in progress was recorded, and how long no other process presents its token; `nil` with rotation keys.
  package var notedAttempt: (since: Moment, limit: Duration)? {
    guard !isKeyed, let attempt = live?.attempt else { return nil }
    return (attempt.since, attempt.limit)
  }

  package func isWaiting(for timer: Timer) -> Bool { timers[timer] != nil }

  /// Whether that sign-in will still be answered.
  package func isSigningIn(_ waiter: Waiter) -> Bool {
    signingIn == waiter || heldSignIn?.waiter == waiter
      || work.values.contains { purpose in
        if case .begin(waiter, _, _, isWanted: true) = purpose { true } else { false }
      }
  }
}

extension SessionMachine {
  /// Whether a refresh token has been sent, or the session is being ended, and the outcome is not stored yet.
  package var isRefreshUnstored: Bool {
    let isLate = work.values.contains { purpose in
      switch purpose {
      case .lateAnswer, .updateRevocation: true
      default: false
      }
    }
    if isLate { return true }
    if case .ending = phase { return !supportsRotationKeys }
    return switch live?.refresh?.state {
    case .sending, .saving, .rejecting, .checkingRollback: true
    case .locking, .checkingHolder, .preparing, .notingReading, .checkingSender, .pausing, .withdrawing, nil:
      live?.unsaved != nil
    }
  }

  /// Ended sessions whose newest refresh token is known only here, or still in flight.
  package var sessionsWithLateSuccessors: [SessionID] {
    work.values.compactMap { if case .lateAnswer(let session, _) = $0 { session } else { nil } }
      + revocations.sessionsWithSuccessors
  }

  /// Whether there are tokens that the vault could not store.
  package var hasUnsavedTokens: Bool {
    live?.unsaved != nil
  }

  /// The session in use.
  package var session: SessionID? {
    live?.stored.id
  }

  /// Whether the session may be written to disk.
  package var isRemembered: Bool {
    live?.stored.isRemembered ?? true
  }
}
