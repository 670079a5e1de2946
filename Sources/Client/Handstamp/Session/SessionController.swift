import Foundation
import HandstampSupport
public import Logging
public import HandstampCore
/// Drives one account's session: owns its tokens, refreshes them once for all callers, and ends the session.
///
/// It may be used from any task and any thread.
public actor SessionController {
  /// The states, for any number of observers; each starts with the current one.
  public nonisolated let states: SessionStates
  let vault: SessionVault
  /// Whether tokens are of the person whose place the vault is; `nil` if it may be any person's.
  nonisolated let owner = Locked<(@Sendable (TokenResponse) async -> Bool)?>(nil)
  let backend: any Backend
  nonisolated let abilities: BackendAbilities
  let clock: any SessionClock
  let audit: (any AuditLog)?
  nonisolated let presence: PresenceLock?
  /// Releases the refresh locks of this session before the system suspends the program, see ``SessionLifeCycle``.
  package nonisolated let refreshLocks = RefreshLockManager()
  let cleanups: [String: CleanupStep]
  /// `nil` if no step erases what accounts share.
  nonisolated let neighbours: Locked<Neighbours?>
  /// The session's cookies in a web view.
  nonisolated let lending = Locked<CookieLend?>(nil)
  /// The scopes without a step that the log has named.
  nonisolated let saidMissing = Locked<Set<CleanupScope>>([])
  /// The results of clean-up steps, newest last.
  var cleanupLog: [CleanupLogEntry] = []
  /// How many clean-up steps have ended.
  package internal(set) var cleanupCount = 0
  let boot: UInt64
  /// How often activity is reported to the machine; `nil` without an idle limit.
  nonisolated let activityStep: Duration?

  var machine: SessionMachine
  /// The token that the snapshot was derived from, ignoring fences.
  var shownAccess: StoredAccess?
  var commandWaiters:
    [SessionMachine.Waiter: CheckedContinuation<Result<SessionMachine.CommandOutcome, SessionError>, Never>] =
      [:]
  /// Commands that finished before their caller waited.
  var commandResults: [SessionMachine.Waiter: Result<SessionMachine.CommandOutcome, SessionError>] = [:]
  /// Callers that wait until no revocation is pending, or until the clean-up has ended.
  var conditionWaiters: [SessionMachine.Waiter: ConditionWaiter] = [:]
  var locks: [SessionMachine.Operation: any VaultLock] = [:]
  /// Refreshes that are in flight.
  var asking: [SessionMachine.Operation: Task<Void, Never>] = [:]
  /// A reference to itself, from sending a refresh token until its response is stored.
  var ownHold: SessionController?
  /// Whether the controller is among the ``UnstoredRefreshes``.
  var delaysExit = false
  var timers: [SessionMachine.Timer: Task<Void, Never>] = [:]
  /// When the timer for the next attempt of a refresh fires, by the clock's uptime.
  var retryDue = Duration.zero
  /// The ended sessions whose revocation the server has refused permanently since this controller was created: at the server
  /// they continue until they expire. The value is the server's error code, such as `invalid_client` or
  /// `unsupported_token_type` (RFC 7009 section 2.2.1); `refused` for a code that is not at most 40 characters of `a` to `z`
  /// and `_`. The audit log records each of them permanently.
  package internal(set) var refusedRevocations: [SessionID: String] = [:]
  var watching: Task<Void, Never>?
  /// The queues of the vault and of the audit log: first in, first out, one at a time.
  let vaultWork: AsyncStream<Work>.Continuation
  nonisolated let auditWork: AsyncStream<Work>.Continuation
  typealias Work = @Sendable () async -> Void

  nonisolated let hub = Multicast(startingWith: Versioned.first)
  nonisolated let refreshHub = Multicast<RefreshEvent>()
  let log: SessionLog?
  nonisolated let snapshot = Locked(Snapshot())
  nonisolated let requests = RequestFence()
  nonisolated let tokenWaiters = TokenWaiters()
  /// Tells the server that a new session is stored.
  var confirming: Task<Void, Never>?
  nonisolated let lastUse = Locked(LastUse())
  nonisolated let lastWaiter = Locked<UInt64>(0)
  /// Work that is retried once, with the pending work.
  private nonisolated let retry = Locked<(@Sendable () async -> Void)?>(nil)

  /// Creates a controller and begins to restore the session from `vault` at once.
  ///
  /// - Parameters:
  ///   - backend: the server that issues the tokens.
  ///   - vault: the storage of the secrets; it may be shared with other processes.
  ///   - earlier: where an earlier version of the program kept the session, and other URLs of the server. Default: none.
  ///   - policy: when to refresh, how to retry, when the session ends on its own.
  ///   - clock: the device's clocks; tests pass their own.
  ///   - audit: records the session's events, in order; `nil` for none.
  ///   - presence: the lock that guards the tokens; `nil` makes them available to any caller.
  ///   - cleanups: the steps that erase the app's data when a session ends.
  ///   - logger: gets one line for every decision; `nil` for none. No line contains a secret.
  public init(
    backend: any Backend, vault: any Vault, earlier: [EarlierPlace] = [], policy: SessionPolicy = SessionPolicy(),
    clock: any SessionClock = SystemClock(), audit: (any AuditLog)? = nil, presence: PresenceLock? = nil,
    cleanups: [CleanupStep] = [], logger: Logger? = nil
  ) {
    self.init(
      backend: backend, vault: vault, earlier: earlier, policy: policy, clock: clock, audit: audit,
      presence: presence, cleanups: cleanups, sharing: nil, logger: logger)
  }

  /// - Parameter host: Where other accounts may use what a shared step erases; `nil` without such steps.
  init(
    backend: any Backend, vault: any Vault, earlier: [EarlierPlace], policy: SessionPolicy, clock: any SessionClock,
    audit: (any AuditLog)?, presence: PresenceLock?, cleanups: [CleanupStep], sharing host: String?, logger: Logger?
  ) {
    neighbours = Locked(host.map { Neighbours(host: $0) })
    let abilities = backend.abilities
    let (auditQueue, auditWork) = AsyncStream.makeStream(of: Work.self)
    self.auditWork = auditWork
    let vault = SessionVault(
      vault, of: abilities, earlier: earlier, locks: refreshLocks, audit: audit, clock: clock
    ) { entry in if let audit { auditWork.yield { await audit.record(entry) } } }
    self.vault = vault
    let cleanups = cleanups.withUniqueNames
    self.cleanups = Dictionary(uniqueKeysWithValues: cleanups.map { ($0.cleanup.name, $0) })
    self.backend = backend
    self.abilities = abilities
    self.clock = clock
    log = logger.map { SessionLog(logger: $0) }
    self.audit = audit
    self.presence = presence
    boot = clock.now().boot
    if !abilities.supportsRotationKeys { UnstoredRefreshes.watchExit() }
    activityStep = policy.idleLimit.map { min(.seconds(1), $0 / 20) }
    var known = policy
    known.refresh.reuse = policy.refresh.reuse ?? abilities.reuse
    machine = SessionMachine(
      policy: known, supportsRotationKeys: abilities.supportsRotationKeys, cleanups: cleanups.map(\.cleanup),
      sender: .current, issuer: abilities.issuer, revokesRefreshTokens: abilities.revokesRefreshTokens)
    states = SessionStates(hub: hub)
    let (vaultQueue, vaultWork) = AsyncStream.makeStream(of: Work.self)
    self.vaultWork = vaultWork
    Task.detached(priority: .userInitiated) { for await work in vaultQueue { await work() } }
    if audit != nil { Task.detached(priority: .utility) { for await work in auditQueue { await work() } } }
    if let host { OpenSessions.add(self, at: host) }
    // Weak, so that a controller without an owner is released; its streams end with it.
    Task.detached(priority: .userInitiated) { [weak self] in await self?.begin() }
  }

  deinit {
    watching?.cancel()
    for timer in timers.values { timer.cancel() }
    // After the queued edits: another process must not read the values that these are about to replace.
    let locks = locks
    vaultWork.yield { for lock in locks.values { lock.unlock() } }
    vaultWork.finish()
    auditWork.finish()
    hub.finish()
    refreshHub.finish()
  }

  // MARK: Tokens

  /// Returns an access token, which is valid for at least `validity` unless the refresh for it failed.
  ///
  /// If the current token lasts long enough, it is returned at once; otherwise the token of the one refresh that all callers
  /// share. If that refresh fails, a current token that has not expired is returned although it does not last as long, except
  /// while the vault is locked. Cancelling the task ends only this wait.
  ///
  /// By default, a valid token is also replaced in the background shortly before it expires: 5 min before, at most a fifth of
  /// its lifetime, see ``RefreshPolicy/margin``. A token without `expires_in` counts as valid until an API rejects it:
  /// ``token(replacing:)`` replaces it then.
  ///
  /// - Parameter validity: the minimum remaining lifetime, at most four fifths of the token's lifetime: a greater value is
  ///   clamped. Default zero: any token that has not expired.
  /// - Throws: ``SessionError``, whose ``SessionError/recovery`` is the step to offer: `signedOut`, `sessionEnded`,
  ///   `noRefreshToken`, `requestFailed`, `storage`, `storageOutdated` or `cancelled`; with a ``PresenceLock`` also `presence`.
  ///   If a step before the refresh failed, such as fetching the server's metadata, its error. `unsupported` for a session that
  ///   uses cookies: ``credential(minimumValidity:)`` returns those.
  public nonisolated func token(minimumValidity validity: Duration = .zero) async throws(SessionError) -> AccessToken {
    try await guardedToken(SessionMachine.Need(validity: validity))
  }

  /// Returns what authorizes requests: an access token, as ``token(minimumValidity:)`` does, or the account's cookies.
  ///
  /// - Throws: ``SessionError``, as ``token(minimumValidity:)`` does, except that cookies are no error.
  public nonisolated func credential(
    minimumValidity validity: Duration = .zero
  ) async throws(SessionError) -> Credential {
    try await guarded { () async throws(SessionError) in
      try await unguarded(SessionMachine.Need(validity: validity))
    }
  }

  /// Refreshes the access token if it is valid for less than `validity`, and returns when the refresh has ended. It does not
  /// return the token and needs no presence check: for a background task, where one is impossible.
  ///
  /// - Parameter validity: as in ``token(minimumValidity:)``. The default of zero refreshes only a token that has expired: pass
  ///   the time until the next background task.
  /// - Throws: ``SessionError``, as ``token(minimumValidity:)`` does. Does not throw if the refresh failed and the current
  ///   token has not expired.
  public nonisolated func refreshIfNeeded(minimumValidity validity: Duration = .zero) async throws(SessionError) {
    _ = try await unguarded(SessionMachine.Need(validity: validity))
  }

  /// Returns an access token for other scopes or another API than the session's own (RFC 6749 section 6, RFC 8707 section 2.2), from
  /// the same refresh token and by the same refresh: no two are in flight at once, in any process, and a successor is stored before
  /// the token is returned. Such tokens are kept with the session for all processes, and none is returned after it has ended.
  ///
  /// - Parameters:
  ///   - target: the scopes and the API.
  ///   - validity: as in ``token(minimumValidity:)``. Default 30 s.
  /// - Throws: ``SessionError/unsupported(_:)`` if the backend knows no targets. ``SessionError/requestFailed(_:retryAfter:)`` with
  ///   ``RequestError/configuration(_:)`` and the code `invalid_scope` or `invalid_target` if the server refuses, or grants less.
  ///   A rejection, ``SessionError/sessionEnded(_:)``, does not end the session: only its own refresh does. Otherwise as
  ///   ``token(minimumValidity:)``.
  public nonisolated func token(
    for target: TokenTarget, minimumValidity validity: Duration = .seconds(30)
  ) async throws(SessionError) -> AccessToken {
    guard abilities.supportsTargets else { throw .noTargets }
    // An exchange begins with a valid token of the session's own.
    if target.audience != nil { _ = try await unguarded(SessionMachine.Need(validity: validity)) }
    return try await guardedToken(SessionMachine.Need(validity: validity, target: target))
  }

  /// Returns an access token other than `refused`, which an API rejected with a 401. If the session already has another one
  /// that has not expired, that is returned without a refresh; otherwise the token is refreshed once for all callers.
  ///
  /// - Throws: ``SessionError/tokenRejected`` if `refused` was issued less than ``RefreshPolicy/minimumAge`` ago (default 5 s),
  ///   or if the refresh brought the same token again; otherwise as ``token(minimumValidity:)``.
  public nonisolated func token(replacing refused: AccessToken) async throws(SessionError) -> AccessToken {
    try await guardedToken(SessionMachine.Need(refused: .accessToken(refused)))
  }

  /// The value `Bearer …` with the current access token, which may have expired: ``token(minimumValidity:)`` avoids that.
  /// Reading it never waits and does no I/O; any thread may.
  ///
  /// It is `nil`
  /// - if no session is in use,
  /// - from the first moment of a sign-out on, even of one by another process, once the vault has reported it,
  /// - for a backend whose sessions do not use bearer tokens, such as cookies,
  /// - while a ``PresenceLock`` is closed, and with a lock that asks for every use.
  ///
  /// It is `Bearer …` without a proof even for a DPoP-bound token: an API that supports DPoP refuses that (RFC 9449 section
  /// 7.2). Send such requests with ``APIClient`` through a `DPoPTransport`.
  public nonisolated var authorizationHeader: String? {
    if let presence, !presence.isOpen { return nil }
    return abilities.usesBearerTokens ? snapshot.withLock { $0.header } : nil
  }

  /// The state now. ``states`` yields every change.
  public nonisolated var state: SessionState { current.state }

  nonisolated var current: Versioned { hub.latest ?? .first }

  // MARK: Sign-in and sign-out

  /// Signs in with the tokens that `perform` returns. With `remember`, the session is durable before any observer sees it.
  ///
  /// A closure that calls a server itself must first take its turn, right before the request that begins the session; otherwise
  /// two sign-ins at once, in this program or another with the same vault, could leave one session at the server and the other
  /// in the vault. A closure that calls a sign-in of this package's backends need not: that takes the turn itself. See
  /// ``SignInTurn``.
  ///
  /// ```swift
  /// try await session.signIn {
  ///   try await SignInTurn.take(by: .password, as: email)
  ///   return try await myServer.signIn(email, password)
  /// }
  /// ```
  /// A session in use continues while `perform` runs, and if it throws. Once `perform` has returned tokens of another session,
  /// the previous one ends with ``EndReason/replaced``: its requests are cancelled, and it is revoked at the server, if it has a
  /// ``TokenResponse/revocation``.
  /// - If the new session is of the same account, or the account of either is unknown, no clean-up step runs.
  /// - If it is of another account, the steps of ``SignOutPlan/expiry`` run before the new session begins, which waits for them
  ///   for at most 10 s; ``states`` yields `signedOut(.replaced)` in between. Without such steps one session replaces the other
  ///   directly. Either way, the previous account's preferences, downloads and database stay on the device: keep them in a folder
  ///   per account.
  ///
  /// A sign-in or a sign-out that begins meanwhile takes precedence: then this one throws ``SessionError/cancelled``, and a
  /// session that `perform` may still obtain is revoked at the server.
  ///
  /// - Parameters:
  ///   - remember: whether the session is stored in the vault. `false`: it is only in memory, lost when the program exits, and
  ///     then valid at the server until it expires there, at Handstamp's own after a day without use unless the operator chose
  ///     otherwise; only its end is recorded in the vault, for its revocation. A session that the vault holds ends in either
  ///     case. Default `true`.
  ///   - perform: obtains the tokens.
  /// - Throws: the error of `perform`, unchanged. ``SessionError/cancelled`` in place of a `CancellationError` or
  ///   ``TransportError/cancelled``, and if the calling task is cancelled or another sign-in or a sign-out takes precedence.
  ///   ``SessionError/invalidResponse(_:)`` for tokens that no request can carry: empty ones, ones of more than 256 KiB, bearer tokens that
  ///   are not printable ASCII (RFC 6750 section 2.1); ``SessionError/storage(_:)`` if they cannot be stored.
  @discardableResult
  public nonisolated func signIn(
    remember: Bool = true, _ perform: () async throws -> TokenResponse
  ) async throws -> SignedIn {
    var thrown: (any Error)?
    do throws(SessionError) {
      return try await signedIn(by: nil, remember: remember) { () async throws(SessionError) in
        do { return try await perform() } catch {
          thrown = error
          throw SessionError(signIn: error)
        }
      }
    } catch {
      // If a later command ended this sign-in, that is the session's own error.
      if error != .cancelled, let thrown { throw thrown }
      throw error
    }
  }

  /// Signs in with tokens that were obtained elsewhere, as ``signIn(remember:_:)`` does with a closure that returns them.
  @discardableResult
  package nonisolated func signIn(
    with tokens: TokenResponse, by claim: SignInClaim, remember: Bool = true
  ) async throws(SessionError) -> SignedIn {
    try await signedIn(by: claim, remember: remember) { () async throws(SessionError) in tokens }
  }

  /// - Parameter claim: how the user signs in; `nil` if `perform` says it when it takes its turn.
  nonisolated func signedIn(
    by claim: SignInClaim?, remember: Bool, _ perform: () async throws(SessionError) -> TokenResponse
  ) async throws(SessionError) -> SignedIn {
    let turn = signInTurn(by: claim, remember)
    defer { turn.end() }
    return try await signedIn(remember: remember, in: turn, perform)
  }

  nonisolated func signedIn(
    remember: Bool, in turn: SignInTurn, _ perform: () async throws(SessionError) -> TokenResponse
  ) async throws(SessionError) -> SignedIn {
    let waiter = nextWaiter()
    await post(.signIn(waiter))
    let result: Result<TokenResponse, SessionError>
    do throws(SessionError) {
      let tokens = try await turn.during(perform)
      try tokens.validate(isBearer: abilities.usesBearerTokens)
      result = .success(tokens)
    } catch { result = .failure(error) }
    var isStranger = false
    // The vault is the place of one person.
    if case .success(let tokens) = result, let isOwn = owner.withLock({ $0 }) { isStranger = await !isOwn(tokens) }
    // The session that the server began is revoked.
    if Task.isCancelled || isStranger { await post(.gone(waiter)) }
    let fallback = SessionID("local." + Base64URL.encode(randomBytes(16)))
    let outcome = await command(
      waiter, .signInAnswered(waiter, result, by: turn.claim, fallback: fallback, remember: remember))
    if isStranger {
      let error = SessionError.refused(code: "other_account", detail: "the tokens belong to another account")
      record(AuditEntry(failed: turn.claim, inUse: nil, error, at: clock.now().wall))
      throw error
    }
    switch try outcome.get() {
    case .signedIn(let facts):
      if case .success(let tokens) = result { await confirm(tokens) }
      return facts
    case .signedOut, .renewed, .renewedElsewhere: throw .cancelled
    }
  }

  /// Ends a session here that the server has ended, as its live feed or another channel reported. No effect unless it is the
  /// session in use.
  ///
  /// Returns at once. When the vault has stored the end, or failed to, ``states`` yields `signedOut(reason)`, and the clean-up
  /// steps of ``SignOutPlan/standard(for:)`` run. If the session has a ``TokenResponse/revocation``, it is revoked at the
  /// server as well.
  public func sessionDidEnd(_ session: SessionID, reason: EndReason) {
    post(.ended(session, reason))
  }

  /// Retries at once what would otherwise be retried later. Call it when the network comes back, the app enters the foreground
  /// or the device is unlocked; ``SessionLifeCycle`` does so in the latter two cases. Returns before the work is done.
  ///
  /// - Reading a vault, or a refresh token, that was locked or unavailable.
  /// - A refresh that waits for its next attempt, or that no call may start yet after a failure: even if the server's
  ///   `Retry-After` has not passed, but not before ``RefreshPolicy/responseTimeout`` allows it.
  /// - A refresh that is due by the timer.
  /// - Revocations that got no response. Those after a 4xx that decided nothing keep their delay, see ``signOut(_:reason:)``.
  /// - Clean-up steps that failed, while no user is signed in.
  /// - A push token that the server has not got, see ``SessionManager/registerPushToken(_:)``.
  public func retryPendingWork() {
    post(.conditionsChanged)
    if let body = retry.withLock({ $0.take() }) { Task { await body() } }
  }

  nonisolated func retryOnce(_ body: @escaping @Sendable () async -> Void) { retry.withLock { $0 = body } }

  // MARK: Waiting

  nonisolated func nextWaiter() -> SessionMachine.Waiter {
    SessionMachine.Waiter(
      lastWaiter.withLock {
        $0 += 1; return $0
      })
  }

  /// Returns the credential of the snapshot, or waits with all callers of the same need; only the first of them enters the actor.
  nonisolated func unguarded(_ need: SessionMachine.Need) async throws(SessionError) -> Credential {
    let (current, isFenced) = snapshot.withLock { [clock] in
      ($0.credential(at: clock.uptime(), for: need), $0.fences > 0)
    }
    if let current { return current }
    // A sign-out that the machine has not received yet.
    if isFenced { throw .signedOut(.signedOut) }
    let waiter = nextWaiter()
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard tokenWaiters.join(waiter, need, continuation) else { return }
        Task.detached(priority: .userInitiated) { await self.post(.demand(waiter, need)) }
      }
    } onCancel: {
      guard let abandoned = tokenWaiters.leave(waiter, need) else { return }
      Task { await self.post(.gone(abandoned)) }
    }
    let access = try answer.get()
    if snapshot.withLock({ $0.fences > 0 }) { throw .signedOut(.signedOut) }
    return access.credential
  }

  func command(
    _ waiter: SessionMachine.Waiter, _ event: SessionMachine.Event
  ) async -> Result<SessionMachine.CommandOutcome, SessionError> {
    if let result = commandResults.removeValue(forKey: waiter) {
      // The sign-in was answered while it was still in progress; a late success is revoked at the server.
      post(event)
      return result
    }
    return await withCheckedContinuation { continuation in
      commandWaiters[waiter] = continuation
      post(event)
      if case .signOut = event { renewSnapshot(lowersFence: true) }
      // An event that came too late has no answer.
      if case .signInAnswered = event, commandWaiters[waiter] != nil, !machine.isSigningIn(waiter) {
        commandWaiters.removeValue(forKey: waiter)?.resume(returning: .failure(.cancelled))
      }
    }
  }

  /// Answers a command, or keeps the result for a caller that does not wait yet.
  func finish(_ waiter: SessionMachine.Waiter, _ result: Result<SessionMachine.CommandOutcome, SessionError>) {
    if let continuation = commandWaiters.removeValue(forKey: waiter) {
      continuation.resume(returning: result)
    } else {
      commandResults[waiter] = result
    }
  }

  private func begin() {
    watching = Task.detached(priority: .userInitiated) { [weak self, vault] in
      // Not in the actor, where a folder that does not answer would keep a sign-out waiting; and before the vault is read, so that
      // no change falls between the two.
      let changes = vault.store.changes()
      await self?.post(.start)
      for await _ in changes { await self?.post(.vaultChanged) }
    }
  }
}

extension SessionError {
  /// Maps an error of an app's own sign-in to a session error.
  init(signIn error: any Error) {
    switch error {
    case let error as SessionError: self = error
    case is CancellationError: self = .cancelled
    case let error as TransportError: self.init(error)
    default: self = .refused(code: "sign_in_failed", detail: nil)
    }
  }
}
