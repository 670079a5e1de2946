public import HandstampCore

/// The end of one refresh. See ``SessionController/refreshes()``.
public struct RefreshEvent: Sendable, Hashable {
  /// The session that was refreshed.
  public var session: SessionID
  /// Why the refresh brought no tokens; `nil` if it did.
  public var error: SessionError?
  /// Whether another process refreshed, and this one adopted its tokens.
  public var isByOtherProcess: Bool

  public init(session: SessionID, error: SessionError? = nil, isByOtherProcess: Bool = false) {
    self.session = session
    self.error = error
    self.isByOtherProcess = isByOtherProcess
  }
}

extension SessionController {
  /// Returns a stream of every refresh that ends from now on, in order. The stream ends with the controller.
  public nonisolated func refreshes() -> AsyncStream<RefreshEvent> { refreshHub.subscribe() }

  func tellRefresh(_ entry: AuditEntry) {
    guard let session = entry.session else { return }
    switch entry.action {
    case .refresh:
      let error = entry.outcome == "ok" ? nil : machine.refreshFailure
      refreshHub.publish(RefreshEvent(session: session, error: error))
    case .adopt: refreshHub.publish(RefreshEvent(session: session, isByOtherProcess: true))
    default: break
    }
  }
}

/// Passes every element to every subscriber.
final class EventHub<Element: Sendable>: Sendable {
  private struct Content: Sendable {
    var subscribers: [UInt64: AsyncStream<Element>.Continuation] = [:]
    var last: UInt64 = 0
    var isFinished = false
  }
  private let content = Locked(Content())

  func subscribe() -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
    let number: UInt64? = content.withLock { content in
      guard !content.isFinished else { return nil }
      content.last += 1
      content.subscribers[content.last] = continuation
      return content.last
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.content.withLock { $0.subscribers[number] = nil } }
    return stream
  }

  /// Yields inside the lock, so that two elements keep their order.
  func publish(_ element: Element) {
    content.withLock { for subscriber in $0.subscribers.values { subscriber.yield(element) } }
  }

  func finish() {
    let subscribers = content.withLock { content in
      content.isFinished = true
      defer { content.subscribers = [:] }
      return Array(content.subscribers.values)
    }
    for subscriber in subscribers { subscriber.finish() }
  }
}
