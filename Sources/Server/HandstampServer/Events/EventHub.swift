#if Server
import HandstampCore
import HandstampSupport

/// Wakes the open event streams of an account when something was committed.
///
/// It carries only notifications, not events: each stream reads the events after its own last ID from the store. So a stream
/// has the store's order, nothing is lost if two commits are announced in the opposite order, and a slow reader costs no
/// memory.
final class EventHub: Sendable {
  /// An open stream of an account.
  private struct Member {
    var bell: Doorbell
    /// `nil` for a stream of the app's own, which does not count.
    var session: SessionID?
  }

  private struct Members {
    var next: UInt64 = 0
    var stopped = false
    /// How many streams are in `bells`.
    var count = 0
    var bells: [AccountID: [UInt64: Member]] = [:]
    /// Those that listen to all accounts.
    var general: [UInt64: Doorbell] = [:]
    /// How many of these are verifiers.
    var verifiers = 0

    var all: [Doorbell] { bells.values.flatMap(\.values).map(\.bell) + general.values }

    /// Adds one that listens to all accounts.
    mutating func add(_ bell: Doorbell) -> UInt64 {
      next += 1
      general[next] = bell
      if stopped { bell.ring(.over) }
      return next
    }

    mutating func remove(_ number: UInt64, of account: AccountID) {
      guard let member = bells[account]?.removeValue(forKey: number) else { return }
      if member.session != nil { count -= 1 }
      if bells[account]?.isEmpty == true { bells[account] = nil }
    }
  }

  private let members = Locked(Members())

  /// The place of a listener, until it leaves or is released.
  final class Place: Sendable {
    let bell: Doorbell
    let leave: @Sendable () -> Void

    fileprivate init(_ bell: Doorbell, removedBy leave: @escaping @Sendable () -> Void) {
      (self.bell, self.leave) = (bell, leave)
    }

    deinit { leave() }
  }

  /// Returns a place for a stream of a session. A session that has its number of streams loses the oldest: a phone that
  /// reconnects after it lost its network is not kept out by connections that are dead without knowing.
  ///
  /// - Returns: also how many older streams of the session end; `nil` if the account, or the server, has too many.
  func place(
    for session: SessionID, of account: AccountID, within limits: EventStreamLimits
  ) -> (place: Place, replaced: Int)? {
    let bell = Doorbell()
    let result = members.withLock { members -> (UInt64, [Doorbell], Bool)? in
      var replaced: [Doorbell] = []
      let own = members.bells[account, default: [:]].filter { $0.value.session == session }.sorted { $0.key < $1.key }
      for (number, member) in own.prefix(max(0, own.count - limits.perSession + 1)) {
        members.remove(number, of: account)
        replaced.append(member.bell)
      }
      guard members.bells[account, default: [:]].values.count(where: { $0.session != nil }) < limits.perAccount else {
        return nil
      }
      guard members.count < limits.inAll else { return nil }
      members.next += 1
      members.count += 1
      members.bells[account, default: [:]][members.next] = Member(bell: bell, session: session)
      return (members.next, replaced, members.stopped)
    }
    guard let (number, replaced, stopped) = result else { return nil }
    for bell in replaced { bell.ring(.over) }
    if stopped { bell.ring(.over) }
    let place = Place(bell) { [members] in members.withLock { $0.remove(number, of: account) } }
    return (place, replaced.count)
  }

  /// Returns a place that hears of one account, beyond the limits.
  func place(of account: AccountID) -> Place {
    let bell = Doorbell()
    let number = members.withLock { members in
      members.next += 1
      members.bells[account, default: [:]][members.next] = Member(bell: bell, session: nil)
      if members.stopped { bell.ring(.over) }
      return members.next
    }
    return Place(bell) { [members] in members.withLock { $0.remove(number, of: account) } }
  }

  /// Returns a place that hears of all accounts.
  func place() -> Place {
    let bell = Doorbell()
    let number = members.withLock { $0.add(bell) }
    return Place(bell) { [members] in members.withLock { $0.general[number] = nil } }
  }

  /// Returns a place for the stream of a verifier, which hears of all accounts; `nil` if there are too many.
  func verifierPlace(within limit: Int) -> Place? {
    let bell = Doorbell()
    let number = members.withLock { members -> UInt64? in
      guard members.verifiers < limit else { return nil }
      members.verifiers += 1
      return members.add(bell)
    }
    guard let number else { return nil }
    return Place(bell) { [members] in
      members.withLock { if $0.general.removeValue(forKey: number) != nil { $0.verifiers -= 1 } }
    }
  }

  /// Notifies the streams of `account`. Call it after every commit with events; ``EventRelay`` covers other processes.
  func announce(_ account: AccountID) {
    let bells = members.withLock { $0.bells[account, default: [:]].values.map(\.bell) + $0.general.values }
    for bell in bells { bell.ring(.news) }
  }

  /// Notifies the streams of all accounts.
  func announceAll() {
    let bells = members.withLock { $0.all }
    for bell in bells { bell.ring(.news) }
  }

  /// Ends the streams of all accounts, so that their readers begin anew.
  func endStreams() {
    let (bells, general) = members.withLock {
      ($0.bells.values.flatMap(\.values).map(\.bell), Array($0.general.values))
    }
    for bell in bells { bell.ring(.over) }
    for bell in general { bell.ring(.news) }
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

/// How many event streams (`GET /v1/events`, `GET /v1/revocations`) are open at once. More are answered 429 with `Retry-After`.
public struct EventStreamLimits: Sendable, Hashable {
  /// Of one session, at least 1. Default 4; one more ends the oldest: a phone that has changed its network leaves streams behind that
  /// look open for minutes.
  public var perSession: Int
  /// Of one account, at least 1. Default 100.
  public var perAccount: Int
  /// Of all accounts, at least 1. Default 16384.
  public var inAll: Int
  /// Of verifiers, which follow the end of all sessions, at least 1. Default 1024.
  public var verifiers: Int

  public init(perSession: Int = 4, perAccount: Int = 100, inAll: Int = 16_384, verifiers: Int = 1024) {
    self.perSession = max(1, perSession)
    self.perAccount = max(1, perAccount)
    self.inAll = max(1, inAll)
    self.verifiers = max(1, verifiers)
  }
}
#endif
