/// Passes every element to every subscriber, in order. Public and inlinable for the same reason as ``Locked``.
///
/// No lock is held while a subscriber is told. Resuming a task takes the task's own lock; cancelling a task holds that lock while
/// it ends the streams that the task waits for, and that takes the lock here: holding both, two threads would wait for each
/// other forever.
public final class Multicast<Element: Sendable>: Sendable {
  @usableFromInline typealias Subscriber = AsyncStream<Element>.Continuation

  @usableFromInline struct Content: Sendable {
    /// Passed to new subscribers first; `nil` if they see later elements only.
    @usableFromInline var latest: Element?
    @usableFromInline var subscribers: [UInt64: Subscriber] = [:]
    @usableFromInline var lastSubscriber: UInt64 = 0
    @usableFromInline var isFinished = false
    /// The undelivered elements, oldest first, each to those who had subscribed by then.
    @usableFromInline var deliveries: [Delivery] = []
    /// Whether a thread is delivering. It delivers what other threads publish meanwhile, so that the order is kept.
    @usableFromInline var isDelivering = false

    @inlinable init(latest: Element?) { self.latest = latest }
  }

  @usableFromInline struct Delivery: Sendable {
    /// `nil` ends the streams.
    @usableFromInline var element: Element?
    @usableFromInline var subscribers: [Subscriber]

    @inlinable init(_ element: Element?, to subscribers: [Subscriber]) {
      self.element = element
      self.subscribers = subscribers
    }
  }

  @usableFromInline let content: Locked<Content>
  @usableFromInline let buffering: Subscriber.BufferingPolicy

  /// - Parameters:
  ///   - element: what a new subscriber sees first; `nil` (the default) if it sees later elements only.
  ///   - buffering: what a slow subscriber misses; nothing by default.
  @inlinable public init(
    startingWith element: Element? = nil,
    buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded
  ) {
    content = Locked(Content(latest: element))
    self.buffering = buffering
  }

  @inlinable deinit { finish() }

  /// The element that a new subscriber sees first.
  @inlinable public var latest: Element? { content.withLock { $0.latest } }

  @inlinable public func subscribe() -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
    let number: UInt64? = content.withLock { content in
      // No task waits for this stream yet.
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

  /// Publishes an element: ``stage(_:)`` and ``deliver()``.
  ///
  /// - Parameter next: Returns the element, given the one that new subscribers see first.
  @inlinable public func publish(_ next: (Element?) -> Element) {
    stage(next)
    deliver()
  }

  @inlinable public func publish(_ element: Element) { publish { _ in element } }

  /// Determines an element's place in the order without telling anyone, for callers that hold a lock. They call ``deliver()``
  /// after they have released it.
  @inlinable public func stage(_ next: (Element?) -> Element) {
    content.withLock { content in
      let element = next(content.latest)
      if content.latest != nil { content.latest = element }
      if !content.subscribers.isEmpty {
        content.deliveries.append(Delivery(element, to: Array(content.subscribers.values)))
      }
    }
  }

  /// Passes on all that is staged, unless another thread is doing so.
  @inlinable public func deliver() {
    let isMine = content.withLock { content in
      if content.isDelivering || content.deliveries.isEmpty { return false }
      content.isDelivering = true
      return true
    }
    guard isMine else { return }
    while let batch = nextBatch() {
      for delivery in batch {
        for subscriber in delivery.subscribers {
          if let element = delivery.element { subscriber.yield(element) } else { subscriber.finish() }
        }
      }
    }
  }

  @inlinable func nextBatch() -> [Delivery]? {
    content.withLock { content in
      guard !content.deliveries.isEmpty else {
        content.isDelivering = false
        return nil
      }
      defer { content.deliveries = [] }
      return content.deliveries
    }
  }

  /// Ends all streams, and later ones after their first element.
  @inlinable public func finish() {
    content.withLock { content in
      content.isFinished = true
      content.deliveries.append(Delivery(nil, to: Array(content.subscribers.values)))
      content.subscribers = [:]
    }
    deliver()
  }
}
