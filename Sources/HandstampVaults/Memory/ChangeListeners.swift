import HandstampCore

/// Listeners for changes. A slow listener receives several changes as one.
final class ChangeListeners: Sendable {
  private struct State {
    var next: UInt64 = 0
    var continuations: [UInt64: AsyncStream<Void>.Continuation] = [:]
  }

  private let state = Locked(State())

  func signal() {
    // Outside the lock: a continuation may call back.
    for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield() }
  }

  func stream() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.next += 1
      state.continuations[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { $0.continuations[id] = nil }
    }
    return stream
  }

  deinit {
    for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.finish() }
  }
}

extension AsyncStream<Void> {
  /// A stream that yields when either stream does, with pending signals combined into one.
  func merged(with other: AsyncStream<Void>) -> AsyncStream<Void> {
    let (both, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    let forwarding = Task.detached(priority: .utility) {
      await withDiscardingTaskGroup { group in
        for stream in [self, other] { group.addTask { for await _ in stream { continuation.yield() } } }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in forwarding.cancel() }
    return both
  }
}
