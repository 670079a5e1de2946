import HandstampCore

/// Performing what the machine decided.
extension SessionController {
  /// The one way in: decide, derive the snapshot, perform. Never suspends.
  func post(_ event: SessionMachine.Event, at time: Moment? = nil) {
    let effects = machine.handle(event, at: time ?? clock.now())
    renewSnapshot()
    for effect in effects { perform(effect) }
    dropTimers()
    keepWhileUnsettled()
    if case .edited(let operation, _, _) = event { deliveryNotes.remove(operation) }
    tellWhoWaits()
  }

  /// What was sent is finished and stored, whether or not the owner of this controller is still there to see it.
  private func keepWhileUnsettled() {
    let isUnsettled = machine.isRefreshUnsettled
    guard isUnsettled != (ownHold != nil) else { return }
    ownHold = isUnsettled ? self : nil
    guard !isUnsettled, delaysExit else { return }
    delaysExit = false
    UnsettledRefreshes.end()
  }

  /// Whether the session in use may be written to a disk.
  var isRemembered: Bool { machine.isRemembered }

  /// Most events change no token: thousands who ask at once must not cost as many headers.
  private func renewSnapshot() {
    let access = machine.access
    guard access != shownAccess else { return }
    shownAccess = access
    let new = Snapshot(access, policy: machine.policy.refresh, boot: boot)
    snapshot.withLock { $0.renew(new) }
  }

  private func perform(_ effect: SessionMachine.Effect) {
    switch effect {
    case .publish(let state): hub.publish(state)
    case .audit(let entry): if audit != nil { auditQueue.yield(.entry(entry)) }
    case .startTimer(let timer, let ticket, let delay): start(timer, ticket: ticket, after: delay)
    case .resume(let waiters, let result): tokenWaiters.answer(waiters, result)
    case .finish(let waiter, let result):
      if let continuation = commandWaiters.removeValue(forKey: waiter) {
        continuation.resume(returning: result)
      } else {
        commandResults[waiter] = result
      }
    case .cancelRequests: requests.cancelAll()
    case .unlock(let operation): locks.removeValue(forKey: operation)?.unlock()
    case .abandon(let operation): asking.removeValue(forKey: operation)?.cancel()
    case .ignored: break
    case .read(let operation): vaultWork.yield(.read(operation))
    case .edit(let operation, let edit):
      switch edit {
      case .delivered, .postpone: deliveryNotes.insert(operation)
      default: break
      }
      vaultWork.yield(.edit(operation, edit))
    case .lock(let operation, let limit): takeLock(operation, within: limit)
    case .askRefresh(let operation, let token, let key): askRefresh(operation, token, key)
    case .clean(let ended, let step): clean(ended, step: step)
    case .revoke(let session, let handle): revoke(session, handle)
    }
  }

  private func start(_ timer: SessionMachine.Timer, ticket: UInt64, after delay: Duration) {
    timers[timer]?.cancel()
    timers[timer] = Task.detached(priority: .utility) { [weak self, clock] in
      do {
        if timer == .answer { try await clock.sleep(whileRunningFor: delay) } else { try await clock.sleep(for: delay) }
      } catch { return }
      await self?.fired(timer, ticket: ticket)
    }
  }

  /// Those that the machine does not wait for any more.
  private func dropTimers() {
    for timer in timers.keys where !machine.isWaiting(for: timer) { timers.removeValue(forKey: timer)?.cancel() }
  }

  private func fired(_ timer: SessionMachine.Timer, ticket: UInt64) {
    // The limit must not strike somebody whose last touch is still on its way.
    if timer == .limit { tellActivity() }
    post(.timer(timer, ticket: ticket))
  }

  private func takeLock(_ operation: SessionMachine.Operation, within limit: Duration) {
    Task.detached(priority: .userInitiated) { [weak self, vault] in
      let lock: Result<any FlightLock, VaultTrouble>
      do throws(VaultTrouble) { lock = .success(try await vault.lock(within: limit)) } catch { lock = .failure(error) }
      var random = SystemRandomNumberGenerator()
      guard let self else {
        if case .success(let lock) = lock { lock.unlock() }
        return
      }
      await self.took(lock, operation, RotationKey(from: &random))
    }
  }

  private func took(
    _ lock: Result<any FlightLock, VaultTrouble>, _ operation: SessionMachine.Operation, _ key: RotationKey
  ) {
    switch lock {
    case .success(let lock):
      locks[operation] = lock
      post(.locked(operation, key))
    case .failure(let trouble): post(.lockFailed(operation, key, trouble))
    }
  }

  /// Detached, so that no waiter's cancellation and no task-local value goes with it.
  private func askRefresh(_ operation: SessionMachine.Operation, _ token: RefreshToken, _ key: RotationKey) {
    if !backend.keepsRotationKeys, !delaysExit {
      // The program is exiting. The next one finds the session as it is.
      guard UnsettledRefreshes.begin() else { return }
      delaysExit = true
    }
    let (noted, limit) = (machine.attemptNotedAt, machine.policy.refresh.answerLimit)
    asking[operation] = Task.detached(priority: .userInitiated) { [weak self, backend, clock] in
      let result = await SendingTime.during(limit, since: noted, by: clock) {
        await backend.refresh(token, key: key)
      }
      let answer = SessionMachine.RefreshAnswer(result, entropy: .random(in: .min ... .max))
      await self?.answered(operation, answer)
    }
  }

  private func answered(_ operation: SessionMachine.Operation, _ answer: SessionMachine.RefreshAnswer) {
    asking[operation] = nil
    post(.answered(operation, answer))
  }

  private func revoke(_ session: SessionID, _ handle: RevocationHandle) {
    Task.detached(priority: .utility) { [weak self, backend] in
      var delivered = true
      var refusal: String?
      var isAnswered = false
      do throws(SessionError) { try await backend.revoke(handle) } catch {
        switch error {
        case .rejected: break
        case .refused(let code, _):
          // It goes into a log: nothing but a code does.
          let isWord = code.utf8.count <= 40 && code.utf8.allSatisfy { $0 == 0x5f || (0x61...0x7a).contains($0) }
          refusal = isWord ? code : "refused"
        // It was answered, and that decides nothing.
        case .invalidAnswer:
          delivered = false
          isAnswered = true
        default: delivered = false
        }
      }
      await self?.revoked(session, delivered: delivered, refusal: refusal, isAnswered: isAnswered)
    }
  }

  private func revoked(_ session: SessionID, delivered: Bool, refusal: String?, isAnswered: Bool) {
    if let refusal { refusedRevocations[session] = refusal }
    post(
      .revoked(
        session, delivered: delivered, refusal: refusal, isAnswered: isAnswered, entropy: .random(in: .min ... .max)))
  }

  static func randomSessionID() -> SessionID {
    SessionID((0..<16).map { _ in String(UInt8.random(in: .min ... .max), radix: 16) }.joined())
  }
}

extension SessionMachine.RefreshAnswer {
  /// Only two failures decide anything; every other one is no answer.
  init(_ result: Result<Grant, RefreshFailure>, entropy: UInt64) {
    switch result {
    case .success(let grant): self = .granted(grant)
    case .failure(.rejected(let reason)): self = .rejected(reason)
    case .failure(.rolledBack): self = .superseded
    case .failure(.refused(_, let retryAfter)), .failure(.notSent(let retryAfter)):
      self = .none(retryAfter: retryAfter, entropy: entropy, isSettled: true)
    case .failure(.unusable(let successor, _)): self = .unusable(successor: successor, entropy: entropy)
    case .failure(.unreachable(let retryAfter)): self = .none(retryAfter: retryAfter, entropy: entropy)
    }
  }
}

/// One item of the vault's queue: first in, first out, one at a time.
enum VaultWork: Sendable {
  case read(SessionMachine.Operation)
  case edit(SessionMachine.Operation, VaultEdit)
  /// The last item: the locks of a controller that is gone, after its edits.
  case unlock([any FlightLock])

  func done(on vault: any Vault, clock: any SessionClock) async -> SessionMachine.Event? {
    switch self {
    case .read(let operation): return .read(operation, await vault.read())
    case .edit(let operation, let edit):
      let asOf = clock.now()
      return .edited(operation, await vault.edit(edit), asOf: asOf)
    case .unlock(let locks):
      for lock in locks { lock.unlock() }
      return nil
    }
  }
}

/// The requests of the current session: a sign-out cancels them, and an answer that comes all the same is nobody's.
final class RequestFence: Sendable {
  private struct Content: Sendable {
    var last: UInt64 = 0
    var tasks: [UInt64: @Sendable () -> Void] = [:]
    var generation: UInt64 = 0
  }
  private let content = Locked(Content())

  /// How many sessions have ended. What was begun in one generation is nobody's in the next.
  var generation: UInt64 { content.withLock { $0.generation } }

  /// Runs `body` until it is done or the generation is over; then throws ``SessionError/signedOut(_:)``.
  func run<Result: Sendable>(
    in generation: UInt64, _ body: @escaping @Sendable () async throws(TransportError) -> Result
  ) async throws(RequestFailure) -> Result {
    let number = content.withLock { content -> UInt64? in
      guard content.generation == generation else { return nil }
      content.last += 1
      content.tasks[content.last] = {}
      return content.last
    }
    guard let number else { throw .signedOut }
    let task = Task { () -> Swift.Result<Result, TransportError> in
      // Asked once more, before a byte goes out: the generation may have ended before this task had its turn.
      guard content.withLock({ $0.tasks[number] != nil }) else { return .failure(.cancelled) }
      do throws(TransportError) { return .success(try await body()) } catch { return .failure(error) }
    }
    let isCancelled = content.withLock { content in
      guard content.tasks[number] != nil else { return true }
      content.tasks[number] = { task.cancel() }
      return false
    }
    if isCancelled { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    let isCurrent = content.withLock { content in
      content.tasks[number] = nil
      return content.generation == generation
    }
    guard isCurrent else { throw .signedOut }
    do throws(TransportError) { return try result.get() } catch { throw .transport(error) }
  }

  func cancelAll() {
    let cancels = content.withLock { content in
      content.generation += 1
      defer { content.tasks = [:] }
      return Array(content.tasks.values)
    }
    for cancel in cancels { cancel() }
  }

  enum RequestFailure: Error {
    case signedOut
    case transport(TransportError)
  }
}
