#if HTTP
/// Which connections there are, and which of them has been idle for longest. Knows nothing of sockets or clocks.
///
/// A connection is idle while no request of it is being received completely or answered. Every operation takes constant time,
/// because a flood of connections calls them under a lock.
struct IdleOrder: Sendable {
  /// The fate of a new connection.
  enum Admission: Sendable, Hashable {
    /// Admitted under a number; another connection may have to be closed for it.
    case admitted(Int, closing: Int?)
    /// All connections are busy.
    case refused
    /// All connections of the client's address are busy.
    case refusedForAddress
  }

  private enum Status: Sendable { case free, idle, busy, leaving }

  private struct Slot: Sendable {
    var address: IPAddress?
    var status = Status.idle
  }

  private struct Peer: Sendable {
    var count = 0
    var idle = LinkedNumbers.Ends()
  }

  private let limit: Int
  private let limitPerAddress: Int
  private var slots: [Slot] = []
  private var freed: [Int] = []
  private var links = LinkedNumbers()
  private var peerLinks = LinkedNumbers()
  private var idle = LinkedNumbers.Ends()
  private var peers: [IPAddress: Peer] = [:]
  /// The connections that count, without those that were told to close.
  private(set) var count = 0

  init(limit: Int, limitPerAddress: Int) {
    self.limit = limit
    self.limitPerAddress = limitPerAddress
  }

  /// - Parameter address: `nil` is not counted by address.
  mutating func admit(_ address: IPAddress?) -> Admission {
    var closing: Int?
    if let address, let peer = peers[address], peer.count >= limitPerAddress {
      guard let oldest = peer.idle.first else { return .refusedForAddress }
      leave(oldest)
      closing = oldest
    } else if count >= limit {
      guard let oldest = idle.first else { return .refused }
      leave(oldest)
      closing = oldest
    }
    let number = freed.popLast() ?? slots.count
    if number == slots.count {
      slots.append(Slot(address: address))
      links.grow()
      peerLinks.grow()
    } else {
      slots[number] = Slot(address: address)
    }
    tally(number, by: 1)
    enqueue(number)
    return .admitted(number, closing: closing)
  }

  /// A request of the connection is being received. One that was told to close stays if it does not know yet.
  mutating func begin(_ number: Int) {
    switch slots[number].status {
    case .idle: dequeue(number)
    case .leaving: tally(number, by: 1)
    case .busy, .free: return
    }
    slots[number].status = .busy
  }

  /// The connection has no request any more.
  mutating func end(_ number: Int) {
    guard slots[number].status == .busy else { return }
    slots[number].status = .idle
    enqueue(number)
  }

  /// The connection is closed; its number will be used again.
  mutating func remove(_ number: Int) {
    switch slots[number].status {
    case .idle:
      dequeue(number)
      tally(number, by: -1)
    case .busy: tally(number, by: -1)
    case .leaving: break
    case .free: return
    }
    slots[number] = Slot(address: nil, status: .free)
    freed.append(number)
  }

  private mutating func leave(_ number: Int) {
    dequeue(number)
    slots[number].status = .leaving
    tally(number, by: -1)
  }

  private mutating func enqueue(_ number: Int) {
    links.append(number, to: &idle)
    if let address = slots[number].address { peerLinks.append(number, to: &peers[address, default: Peer()].idle) }
  }

  private mutating func dequeue(_ number: Int) {
    links.remove(number, from: &idle)
    if let address = slots[number].address { peerLinks.remove(number, from: &peers[address, default: Peer()].idle) }
  }

  private mutating func tally(_ number: Int, by change: Int) {
    count += change
    guard let address = slots[number].address else { return }
    peers[address, default: Peer()].count += change
    if peers[address]?.count == 0 { peers[address] = nil }
  }
}

/// Lists of small numbers, each number in one list at most, from which any number is removed in constant time.
struct LinkedNumbers: Sendable {
  /// A list.
  struct Ends: Sendable {
    fileprivate(set) var first: Int?
    fileprivate var last: Int?
  }

  private var links: [(previous: Int32, next: Int32)] = []
  private static let none: Int32 = -1

  /// Makes room for one more number.
  mutating func grow() { links.append((LinkedNumbers.none, LinkedNumbers.none)) }

  mutating func append(_ number: Int, to list: inout Ends) {
    links[number] = (list.last.map(Int32.init) ?? LinkedNumbers.none, LinkedNumbers.none)
    if let last = list.last { links[last].next = Int32(number) } else { list.first = number }
    list.last = number
  }

  mutating func remove(_ number: Int, from list: inout Ends) {
    let (previous, next) = links[number]
    if previous >= 0 { links[Int(previous)].next = next } else { list.first = next >= 0 ? Int(next) : nil }
    if next >= 0 { links[Int(next)].previous = previous } else { list.last = previous >= 0 ? Int(previous) : nil }
  }
}
#endif
