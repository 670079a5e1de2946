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
  private func withSignals(_ body: (AsyncStream<Signal>) async -> Void) async {
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

  /// Calls `look` at each signal, and after the pause that it returns, until the server shuts down and the jobs that were begun are done.
  ///
  /// - Parameter look: begins what is due.
  func watch(
    _ look: (Signal, inout DiscardingTaskGroup) async -> (pause: Duration, isBusy: Bool)
  ) async {
    await withSignals { signals in
      await withDiscardingTaskGroup { group in
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        for await signal in signals where !isStopping {
          let waiters = state.withLock { $0.takeWaiters() }
          let (pause, isBusy) = await look(signal, &group)
          timer?.cancel()
          timer = Task {
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            self.signal(.look)
          }
          if isBusy { state.withLock { $0.waiters += waiters } } else { for waiter in waiters { waiter.resume() } }
        }
      }
    }
  }

  /// Returns when no job is due or being done. For tests.
  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.waiters.append(continuation) }
      signal(.look)
    }
  }
}
#endif
