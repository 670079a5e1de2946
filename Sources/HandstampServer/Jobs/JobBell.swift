#if Server
import HandstampSupport
import ServiceLifecycle

/// Wakes the worker of stored jobs of one kind, and knows when it has nothing left to do.
final class JobBell: Sendable {
  /// The signals that wake the worker.
  enum Signal: Sendable {
    /// There may be something to do.
    case look
    /// The work for a job has ended.
    case finished
  }

  private struct State {
    var isStopping = false
    var worker: AsyncStream<Signal>.Continuation?
    var waiters: [CheckedContinuation<Void, Never>] = []

    mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
      defer { waiters = [] }
      return waiters
    }
  }

  private let state = Locked(State())

  func signal(_ signal: Signal) { state.withLock { $0.worker }?.yield(signal) }

  /// Whether jobs that were not begun have to wait for the next start.
  var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Runs `body` with the signals, which end when the server shuts down.
  func withSignals(_ body: (AsyncStream<Signal>) async -> Void) async {
    let (signals, continuation) = AsyncStream.makeStream(of: Signal.self)
    state.withLock { ($0.isStopping, $0.worker) = (false, continuation) }
    await withGracefulShutdownHandler {
      signal(.look)
      await body(signals)
    } onGracefulShutdown: {
      self.state.withLock { $0.isStopping = true }
      continuation.finish()
    }
    let waiters = state.withLock { state in
      state.worker = nil
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when no job is due or being done. For tests.
  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.waiters.append(continuation) }
      signal(.look)
    }
  }

  /// Returns those who waited before the worker looked, to be resumed when nothing is left to do.
  func takeWaiters() -> [CheckedContinuation<Void, Never>] { state.withLock { $0.takeWaiters() } }
  func keep(_ waiters: [CheckedContinuation<Void, Never>]) { state.withLock { $0.waiters += waiters } }
}
#endif
