/// The states of a session, for any number of observers.
///
/// Every `for await` starts with the current state and gets each later one once, in order, without loss. Ends when the
/// controller is released.
public struct SessionStates: AsyncSequence, Sendable {
  public typealias Element = SessionState
  let hub: StateHub

  public func makeAsyncIterator() -> Iterator { Iterator(base: hub.subscribe().makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncStream<Versioned>.AsyncIterator

    public mutating func next() async -> SessionState? {
      await base.nextHere()?.state
    }
  }
}

/// A state and the number of states before it.
struct Versioned: Sendable {
  var version: UInt64
  var state: SessionState
}

/// Passes every state to every subscriber.
final class StateHub: Sendable {
  private struct Content: Sendable {
    var current = Versioned(version: 0, state: .restoring)
    var subscribers: [UInt64: AsyncStream<Versioned>.Continuation] = [:]
    var lastSubscriber: UInt64 = 0
    var isFinished = false
  }
  private let content = Locked(Content())

  var current: Versioned { content.withLock { $0.current } }

  func subscribe() -> AsyncStream<Versioned> {
    let (stream, continuation) = AsyncStream.makeStream(of: Versioned.self)
    let number: UInt64? = content.withLock { content in
      continuation.yield(content.current)
      guard !content.isFinished else { return nil }
      content.lastSubscriber += 1
      content.subscribers[content.lastSubscriber] = continuation
      return content.lastSubscriber
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.content.withLock { $0.subscribers[number] = nil }
    }
    return stream
  }

  /// Yields inside the lock, so that two states keep their order for each subscriber.
  func publish(_ state: SessionState) {
    content.withLock { content in
      content.current = Versioned(version: content.current.version + 1, state: state)
      for subscriber in content.subscribers.values { subscriber.yield(content.current) }
    }
  }

  func finish() {
    let subscribers = content.withLock { content in
      content.isFinished = true
      defer { content.subscribers = [:] }
      return Array(content.subscribers.values)
    }
    // Outside the lock, which `onTermination` acquires.
    for subscriber in subscribers { subscriber.finish() }
  }
}
