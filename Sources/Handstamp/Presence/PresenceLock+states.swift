import HandstampCore

extension PresenceLock {
  /// The states, for one observer: the current one first, then each later one once, in order. Ends when the lock is released.
  /// Every access returns a new stream.
  public var states: AsyncStream<PresenceState> {
    let (stream, continuation) = AsyncStream.makeStream(of: PresenceState.self)
    subscribe(continuation)
    return stream
  }

  private func subscribe(_ continuation: AsyncStream<PresenceState>.Continuation) {
    let number = content.withLock { content in
      content.lastNumber += 1
      content.subscribers[content.lastNumber] = continuation
      continuation.yield(content.published)
      return content.lastNumber
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.content.withLock { $0.subscribers.removeValue(forKey: number) }
    }
  }

  func finish() {
    let subscribers = content.withLock { content in
      defer { content.subscribers = [:] }
      return Array(content.subscribers.values)
    }
    // Outside the lock, which `onTermination` acquires.
    for subscriber in subscribers { subscriber.finish() }
  }
}

extension PresenceLock.Content {
  /// Called inside the lock, so that two states keep their order.
  mutating func publish(at uptime: Duration) {
    let state = gate.state(at: uptime)
    if state == published { return }
    published = state
    for subscriber in subscribers.values { subscriber.yield(state) }
  }
}
