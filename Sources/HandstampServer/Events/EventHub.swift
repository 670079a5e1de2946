#if Server
import HandstampCore

/// Wakes the open event streams of an account when something was committed.
///
/// It carries no events, only the word that there are some: each stream reads them from the store, after its own last id.
/// So the order on a stream is the store's, nothing is lost when two commits announce themselves in the other order, and a
/// slow reader costs no memory.
final class EventHub: Sendable {
  private struct Members {
    var next: UInt64 = 0
    var stopped = false
    var bells: [AccountID: [UInt64: Doorbell]] = [:]
  }

  private let members = Locked(Members())

  /// Lets `bell` ring for `account` until ``unsubscribe(_:from:)`` with the number that comes back.
  func subscribe(_ bell: Doorbell, to account: AccountID) -> UInt64 {
    let (number, stopped) = members.withLock { members in
      members.next += 1
      if !members.stopped { members.bells[account, default: [:]][members.next] = bell }
      return (members.next, members.stopped)
    }
    if stopped { bell.ring(.over) }
    return number
  }

  func unsubscribe(_ number: UInt64, from account: AccountID) {
    members.withLock { members in
      members.bells[account]?[number] = nil
      if members.bells[account]?.isEmpty == true { members.bells[account] = nil }
    }
  }

  /// To be called after every commit that wrote events of `account`. Commits of other processes come by ``EventRelay``.
  func announce(_ account: AccountID) {
    let bells = members.withLock { $0.bells[account].map { Array($0.values) } ?? [] }
    for bell in bells { bell.ring(.news) }
  }

  /// The same for every account that has a stream.
  func announceAll() {
    let bells = members.withLock { $0.bells.values.flatMap(\.values) }
    for bell in bells { bell.ring(.news) }
  }

  /// Whether any stream is open.
  var hasListeners: Bool { members.withLock { !$0.bells.isEmpty } }

  /// Ends all streams, and every later one at once.
  func stop() {
    let bells = members.withLock { members in
      members.stopped = true
      return members.bells.values.flatMap(\.values)
    }
    for bell in bells { bell.ring(.over) }
  }
}

/// What one open stream waits for. Rings while nobody listens are kept, and several come as one.
final class Doorbell: Sendable {
  struct Rings: OptionSet {
    let rawValue: UInt8
    /// Something was committed.
    static let news = Rings(rawValue: 1)
    /// The stream was silent for a while.
    static let heartbeat = Rings(rawValue: 2)
    /// The stream must end.
    static let over = Rings(rawValue: 4)
  }

  private let rings = Locked(Rings())
  private let continuation: AsyncStream<Void>.Continuation
  /// One element for every time that ``take()`` has something. For one listener.
  let bells: AsyncStream<Void>

  init() { (bells, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  func ring(_ what: Rings) {
    rings.withLock { $0.formUnion(what) }
    continuation.yield()
  }

  /// What has rung since the last time.
  func take() -> Rings {
    rings.withLock { rings in
      defer { rings = [] }
      return rings
    }
  }
}
#endif
