import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

/// A webhook, its receiver, and the servers that tell it.
private final class Line {
  let store: any RegistryStore
  let registry: Registry
  var now = start
  /// The events that the receiver has taken, in order.
  private(set) var taken: [StoredEvent] = []
  private(set) var letters: [DeadLetter] = []

  init(_ store: any RegistryStore = MemoryRegistryStore(), events: Set<WebhookEvent> = []) async throws {
    self.store = store
    registry = Registry(store: store, mint: TokenMint(try masterKeys("k1")))
    let settings = Webhook.Settings(name: "crm", url: "https://crm.example.org/hook", events: events)
    _ = try #require(try await registry.addWebhook(settings, now: now))
  }

  func hook() async throws -> Webhook { try #require(try await registry.webhooks().first) }

  func happen(
    _ account: String, _ kind: RegistryEvent.Kind = .sessionEstablished, reason: EndReason? = nil
  ) async throws {
    let event = RegistryEvent(
      kind: kind, account: AccountID(account), session: SessionID("s-\(account)"), reason: reason, at: now)
    try await store.write([], events: [event])
  }

  func isDue() async throws -> Bool { try await hook().isDue(at: now, newest: try await registry.lastEventID()) }

  /// Sends one wave, as a server does. Returns how many events were tried.
  ///
  /// - Parameters:
  ///   - dies: whether the server dies before it stores what became of the wave.
  ///   - refuses: why the receiver does not take an event.
  @discardableResult
  func send(dies: Bool = false, _ refuses: (StoredEvent) -> String? = { _ in nil }) async throws -> Int {
    guard let hook = try await registry.claimWebhook("crm", until: now.advanced(by: .seconds(120)), now: now) else {
      return 0
    }
    let wave = try await hook.wave(in: registry, at: now)
    var tried = 0
    let outcomes = wave.courses.map { course in
      var outcome = WebhookWave.Outcome(course)
      for event in course.events {
        tried += 1
        if let words = refuses(event) {
          outcome.failure = WebhookFailure(words)
          break
        }
        taken.append(event)
        outcome.delivered += 1
      }
      return outcome
    }
    guard !dies else { return tried }
    let end = now
    let finished = try #require(
      try await registry.finish(wave, outcomes, test: nil, of: hook, until: { _ in nil }, now: end))
    letters += finished.letters
    return tried
  }

  /// Sends until nothing is left to send now.
  func drain(_ refuses: (StoredEvent) -> String? = { _ in nil }) async throws {
    while try await isDue() { try await send(refuses) }
  }
}

/// SplitMix64.
private struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A webhook` {
  @Test func `is told of what happens after it was added, and of that alone`() async throws {
    let line = try await Line(events: [.sessionTheft, .accountPurged])
    try await line.happen("a")
    try await line.happen("a", .sessionRevoked, reason: .signedOut)
    try await line.happen("b", .sessionRevoked, reason: .tokenReuseDetected)
    try await line.happen("c", .accountPurged)
    try await line.drain()
    #expect(line.taken.map(\.event.account.rawValue) == ["b", "c"])
    #expect(try await line.hook().delivered == 2)
    #expect(try await !line.isDue())
  }

  /// Every event at least once, unless it was given up; and none before an earlier one of its account.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func `keeps the order of each account, whatever fails and dies`(seed: UInt64) async throws {
    var random = SeededGenerator(seed)
    let line = try await Line()
    let down = Int.random(in: 0...100, using: &random)
    for _ in 0..<60 {
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        try await line.happen("a\(Int.random(in: 0..<24, using: &random))")
      }
      var refuses = random
      try await line.send(dies: Int.random(in: 0..<8, using: &random) == 0) { _ in
        Int.random(in: 0..<100, using: &refuses) < down ? "it answered 500" : nil
      }
      line.now = line.now.advanced(by: .seconds(Int64.random(in: 0...2000, using: &random)))
    }
    // The receiver is well again.
    for _ in 0..<40 {
      line.now = line.now.advanced(by: .seconds(1000))
      try await line.drain()
    }
    let all = try await line.registry.events(after: .zero, limit: 10_000)
    let lost = Set(line.letters.map(\.event))
    #expect(Set(line.taken.map(\.id)).union(lost) == Set(all.map(\.id)))
    for account in Set(all.map(\.event.account)) {
      var next = all.filter { $0.event.account == account }.map(\.id)[...]
      var done = Set<EventID>()
      for event in line.taken where event.event.account == account && done.insert(event.id).inserted {
        while let given = next.first, given != event.id, lost.contains(given) { next.removeFirst() }
        #expect(next.first == event.id)
        next = next.dropFirst()
      }
    }
  }

  @Test func `gives up an event that is refused for a day, and holds back no other account for it`() async throws {
    let line = try await Line()
    for account in ["bad", "good", "bad"] { try await line.happen(account) }
    let refuses = { (event: StoredEvent) in event.id.rawValue == 1 ? "it answered 400" : nil }
    try await line.drain(refuses)
    // The second event of the account waits behind its first.
    #expect(line.taken.map(\.id.rawValue) == [2])
    var attempts = 0
    while line.letters.isEmpty, attempts < 1000 {
      line.now = line.now.advanced(by: .seconds(60))
      if try await line.isDue() { attempts += try await line.send(refuses) }
    }
    #expect(line.now.since(start) >= Webhook.patience)
    #expect(line.now.since(start) <= Webhook.patience + .seconds(1000))
    // Not every minute: the pauses grow to 15 minutes.
    #expect((90..<250).contains(attempts))
    try await line.drain(refuses)
    #expect(line.taken.map(\.id.rawValue) == [2, 3])
    let letters = try await line.registry.deadLetters(of: "crm")
    #expect(letters.map(\.event.rawValue) == [1])
    #expect(letters.first?.failure == "it answered 400")
    // It is sent again, and no dead letter any more.
    _ = try await line.registry.restartWebhook("crm", from: EventID(rawValue: 1), now: line.now)
    try await line.drain()
    #expect(line.taken.map(\.id.rawValue).suffix(3).sorted() == [1, 2, 3])
    #expect(try await line.registry.deadLetters(of: "crm").isEmpty)
  }

  @Test func `asks a receiver that is down for a few accounts only, and goes on where it was`() async throws {
    let line = try await Line()
    for number in 0..<200 { try await line.happen("a\(number)") }
    try await line.drain { _ in "connection refused" }
    let hook = try await line.hook()
    #expect(hook.held == Webhook.mostLanes)
    #expect(hook.cursor.rawValue == Int64(Webhook.mostLanes))
    #expect(hook.failure == "connection refused")
    line.now = line.now.advanced(by: .seconds(5))
    // One of them gets through: the others need not wait for their turn.
    try await line.drain()
    #expect(Set(line.taken.map(\.id)).count == 200)
    #expect(try await line.hook().held == 0)
  }

  @Test func `is left alone for as long as its receiver asks, and for good if it is gone`() async throws {
    let line = try await Line()
    try await line.happen("a")
    var hook = try await line.hook()
    let wave = try await hook.wave(in: line.registry, at: start)
    var outcome = WebhookWave.Outcome(try #require(wave.courses.first))
    outcome.failure = WebhookFailure("it answered 429", pause: .seconds(3000))
    _ = hook.note([outcome], of: wave, at: start, spread: 1)
    #expect(!hook.hasWork(at: after(.seconds(2999)), newest: EventID(rawValue: 9)))
    #expect(hook.hasWork(at: after(.seconds(3000)), newest: EventID(rawValue: 9)))
    outcome.failure = WebhookFailure("it answered 410", isGone: true)
    _ = hook.note([outcome], of: wave, at: start, spread: 1)
    #expect(!hook.hasWork(at: after(.seconds(90_000)), newest: EventID(rawValue: 9)))
    hook.restart(after: nil, at: after(.seconds(90_000)))
    #expect(hook.hasWork(at: after(.seconds(90_000)), newest: hook.cursor))
  }

  @Test func `is delivered by one server at a time, and by another when that one dies`() async throws {
    let line = try await Line()
    try await line.happen("a")
    let lease = start.advanced(by: .seconds(120))
    let first = try #require(try await line.registry.claimWebhook("crm", until: lease, now: start))
    #expect(try await line.registry.claimWebhook("crm", until: lease, now: after(.milliseconds(119_999))) == nil)
    #expect(try await line.registry.claimWebhook("crm", until: after(.seconds(300)), now: lease) != nil)
    // The first one comes back, and changes nothing.
    let wave = try await first.wave(in: line.registry, at: lease)
    let outcomes = wave.courses.map { WebhookWave.Outcome($0) }
    #expect(
      try await line.registry.finish(wave, outcomes, test: nil, of: first, until: { _ in nil }, now: lease) == nil)
    #expect(try await line.hook().cursor == .zero)
  }

  @Test func `has a secret that is not stored, and another one after it was added again`() async throws {
    let line = try await Line()
    let hook = try await line.hook()
    let secret = try #require(line.registry.mint.secret(of: hook, by: hook.signer))
    #expect(secret.count == 32)
    let renewed = try #require(try await line.registry.renewSecret(ofWebhook: "crm", now: start))
    #expect(line.registry.mint.secret(of: renewed, by: renewed.signer) != secret)
    // For a day the previous one signs as well.
    let signers = renewed.signers(at: after(.milliseconds(86_399_999)))
    #expect(signers.map { line.registry.mint.secret(of: renewed, by: $0) }.contains(secret))
    #expect(renewed.signers(at: after(.seconds(86_400))) == [renewed.signer])
    #expect(try await line.registry.removeWebhook("crm", now: start))
    let again = try #require(try await line.registry.addWebhook(hook.settings, now: start))
    #expect(line.registry.mint.secret(of: again, by: again.signer) != secret)
    #expect(TokenMint(try masterKeys("k2")).secret(of: hook, by: hook.signer) == nil)
  }

  @Test func `survives its encoding, with all that there is to it`() async throws {
    let line = try await Line(events: [.sessionEnded])
    for number in 0..<3 { try await line.happen("a/\(number)&=,;", .sessionRevoked, reason: .idle) }
    try await line.drain { $0.id.rawValue == 2 ? "a=b&c" : nil }
    _ = try await line.registry.renewSecret(ofWebhook: "crm", now: start)
    let hook = try await line.hook()
    #expect(hook.held == 1)
    #expect(PayloadCoding.value(Webhook.self, PayloadCoding.text(hook)) == hook)
  }

  @Test func `knows how credentials have changed`() async throws {
    let world = try await World()
    _ = try await world.registry.setPassword(of: world.ada, hash: Secret("$new"), keeping: nil, now: start)
    let event = try #require(try await world.events().first { $0.kind == .credentialChange })
    #expect(try await world.registry.credentialChange(event) == .passwordChanged)
    var other = event
    other.at = after(.milliseconds(1))
    #expect(try await world.registry.credentialChange(other) == nil)
  }

  @Test func `is told when an account is enabled again`() async throws {
    let world = try await World()
    _ = try await world.registry.closeAccount(world.ada, now: start)
    let closed = try #require(try await world.registry.account(world.ada.id))
    _ = try await world.registry.reopenAccount(closed, now: start)
    #expect(try await world.events().map(\.kind).suffix(2) == [.accountDisabled, .accountEnabled])
  }
}

/// A memory store that remembers its writes.
private final class WritingStore: StoreDecorator {
  let base = MemoryRegistryStore()
  private let count = Locked(0)

  func willWrite() { count.withLock { $0 += 1 } }
  var writes: Int { count.withLock { $0 } }
}

@Suite(.timeLimit(.minutes(10))) struct `A session with a webhook` {
  /// The writes of a sign-in, a refresh and an end.
  private func writes(withWebhook: Bool) async throws -> [Int] {
    let store = WritingStore()
    let world = try await World(store: store)
    if withWebhook {
      let settings = Webhook.Settings(name: "crm", url: "https://crm.example.org/hook")
      _ = try await world.registry.addWebhook(settings, now: start)
    }
    var counts = [store.writes]
    let new = try await world.signIn()
    counts.append(store.writes)
    _ = try await world.successor(of: world.token(of: new), key: 1)
    counts.append(store.writes)
    let events = try await world.events().count
    _ = try await world.successor(of: world.token(of: new), key: 1)
    // A refresh is no event.
    #expect(try await world.events().count == events)
    counts.append(store.writes)
    _ = try await world.registry.end(new.row.id, of: world.ada.id, now: start)
    counts.append(store.writes)
    return zip(counts.dropFirst(), counts).map { $0 - $1 }
  }

  @Test func `writes no more than one without`() async throws {
    #expect(try await writes(withWebhook: true) == writes(withWebhook: false))
  }
}
