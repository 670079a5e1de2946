#if Server
import HandstampCore
import HandstampSupport

/// Wakes the open event streams of an account when something was committed.
///
/// It carries only notifications, not events: each stream reads the events after its own last ID from the store. So a stream
/// has the store's order, nothing is lost if two commits are announced in the opposite order, and a slow reader costs no
/// memory.
final class EventHub: Sendable {
  private struct Members {
    var next: UInt64 = 0
    var stopped = false
    var bells: [AccountID: [UInt64: Doorbell]] = [:]
    /// Those that listen to all accounts.
    var general: [UInt64: Doorbell] = [:]

    var all: [Doorbell] { bells.values.flatMap(\.values) + general.values }
  }

  private let members = Locked(Members())

  /// Subscribes `bell` to `account`, or to all if that is `nil`. Pass the returned number to ``unsubscribe(_:from:)``.
  func subscribe(_ bell: Doorbell, to account: AccountID?) -> UInt64 {
    let (number, stopped) = members.withLock { members in
      members.next += 1
      if !members.stopped {
        if let account {
          members.bells[account, default: [:]][members.next] = bell
        } else {
          members.general[members.next] = bell
        }
      }
      return (members.next, members.stopped)
    }
    if stopped { bell.ring(.over) }
    return number
  }

  func unsubscribe(_ number: UInt64, from account: AccountID?) {
    members.withLock { members in
      guard let account else {
        members.general[number] = nil
        return
      }
      members.bells[account]?[number] = nil
      if members.bells[account]?.isEmpty == true { members.bells[account] = nil }
    }
  }

  /// Notifies the streams of `account`. Call it after every commit with events; ``EventRelay`` covers other processes.
  func announce(_ account: AccountID) {
    let bells = members.withLock { Array($0.bells[account, default: [:]].values) + $0.general.values }
    for bell in bells { bell.ring(.news) }
  }

  /// Notifies the streams of all accounts.
  func announceAll() {
    let bells = members.withLock { $0.all }
    for bell in bells { bell.ring(.news) }
  }

  /// Whether any stream is open.
  var hasListeners: Bool { members.withLock { !$0.bells.isEmpty || !$0.general.isEmpty } }

  /// Ends all streams, and later ones as soon as they subscribe.
  func stop() {
    let bells = members.withLock { members in
      members.stopped = true
      return members.all
    }
    for bell in bells { bell.ring(.over) }
  }
}

/// The signal that an open stream waits for. Rings without a listener are kept and coalesced.
final class Doorbell: Sendable {
  struct Rings: OptionSet {
    let rawValue: UInt8
    /// Something was committed.
    static let news = Rings(rawValue: 1)
    /// The stream has been silent for a while.
    static let heartbeat = Rings(rawValue: 2)
    /// The stream must end.
    static let over = Rings(rawValue: 4)
  }

  private let rings = Locked(Rings())
  private let continuation: AsyncStream<Void>.Continuation
  /// Yields whenever ``take()`` may return rings. For one listener.
  let bells: AsyncStream<Void>

  init() { (bells, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  func ring(_ what: Rings) {
    rings.withLock { $0.formUnion(what) }
    continuation.yield()
  }

  /// Returns and clears the rings since the last call.
  func take() -> Rings {
    rings.withLock { rings in
      defer { rings = [] }
      return rings
    }
  }
}
#endif
