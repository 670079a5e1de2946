import HandstampCore

/// The ways to end a session, and what became of it.
extension SessionController {
  /// How long a sign-out waits for clean-up steps before it reports those that are still under way.
  static let cleanupPatience: Duration = .seconds(10)

  /// Signs out. Always succeeds here, also without a network: no token leaves from the first moment on, the tombstone is
  /// written before this returns, and the server is told as soon as it can be reached, also after a restart.
  ///
  /// - Parameter plan: what goes besides. The steps are done after the end has been published, at most 10 s are waited for.
  @discardableResult
  public nonisolated func signOut(
    _ plan: SignOutPlan = .standard, reason: EndReason = .signedOut
  ) async -> SignOutReport {
    // The fence, before anything can suspend: the snapshot is what hands out tokens without waiting.
    snapshot.withLock { $0.raiseFence() }
    let waiter = nextWaiter()
    let before = await cleanupCount
    let result = await command(waiter, .signOut(waiter, reason, plan))
    var report = SignOutReport(cleanup: await cleanupReport(since: before, within: SessionController.cleanupPatience))
    if case .success(.signedOutNotDurably(let trouble)) = result { report.notDurable = trouble }
    return report
  }

  /// Ends the session as if its time were over: what belongs to the person stays for when they sign in again.
  @discardableResult
  public nonisolated func expire() async -> SignOutReport { await signOut(.expiry, reason: .expired) }

  /// Signs out and removes everything of the account from this device.
  @discardableResult
  public nonisolated func signOutAndErase() async -> SignOutReport { await signOut(.everything) }

  /// Does the clean-up steps of these scopes, now and without ending anything.
  @discardableResult
  public nonisolated func clear(_ scopes: Set<CleanupScope> = [.requestCache, .imageCache]) async -> CleanupReport {
    guard case .signedIn(let facts) = state else { return CleanupReport() }
    // Reasons are for ends; to a step that looks, this is the mildest.
    let current = EndedSession(session: facts.session, account: facts.profile.id, reason: .expired)
    var report = CleanupReport()
    for step in await machine.cleanups where scopes.contains(step.scope) {
      // Never what belongs to a session that took its place.
      guard case .signedIn(let now) = state, now.session == facts.session else { break }
      do {
        try await cleanups[step.name]?.run(current)
        report.cleared.append(step.name)
      } catch {
        report.failed[step.name] = String(describing: type(of: error))
      }
    }
    return report
  }

  /// The machine has heard of a sign-out: from here on it is the one that gives no token.
  func lowerFence() {
    let new = Snapshot(machine.access, policy: machine.policy.refresh, boot: boot)
    snapshot.withLock {
      $0.lowerFence()
      $0.renew(new)
    }
  }

  /// Waits until the server knows of every ended session, and the vault that it does; at most for `limit`, and not for a server
  /// that is to be told later (``DeliveryDelay``). Tells whether it knows. Cancelling the task ends this wait alone.
  public nonisolated func endsDelivered(within limit: Duration) async -> Bool {
    guard await wait(nextWaiter(), until: .delivered, within: limit) else { return false }
    return await machine.outbox.isEmpty
  }

  /// Waits until no refresh token is out without an answer, and the tokens that the last one brought are stored; at most for `limit`. Tells
  /// whether that is so. Cancelling the task ends this wait alone.
  ///
  /// A program need not call it before it exits: see ``UnsettledRefreshes``.
  public nonisolated func refreshSettled(within limit: Duration = .seconds(60)) async -> Bool {
    await wait(nextWaiter(), until: .refreshed, within: limit)
  }

  /// Waits until nothing is left to do for ended sessions, or somebody is signed in. Cancelling the task ends this wait.
  func settled() async -> Bool { await wait(nextWaiter(), until: .settled, within: .seconds(7 * 86_400)) }

  /// Whether the vault holds a session now, whoever signed in. It may be news to this controller.
  nonisolated func isSessionStored() async -> Bool {
    switch await vault.read() {
    case .value(let entry): entry.session != nil
    case .accessOnly: true
    case .absent, .trouble: false
    }
  }

  // MARK: Clean-up

  func clean(_ ended: EndedSession, step name: String) {
    guard let step = cleanups[name] else { return }
    Task.detached(priority: .utility) { [weak self] in
      var failure: String?
      do { try await step.run(ended) } catch { failure = String(describing: type(of: error)) }
      await self?.cleaned(ended.session, name, failure: failure)
    }
  }

  private func cleaned(_ session: SessionID, _ step: String, failure: String?) {
    cleanupCount += 1
    cleanupLog = cleanupLog.suffix(255) + [CleanupLogEntry(number: cleanupCount, step: step, failure: failure)]
    post(.cleaned(session, step: step, succeeded: failure == nil, entropy: .random(in: .min ... .max)))
  }

  private func cleanupReport(since number: Int, within limit: Duration) async -> CleanupReport {
    _ = await wait(nextWaiter(), until: .cleaned, within: limit)
    var report = CleanupReport()
    for entry in cleanupLog where entry.number > number {
      report.failed[entry.step] = entry.failure
      if entry.failure == nil { report.cleared.append(entry.step) }
    }
    report.unfinished = machine.chores.values.flatMap(\.running).sorted()
    return report
  }

  // MARK: Waiting for what is done after the end

  private func wait(_ waiter: SessionMachine.Waiter, until condition: Condition, within limit: Duration) async -> Bool {
    if holds(condition) { return true }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let end = Task { [clock] in
          do { try await clock.sleep(for: limit) } catch { return }
          self.stopWaiting(waiter)
        }
        conditionWaiters[waiter] = ConditionWaiter(condition: condition, continuation: continuation, limit: end)
      }
    } onCancel: {
      Task { await self.stopWaiting(waiter) }
    }
    return holds(condition)
  }

  private func holds(_ condition: Condition) -> Bool {
    switch condition {
    // Before the vault has answered, nobody knows.
    case .delivered: machine.state != .restoring && machine.isDeliveryOver && deliveryNotes.isEmpty
    case .cleaned: machine.chores.values.allSatisfy(\.running.isEmpty)
    case .refreshed: !machine.isRefreshUnsettled
    case .settled:
      switch machine.state {
      case .signedIn: true
      case .signedOut: machine.outbox.isEmpty && deliveryNotes.isEmpty && machine.chores.isEmpty
      case .restoring, .unavailable: false
      }
    }
  }

  private func stopWaiting(_ waiter: SessionMachine.Waiter) {
    guard let waiting = conditionWaiters.removeValue(forKey: waiter) else { return }
    waiting.limit.cancel()
    waiting.continuation.resume()
  }

  func tellWhoWaits() {
    guard !conditionWaiters.isEmpty else { return }
    for (waiter, waiting) in conditionWaiters where holds(waiting.condition) { stopWaiting(waiter) }
  }

  enum Condition: Sendable { case delivered, cleaned, settled, refreshed }

  struct ConditionWaiter: Sendable {
    let condition: Condition
    let continuation: CheckedContinuation<Void, Never>
    let limit: Task<Void, Never>
  }

  struct CleanupLogEntry: Sendable {
    let number: Int
    let step: String
    let failure: String?
  }
}

/// How a sign-out went. It always holds on this device.
public struct SignOutReport: Sendable, Hashable {
  public var cleanup: CleanupReport
  /// Why the store could not take it down, if it could not: it is tried again for as long as the program runs, but a crash
  /// before that would bring the session back.
  public var notDurable: VaultTrouble?
  /// Why the account's other sessions could not be ended, when that was asked for.
  public var others: SessionError?

  /// Steps that failed, and the types of their errors.
  public var failed: [String: String] { cleanup.failed }

  public init(cleanup: CleanupReport = CleanupReport(), notDurable: VaultTrouble? = nil) {
    self.cleanup = cleanup
    self.notDurable = notDurable
  }
}
