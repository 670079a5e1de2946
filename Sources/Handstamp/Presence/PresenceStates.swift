import HandstampCore
/// The states of a ``PresenceLock``, for any number of observers.
///
/// Every `for await` starts with the state of that moment and sees each later one once, in order. Ends when the lock goes
/// away.
public struct PresenceStates: AsyncSequence, Sendable {
  public typealias Element = PresenceState
  let subscribe: @Sendable () -> AsyncStream<PresenceState>

  public func makeAsyncIterator() -> AsyncStream<PresenceState>.AsyncIterator { subscribe().makeAsyncIterator() }
}

extension PresenceLock {
  public var states: PresenceStates {
    PresenceStates { [weak self] in
      let (stream, continuation) = AsyncStream.makeStream(of: PresenceState.self)
      guard let self else {
        continuation.finish()
        return stream
      }
      subscribe(continuation)
      return stream
    }
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
    // Outside the lock, which `onTermination` takes.
    for subscriber in subscribers { subscriber.finish() }
  }
}

extension PresenceLock.Content {
  /// Inside the lock, so that two states cannot overtake each other.
  mutating func publish(at uptime: Duration) {
    let state = gate.state(at: uptime)
    if state == published { return }
    published = state
    for subscriber in subscribers.values { subscriber.yield(state) }
  }
}
