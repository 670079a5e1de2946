/// Passes every element to every subscriber, in order.
package final class Multicast<Element: Sendable>: Sendable {
  private struct Content: Sendable {
    /// Passed to new subscribers first; `nil` if they see later elements only.
    var latest: Element?
    var subscribers: [UInt64: AsyncStream<Element>.Continuation] = [:]
    var lastSubscriber: UInt64 = 0
    var isFinished = false
  }
  private let content: Locked<Content>
  private let buffering: AsyncStream<Element>.Continuation.BufferingPolicy

  /// - Parameters:
  ///   - element: what a new subscriber sees first; `nil` (the default) if it sees later elements only.
  ///   - buffering: what a slow subscriber misses; nothing by default.
  package init(
    startingWith element: Element? = nil,
    buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded
  ) {
    content = Locked(Content(latest: element))
    self.buffering = buffering
  }

  deinit { finish() }

  /// The element that a new subscriber sees first.
  package var latest: Element? { content.withLock { $0.latest } }

  package func subscribe() -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
    let number: UInt64? = content.withLock { content in
      if let latest = content.latest { continuation.yield(latest) }
      guard !content.isFinished else { return nil }
      content.lastSubscriber += 1
      content.subscribers[content.lastSubscriber] = continuation
      return content.lastSubscriber
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.content.withLock { $0.subscribers[number] = nil } }
    return stream
  }

  /// Yields inside the lock, so that two elements keep their order for each subscriber.
  ///
  /// - Parameter next: Returns the element, given the one that new subscribers see first.
  package func publish(_ next: (Element?) -> Element) {
    content.withLock { content in
      let element = next(content.latest)
      if content.latest != nil { content.latest = element }
      for subscriber in content.subscribers.values { subscriber.yield(element) }
    }
  }

  package func publish(_ element: Element) { publish { _ in element } }

  /// Ends all streams, and later ones after their first element.
  package func finish() {
    let subscribers = content.withLock { content in
      content.isFinished = true
      defer { content.subscribers = [:] }
      return Array(content.subscribers.values)
    }
    // Outside the lock, which `onTermination` acquires.
    for subscriber in subscribers { subscriber.finish() }
  }
}
