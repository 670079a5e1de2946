import HandstampTesting
import Testing

@testable import Handstamp

/// A server with a log, links that break at any moment, and a machine between it and a reader.
private struct StreamWorld {
  struct OpenLink {
    /// The number of log entries it has sent.
    var sent: Int
    /// The id of its starting position, if it has not been sent yet.
    var greeting: String?
  }

  var machine: StreamMachine
  var random: SplitMix64
  var log: [String]
  var delivered: [String] = []
  /// Requested and not yet answered.
  var asked: [(link: Link, after: String?)] = []
  var open: [Link: OpenLink] = [:]
  var timers: [StreamMachine.Timer: UInt64] = [:]
  var now = Duration.zero
  let greets: Bool

  init(seed: UInt64, greets: Bool, after position: String?) {
    machine = StreamMachine(after: position)
    random = SplitMix64(state: seed)
    self.greets = greets
    log = ["0"]
    post(.start)
  }

  mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

  mutating func post(_ event: StreamMachine.Event, message: String? = nil) {
    for effect in machine.handle(event, at: now) {
      switch effect {
      case .open(let link, let after, _): asked.append((link, after))
      case .close(let link):
        open[link] = nil
        asked.removeAll { $0.link == link }
      case .deliver: if let message { delivered.append(message) }
      case .startTimer(let timer, let ticket, _): timers[timer] = ticket
      case .finish, .ignored: break
      }
    }
  }

  /// The server answers; the stream begins after the id, or at the end of the log.
  mutating func answer() {
    guard !asked.isEmpty else { return }
    let (link, after) = asked.remove(at: below(asked.count))
    let start = after.flatMap { log.firstIndex(of: $0) } ?? log.count - 1
    open[link] = OpenLink(sent: start + 1, greeting: greets ? log[start] : nil)
    let renews = below(3) == 0
    post(.opened(link, renewal: renews ? .seconds(1) : nil))
  }

  /// Delivers the link's next log entry, or its greeting; false if there is none.
  mutating func send(_ link: Link) -> Bool {
    guard var state = open[link] else { return false }
    if let id = state.greeting {
      open[link]?.greeting = nil
      post(.message(link, id: id))
      return true
    }
    guard state.sent < log.count else { return false }
    state.sent += 1
    open[link] = state
    post(.message(link, id: log[state.sent - 1]), message: log[state.sent - 1])
    return true
  }

  mutating func step() {
    now += .milliseconds(below(20_000))
    let links = open.keys.sorted()
    switch below(9) {
    case 0, 1: log.append("\(log.count)")
    case 2, 3, 4:
      guard !links.isEmpty else { return }
      _ = send(links[below(links.count)])
    case 5: answer()
    case 6:
      guard !links.isEmpty else { return }
      let link = links[below(links.count)]
      open[link] = nil
      post(.closed(link, .ended, entropy: random.next()))
    case 7:
      guard !asked.isEmpty else { return }
      let link = asked.remove(at: below(asked.count)).link
      post(.closed(link, below(2) == 0 ? .unauthorized : .unavailable(retryAfter: nil), entropy: random.next()))
    default:
      let timer = StreamMachine.Timer.allCases[below(StreamMachine.Timer.allCases.count)]
      if let ticket = timers.removeValue(forKey: timer) { post(.timer(timer, ticket: ticket, entropy: random.next())) }
    }
  }

  /// Delivers all remaining messages.
  mutating func settle() {
    for _ in 0..<1000 {
      while !asked.isEmpty { answer() }
      for link in open.keys.sorted() {
        while send(link) {}
      }
      if machine.current != nil, asked.isEmpty { return }
      if let ticket = timers.removeValue(forKey: .reopen) { post(.timer(.reopen, ticket: ticket, entropy: 0)) }
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A live stream in any history` {
  @Test(arguments: 0..<3000 as Range<UInt64>)
  func `delivers every message once, in order`(seed: UInt64) {
    var world = StreamWorld(seed: seed, greets: seed % 2 == 0, after: "0")
    for _ in 0..<400 { world.step() }
    world.settle()
    #expect(world.delivered == Array(world.log.dropFirst()))
    #expect(world.open.count <= 2)
  }

  @Test(arguments: 0..<1000 as Range<UInt64>)
  func `begins at its first opening if no position was given`(seed: UInt64) {
    var world = StreamWorld(seed: seed, greets: true, after: nil)
    for _ in 0..<400 { world.step() }
    world.settle()
    let first = world.delivered.first.flatMap { world.log.firstIndex(of: $0) } ?? world.log.count
    #expect(world.delivered == Array(world.log.dropFirst(first)))
  }
}
