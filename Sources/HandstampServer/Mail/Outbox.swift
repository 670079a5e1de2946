#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import ServiceLifecycle

/// The mails that wait in the store, so that neither a restart nor another server forgets or repeats them.
///
/// A request only adds a mail, which costs the same for every address. ``MailCarrier`` looks up the account later, and sends it.
final class Outbox: Sendable {
  /// What wakes the carrier.
  enum Signal: Sendable {
    /// There may be something to do.
    case look
    /// The work for a mail has ended.
    case finished
  }

  private struct State {
    var isStopping = false
    var carrier: AsyncStream<Signal>.Continuation?
    var waiters: [CheckedContinuation<Void, Never>] = []

    mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
      defer { waiters = [] }
      return waiters
    }
  }

  private let registry: Registry
  private let clock: ServerClock
  /// The greatest delay before a mail is looked at.
  private let jitter: Duration
  private let hasMailer: Bool
  private let state = Locked(State())

  init(registry: Registry, clock: ServerClock, jitter: Duration, hasMailer: Bool) {
    self.registry = registry
    self.clock = clock
    self.jitter = jitter
    self.hasMailer = hasMailer
  }

  /// Stores a mail durably. It is sent soon, after a random delay, so that the work for it cannot be told from other work by its time.
  ///
  /// - Throws: ``Problem`` if the server has no mailer, ``RegistryError``.
  func add(_ job: MailJob, to email: EmailAddress) async throws {
    guard hasMailer else { throw Problem.notOffered("Mail is not set up on this server") }
    let delay = jitter > .zero ? jitter * Double.random(in: 0..<1) : .zero
    try await registry.post(job, to: email, delay: delay, now: clock.now)
    signal(.look)
  }

  func signal(_ signal: Signal) { state.withLock { $0.carrier }?.yield(signal) }

  /// Whether mails that were not begun have to wait for the next start.
  var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Runs `body` with the signals, which end when the server shuts down.
  func withSignals(_ body: (AsyncStream<Signal>) async -> Void) async {
    let (signals, continuation) = AsyncStream.makeStream(of: Signal.self)
    state.withLock { ($0.isStopping, $0.carrier) = (false, continuation) }
    await withGracefulShutdownHandler {
      signal(.look)
      await body(signals)
    } onGracefulShutdown: {
      self.state.withLock { $0.isStopping = true }
      continuation.finish()
    }
    let waiters = state.withLock { state in
      state.carrier = nil
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when no mail is due or being sent. For tests.
  func idle() async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.waiters.append(continuation) }
      signal(.look)
    }
  }

  /// Returns those who waited before the carrier looked, to be resumed when nothing is left to do.
  func takeWaiters() -> [CheckedContinuation<Void, Never>] { state.withLock { $0.takeWaiters() } }
  func keep(_ waiters: [CheckedContinuation<Void, Never>]) { state.withLock { $0.waiters += waiters } }
}
#endif
