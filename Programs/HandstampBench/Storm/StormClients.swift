#if Programs && os(Linux)
import Foundation
import Handstamp
import HandstampCore

/// The sessions of one process of a storm: the library's own machine for each, with its back-off and its jitter, and the wire of its own
/// backend. The harness performs effects: timers, requests over real sockets, and a vault in memory that answers at once.
// Touched by the thread of the loop alone.
final class StormClients: @unchecked Sendable {
  /// The orders of the process that started it.
  struct Orders: Codable {
    var port: UInt16
    /// The number of this process, whose address ends with it.
    var number: Int
    /// The first try of each session is within this many seconds.
    var spread: Double
    var isStrict: Bool
    var sessions: [Begun]

    struct Begun: Codable {
      var id, account, token: String
    }
  }

  /// One session and what happened to it. All times count from the beginning of the storm.
  fileprivate struct Client {
    var machine: SessionMachine
    var vault: VaultEntry
    let backend: ServerBackend
    var timers: [SessionMachine.Timer: (ticket: UInt64, due: Duration)] = [:]
    /// When its app is used for the first time.
    let begins: Duration
    /// The last token that the server may have received.
    var presented: RefreshToken?
    /// The end of the pause that the server has asked for.
    var pausesUntil: Duration?
    var result = StormResult.Session()
  }

  /// The outage before the storm, as far as it is played: by then the back-off is at its bound, and an hour changes it no further.
  private static let outage = Duration.seconds(180)
  /// How long the storm is watched.
  private static let longest = Duration.seconds(240)

  private let orders: Orders
  private let loop = StormLoop()
  private var clients: [Client] = []
  private var due: TimerQueue = TimerQueue()
  private var result = StormResult()
  private var begin = Duration.zero
  private var waiting = 0
  private var random = SystemRandomNumberGenerator()

  init(_ orders: Orders) {
    self.orders = orders
    var source = sockaddr_in()
    source.sin_family = sa_family_t(AF_INET)
    source.sin_addr.s_addr = UInt32(0x7f00_0000 + orders.number).bigEndian
    for (index, session) in orders.sessions.enumerated() {
      let transport = StormTransport(
        loop: loop, source: source, port: orders.port,
        client: "10.\(orders.number).\(index / 250).\(index % 250 + 1)", leavesKeysOut: orders.isStrict
      ) { [unowned self] in presents(index) }
      clients.append(
        Client(
          machine: SessionMachine(supportsRotationKeys: !orders.isStrict, revokesRefreshTokens: true),
          vault: VaultEntry(revision: 1, session: stored(session)),
          backend: ServerBackend(
            baseURL: URL(string: "http://127.0.0.1:\(orders.port)")!,
            device: ServerBackend.Device(id: DeviceID("storm"), name: "storm"), transport: transport),
          begins: .seconds(orders.spread * Double(index) / Double(orders.sessions.count))))
    }
  }

  /// Its access token has expired.
  private func stored(_ session: Orders.Begun) -> StoredSession {
    let start = moment(.zero - StormClients.outage - .seconds(3600))
    let access = StoredAccess(
      .accessToken(AccessToken("expired")), lifetime: Lifetime(start: start, duration: .seconds(600)))
    return StoredSession(
      id: SessionID(session.id), profile: Profile(id: AccountID(session.account), name: ""),
      refresh: RefreshToken(Secret(session.token)), revocation: nil, access: access, startedAt: start, activeAt: start,
      rotationKeys: orders.isStrict ? .unknown : .accepted)
  }

  /// The clock of the sessions: it ran before the storm, too.
  private func moment(_ time: Duration) -> Moment {
    let wall = UnixTime(seconds: 1_800_000_000).advanced(by: time)
    return Moment(boot: 1, uptime: .seconds(100_000) + time, wall: wall)
  }

  /// The work of a process: orders come in, and the result goes out, as JSON.
  static func work() throws {
    guard let line = readLine() else { return }
    let clients = StormClients(try JSONDecoder().decode(Orders.self, from: Data(line.utf8)))
    FileHandle.standardOutput.write(try JSONEncoder().encode(clients.run()))
  }

  // MARK: The storm

  /// Plays the outage, waits for the word, and then the storm until all sessions are served.
  func run() -> StormResult {
    for index in clients.indices { endure(index) }
    FileHandle.standardOutput.write(Data("ready\n".utf8))
    begin = Duration.nanoseconds(Int64(readLine() ?? "") ?? 0)
    for (index, client) in clients.enumerated() {
      for (timer, pending) in client.timers { due.add(pending.due, index, timer, pending.ticket) }
      due.add(client.begins, index, nil, 0)
    }
    waiting = clients.count
    let processor = Machine.processorTime
    loop.run {
      let now = loop.now - begin
      guard waiting > 0, now < StormClients.longest else { return nil }
      // Answers are read between two lots of timers.
      for _ in 0..<64 {
        guard let next = due.next(before: loop.now - begin) else { break }
        fire(next)
      }
      return max(.zero, min(.milliseconds(50), (due.first ?? .seconds(1)) - (loop.now - begin)))
    }
    result.processorTime = (Machine.processorTime - processor) / .seconds(1)
    result.sessions = clients.map(\.result)
    return result
  }

  private func fire(_ entry: TimerQueue.Entry) {
    let index = entry.client
    guard let timer = entry.timer else {
      // The app comes to the front, and asks for a token.
      let now = loop.now - begin
      result.lateness = max(result.lateness, (now - clients[index].begins) / .seconds(1))
      post(.conditionsChanged, to: index, at: now)
      return post(.demand(SessionMachine.Waiter(1), SessionMachine.Need()), to: index, at: now)
    }
    guard clients[index].timers[timer]?.ticket == entry.ticket else { return }
    clients[index].timers[timer] = nil
    post(.timer(timer, ticket: entry.ticket), to: index, at: loop.now - begin)
  }

  /// Plays the outage: no connection, for each attempt of its machine.
  private func endure(_ index: Int) {
    var now = Duration.zero - StormClients.outage
    post(.start, to: index, at: now, isOut: true)
    while let (timer, next) = clients[index].timers.min(by: { $0.value.due < $1.value.due }), next.due < .zero {
      now = max(now, next.due)
      clients[index].timers[timer] = nil
      post(.timer(timer, ticket: next.ticket), to: index, at: now, isOut: true)
    }
  }

  // MARK: Effects

  private func post(_ event: SessionMachine.Event, to index: Int, at now: Duration, isOut: Bool = false) {
    var events = [event]
    while !events.isEmpty {
      let effects = clients[index].machine.handle(events.removeFirst(), at: moment(now))
      for effect in effects {
        switch effect {
        case .read(let operation): events.append(.read(operation, .value(clients[index].vault)))
        case .edit(let operation, let edit):
          events.append(.edited(operation, clients[index].write(edit), asOf: moment(now)))
        case .lock(let operation, _): events.append(.locked(operation, RotationKey(from: &random)))
        case .checkSender(let operation, _): events.append(.senderChecked(operation, hasEnded: false))
        case .startTimer(let timer, let ticket, let delay):
          clients[index].timers[timer] = (ticket, now + delay)
          if !isOut { due.add(now + delay, index, timer, ticket) }
        case .askRefresh(let operation, _) where isOut:
          let outcome = RefreshResult.noDecision(.network(.notConnected("refused")), retryAfter: nil)
          events.append(.refreshCompleted(operation, outcome, entropy: random.next()))
        case .askRefresh(let operation, let request): ask(request, as: operation, of: index, at: now)
        case .refreshed(_, nil): clients[index].isServed(at: now) ? waiting -= 1 : ()
        case .publish(.signedOut(let reason)):
          clients[index].result.end = reason.map { "\($0)" } ?? "signed out"
          waiting -= 1
        case .resume(_, .failure): if !isOut { result.failedCallers += 1 }
        case .publish, .audit, .refreshed, .adopted, .resume, .finish, .cancelRequests, .unlock, .abandon, .ignored,
          .clean, .revoke:
          break
        }
      }
    }
  }

  private func ask(
    _ request: RefreshRequest, as operation: SessionMachine.Operation, of index: Int, at now: Duration
  ) {
    result.count("request", at: now)
    clients[index].begins(at: now)
    if let pause = clients[index].pausesUntil {
      clients[index].pausesUntil = nil
      // A timer's tick.
      if now < pause - .milliseconds(1) { result.hasty += 1 } else { result.obeyed += 1 }
    }
    let backend = clients[index].backend
    Task(executorPreference: loop) { [self] in
      let outcome = await backend.refresh(request)
      answered(outcome, operation, index)
    }
  }

  private func answered(_ outcome: RefreshResult, _ operation: SessionMachine.Operation, _ index: Int) {
    let now = loop.now - begin
    result.count(StormResult.name(of: outcome), at: now)
    if case .noDecision(_, let pause?) = outcome { clients[index].pausesUntil = now + pause }
    post(.refreshCompleted(operation, outcome, entropy: random.next()), to: index, at: now)
  }

  /// The session's token is on its way.
  private func presents(_ index: Int) {
    let token = clients[index].vault.session?.refresh
    if token == clients[index].presented { clients[index].result.repeats += 1 }
    clients[index].presented = token
  }
}

extension StormClients.Client {
  fileprivate mutating func write(_ edit: VaultEdit) -> VaultOutcome {
    switch edit.applied(to: vault) {
    case .write(let new):
      vault = new
      return .done(new)
    case .unchanged: return .done(vault)
    case .conflict: return .conflict(vault)
    }
  }

  fileprivate mutating func begins(at now: Duration) {
    result.requests += 1
    if result.first == nil { result.first = now / .seconds(1) }
  }

  /// Returns whether this is news.
  fileprivate mutating func isServed(at now: Duration) -> Bool {
    guard result.served == nil else { return false }
    result.served = now / .seconds(1)
    return true
  }
}

/// Timers of all sessions, the next one first (a binary heap).
private struct TimerQueue {
  struct Entry {
    var due: Duration
    var client: Int
    /// `nil` for the first use of its app.
    var timer: SessionMachine.Timer?
    var ticket: UInt64
  }

  private var heap: [Entry] = []

  var first: Duration? { heap.first?.due }

  mutating func add(_ due: Duration, _ client: Int, _ timer: SessionMachine.Timer?, _ ticket: UInt64) {
    var place = heap.count
    heap.append(Entry(due: due, client: client, timer: timer, ticket: ticket))
    while place > 0, heap[place].due < heap[(place - 1) / 2].due {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Removes the first one, if it is due.
  mutating func next(before now: Duration) -> Entry? {
    guard let first = heap.first, first.due <= now, let last = heap.popLast() else { return nil }
    guard !heap.isEmpty else { return first }
    heap[0] = last
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child].due < heap[least].due {
        least = child
      }
      if least == place { return first }
      heap.swapAt(place, least)
      place = least
    }
  }
}
#endif
