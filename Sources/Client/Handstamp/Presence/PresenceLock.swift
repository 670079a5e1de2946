public import HandstampCore
import HandstampSupport

/// Guards sessions: no token is available until the user at the device has confirmed their presence.
///
/// ```swift
/// let lock = PresenceLock(passphrase, policy: .window(.seconds(300)), reason: "to read your messages")
/// let session = SessionController(backend: backend, vault: vault, presence: lock)
/// for await state in lock.states { isCovered = state != .open }
/// ```
/// It guards the use of tokens, not their renewal: background refreshes continue, and so does a sign-out. One lock may guard
/// several sessions. It is locked at first.
public final class PresenceLock: Sendable {
  typealias Answer = Result<PresenceGate.Pass, PresenceError>

  struct Content: Sendable {
    var gate: PresenceGate
    var lastNumber: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Answer, Never>] = [:]
    /// The presence check in progress, or one that was withdrawn and is ending.
    var asking: Task<Void, Never>?
    var closing: Task<Void, Never>?
  }

  private let presence: any UserPresence
  private let reason: String
  let clock: any SessionClock
  let content: Locked<Content>
  let hub: Multicast<PresenceState>

  /// Creates a lock, which is locked at first.
  ///
  /// - Parameters:
  ///   - presence: performs the presence check.
  ///   - policy: how long a confirmation lasts.
  ///   - reason: the text of the prompt, such as "to read your messages".
  public init(
    _ presence: any UserPresence, policy: PresencePolicy, reason: String, clock: any SessionClock = SystemClock()
  ) {
    self.presence = presence
    self.reason = reason
    self.clock = clock
    var gate = PresenceGate(policy)
    content = Locked(Content(gate: gate))
    hub = Multicast(startingWith: gate.state(at: clock.uptime()))
  }

  deinit {
    content.withLock { content in
      content.closing?.cancel()
      content.asking?.cancel()
    }
  }

  /// The state now. ``states`` yields every change.
  public var state: PresenceState { content.withLock { [clock] in $0.gate.state(at: clock.uptime()) } }

  /// Whether tokens are available without a presence check.
  public var isOpen: Bool { content.withLock { [clock] in $0.gate.isOpen(at: clock.uptime()) } }

  /// Locks at once: when the app enters the background, or when the user asks for it. Calls that wait for a confirmation throw
  /// ``PresenceError/cancelled``; a later confirmation has no effect.
  public func lock() {
    let (waiters, asking) = change { [clock, hub] content in
      content.gate.close()
      content.closing?.cancel()
      content.closing = nil
      content.publish(at: clock.uptime(), to: hub)
      return (exchange(&content.waiters, with: [:]).sorted { $0.key < $1.key }.map(\.value), content.asking)
    }
    asking?.cancel()
    for waiter in waiters { waiter.resume(returning: .failure(.cancelled)) }
  }

  /// Asks for a confirmation, unless the lock is open: for the button of a lock screen. Concurrent callers share one check.
  /// Cancelling the task ends only this wait.
  ///
  /// - Throws: ``PresenceError``.
  public func unlock() async throws(PresenceError) {
    if isOpen { return }
    _ = try await confirm().answer.get()
  }

  /// The same for a call that needs a pass. Exactly one of the callers that share a check is the first.
  func confirm() async -> (answer: Answer, isFirst: Bool) {
    let number = content.withLock { content in
      content.lastNumber += 1
      return content.lastNumber
    }
    let isFirst = Locked(false)
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isWaiting = change { [clock, hub] content -> Bool in
          // Inside the lock: a later cancellation finds the waiter here.
          if Task.isCancelled { return false }
          content.waiters[number] = continuation
          if case .begin(let question) = content.gate.ask() {
            isFirst.withLock { $0 = true }
            content.asking = ask(question, after: content.asking)
            content.publish(at: clock.uptime(), to: hub)
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

  /// Changes the content, then tells observers outside the lock.
  private func change<Result: Sendable>(_ body: (inout Content) -> Result) -> Result {
    defer { hub.deliver() }
    return content.withLock(body)
  }

  /// Starts a check in its own task, so that no caller's cancellation affects it. It waits until a withdrawn check has ended:
  /// the user sees one prompt at a time.
  private func ask(_ question: UInt64, after previous: Task<Void, Never>?) -> Task<Void, Never> {
    Task.detached(priority: .userInitiated) { [weak self, presence, reason] in
      await previous?.value
      var failure: PresenceError? = Task.isCancelled ? .cancelled : nil
      if failure == nil {
        do throws(PresenceError) { try await presence.confirm(reason) } catch { failure = error }
      }
      self?.answered(question, failure)
    }
  }

  private func answered(_ question: UInt64, _ failure: PresenceError?) {
    let uptime = clock.uptime()
    let (answer, waiters) = change { content -> (Answer, [CheckedContinuation<Answer, Never>]) in
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
      content.publish(at: uptime, to: hub)
      return (answer, exchange(&content.waiters, with: [:]).sorted { $0.key < $1.key }.map(\.value))
    }
    for waiter in waiters { waiter.resume(returning: answer) }
  }

  private func leave(_ number: UInt64) {
    let (waiter, abandoned) = change { [clock] content in
      guard let waiter = content.waiters.removeValue(forKey: number) else {
        return (CheckedContinuation<Answer, Never>?.none, Task<Void, Never>?.none)
      }
      // No caller waits any more: the confirmation has no effect.
      guard content.waiters.isEmpty else { return (waiter, nil) }
      content.gate.takeBack()
      content.publish(at: clock.uptime(), to: hub)
      return (waiter, content.asking)
    }
    abandoned?.cancel()
    waiter?.resume(returning: .failure(.cancelled))
  }

  /// Notifies observers when the time has passed. The gate itself decides whenever it is asked.
  private func closeLater(after delay: Duration) -> Task<Void, Never> {
    Task.detached(priority: .utility) { [weak self, clock, hub] in
      var rest: Duration? = delay
      while let delay = rest {
        do { try await clock.sleep(for: delay) } catch { return }
        rest = self?.change { [clock] content in
          content.publish(at: clock.uptime(), to: hub)
          return content.gate.remaining(at: clock.uptime())
        }
      }
    }
  }

  /// The states, for one observer: the current one first, then each later one once, in order. Ends when the lock is released.
  /// Every access returns a new stream.
  public var states: AsyncStream<PresenceState> { hub.subscribe() }

  /// Whether no confirmation opens the lock: each is for the calls that waited for it.
  package var neverOpens: Bool { content.withLock { $0.gate.policy == .perUse } }
}

extension PresenceLock.Content {
  /// Called inside the lock, so that two states keep their order. Observers are told outside of it.
  mutating func publish(at uptime: Duration, to hub: Multicast<PresenceState>) {
    let state = gate.state(at: uptime)
    if state != hub.latest { hub.stage { _ in state } }
  }
}
