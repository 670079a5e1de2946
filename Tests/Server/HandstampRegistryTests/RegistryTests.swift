import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A memory store` {
  @Test func `keeps the promises of a store`() async throws {
    try await checkRegistryStore { MemoryRegistryStore() }
  }
}

/// A registry with one account in it.
struct World {
  let store: any RegistryStore
  let registry: Registry
  let ada: AccountRecord

  init(
    limits: RegistryLimits = RegistryLimits(), keys: MasterKeys? = nil, store: any RegistryStore = MemoryRegistryStore()
  ) async throws {
    self.store = store
    registry = Registry(store: store, mint: TokenMint(try keys ?? masterKeys("k1")), limits: limits)
    ada = try await registry.openAccount(
      email: EmailAddress("Ada@example.org"), username: "Ada", passwordHash: Secret("$hash"), now: start)
  }

  func signIn(
    _ device: String = "phone", _ account: AccountRecord? = nil, kind: SessionKind = .keyed, now: UnixTime = start
  ) async throws -> NewSession {
    let device = DeviceInfo(id: DeviceID(device), name: "Ada’s \(device)", platform: "linux")
    return try await registry.createSession(
      by: .password(of: account ?? ada), SessionStart(device: device, kind: kind), now: now)
  }

  /// The first refresh token of a session.
  func token(of new: NewSession) -> RefreshToken { registry.mint.refreshToken(new.token) }

  func handle(of new: NewSession) -> RevocationHandle { registry.mint.revocationHandle(for: new.row.session) }

  func refresh(_ token: RefreshToken, key number: UInt64?, now: UnixTime = start) async throws -> RefreshOutcome {
    try await registry.refresh(token, key: number.map(key), now: now)
  }

  /// Refreshes and returns the successor.
  func successor(of token: RefreshToken, key number: UInt64?, now: UnixTime = start) async throws -> RefreshToken {
    let outcome = try await refresh(token, key: number, now: now)
    guard case .issued(let issue) = outcome else { throw Unexpected(outcome) }
    return registry.mint.refreshToken(issue.token)
  }

  func events(after id: EventID = .zero) async throws -> [RegistryEvent] {
    try await store.events(after: id, account: nil, limit: 1000).map(\.event)
  }
}

func outline(_ outcome: RefreshOutcome) -> String {
  switch outcome {
  case .issued(let issue): "issued \(issue.course)"
  case .superseded: "superseded"
  case .ended(let reason): "ended \(reason)"
  case .theft(_, let sign): "theft \(sign)"
  case .forged: "forged"
  case .invalidRequest: "invalid request"
  case .otherClient: "other client"
  case .notGranted: "not granted"
  case .otherProof: "other proof"
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A registry refresh` {
  @Test func `rotates, repeats, and distinguishes a retry from a replay`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    let first = try await world.successor(of: world.token(of: new), key: 1)
    #expect(try await world.successor(of: world.token(of: new), key: 1, now: after(.seconds(86_400))) == first)
    let second = try await world.successor(of: first, key: 2)
    #expect(second != first)
    #expect(outline(try await world.refresh(world.token(of: new), key: 1)) == "superseded")
    #expect(outline(try await world.refresh(first, key: nil)) == "invalid request")
    #expect(try await world.registry.isLive(new.row.id, now: start))
    let outcome = try await world.refresh(first, key: 9, now: after(.seconds(5)))
    guard case .theft(let row, .twoKeys) = outcome else { throw Unexpected(outcome) }
    #expect(row.end == SessionEnd(at: after(.seconds(5)), reason: .tokenReuseDetected))
    let revoked = RegistryEvent(
      kind: .sessionRevoked, account: world.ada.id, session: new.row.id, reason: .tokenReuseDetected,
      at: after(.seconds(5)))
    #expect(try await world.events().last == revoked)
    for (token, key) in [(second, 3), (first, 2), (first, 9)] as [(RefreshToken, UInt64)] {
      #expect(outline(try await world.refresh(token, key: key)) == "ended tokenReuseDetected")
    }
    #expect(try await !world.registry.isLive(new.row.id, now: start))
  }

  @Test func `gives twenty concurrent callers the same successor, with one rotation`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    let outcomes = try await withThrowingTaskGroup(of: RefreshOutcome.self) { group in
      for _ in 0..<20 { group.addTask { try await world.refresh(world.token(of: new), key: 1) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let issues = outcomes.compactMap { if case .issued(let issue) = $0 { issue } else { nil } }
    #expect(issues.count == 20)
    #expect(Set(issues.map(\.token)).count == 1)
    #expect(issues.count { $0.course == .rotated } == 1)
    #expect(issues.count { $0.course == .repeated } == 19)
    #expect(try await world.store.session(new.row.id)?.counter == 1)
  }

  @Test func `ends the session once when two holders present at once`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<10 as Range<UInt64> {
        group.addTask { outline(try await world.refresh(world.token(of: new), key: number)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.count { $0 == "issued rotated" } == 1)
    #expect(outcomes.count { $0 == "theft twoKeys" } == 1)
    #expect(outcomes.count { $0 == "ended tokenReuseDetected" } == 8)
    #expect(try await world.events().map(\.kind) == [.sessionEstablished, .sessionRevoked])
  }

  @Test func `changes nothing for 10,000 tokens with a flipped bit, or for noise`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    let current = text(try await world.successor(of: world.token(of: new), key: 1))
    let before = try await world.store.session(new.row.id)
    var random = SplitMix64(state: 11)
    var tally: [String: Int] = [:]
    for number in 0..<10_000 {
      var bytes = Array((number % 2 == 0 ? current : text(world.token(of: new))).utf8)
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
      let token = RefreshToken(Secret(bytes: bytes))
      do throws(RegistryError) {
        tally[outline(try await world.registry.refresh(token, key: key(2), now: start)), default: 0] += 1
        _ = try await world.registry.revoke(token.secret, now: start)
      } catch {
        guard case .unknownKey = error else { throw error }
        tally["unknown key", default: 0] += 1
      }
    }
    #expect(tally["forged", default: 0] > 9000)
    #expect(tally["forged", default: 0] + tally["unknown key", default: 0] == 10_000)
    #expect(try await world.store.session(new.row.id) == before)
    #expect(try await world.events().count == 1)
    #expect(outline(try await world.refresh(RefreshToken(current), key: 2)) == "issued rotated")
  }

  @Test(arguments: [
    "", "short", String(repeating: "A", count: 21), String(repeating: "A", count: 23), "AAAAAAAAAAAAAAAAAAAAA=",
    String(repeating: "A", count: 100_000), "AAAAAAAAAAAAAAAAAAAAA\0", "AAAAAAAAAAAAAAAAAAAAAB",
  ])
  func `refuses a malformed key, and changes nothing`(text: String) async throws {
    let world = try await World()
    let (keyed, plain) = (try await world.signIn("a"), try await world.signIn("b", kind: .plain))
    let outcome = try await world.registry.refresh(world.token(of: keyed), key: Secret(text), now: start)
    #expect(outcome == .invalidRequest)
    #expect(try await world.store.session(keyed.row.id) == keyed.row)
    let refused = try await world.registry.refresh(world.token(of: plain), key: Secret(text), now: start)
    #expect(refused == .invalidRequest)
    #expect(try await world.store.session(plain.row.id) == plain.row)
  }

  @Test(arguments: [GrantRefusal.invalidScope, .invalidTarget])
  func `is refused with the reason that its narrowing gave, and changes nothing`(refusal: GrantRefusal) async throws {
    let world = try await World()
    let new = try await world.signIn()
    let narrow: GrantNarrowing = { _ throws(GrantRefusal) in throw refusal }
    let outcome = try await world.registry.refresh(world.token(of: new), key: key(1), now: start, narrow: narrow)
    #expect(outcome == .notGranted(refusal))
    #expect(try await world.store.session(new.row.id) == new.row)
  }

  @Test func `of a session without keys gives the same successor within the overlap, audits it, then ends the session`()
    async throws
  {
    let world = try await World()
    let new = try await world.signIn(kind: .plain)
    let first = try await world.successor(of: world.token(of: new), key: nil)
    #expect(try await world.successor(of: world.token(of: new), key: nil, now: after(.seconds(120))) == first)
    let audited = try await world.store.auditedActions(after: 0, about: nil, limit: 10).map(\.audited.action)
    #expect(audited == ["account.created", "session.began", "session.refresh_repeated"])
    let late = try await world.refresh(world.token(of: new), key: nil, now: after(.milliseconds(120_001)))
    #expect(outline(late) == "theft replayed")
    #expect(outline(try await world.refresh(first, key: nil)) == "ended tokenReuseDetected")
  }

  @Test func `keeps working when the master key changes, and reports a missing one`() async throws {
    let world = try await World(keys: try masterKeys("old", "new"))
    let new = try await world.signIn()
    let first = try await world.successor(of: world.token(of: new), key: 1)
    let next = Registry(store: world.store, mint: TokenMint(try masterKeys("old", "new", current: "new")))
    let repeated = try await next.refresh(world.token(of: new), key: key(1), now: start)
    guard case .issued(let again) = repeated else { throw Unexpected(repeated) }
    #expect(next.mint.read(first) == .genuine(again.token))
    #expect(next.mint.refreshToken(again.token) != first)
    let third = try await next.refresh(first, key: key(2), now: start)
    #expect(outline(third) == "issued rotated")
    let without = Registry(store: world.store, mint: TokenMint(try masterKeys("other", seed: 4)))
    await #expect(throws: RegistryError.unknownKey(KeyID("old"))) {
      try await without.refresh(first, key: key(2), now: start)
    }
    await #expect(throws: RegistryError.unknownKey(KeyID("old"))) {
      try await without.revoke(world.handle(of: new).secret, now: start)
    }
  }

  @Test func `reports a session unknown to the store as ended`() async throws {
    let (here, there) = (try await World(), try await World())
    let new = try await there.signIn()
    #expect(outline(try await here.refresh(there.token(of: new), key: 1)) == "ended rejected")
    #expect(try await here.registry.revoke(there.token(of: new).secret, now: start).isEmpty)
  }

  @Test func `fast-forwards a store that lost its last commits`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    let first = try await world.successor(of: world.token(of: new), key: 1)
    let second = try await world.successor(of: first, key: 2)
    var old = new.row
    old.pending = nil
    // The first use is a write of its own.
    try await world.store.write([.replaceSession(old, expecting: 3)], events: [])
    #expect(outline(try await world.refresh(second, key: 3)) == "issued fastForwarded(lost: 2)")
    #expect(outline(try await world.refresh(second, key: 3)) == "issued repeated")
  }

  @Test func `is merely unavailable while the store is`() async throws {
    let store = FailingStore()
    let world = try await World(store: store)
    let new = try await world.signIn()
    store.fail(.unavailable("disk full"))
    await #expect(throws: RegistryError.unavailable("disk full")) {
      try await world.refresh(world.token(of: new), key: 1)
    }
    await #expect(throws: RegistryError.unavailable("disk full")) {
      try await world.registry.revoke(world.token(of: new).secret, now: start)
    }
    await #expect(throws: RegistryError.unavailable("disk full")) { try await world.signIn() }
    #expect(outline(try await world.refresh(RefreshToken("noise"), key: 1)) == "forged")
    store.fail(nil)
    #expect(outline(try await world.refresh(world.token(of: new), key: 1)) == "issued rotated")
  }

  @Test func `gives up after repeated write conflicts`() async throws {
    let store = FailingStore()
    let world = try await World(store: store)
    let new = try await world.signIn()
    store.fail(.conflict)
    await #expect(throws: Registry.contention) { try await world.refresh(world.token(of: new), key: 1) }
    await #expect(throws: Registry.contention) {
      try await world.registry.revoke(world.token(of: new).secret, now: start)
    }
    await #expect(throws: Registry.contention) { try await world.signIn() }
  }
}
