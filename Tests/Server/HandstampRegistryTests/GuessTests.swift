import HandstampCore
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `Wrong passwords` {
  private let store = MemoryRegistryStore()
  private let start = UnixTime(seconds: 1_800_000_000)
  private let stranger: Registry.GuessSubject

  init() throws {
    stranger = Registry.GuessSubject(try #require(EmailAddress("ada@example.org")))
  }

  /// Tries for `span` as often as it is allowed to, and returns how often that was.
  private func guesses(in span: Duration, from start: UnixTime, _ registry: Registry) async throws -> Int {
    var (now, tried) = (start, 0)
    while now.since(start) < span {
      if let wait = try await registry.guesses(of: stranger, now: now).wait(at: now) {
        now = now.advanced(by: wait)
      } else {
        try await registry.countGuess(of: stranger, now: now)
        tried += 1
      }
    }
    return tried
  }

  @Test func `are 10 at once, then 2 a minute, and at most 100 in a row`() async throws {
    let registry = try registry(store)
    #expect(try await guesses(in: .seconds(1), from: start, registry) == 10)
    #expect(try await guesses(in: .seconds(60), from: start.advanced(by: .seconds(30)), registry) == 2)
    #expect(try await guesses(in: .seconds(86_000), from: start.advanced(by: .seconds(120)), registry) == 88)
  }

  @Test func `are 10 more a day after 100 in a row`() async throws {
    let registry = try registry(store)
    #expect(try await guesses(in: .seconds(30 * 86_400), from: start, registry) == 100 + 29 * 10)
  }

  /// A guess at each of very many addresses leaves rows that do not pile up, and waiting for the end of a row gains nothing.
  @Test(arguments: [1, 9, 10, 50, 99, 100]) func `are forgotten after as long as ten a day would have taken`(
    times: Int
  ) async throws {
    let registry = try registry(store)
    var now = start
    for round in 1...3 {
      for _ in 0..<times {
        if let wait = try await registry.guesses(of: stranger, now: now).wait(at: now) { now = now.advanced(by: wait) }
        try await registry.countGuess(of: stranger, now: now)
      }
      let end = now.advanced(by: .seconds(8640 * times))
      let before = end.advanced(by: .milliseconds(-1))
      #expect(try await registry.guesses(of: stranger, now: before).count == times)
      #expect(try await registry.guesses(of: stranger, now: end).count == 0)
      _ = await store.prune(Retention(eventsBefore: start, endedBefore: start, now: end), limit: 10)
      #expect(await store.counts().items == 0)
      now = end
      #expect(now.since(start) >= .seconds(8640 * times * round))
    }
  }

  @Test func `start over after a right one`() async throws {
    let registry = try registry(store)
    for _ in 0..<10 { try await registry.countGuess(of: stranger, now: start) }
    #expect(try await registry.guesses(of: stranger, now: start).wait(at: start) == .seconds(30))
    try await registry.forgetGuesses(of: stranger, now: start)
    #expect(try await registry.guesses(of: stranger, now: start).wait(at: start) == nil)
  }

  @Test func `are counted while they are being checked`() async throws {
    let registry = try registry(store)
    for _ in 0..<8 { try await registry.countGuess(of: stranger, now: start) }
    let count = try await registry.guesses(of: stranger, now: start)
    #expect(count.wait(at: start, pending: 1) == nil)
    #expect(count.wait(at: start, pending: 2) == GuessCount.pause)
  }

  @Test func `of many at once are all counted`() async throws {
    let registry = try registry(store)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { try await registry.countGuess(of: stranger, now: start) } }
      try await group.waitForAll()
    }
    #expect(try await registry.guesses(of: stranger, now: start).count == 20)
  }

  @Test func `are counted apart for a device that the account knows`() async throws {
    let registry = try registry(store)
    for _ in 0..<100 { try await registry.countGuess(of: stranger, now: start) }
    let device = Registry.GuessSubject(AccountID("ada"), on: DeviceID("phone"))
    #expect(try await registry.guesses(of: device, now: start).count == 0)
  }

  @Test func `are forgotten with a reset, those of strangers and of devices`() async throws {
    let registry = try registry(store)
    let signUp = try await registry.signUp(
      email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: Secret("old"),
      SessionStart(device: .sample), now: start)
    let device = Registry.GuessSubject(signUp.account.id, on: DeviceInfo.sample.id)
    for subject in [stranger, device] {
      for _ in 0..<100 { try await registry.countGuess(of: subject, now: start) }
    }
    let token = try await registry.issueResetCode(of: signUp.account, now: start)
    _ = try await registry.resetPassword(with: token, hash: Secret("new"), now: start)
    #expect(try await registry.guesses(of: stranger, now: start).count == 0)
    #expect(try await registry.guesses(of: device, now: start).count == 0)
  }

  @Test func `do not make a clock that is set back forbid all attempts`() async throws {
    let registry = try registry(store)
    for _ in 0..<10 { try await registry.countGuess(of: stranger, now: start) }
    let earlier = start.advanced(by: .seconds(-86_400))
    #expect(try await registry.guesses(of: stranger, now: earlier).wait(at: earlier) == GuessCount.pause)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A device that an account was used on` {
  private let store = MemoryRegistryStore()
  private let start = UnixTime(seconds: 1_800_000_000)
  private let day = Duration.seconds(86_400)

  private func knows(_ registry: Registry, _ account: AccountRecord, _ device: DeviceInfo = .sample, after days: Int)
    async throws -> Bool
  {
    try await registry.knows(device.id, of: account.id, now: start.advanced(by: day * days))
  }

  @Test func `is known for 90 days after its last use`() async throws {
    let registry = try registry(store)
    let new = try await registry.signUp(
      email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, SessionStart(device: .sample),
      now: start)
    _ = try await registry.touch(new.row, now: start.advanced(by: day * 50))
    let other = DeviceInfo(id: DeviceID("other"), name: "Other", platform: "")
    #expect(try await !knows(registry, new.account, other, after: 0))
    #expect(try await knows(registry, new.account, after: 139))
    _ = try await registry.endAll(of: new.account.id, now: start.advanced(by: day * 60))
    #expect(try await knows(registry, new.account, after: 139))
    #expect(try await !knows(registry, new.account, after: 140))
  }

  @Test func `keeps the language that was read there when its session expires`() async throws {
    let registry = try registry(store)
    var ada = AuditActor.owner(from: nil)
    ada.language = "de"
    let new = try await registry.acting(as: ada).signUp(
      email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, SessionStart(device: .sample),
      now: start)
    let later = start.advanced(by: day * 10)
    _ = try await registry.end(.expired, now: later, rows: [new.row])
    let item = try #require(try await registry.item(StoredItemID(new.row.device.id, of: new.account.id)))
    #expect(Registry.languageRead(on: item) == "de")
  }

  @Test func `is not another account's`() async throws {
    let registry = try registry(store)
    _ = try await registry.signUp(
      email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, SessionStart(device: .sample),
      now: start)
    let bob = try await registry.openAccount(
      email: EmailAddress("bob@example.org"), username: "Bob", passwordHash: nil, now: start)
    #expect(try await !knows(registry, bob, after: 0))
  }

  @Test func `is erased with the account`() async throws {
    let registry = try registry(store)
    let new = try await registry.signUp(
      email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, SessionStart(device: .sample),
      now: start)
    let again = try await registry.createSession(
      by: .password(of: new.account), SessionStart(device: .sample), now: start)
    _ = try await registry.deleteAccount(new.account, now: start)
    #expect(try await !knows(registry, new.account, after: 0))
    for id in [new.row.id, again.row.id] {
      #expect(await store.session(id)?.device == DeviceInfo(id: DeviceID(""), name: "", platform: ""))
    }
    #expect(await store.counts().items == 0)
  }

  @Test func `is a browser too`() async throws {
    let registry = try registry(store)
    let ada = try await registry.openAccount(
      email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, now: start)
    _ = try await registry.beginBrowserSession(by: .password(of: ada), on: .browser("browser"), now: start)
    #expect(try await registry.knows(DeviceID("browser"), of: ada.id, now: start.advanced(by: day * 89)))
    #expect(try await !registry.knows(DeviceID(""), of: ada.id, now: start))
  }
}

private func registry(_ store: MemoryRegistryStore) throws -> Registry {
  Registry(store: store, mint: TokenMint(try masterKeys("k1")))
}

extension DeviceInfo {
  fileprivate static let sample = DeviceInfo(id: DeviceID("phone"), name: "Phone", platform: "ios")
}
