import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

extension World {
  /// Signs in on a device, with the key of that number.
  fileprivate func signIn(
    _ device: String = "phone", key number: UInt64, now: UnixTime = start
  ) async throws -> NewSession {
    let device = DeviceInfo(id: DeviceID(device), name: device, platform: "linux")
    return try await registry.createSession(
      by: .password(of: ada), SessionStart(device: device, key: rotationKey(number)), now: now)
  }

  fileprivate func shown(at now: UnixTime = start) async throws -> Set<SessionID> {
    Set(try await registry.sessions(of: ada.id, now: now).map(\.id))
  }

  /// Uses a session as its client does.
  fileprivate func use(_ new: NewSession, now: UnixTime = start) async throws -> [SessionRow] {
    try await registry.recordFirstUse(of: new.row, now: now)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The first use of a session` {
  @Test func `ends the previous one of the device, and the sign-in ends none`() async throws {
    let world = try await World()
    let previous = try await world.signIn()
    #expect(try await world.use(previous) == [])
    let before = try await world.store.lastEventID()
    let new = try await world.signIn(now: after(.seconds(9)))
    #expect(try await world.events(after: before).map(\.kind) == [.sessionEstablished])
    #expect(try await world.shown() == [previous.row.id, new.row.id])
    let begun = try await world.store.lastEventID()
    let outcome = try await world.use(new, now: after(.seconds(20)))
    #expect(outcome.map(\.id) == [previous.row.id])
    #expect(try await world.events(after: begun).map(\.reason) == [.replaced])
    #expect(try await world.shown() == [new.row.id])
    #expect(try await world.use(new, now: after(.seconds(21))) == [])
  }

  @Test func `is also a refresh`() async throws {
    let world = try await World()
    let previous = try await world.signIn()
    _ = try await world.successor(of: world.token(of: previous), key: 1)
    let new = try await world.signIn(now: after(.seconds(9)))
    guard case .issued(let issue) = try await world.refresh(world.token(of: new), key: 2) else { throw Wrong() }
    #expect(issue.displaced.map(\.id) == [previous.row.id])
    #expect(try await world.store.session(new.row.id)?.pending == nil)
    #expect(outline(try await world.refresh(world.token(of: previous), key: 1)) == "ended replaced")
  }

  @Test func `of an older session ends no newer one that is in use`() async throws {
    let world = try await World()
    let browser = DeviceInfo(id: DeviceID("b"), name: "b", platform: "web")
    let older = try await world.registry.beginBrowserSession(by: .password(of: world.ada), on: browser, now: start)
    let newer = try await world.registry.beginBrowserSession(
      by: .password(of: world.ada), on: browser, now: after(.seconds(1)))
    for cookie in [newer.cookie, older.cookie, newer.cookie, older.cookie] {
      #expect(try await world.registry.browserSession(cookie, now: after(.seconds(2))) != nil)
    }
    #expect(try await world.shown() == [older.row.id, newer.row.id])
    // Signing out means the browser, whichever cookie it has.
    let end = try await world.registry.end(
      older.row.id, of: world.ada.id, reason: .signedOut, now: after(.seconds(3)))
    #expect(Set(end.map(\.id)) == [older.row.id, newer.row.id])
  }

  @Test func `of a late session of an app is refused after a newer one was used`() async throws {
    let world = try await World()
    let (older, newer) = (try await world.signIn(), try await world.signIn(now: after(.seconds(1))))
    #expect(try await world.use(newer, now: after(.seconds(2))).map(\.id) == [older.row.id])
    #expect(outline(try await world.refresh(world.token(of: older), key: 1)) == "ended replaced")
    #expect(outline(try await world.refresh(world.token(of: newer), key: 1)) == "issued rotated")
  }

  @Test func `is needed within 10 min to be shown, but not to be refreshed`() async throws {
    let world = try await World()
    let new = try await world.signIn(key: 1)
    let (shown, over) = (after(.milliseconds(599_999)), after(.seconds(600)))
    #expect(try await world.shown(at: shown) == [new.row.id])
    guard case .live = try await world.registry.status(of: new.row.id, account: world.ada.id, now: shown) else {
      throw Wrong()
    }
    #expect(try await world.shown(at: over) == [])
    #expect(try await world.registry.status(of: new.row.id, account: world.ada.id, now: over) == .forgotten)
    #expect(try await world.registry.expire(now: over) == [])
    #expect(
      outline(try await world.refresh(world.token(of: new), key: 2, now: after(.seconds(86_400)))) == "issued rotated")
    #expect(try await world.shown(at: after(.seconds(86_400))) == [new.row.id])
  }

  @Test func `is not needed to be shown if the request had no key`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    #expect(try await world.shown(at: after(.seconds(86_400))) == [new.row.id])
  }

  @Test func `is waited for by three sessions of a device at most`() async throws {
    let world = try await World()
    var all: [NewSession] = []
    for number in 0..<5 { all.append(try await world.signIn(now: after(.seconds(number)))) }
    #expect(try await world.shown(at: after(.seconds(9))) == Set(all.suffix(3).map(\.row.id)))
    #expect(try await world.store.session(all[0].row.id)?.end?.reason == .replaced)
  }

  @Test func `makes room for itself where an account may have few sessions`() async throws {
    let world = try await World(limits: RegistryLimits(maxSessions: 2))
    var all: [NewSession] = []
    for number in 0..<3 {
      let new = try await world.signIn("device \(number)", now: after(.seconds(number)))
      #expect(
        try await world.use(new, now: after(.seconds(number))).map(\.id) == all.prefix(number / 2).map(\.row.id))
      all.append(new)
    }
    #expect(try await world.shown(at: after(.seconds(9))) == Set(all.suffix(2).map(\.row.id)))
  }

  @Test func `of a browser's session of another account ends the one that it leaves, with its clients`() async throws {
    let world = try await World()
    let bob = try await world.registry.openAccount(
      email: EmailAddress("bob@example.org"), username: "Bob", passwordHash: nil, now: start)
    let browser = DeviceInfo(id: DeviceID("b"), name: "b", platform: "web")
    let first = try await world.registry.beginBrowserSession(by: .password(of: world.ada), on: browser, now: start)
    let second = try await world.registry.beginBrowserSession(
      by: .password(of: bob), on: browser, leaving: first.row.id, now: after(.seconds(5)))
    #expect(try await world.registry.browserSession(first.cookie, now: after(.seconds(6))) != nil)
    let user = try #require(try await world.registry.browserSession(second.cookie, now: after(.seconds(7))))
    #expect(user.displaced.map(\.end?.reason) == [.signedOut])
    #expect(try await world.registry.browserSession(first.cookie, now: after(.seconds(8))) == nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A request that begins a session with a key` {
  @Test func `gets the same session again until that is used`() async throws {
    let world = try await World()
    let new = try await world.signIn(key: 1)
    let events = try await world.events()
    let again = try await world.signIn(key: 1, now: after(.seconds(30)))
    #expect(again.row == new.row)
    #expect(again.token == new.token)
    #expect(!new.isRepeated)
    #expect(again.isRepeated)
    #expect(try await world.events() == events)
    _ = try await world.use(new)
    await #expect(throws: RegistryError.keyUsed) { try await world.signIn(key: 1) }
    #expect(outline(try await world.refresh(world.token(of: new), key: 2)) == "issued rotated")
  }

  @Test func `is another one with another key, device or account`() async throws {
    let world = try await World()
    let bob = try await world.registry.openAccount(
      email: EmailAddress("bob@example.org"), username: "Bob", passwordHash: nil, now: start)
    let new = try await world.signIn(key: 1)
    let bobs = try await world.registry.createSession(
      by: .password(of: bob), SessionStart(device: new.row.device, key: rotationKey(1)), now: start)
    let others = [bobs, try await world.signIn(key: 2), try await world.signIn("laptop", key: 1)]
    #expect(Set(others.map(\.row.id) + [new.row.id]).count == 4)
  }

  @Test func `is made once, however often it arrives at once`() async throws {
    let world = try await World()
    let all = try await withThrowingTaskGroup(of: NewSession.self) { group in
      for _ in 0..<8 { group.addTask { try await world.signIn(key: 1) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(all.map(\.row.id)).count == 1)
    #expect(all.count { !$0.isRepeated } == 1)
    #expect(try await world.events().count { $0.kind == .sessionEstablished } == 1)
  }

  @Test func `is recognized after the master key was rotated`() async throws {
    let old = try await World(keys: masterKeys("k1", "k2", current: "k1"))
    let new = try await old.signIn(key: 1)
    let registry = Registry(store: old.store, mint: TokenMint(try masterKeys("k1", "k2", current: "k2")))
    let again = try await registry.createSession(
      by: .password(of: old.ada), SessionStart(device: new.row.device, key: rotationKey(1)), now: start)
    #expect(again.row.id == new.row.id)
  }

  @Test func `is refused after the session has ended`() async throws {
    let world = try await World()
    let new = try await world.signIn(key: 1)
    _ = try await world.registry.end(new.row.id, of: world.ada.id, now: start)
    await #expect(throws: RegistryError.keyUsed) { try await world.signIn(key: 1) }
  }

  @Test func `creates one guest, and one account`() async throws {
    let world = try await World()
    let device = DeviceInfo(id: DeviceID("phone"), name: "phone", platform: "linux")
    let guests = try await [
      world.registry.signUp(
        email: nil, username: "", passwordHash: nil, SessionStart(device: device, key: rotationKey(1)), now: start),
      world.registry.signUp(
        email: nil, username: "", passwordHash: nil, SessionStart(device: device, key: rotationKey(1)),
        now: after(.seconds(9))),
    ]
    #expect(guests[0].account.id == guests[1].account.id)
    #expect(guests[0].row == guests[1].row)
    let email = try #require(EmailAddress("eve@example.org"))
    let new = try await world.registry.signUp(
      email: email, username: "Eve", passwordHash: Secret("h"), SessionStart(device: device, key: rotationKey(2)),
      now: start)
    await #expect(throws: RegistryError.emailTaken) {
      try await world.registry.signUp(
        email: email, username: "Eve", passwordHash: Secret("h"), SessionStart(device: device, key: rotationKey(2)),
        now: start)
    }
    let again = try await world.registry.repeatedSignUp(
      email: email, SessionStart(device: device, key: rotationKey(2)), now: start)
    #expect(again?.row == new.row)
    #expect(
      try await world.registry.repeatedSignUp(
        email: email, SessionStart(device: device, key: rotationKey(3)), now: start) == nil)
  }
}

private struct Wrong: Error {}
