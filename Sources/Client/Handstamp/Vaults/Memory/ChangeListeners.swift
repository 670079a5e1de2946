import HandstampSupport

/// Listeners for changes. A slow listener receives several changes as one.
typealias ChangeListeners = Multicast<Void>

extension Multicast<Void> {
  convenience init() { self.init(buffering: .bufferingNewest(1)) }
  func signal() { publish(()) }
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
