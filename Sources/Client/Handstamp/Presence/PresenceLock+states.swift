import HandstampCore
import HandstampSupport

extension PresenceLock {
  /// The states, for one observer: the current one first, then each later one once, in order. Ends when the lock is released.
  /// Every access returns a new stream.
  public var states: AsyncStream<PresenceState> { hub.subscribe() }

  /// Whether no confirmation opens the lock: each is for the calls that waited for it.
  package var neverOpens: Bool { content.withLock { $0.gate.policy == .perUse } }
}

extension PresenceLock.Content {
  /// Called inside the lock, so that two states keep their order. Observers are told outside of it.
  mutating func publish(at uptime: Duration, to hub: Multicast<PresenceState>) {
    let state = gate.state(at: uptime)
    if state != hub.latest { hub.stage { _ in state } }
  }
}
