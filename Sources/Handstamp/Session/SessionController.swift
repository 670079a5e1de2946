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
  let boot: UInt64

  var machine: SessionMachine
  /// The token that the snapshot was derived from, fences aside.
  var shownAccess: StoredAccess?
  var commandWaiters:
    [SessionMachine.Waiter: CheckedContinuation<Result<SessionMachine.SignedOutcome, SessionError>, Never>] =
      [:]
  /// Commands that were answered before anybody waited.
  var commandResults: [SessionMachine.Waiter: Result<SessionMachine.SignedOutcome, SessionError>] = [:]
  /// Those who wait until the server knows of every end, and what ends their wait.
  var deliveryWaiters:
    [SessionMachine.Waiter: (continuation: CheckedContinuation<Void, Never>, limit: Task<Void, Never>)] =
      [:]
  /// Edits that take down what the server knows by now, and that the vault has not answered.
  var deliveryNotes: Set<SessionMachine.Operation> = []
  var locks: [SessionMachine.Operation: any FlightLock] = [:]
  var timers: [SessionMachine.Timer: Task<Void, Never>] = [:]
  var watching: Task<Void, Never>?
  let vaultWork: AsyncStream<VaultWork>.Continuation
  let auditQueue: AsyncStream<AuditEntry>.Continuation

  nonisolated let hub: StateHub
  nonisolated let snapshot = Locked(Snapshot())
  nonisolated let requests = RequestFence()
  nonisolated let tokenWaiters = TokenWaiters()
  nonisolated let lastWaiter = Locked<UInt64>(0)

  /// Begins to restore the session from `vault` at once.
  ///
  /// - Parameters:
  ///   - vault: where the secrets are kept; it may be shared with other processes.
  ///   - backend: whoever issues the tokens.
  ///   - policy: when to refresh, how to retry, when the session ends by itself.
  ///   - audit: takes down what happened; entries arrive in order.
  public init(
    vault: any Vault, backend: any Backend, policy: SessionPolicy = SessionPolicy(),
    clock: any SessionClock = SystemClock(), audit: (any AuditLog)? = nil
  ) {
    self.vault = vault
    self.backend = backend
    self.clock = clock
    self.audit = audit
    boot = clock.now().boot
    machine = SessionMachine(policy: policy, keepsRotationKeys: backend.keepsRotationKeys)
    let hub = StateHub()
    self.hub = hub
    states = SessionStates(hub: hub)
    let (work, vaultWork) = AsyncStream.makeStream(of: VaultWork.self)
    self.vaultWork = vaultWork
    let (entries, auditQueue) = AsyncStream.makeStream(of: AuditEntry.self)
    self.auditQueue = auditQueue
    // Weak, so that a controller nobody holds goes away; its streams end with it.
    Task.detached(priority: .userInitiated) { [weak self, vault, clock] in
      for await item in work {
        let event = await item.done(on: vault, clock: clock)
        await self?.post(event)
      }
    }
    if let audit {
      Task.detached(priority: .utility) { for await entry in entries { await audit.record(entry) } }
    }
    Task.detached(priority: .userInitiated) { [weak self] in await self?.begin() }
  }

  deinit {
    watching?.cancel()
    for timer in timers.values { timer.cancel() }
    vaultWork.finish()
    auditQueue.finish()
    for lock in locks.values { lock.unlock() }
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
    if let token = snapshot.withLock({ [clock] in $0.token(at: clock.uptime(), for: validity) }) { return token }
    return try await demand(SessionMachine.Need(validity: validity)).get().token
  }

  /// A token other than `refused`, which an API answered with 401. A newer one that is there already is handed out without
  /// a refresh.
  ///
  /// - Throws: ``SessionError/tokenRefused`` when the server minted that very token less than 5 s ago.
  public nonisolated func token(insteadOf refused: AccessToken) async throws(SessionError) -> AccessToken {
    try await demand(SessionMachine.Need(refused: refused)).get().token
  }

  /// `Bearer …` with the current access token, or nothing while nobody is signed in. No waiting, no I/O, any thread.
  ///
  /// The token may have come to its end; ``token(minimumValidity:)`` sees to that. From the first moment of a sign-out on,
  /// also by another process that the vault told us of, there is none.
  public nonisolated var authorizationHeader: String? {
    snapshot.withLock { $0.header }
  }

  /// The state now. ``states`` tells of every change.
  public nonisolated var state: SessionState { hub.current.state }

  // MARK: Sign-in and sign-out

  /// Signs in with whatever `perform` returns. The session is durable before anybody hears of it.
  ///
  /// A sign-in or a sign-out that begins meanwhile takes its place: then it throws ``SessionError/cancelled``, and the
  /// session that `perform` may still bring home is ended at the server.
  @discardableResult
  public nonisolated func signIn(
    _ perform: () async throws -> Grant
  ) async throws(SessionError) -> SignedIn {
    let waiter = nextWaiter()
    await post(.signIn(waiter))
    let result: Result<Grant, SessionError>
    do { result = .success(try await perform()) } catch { result = .failure(SessionError(signIn: error)) }
    if Task.isCancelled { await post(.gone(waiter)) }
    let fallback = SessionController.randomSessionID()
    let outcome = await command(waiter, .signInAnswered(waiter, result, fallback: fallback))
    switch try outcome.get() {
    case .signedIn(let facts): return facts
    case .signedOut, .signedOutNotDurably: throw .cancelled
    }
  }

  /// Takes over tokens that were obtained elsewhere.
  @discardableResult
  public nonisolated func adopt(_ grant: Grant) async throws(SessionError) -> SignedIn {
    try await signIn { grant }
  }

  /// Signs out. Always succeeds here, also without a network: no token leaves from the first moment on, the tombstone is
  /// written before this returns, and the server is told as soon as it can be reached, also after a restart.
  @discardableResult
  public nonisolated func signOut(reason: EndReason = .signedOut) async -> SignOutReport {
    // The fence, before anything can suspend: the snapshot is what hands out tokens without waiting.
    snapshot.withLock { $0.raiseFence() }
    let waiter = nextWaiter()
    let result = await command(waiter, .signOut(waiter, reason))
    await lowerFence()
    switch result {
    case .success(.signedOutNotDurably(let trouble)): return SignOutReport(notDurable: trouble)
    case .success(.signedIn), .success(.signedOut), .failure: return SignOutReport()
    }
  }

  private func lowerFence() {
    let new = Snapshot(machine.access, policy: machine.policy.refresh, boot: boot)
    snapshot.withLock {
      $0.lowerFence()
      $0.renew(new)
    }
  }

  /// The server said, in its live feed or otherwise, that a session is over. Ends it here if it is the current one.
  public func sessionEnded(_ session: SessionID, reason: EndReason) {
    post(.ended(session, reason))
  }

  /// Somebody used the session: moves the idle limit.
  public func updateActivity() { post(.activity) }

  /// The network came back, the app came to the front, the device was unlocked: what waits for its time goes now.
  public func nudge() { post(.nudge) }

  /// Waits until the server knows of every ended session, and the vault that it does; at most for `limit`. Tells whether
  /// that is so. Cancelling the task ends this wait alone.
  public nonisolated func endsDelivered(within limit: Duration) async -> Bool {
    await waitForDelivery(nextWaiter(), within: limit)
  }

  private func waitForDelivery(_ waiter: SessionMachine.Waiter, within limit: Duration) async -> Bool {
    if isDelivered { return true }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let end = Task { [clock] in
          do { try await clock.sleep(for: limit) } catch { return }
          self.stopWaitingForDelivery(waiter)
        }
        deliveryWaiters[waiter] = (continuation, end)
      }
    } onCancel: {
      Task { await self.stopWaitingForDelivery(waiter) }
    }
    return isDelivered
  }

  /// Before the vault has answered, nobody knows.
  private var isDelivered: Bool {
    machine.state != .restoring && machine.outbox.isEmpty && deliveryNotes.isEmpty
  }

  private func stopWaitingForDelivery(_ waiter: SessionMachine.Waiter) {
    guard let waiting = deliveryWaiters.removeValue(forKey: waiter) else { return }
    waiting.limit.cancel()
    waiting.continuation.resume()
  }

  func tellDelivered() {
    guard !deliveryWaiters.isEmpty, isDelivered else { return }
    for waiter in deliveryWaiters.keys { stopWaitingForDelivery(waiter) }
  }

  // MARK: Waiting

  nonisolated func nextWaiter() -> SessionMachine.Waiter {
    SessionMachine.Waiter(
      lastWaiter.withLock {
        $0 += 1; return $0
      })
  }

  /// Waits with everybody who needs the same; only the first of them comes into the actor.
  private nonisolated func demand(_ need: SessionMachine.Need) async -> Result<StoredAccess, SessionError> {
    let waiter = nextWaiter()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard tokenWaiters.join(waiter, need, continuation) else { return }
        Task.detached(priority: .userInitiated) { await self.ask(waiter, need) }
      }
    } onCancel: {
      guard let deserted = tokenWaiters.leave(waiter, need) else { return }
      Task { await self.post(.gone(deserted)) }
    }
  }

  private func ask(_ waiter: SessionMachine.Waiter, _ need: SessionMachine.Need) {
    // Whoever went before this came in has been forgotten already.
    if tokenWaiters.isOpen(waiter) { post(.demand(waiter, need)) }
  }

  private func command(
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

/// How a sign-out went. It always holds on this device.
public struct SignOutReport: Sendable, Hashable {
  /// Why the store could not take it down, if it could not: it is tried again for as long as the program runs, but a crash
  /// before that would bring the session back.
  public var notDurable: VaultTrouble?

  public init(notDurable: VaultTrouble? = nil) { self.notDurable = notDurable }
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
    case .unreachable, .timedOut: self = .unreachable(retryAfter: nil)
    case .tooLarge: self = .invalidAnswer("the answer was too large")
    case .invalidRequest(let text): self = .invalidAnswer(text)
    }
  }
}
