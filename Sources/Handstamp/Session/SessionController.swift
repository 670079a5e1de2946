import Foundation
public import HandstampCore
/// Drives one account's session: owns its tokens, refreshes them once for everybody who asks, and ends it.
///
/// It performs what ``SessionMachine`` decides and decides nothing itself; there is no `await` between reading the machine
/// and writing it. All of it may be used from any task and any thread.
public actor SessionController {
  /// The states, for any number of observers; each starts with the current one.
  public nonisolated let states: SessionStates
  let vault: any Vault
  let backend: any Backend
  let clock: any SessionClock
  let audit: (any AuditLog)?
  nonisolated let presence: PresenceLock?
  let cleanups: [String: CleanupStep]
  /// What became of clean-up steps, newest last.
  var cleanupLog: [CleanupLogEntry] = []
  var cleanupCount = 0
  let boot: UInt64
  /// How often the machine hears of activity; nothing when there is no idle limit.
  nonisolated let activityStep: Duration?

  var machine: SessionMachine
  /// The token that the snapshot was derived from, fences aside.
  var shownAccess: StoredAccess?
  var commandWaiters:
    [SessionMachine.Waiter: CheckedContinuation<Result<SessionMachine.SignedOutcome, SessionError>, Never>] =
      [:]
  /// Commands that were answered before anybody waited.
  var commandResults: [SessionMachine.Waiter: Result<SessionMachine.SignedOutcome, SessionError>] = [:]
  /// Those who wait until the server knows of every end, or until all is cleaned up.
  var conditionWaiters: [SessionMachine.Waiter: ConditionWaiter] = [:]
  /// Edits that take down what the server knows by now, and that the vault has not answered.
  var deliveryNotes: Set<SessionMachine.Operation> = []
  var locks: [SessionMachine.Operation: any FlightLock] = [:]
  /// Refreshes that are in flight.
  var asking: [SessionMachine.Operation: Task<Void, Never>] = [:]
  /// Itself, while a refresh token has been sent and its answer is not stored.
  var ownHold: SessionController?
  /// Whether it is among the ``UnsettledRefreshes``.
  var delaysExit = false
  var timers: [SessionMachine.Timer: Task<Void, Never>] = [:]
  /// Sessions that have ended here and that the server said it will not end, with its error code, such as `invalid_client` or
  /// `unsupported_token_type` (RFC 7009 section 2.2.1): they live on there until they expire. Of this process alone; the audit
  /// log keeps them.
  public internal(set) var refusedRevocations: [SessionID: String] = [:]
  var watching: Task<Void, Never>?
  let vaultWork: AsyncStream<VaultWork>.Continuation
  nonisolated let auditQueue: AsyncStream<AuditWork>.Continuation

  nonisolated let hub: StateHub
  nonisolated let snapshot = Locked(Snapshot())
  nonisolated let requests = RequestFence()
  nonisolated let tokenWaiters = TokenWaiters()
  nonisolated let lastUse = Locked(LastUse())
  nonisolated let lastWaiter = Locked<UInt64>(0)

  /// Begins to restore the session from `vault` at once.
  ///
  /// - Parameters:
  ///   - vault: where the secrets are kept; it may be shared with other processes.
  ///   - backend: whoever issues the tokens.
  ///   - policy: when to refresh, how to retry, when the session ends by itself.
  ///   - audit: takes down what happened; entries arrive in order.
  ///   - presence: stands in front of the tokens; nothing: they are handed out to any caller.
  ///   - cleanups: what the app clears away when a session ends, in this order.
  public init(
    vault: any Vault, backend: any Backend, policy: SessionPolicy = SessionPolicy(),
    clock: any SessionClock = SystemClock(), audit: (any AuditLog)? = nil, presence: PresenceLock? = nil,
    cleanups: [CleanupStep] = []
  ) {
    let vault = ProcessVault(audit.map { AuditedVault(vault, $0) } ?? vault)
    self.vault = vault
    self.cleanups = Dictionary(cleanups.map { ($0.cleanup.name, $0) }) { first, _ in first }
    self.backend = backend
    self.clock = clock
    self.audit = audit
    self.presence = presence
    boot = clock.now().boot
    if !backend.keepsRotationKeys { UnsettledRefreshes.watchExit() }
    activityStep = policy.idleLimit.map { min(.seconds(1), $0 / 20) }
    machine = SessionMachine(
      policy: policy, keepsRotationKeys: backend.keepsRotationKeys, cleanups: cleanups.map(\.cleanup),
      process: ProcessInfo.processInfo.processIdentifier)
    let hub = StateHub()
    self.hub = hub
    states = SessionStates(hub: hub)
    let (work, vaultWork) = AsyncStream.makeStream(of: VaultWork.self)
    self.vaultWork = vaultWork
    let (entries, auditQueue) = AsyncStream.makeStream(of: AuditWork.self)
    self.auditQueue = auditQueue
    // Weak, so that a controller nobody holds goes away; its streams end with it.
    Task.detached(priority: .userInitiated) { [weak self, vault, clock] in
      for await item in work {
        if let event = await item.done(on: vault, clock: clock) { await self?.post(event) }
      }
    }
    if let audit {
      Task.detached(priority: .utility) { for await entry in entries { await entry.done(on: audit) } }
    }
    Task.detached(priority: .userInitiated) { [weak self] in await self?.begin() }
  }

  deinit {
    watching?.cancel()
    for timer in timers.values { timer.cancel() }
    // Behind the edits that are queued: another process must not read what they are about to replace.
    vaultWork.yield(.unlock(Array(locks.values)))
    vaultWork.finish()
    auditQueue.finish()
    hub.finish()
  }

  // MARK: Tokens

  /// An access token that lasts at least `validity` more; the one door to a token.
  ///
  /// Without waiting where the current one does, else after the one refresh that everybody waits for. More validity than
  /// four fifths of a token's life is clamped. Cancelling the task ends this wait alone.
  ///
  /// - Throws: ``SessionError``; its ``SessionError/recovery`` says what to offer.
  public nonisolated func token(minimumValidity validity: Duration = .zero) async throws(SessionError) -> AccessToken {
    guard let presence else { return try await unguarded(validity) }
    return try await guarded(by: presence) { () async throws(SessionError) in try await unguarded(validity) }
  }

  /// Sees to it that there is a token that lasts at least `validity` more, and hands out none: for a background task, where
  /// nobody can be asked whether they are there.
  public nonisolated func freshen(minimumValidity validity: Duration = .zero) async throws(SessionError) {
    _ = try await unguarded(validity)
  }

  private nonisolated func unguarded(_ validity: Duration) async throws(SessionError) -> AccessToken {
    if let token = snapshot.withLock({ [clock] in $0.token(at: clock.uptime(), for: validity) }) { return token }
    return try await demand(SessionMachine.Need(validity: validity)).get().token
  }

  /// A token other than `refused`, which an API answered with 401. A newer one that is there already is handed out without
  /// a refresh.
  ///
  /// - Throws: ``SessionError/tokenRefused`` when the server minted that very token less than 5 s ago.
  public nonisolated func token(insteadOf refused: AccessToken) async throws(SessionError) -> AccessToken {
    let need = SessionMachine.Need(refused: refused)
    guard let presence else { return try await demand(need).get().token }
    return try await guarded(by: presence) { () async throws(SessionError) in try await demand(need).get().token }
  }

  /// `Bearer …` with the current access token, or nothing while nobody is signed in. No waiting, no I/O, any thread.
  ///
  /// There is none with a backend whose sessions are no bearer tokens, such as one of cookies.
  /// The token may have come to its end; ``token(minimumValidity:)`` sees to that. From the first moment of a sign-out on,
  /// also by another process that the vault told us of, there is none; nor is there while a ``PresenceLock`` is closed, or
  /// one that asks for every use.
  public nonisolated var authorizationHeader: String? {
    if let presence, !presence.isOpen { return nil }
    return backend.sendsBearer ? snapshot.withLock { $0.header } : nil
  }

  /// The state now. ``states`` tells of every change.
  public nonisolated var state: SessionState { hub.current.state }

  // MARK: Sign-in and sign-out

  /// Signs in with whatever `perform` returns. The session is durable before anybody hears of it.
  ///
  /// A sign-in or a sign-out that begins meanwhile takes its place: then it throws ``SessionError/cancelled``, and the
  /// session that `perform` may still bring home is ended at the server.
  ///
  /// - Parameter remember: without it the session lives in memory and ends with the program.
  @discardableResult
  public nonisolated func signIn(
    remember: Bool = true, _ perform: () async throws -> Grant
  ) async throws(SessionError) -> SignedIn {
    let waiter = nextWaiter()
    await post(.signIn(waiter))
    let turn = SignInTurn { [self] () async throws(VaultTrouble) in
      if remember { return try await vault.lockSignIn(within: SignInTurn.patience).unlock }
      // One that is not remembered makes no file, and begins also where none can be written.
      return await isSessionStored() ? (try? await vault.lockSignIn(within: SignInTurn.patience))?.unlock : nil
    }
    defer { turn.end() }
    let result: Result<Grant, SessionError>
    do {
      let grant = try await SignInTurn.$current.withValue(turn) { try await perform() }
      try grant.validate(isBearer: backend.sendsBearer)
      result = .success(grant)
    } catch { result = .failure(SessionError(signIn: error)) }
    if Task.isCancelled { await post(.gone(waiter)) }
    let fallback = SessionController.randomSessionID()
    let outcome = await command(waiter, .signInAnswered(waiter, result, fallback: fallback, remember: remember))
    switch try outcome.get() {
    case .signedIn(let facts): return facts
    case .signedOut, .signedOutNotDurably, .renewed, .renewedElsewhere: throw .cancelled
    }
  }

  /// Takes over tokens that were obtained elsewhere.
  ///
  /// - Throws: ``SessionError/invalidAnswer(_:)`` for tokens that no request could carry: empty ones, ones with more than 256 KiB,
  ///   bearer tokens that are not printable ASCII (RFC 6750 section 2.1).
  @discardableResult
  public nonisolated func adopt(_ grant: Grant, remember: Bool = true) async throws(SessionError) -> SignedIn {
    try await signIn(remember: remember) { grant }
  }

  /// The server said, in its live feed or otherwise, that a session is over. Ends it here if it is the current one.
  public func sessionEnded(_ session: SessionID, reason: EndReason) {
    post(.ended(session, reason))
  }

  /// The network came back, the app came to the front, the device was unlocked: what waits for its time goes now.
  public func nudge() { post(.nudge) }

  // MARK: Waiting

  nonisolated func nextWaiter() -> SessionMachine.Waiter {
    SessionMachine.Waiter(
      lastWaiter.withLock {
        $0 += 1; return $0
      })
  }

  /// Waits with everybody who needs the same; only the first of them comes into the actor.
  private nonisolated func demand(_ need: SessionMachine.Need) async -> Result<StoredAccess, SessionError> {
    // A sign-out that the machine has yet to hear of.
    let signedOut: Result<StoredAccess, SessionError> = .failure(.signedOut(.signedOut))
    if snapshot.withLock({ $0.fences > 0 }) { return signedOut }
    let waiter = nextWaiter()
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard tokenWaiters.join(waiter, need, continuation) else { return }
        Task.detached(priority: .userInitiated) { await self.ask(waiter, need) }
      }
    } onCancel: {
      guard let deserted = tokenWaiters.leave(waiter, need) else { return }
      Task { await self.post(.gone(deserted)) }
    }
    if case .success = answer, snapshot.withLock({ $0.fences > 0 }) { return signedOut }
    return answer
  }

  private func ask(_ waiter: SessionMachine.Waiter, _ need: SessionMachine.Need) {
    // Whoever went before this came in has been forgotten already.
    if tokenWaiters.isOpen(waiter) { post(.demand(waiter, need)) }
  }

  func command(
    _ waiter: SessionMachine.Waiter, _ event: SessionMachine.Event
  ) async -> Result<SessionMachine.SignedOutcome, SessionError> {
    if let result = commandResults.removeValue(forKey: waiter) {
      // Answered while it was still under way; a late success is given back to the server.
      post(event)
      return result
    }
    return await withCheckedContinuation { continuation in
      commandWaiters[waiter] = continuation
      post(event)
      if case .signOut = event { lowerFence() }
      // An event that made no sense any more has no answer.
      if case .signInAnswered = event, commandWaiters[waiter] != nil, !machine.isSigningIn(waiter) {
        commandWaiters.removeValue(forKey: waiter)?.resume(returning: .failure(.cancelled))
      }
    }
  }

  private func begin() {
    post(.start)
    let changes = vault.changes()
    watching = Task.detached(priority: .utility) { [weak self] in
      for await _ in changes { await self?.post(.vaultChanged) }
    }
  }
}

extension SessionError {
  /// What a sign-in's own error means to the session.
  init(signIn error: any Error) {
    switch error {
    case let error as SessionError: self = error
    case is CancellationError: self = .cancelled
    case let error as TransportError: self.init(error)
    default: self = .refused(code: "sign_in_failed", detail: String(describing: type(of: error)))
    }
  }

  /// What no answer means to the session.
  package init(_ error: TransportError) {
    switch error {
    case .cancelled: self = .cancelled
    case .notConnected, .unreachable, .timedOut: self = .unreachable(retryAfter: nil)
    case .tooLarge: self = .invalidAnswer("the answer was too large")
    case .invalidRequest(let text): self = .invalidAnswer(text)
    }
  }
}
