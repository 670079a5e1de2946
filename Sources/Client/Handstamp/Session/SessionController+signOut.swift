import HandstampCore
import HandstampSupport

/// Ends a session and reports the result.
extension SessionController {
  /// How long a sign-out waits for clean-up steps before it reports them as unfinished.
  static let cleanupPatience: Duration = .seconds(10)

  /// Signs out, even without a network.
  ///
  /// No token is available from the first moment. If the vault can be written, the sign-out is recorded before this returns;
  /// otherwise ``SignOutReport/storageError`` is set, the write is retried while the process runs, and a crash before that may
  /// restore the session.
  ///
  /// The session is revoked at the server, if it has a ``TokenResponse/revocation``: at once, or at the next retry that reaches
  /// the server, even after a restart. While the program runs, retries are at most ``RetryPolicy/cap`` (default 30 s) apart,
  /// and ``retryPendingWork()`` retries at once. After a 4xx that decides nothing, such as a bare 401, a retry follows only
  /// after a minute, doubled each time up to a day. Without a handle the session continues at the server until it expires.
  ///
  /// - Parameters:
  ///   - plan: selects the clean-up steps. They run after the end is published; this waits at most 10 s for them.
  ///   - reason: the reason that is published and stored, unless no session is in use: then that of the last end stays. Default
  ///     ``EndReason/signedOut``.
  /// - Returns: the results of the clean-up steps of the session that it ended, and any error of the vault. If none was in use,
  ///   those of the last session.
  @discardableResult
  public nonisolated func signOut(
    _ plan: SignOutPlan = .standard, reason: EndReason = .signedOut
  ) async -> SignOutReport {
    // The fence, before anything can suspend: the snapshot hands out tokens without waiting.
    snapshot.withLock { $0.raiseFence() }
    let waiter = nextWaiter()
    let before = await cleanupCount
    var report = SignOutReport()
    report.scopesWithoutStep = scopesWithoutStep(of: plan)
    let outcome = await command(waiter, .signOut(waiter, reason, plan))
    guard case .success(.signedOut(let ended, let trouble)) = outcome else { return report }
    report.storageError = trouble
    guard let ended else { return report }
    report.isUnrevoked = await machine.unrevoked == ended
    report.cleanup = await cleanupReport(of: ended, since: before, within: SessionController.cleanupPatience)
    return report
  }

  /// Runs the clean-up steps of these scopes now, one after the other, without ending the session: to free storage, say. Does
  /// nothing if no user is signed in, and stops when the session ends.
  ///
  /// The steps get the session in use, with the reason ``EndReason/expired`` although it has not ended. One that fails is not
  /// retried.
  ///
  /// - Parameter scopes: by default the two caches. ``CleanupScope/always`` is not added.
  /// - Returns: the steps that succeeded, and those that failed.
  @discardableResult
  public nonisolated func runCleanups(_ scopes: Set<CleanupScope> = [.requestCache, .imageCache]) async -> CleanupReport
  {
    guard case .signedIn(let facts) = state else { return CleanupReport() }
    // There is no end and so no reason; this is the mildest, for steps that look at it.
    let current = EndedSession(id: facts.id, account: facts.profile?.id, reason: .expired)
    var report = CleanupReport()
    for step in await machine.cleanups.steps where scopes.contains(step.scope) {
      // Never the data of a session that replaced this one.
      guard case .signedIn(let now) = state, now.id == facts.id else { break }
      guard let step = cleanups[step.name] else { continue }
      report.add(await SessionController.result(of: step, for: current, neighbours), of: step.cleanup.name)
    }
    return report
  }

  /// Waits until the server has decided on every pending revocation, by ending the session or refusing permanently
  /// (``RevocationResult/refused(code:)``), and the vault has recorded it. Cancelling the task ends only this wait.
  ///
  /// It does not wait for revocations that this client has postponed by a minute or more, after a 4xx that decided nothing, see
  /// ``signOut(_:reason:)``; nor for those in a vault that cannot be read.
  ///
  /// - Parameter limit: the longest wait.
  /// - Returns: `true` if no revocation is left that this program knows of. `false` if the limit has passed, or only postponed
  ///   ones are left.
  public nonisolated func waitForRevocations(timeout limit: Duration) async -> Bool {
    guard await wait(until: .revoked, within: limit) else { return false }
    return await machine.revocations.pending.isEmpty
  }

  /// Waits until no refresh request is in flight and the tokens of the last one are stored. A refresh that has not been sent,
  /// or that waits for its next attempt, does not count. Cancelling the task ends only this wait.
  ///
  /// A program does not need to call it before it exits normally (`exit`, or the end of `main`). With rotation keys, the next
  /// launch repeats the refresh and gets the same tokens. Without them, the exit itself waits for such a refresh, at most 60 s,
  /// because the new refresh token would be lost, and with it the session. A signal does not: see <doc:WhenAProgramEnds>.
  ///
  /// - Parameter limit: the longest wait. Default 60 s.
  /// - Returns: `true` if no refresh request is in flight and all tokens are stored; `false` if the limit has passed first.
  public nonisolated func waitForRefresh(timeout limit: Duration = .seconds(60)) async -> Bool {
    await wait(until: .refreshed, within: limit)
  }

  /// Whether the vault holds a session now, even one that this controller has not seen yet.
  package nonisolated func isSessionStored() async -> Bool {
    switch await vault.read() {
    case .value(let entry): entry.session != nil
    case .accessOnly: true
    case .absent, .trouble: false
    }
  }

  // MARK: Clean-up

  func clean(_ ended: EndedSession, step name: String) {
    guard let step = cleanups[name] else { return }
    Task.detached(priority: .utility) { [weak self, neighbours, lending] in
      // WebKit may not answer, as in the background.
      if let lend = lending.withLock({ $0 }) {
        await CookieLend.within(.seconds(5)) { await lend.takeBack(after: ended.id) }
      }
      let result = await SessionController.result(of: step, for: ended, neighbours)
      await self?.cleaned(ended.id, name, result)
    }
  }

  private static func result(
    of step: CleanupStep, for ended: EndedSession, _ neighbours: Locked<Neighbours?>
  ) async -> CleanupResult {
    if step.isShared, let neighbours = neighbours.withLock({ $0 }) {
      await neighbours.restore()
      switch OpenSessions.isInUse(neighbours.host, besides: ended.id) {
      case true?: return .kept
      // Tried again, by when it may be known.
      case nil: return .failed("\(VaultError.self)")
      case false?: break
      }
    }
    do {
      try await step.run(ended)
      return .cleared
    } catch { return .failed(String(describing: type(of: error))) }
  }

  private func cleaned(_ session: SessionID, _ step: String, _ result: CleanupResult) {
    cleanupCount += 1
    let entry = CleanupLogEntry(number: cleanupCount, session: session, step: step, result: result)
    cleanupLog = cleanupLog.suffix(255) + [entry]
    let hasFailed = if case .failed = result { true } else { false }
    post(.cleaned(session, step: step, succeeded: !hasFailed, entropy: .random(in: .min ... .max)))
  }

  /// Also in the log, once.
  private nonisolated func scopesWithoutStep(of plan: SignOutPlan) -> Set<CleanupScope> {
    let missing = plan.scopes.subtracting([.always]).subtracting(cleanups.values.map(\.cleanup.scope))
      // The client of a session of this process keeps no responses.
      .subtracting(neighbours.withLock { $0 } == nil ? [] : [.requestCache])
    let isNew = saidMissing.withLock { said in
      defer { said.formUnion(missing) }
      return !missing.isSubset(of: said)
    }
    if isNew { log?.note(withoutStep: missing) }
    return missing
  }

  private func cleanupReport(
    of session: SessionID, since number: Int, within limit: Duration
  ) async -> CleanupReport {
    _ = await wait(until: .cleaned(session), within: limit)
    var report = CleanupReport()
    for entry in cleanupLog where entry.number > number && entry.session == session {
      report.add(entry.result, of: entry.step)
    }
    report.unfinished = machine.cleanups.pending[session]?.running.sorted() ?? []
    return report
  }

  // MARK: Waiting for pending work

  /// Returns whether it holds. Cancelling the task ends only this wait.
  func wait(until condition: Condition, within limit: Duration?) async -> Bool {
    if holds(condition) { return true }
    let waiter = nextWaiter()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let end = limit.map { limit in
          Task { [clock] in
            do { try await clock.sleep(for: limit) } catch { return }
            self.stopWaiting(waiter)
          }
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
    // Before the vault has been read, this is unknown.
    case .revoked: machine.state != .restoring && machine.revocations.isIdle && !machine.isRecordingRevocation
    case .cleaned(let session): machine.cleanups.pending[session]?.running.isEmpty ?? true
    case .refreshed: !machine.isRefreshUnstored
    case .workDone:
      switch machine.state {
      case .signedIn: true
      case .signedOut:
        machine.revocations.pending.isEmpty && !machine.isRecordingRevocation && machine.cleanups.pending.isEmpty
      case .restoring, .unavailable: false
      }
    }
  }

  private func stopWaiting(_ waiter: SessionMachine.Waiter) {
    guard let waiting = conditionWaiters.removeValue(forKey: waiter) else { return }
    waiting.limit?.cancel()
    waiting.continuation.resume()
  }

  func resumeSatisfiedWaiters() {
    guard !conditionWaiters.isEmpty else { return }
    for (waiter, waiting) in conditionWaiters where holds(waiting.condition) { stopWaiting(waiter) }
  }

  enum Condition: Sendable {
    case revoked, refreshed
    /// No work is pending for ended sessions, or a user is signed in.
    case workDone
    case cleaned(SessionID)
  }

  struct ConditionWaiter: Sendable {
    let condition: Condition
    let continuation: CheckedContinuation<Void, Never>
    let limit: Task<Void, Never>?
  }

  struct CleanupLogEntry: Sendable {
    let number: Int
    let session: SessionID
    let step: String
    let result: CleanupResult
  }
}

/// The result of a sign-out. The sign-out itself always takes effect in this program, whatever the report says.
public struct SignOutReport: Sendable, Hashable {
  /// The results of the clean-up steps of the session that ended.
  public var cleanup = CleanupReport()
  /// Why the sign-out could not be written to the vault; `nil` if it is stored. The write is retried while the process runs; if
  /// it exits before one succeeds, the next launch may restore the session.
  public var storageError: VaultError?
  /// Whether no revocation was or will be sent, because the session had no ``TokenResponse/revocation``: at the server it
  /// continues until it expires.
  public var isUnrevoked = false
  /// Why the account's other sessions may not have ended; `nil` if they have, or if their end was not requested.
  public var otherSessionsError: SessionError?

  /// The clean-up steps that failed, with the types of their errors.
  public var failed: [String: String] { cleanup.failed }

  /// The scopes of the plan for which the session has no clean-up step: nothing of them was erased. The log names them once.
  public var scopesWithoutStep: Set<CleanupScope> = []

  package init() {}
}
