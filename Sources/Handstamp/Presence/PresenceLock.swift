public import HandstampCore

/// Stands in front of sessions: no token leaves until the person at the device has shown that they are there.
///
/// ```swift
/// let lock = PresenceLock(passphrase, policy: .window(.seconds(300)), reason: "to read your messages")
/// let session = SessionController(vault: vault, backend: backend, presence: lock)
/// for await state in lock.states { isCovered = state != .open }
/// ```
/// It guards handing out and not renewing: refreshes in the background go on, and so does a sign-out. One lock may stand in
/// front of several sessions. It begins closed.
public final class PresenceLock: Sendable {
  typealias Answer = Result<PresenceGate.Pass, PresenceError>

  struct Content: Sendable {
    var gate: PresenceGate
    var lastNumber: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Answer, Never>] = [:]
    /// The question that is being asked, or was taken back and is on its way out.
    var asking: Task<Void, Never>?
    var closing: Task<Void, Never>?
    var published = PresenceState.locked
    var subscribers: [UInt64: AsyncStream<PresenceState>.Continuation] = [:]
  }

  private let presence: any UserPresence
  private let reason: String
  let clock: any SessionClock
  let content: Locked<Content>

  /// - Parameters:
  ///   - presence: who asks.
  ///   - policy: how long an answer holds.
  ///   - reason: what the person is told.
  public init(
    _ presence: any UserPresence, policy: PresencePolicy, reason: String, clock: any SessionClock = SystemClock()
  ) {
    self.presence = presence
    self.reason = reason
    self.clock = clock
    var content = Content(gate: PresenceGate(policy))
    content.published = content.gate.state(at: clock.uptime())
    self.content = Locked(content)
  }

  deinit {
    content.withLock { content in
      content.closing?.cancel()
      content.asking?.cancel()
    }
    finish()
  }

  public var state: PresenceState { content.withLock { [clock] in $0.gate.state(at: clock.uptime()) } }

  /// Whether tokens are handed out without a question.
  public var isOpen: Bool { content.withLock { [clock] in $0.gate.isOpen(at: clock.uptime()) } }

  /// Closes at once: when the app goes to the background, or at a person's wish. Calls that wait for an answer are told
  /// ``PresenceError/cancelled``; an answer that comes later opens nothing.
  public func lock() {
    let (waiters, asking) = content.withLock { [clock] content in
      content.gate.close()
      content.closing?.cancel()
      content.closing = nil
      content.publish(at: clock.uptime())
      defer { content.waiters = [:] }
      return (content.waiters.sorted { $0.key < $1.key }.map(\.value), content.asking)
    }
    asking?.cancel()
    for waiter in waiters { waiter.resume(returning: .failure(.cancelled)) }
  }

  /// Asks, unless it is open: for the button of a lock screen. Whoever asks at the same time is served by the same answer.
  /// Cancelling the task ends this wait alone.
  public func unlock() async throws(PresenceError) {
    if isOpen { return }
    _ = try await confirm().answer.get()
  }

  /// The same for a call that needs a pass. Exactly one of all who share a question is the one who began it.
  func confirm() async -> (answer: Answer, isFirst: Bool) {
    let number = content.withLock { content in
      content.lastNumber += 1
      return content.lastNumber
    }
    let isFirst = Locked(false)
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isWaiting = content.withLock { [clock] content -> Bool in
          // Inside the lock: a later cancellation finds the waiter here.
          if Task.isCancelled { return false }
          content.waiters[number] = continuation
          if case .begin(let question) = content.gate.ask() {
            isFirst.withLock { $0 = true }
            content.asking = ask(question, after: content.asking)
            content.publish(at: clock.uptime())
          }
          return true
        }
        if !isWaiting { continuation.resume(returning: .failure(.cancelled)) }
      }
    } onCancel: {
      leave(number)
    }
    return (answer, isFirst.withLock { $0 })
  }

  /// A task of its own, so that no caller's cancellation goes with it. It waits until a question that was taken back is
  /// gone: a person is asked one thing at a time.
  private func ask(_ question: UInt64, after former: Task<Void, Never>?) -> Task<Void, Never> {
    Task.detached(priority: .userInitiated) { [weak self, presence, reason] in
      await former?.value
      var failure: PresenceError? = Task.isCancelled ? .cancelled : nil
      if failure == nil {
        do throws(PresenceError) { try await presence.confirm(reason) } catch { failure = error }
      }
      self?.answered(question, failure)
    }
  }

  private func answered(_ question: UInt64, _ failure: PresenceError?) {
    let uptime = clock.uptime()
    let (answer, waiters) = content.withLock { content -> (Answer, [CheckedContinuation<Answer, Never>]) in
      let answer: Answer
      if let failure {
        guard content.gate.end(question) else { return (.failure(failure), []) }
        answer = .failure(failure)
      } else {
        guard let pass = content.gate.confirmed(question, at: uptime) else { return (.failure(.cancelled), []) }
        answer = .success(pass)
        content.closing?.cancel()
        content.closing = content.gate.remaining(at: uptime).map(closeLater)
      }
      content.asking = nil
      content.publish(at: uptime)
      defer { content.waiters = [:] }
      return (answer, content.waiters.sorted { $0.key < $1.key }.map(\.value))
    }
    for waiter in waiters { waiter.resume(returning: answer) }
  }

  private func leave(_ number: UInt64) {
    let (waiter, deserted) = content.withLock { [clock] content in
      guard let waiter = content.waiters.removeValue(forKey: number) else {
        return (CheckedContinuation<Answer, Never>?.none, Task<Void, Never>?.none)
      }
      // Nobody waits for the answer any more: it opens nothing.
      guard content.waiters.isEmpty else { return (waiter, nil) }
      content.gate.takeBack()
      content.publish(at: clock.uptime())
      return (waiter, content.asking)
    }
    deserted?.cancel()
    waiter?.resume(returning: .failure(.cancelled))
  }

  /// Tells observers when the time is over. What decides is the gate, whenever it is asked.
  private func closeLater(after delay: Duration) -> Task<Void, Never> {
    Task.detached(priority: .utility) { [weak self, clock] in
      var rest: Duration? = delay
      while let delay = rest {
        do { try await clock.sleep(for: delay) } catch { return }
        rest = self?.content.withLock { [clock] content in
          content.publish(at: clock.uptime())
          return content.gate.remaining(at: clock.uptime())
        }
      }
    }
  }
}
