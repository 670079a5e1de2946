import HandstampCore
import HandstampSupport

/// Performs the effects that the machine decided on.
extension SessionController {
  /// The only entry point: decides, updates the snapshot, performs. Never suspends.
  ///
  /// - Parameter lock: the one that ``SessionMachine/Event/locked(_:_:failing:)`` reports.
  func post(_ event: SessionMachine.Event, at time: Moment? = nil, holding lock: (any VaultLock)? = nil) {
    switch event {
    // A caller that was cancelled before this point has already been forgotten.
    case .demand(let waiter, _): guard tokenWaiters.isOpen(waiter) else { return }
    // The idle limit must not end the session of a user whose last touch has not been reported yet. A vault is read before
    // that, too.
    case .timer(.limit, _), .read: reportActivity()
    case .locked(let operation, _, _): locks[operation] = lock
    case .refreshCompleted(let operation, _, _): asking[operation] = nil
    case .edited(_, .failed(let trouble), _) where delaysExit: UnstoredRefreshes.failed(trouble)
    case .revoked(let session, let result, _):
      if let code = result.refusalCode { refusedRevocations[session] = code }
    default: break
    }
    let now = time ?? clock.now()
    let effects = machine.handle(event, at: now)
    log?.note(event)
    renewSnapshot()
    for effect in effects {
      log?.note(effect, attempt: machine.refreshAttempt)
      perform(effect)
    }
    dropTimers()
    keepUntilStored()
    if vault.holdsAttempt, !machine.holdsAttempt(at: now) { vault.unlockAttempt() }
    resumeSatisfiedWaiters()
  }

  /// Keeps the controller alive until the refresh that was sent is finished and stored, even if its owner is gone.
  private func keepUntilStored() {
    let isUnstored = machine.isRefreshUnstored
    guard isUnstored != (ownHold != nil) else { return }
    ownHold = isUnstored ? self : nil
    guard !isUnstored, delaysExit else { return }
    delaysExit = false
    UnstoredRefreshes.end()
  }

  /// Delays an exit of the program until the refresh that is about to be sent is stored. Returns `false` if the program is
  /// exiting already: nothing is sent, and the next launch finds the session as it is.
  private func delayExit() -> Bool {
    if !delaysExit { delaysExit = UnstoredRefreshes.begin() }
    return delaysExit
  }

  /// Updates the snapshot only if the token changed: thousands of concurrent callers must not build as many headers.
  ///
  /// - Parameter lowersFence: the machine has received a sign-out: from here on it refuses tokens itself.
  func renewSnapshot(lowersFence: Bool = false) {
    let access = machine.access
    guard lowersFence || access != shownAccess else { return }
    shownAccess = access
    let new = Snapshot(access, policy: machine.policy.refresh, boot: boot)
    snapshot.withLock {
      if lowersFence { $0.fences -= 1 }
      // A raised fence has emptied it.
      if $0.fences == 0 { $0 = new }
    }
    if let lend = lending.withLock({ $0 }) { Task { await lend.exchange() } }
  }

  private func perform(_ effect: SessionMachine.Effect) {
    switch effect {
    case .publish(let state): hub.publish { Versioned(version: ($0?.version ?? 0) + 1, state: state) }
    case .refreshed(let session, let error):
      refreshHub.publish { _ in RefreshEvent(sessionID: session, error: error) }
    case .adopted(let session):
      refreshHub.publish { _ in RefreshEvent(sessionID: session, wasByAnotherProcess: true) }
    case .audit(let entry): record(entry)
    case .startTimer(let timer, let ticket, let delay): start(timer, ticket: ticket, after: delay)
    case .resume(let waiters, let result): tokenWaiters.answer(waiters, result)
    case .finish(let waiter, let result): finish(waiter, result)
    case .cancelRequests: requests.cancelAll()
    case .unlock(let operation): locks.removeValue(forKey: operation)?.unlock()
    case .abandon(let operation): asking.removeValue(forKey: operation)?.cancel()
    case .ignored: break
    case .read(let operation):
      vaultWork.yield { [weak self, vault] in
        let reading = await vault.read()
        await self?.post(.read(operation, reading))
      }
    case .edit(let operation, let edit):
      vaultWork.yield { [weak self, vault, clock] in
        let asOf = clock.now()
        let outcome = await vault.edit(edit)
        await self?.post(.edited(operation, outcome, asOf: asOf))
      }
    case .lock(let operation, let limit):
      Task.detached(priority: .userInitiated) { [weak self, refreshLocks, store = vault.store] in
        var lock: (any VaultLock)?
        var trouble: VaultError?
        do throws(VaultError) { lock = try await refreshLocks.lock(.refresh, of: store, within: limit) } catch {
          trouble = error
        }
        var random = SystemRandomNumberGenerator()
        // Without a controller the lock is released with its last reference.
        await self?.post(.locked(operation, RotationKey(from: &random), failing: trouble), holding: lock)
      }
    case .askRefresh(let operation, let request): send(request, as: operation)
    case .checkSender(let operation, let attempt):
      // Not at once: an effect is answered after all effects of its list.
      Task.detached(priority: .userInitiated) { [weak self, vault] in
        await self?.post(.senderChecked(operation, hasEnded: vault.hasEnded(attempt)))
      }
    case .clean(let ended, let step): clean(ended, step: step)
    case .revoke(let session, let handle):
      Task.detached(priority: .utility) { [weak self, backend] in
        let result = await backend.revoke(handle)
        await self?.post(.revoked(session, result, entropy: .random(in: .min ... .max)))
      }
    }
  }

  /// Sends a refresh, unless the program is exiting.
  private func send(_ request: RefreshRequest, as operation: SessionMachine.Operation) {
    let noted = machine.notedAttempt
    guard noted == nil || delayExit() else { return }
    var request = request
    request.sendingTime = noted.map { noted in
      // Also if the time since the attempt is unknown.
      SendingTime { [clock] in (clock.now().elapsed(since: noted.since) ?? noted.limit) >= noted.limit }
    }
    // Detached, so that it inherits neither a waiter's cancellation nor its task-local values.
    asking[operation] = Task.detached(priority: .userInitiated) { [weak self, backend, request] in
      let result = await backend.refresh(request)
      await self?.post(.refreshCompleted(operation, result, entropy: .random(in: .min ... .max)))
    }
  }

  /// How long a refresh without a response waits until its next attempt; `nil` unless one does.
  package var refreshPause: Duration? {
    timers[.retry] == nil ? nil : max(.zero, retryDue - clock.uptime())
  }

  private func start(_ timer: SessionMachine.Timer, ticket: UInt64, after delay: Duration) {
    timers[timer]?.cancel()
    if timer == .retry { retryDue = clock.uptime() + delay }
    timers[timer] = Task.detached(priority: .utility) { [weak self, clock] in
      do {
        if timer == .answer { try await clock.sleep(whileRunningFor: delay) } else { try await clock.sleep(for: delay) }
      } catch { return }
      await self?.post(.timer(timer, ticket: ticket))
    }
  }

  /// Cancels the timers that the machine no longer waits for.
  private func dropTimers() {
    for timer in timers.keys where !machine.isWaiting(for: timer) { timers.removeValue(forKey: timer)?.cancel() }
  }
}

/// Tracks the last use of the session.
extension SessionController {
  /// Records that the session was used, which restarts the idle limit: nothing else does, see ``SessionPolicy/idleLimit``.
  /// Cheap enough for every touch event, from any thread: it reads a clock and takes a small lock, and enters the actor once a
  /// second at most. Without an idle limit it does nothing.
  public nonisolated func updateSessionActivity() {
    guard let step = activityStep else { return }
    let now = clock.uptime()
    if lastUse.withLock({ $0.isDue(at: now, every: step) }) { Task { await self.reportActivity() } }
  }

  /// Reports the use of the session to the machine, which may be a moment ago: the first time, which kept the session from
  /// ending, and the last.
  func reportActivity() {
    // There is no session yet: the time is kept until one is restored.
    guard machine.session != nil else { return }
    let use = lastUse.withLock { use in
      defer { (use.first, use.last) = (nil, nil) }
      return use
    }
    let now = clock.now()
    for used in [use.first, use.last].compactMap({ $0 }) {
      let ago = max(.zero, now.uptime - used)
      post(.activity, at: Moment(boot: now.boot, uptime: now.uptime - ago, wall: now.wall.advanced(by: .zero - ago)))
    }
  }

  struct LastUse: Sendable {
    /// The first and the last time that have not been reported to the machine.
    var first: Duration?
    var last: Duration?
    /// The last report; `nil` before the first.
    var reportedAt: Duration?

    /// Notes a use, and returns whether it is to be reported now. Only such a use costs a task.
    mutating func isDue(at now: Duration, every step: Duration) -> Bool {
      if first == nil { first = now }
      last = now
      if let reportedAt, reportedAt <= now, now - reportedAt < step { return false }
      reportedAt = now
      return true
    }
  }

  /// Returns when all events so far are in the audit log. For programs that are about to exit.
  public func flushAuditLog() async {
    if audit == nil { return }
    await withCheckedContinuation { continuation in
      guard case .enqueued = auditWork.yield({ continuation.resume() }) else { return continuation.resume() }
    }
  }

  /// Records an event outside the session's rules, such as a clean-up or a switch of accounts, in order.
  package nonisolated func record(_ entry: AuditEntry) {
    if let audit { auditWork.yield { await audit.record(entry) } }
  }
}

/// Changes of the session that a response to a request brings, or the app.
extension SessionController {
  /// Stores the profile of the session in use.
  nonisolated func update(_ profile: Profile) async throws(SessionError) {
    for await state in states where state != .restoring { break }
    switch state {
    case .restoring: throw .cancelled
    case .signedOut(let reason): throw .signedOut(reason)
    case .unavailable(let error): throw error
    case .signedIn(let facts):
      let waiter = nextWaiter()
      _ = try await command(waiter, .identified(waiter, facts.id, profile)).get()
    }
  }

  /// Replaces `old` with `new`. Returns the credential in use instead if that was no longer `old`.
  func renew(_ session: SessionID, from old: Credential, to new: Credential) async -> Credential? {
    let waiter = nextWaiter()
    guard case .success(.renewedElsewhere) = await command(waiter, .renewed(waiter, session, from: old, to: new)) else {
      return nil
    }
    return machine.access?.credential
  }

  /// Ends a session that the server has ended, and waits until the end is stored and published.
  nonisolated func endHere(_ session: SessionID, reason: EndReason) async {
    await sessionDidEnd(session, reason: reason)
    for await state in states {
      guard case .signedIn(let now) = state, now.id == session else { break }
    }
  }

  /// The error of a request that the fence stopped.
  nonisolated var fenceError: SessionError {
    if case .signedOut(let reason) = state { .signedOut(reason) } else { .signedOut(.replaced) }
  }
}
