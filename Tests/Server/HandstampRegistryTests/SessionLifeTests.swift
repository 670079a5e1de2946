import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A registry sign-in` {
  @Test func `creates a row, a token, a handle and an event`() async throws {
    let world = try await World(limits: RegistryLimits(absoluteLimit: .seconds(1000), idleLimit: .seconds(100)))
    let new = try await world.signIn()
    #expect(try await world.store.session(new.row.id) == new.row)
    #expect(new.row.counter == 0)
    #expect(new.row.absoluteExpiry == after(.seconds(1000)))
    #expect(new.row.idleExpiry == after(.seconds(100)))
    let established = RegistryEvent(
      kind: .sessionEstablished, account: world.ada.id, session: new.row.id, at: start)
    #expect(try await world.events() == [established])
    #expect(outline(try await world.refresh(world.token(of: new), key: 1)) == "issued rotated")
  }

  @Test func `again from one device ends only the previous session`() async throws {
    let world = try await World()
    let bob = try await world.registry.openAccount(
      email: EmailAddress("bob@example.org"), username: "Bob", passwordHash: nil, now: start)
    let (first, laptop) = (try await world.signIn("phone"), try await world.signIn("laptop"))
    let bobs = try await world.signIn("phone", bob)
    let before = try await world.store.lastEventID()
    let second = try await world.signIn("phone", now: after(.seconds(9)))
    #expect(try await world.events(after: before).map(\.kind) == [.sessionEstablished])
    for lasting in [first, laptop, bobs, second] {
      #expect(outline(try await world.refresh(world.token(of: lasting), key: 1)) == "issued rotated")
    }
    // From the first use of the second on.
    #expect(outline(try await world.refresh(world.token(of: first), key: 1)) == "ended replaced")
  }

  @Test func `concurrently from one device leaves one session, once one more is used`() async throws {
    let world = try await World()
    let all = try await withThrowingTaskGroup(of: NewSession.self) { group in
      for _ in 0..<8 { group.addTask { try await world.signIn() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(all.map(\.row.id)).count == 8)
    let last = try await world.signIn(now: after(.seconds(1)))
    try await world.registry.recordFirstUse(of: last.row, now: after(.seconds(1)))
    #expect(try await world.registry.sessions(of: world.ada.id, now: after(.seconds(1))).map(\.id) == [last.row.id])
    let kinds = try await world.events().map(\.kind)
    #expect(kinds.count { $0 == .sessionEstablished } == 9)
    #expect(kinds.count { $0 == .sessionRevoked } == 8)
  }

  @Test func `fails if the password changed since it was checked`() async throws {
    let world = try await World()
    let kept = try await world.signIn("laptop")
    let other = try await world.signIn("tablet")
    let before = try await world.store.lastEventID()
    let outcome = try await world.registry.setPassword(
      of: world.ada, hash: Secret("$new"), keeping: kept.row.id, now: after(.seconds(1)))
    #expect(outcome.map(\.id) == [other.row.id])
    #expect(try await world.events(after: before).map(\.kind) == [.credentialChange, .sessionRevoked])
    await #expect(throws: RegistryError.accountChanged) { try await world.signIn("phone") }
    await #expect(throws: RegistryError.accountChanged) {
      try await world.registry.setPassword(of: world.ada, hash: Secret("$late"), keeping: nil, now: start)
    }
    let record = try #require(try await world.registry.account(world.ada.id))
    #expect(record.passwordHash == Secret("$new"))
    _ = try await world.signIn("phone", record)
    #expect(try await world.registry.isLive(kept.row.id, now: start))
  }

  @Test func `fails if the account is closed, and closing ends all sessions`() async throws {
    let world = try await World()
    let (phone, laptop) = (try await world.signIn("phone"), try await world.signIn("laptop"))
    let before = try await world.store.lastEventID()
    let outcome = try await world.registry.closeAccount(world.ada, now: after(.seconds(1)))
    #expect(Set(outcome.map(\.id)) == [phone.row.id, laptop.row.id])
    let kinds = try await world.events(after: before).map(\.kind)
    #expect(kinds == [.accountDisabled, .sessionRevoked, .sessionRevoked])
    #expect(outline(try await world.refresh(world.token(of: phone), key: 1)) == "ended accountClosed")
    await #expect(throws: RegistryError.accountClosed) { try await world.signIn() }
    let record = try #require(try await world.registry.account(world.ada.id))
    await #expect(throws: RegistryError.accountClosed) { try await world.signIn("phone", record) }
    #expect(record.closedAt == after(.seconds(1)))
  }

  @Test func `to an unknown account fails`() async throws {
    let world = try await World()
    let unknown = AccountRecord(id: AccountID("x"), email: nil, username: "", passwordHash: nil, createdAt: start)
    await #expect(throws: RegistryError.notFound) { try await world.signIn("phone", unknown) }
  }

  @Test func `finds accounts by address, ignoring case, and keeps addresses unique`() async throws {
    let world = try await World()
    let typed = try #require(EmailAddress("  ADA@Example.org "))
    #expect(try await world.registry.account(email: typed) == world.ada)
    await #expect(throws: RegistryError.emailTaken) {
      try await world.registry.openAccount(email: typed, username: "A", passwordHash: nil, now: start)
    }
    var renamed = world.ada
    renamed.username = "Countess"
    let stored = try await world.registry.update(renamed)
    #expect(try await world.registry.account(world.ada.id) == stored)
    await #expect(throws: RegistryError.accountChanged) { try await world.registry.update(renamed) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A registry ending sessions` {
  @Test func `accepts any genuine token of the session, or its handle, once`() async throws {
    for use in 0..<3 {
      let world = try await World()
      let new = try await world.signIn()
      let other = try await world.signIn("laptop")
      var last = world.token(of: new)
      for number in 1...40 as ClosedRange<UInt64> { last = try await world.successor(of: last, key: number) }
      let presented = [world.token(of: new).secret, last.secret, world.handle(of: new).secret][use]
      let before = try await world.store.lastEventID()
      let outcome = try await world.registry.revoke(presented, now: after(.seconds(1)))
      #expect(outcome.map(\.end) == [SessionEnd(at: after(.seconds(1)), reason: .signedOut)])
      #expect(try await world.events(after: before).map(\.reason) == [.signedOut])
      let again = try await world.registry.revoke(presented, reason: .tokenReuseDetected, now: after(.seconds(2)))
      #expect(again.isEmpty)
      #expect(try await world.events(after: before).count == 1)
      #expect(outline(try await world.refresh(last, key: 99)) == "ended signedOut")
      #expect(outline(try await world.refresh(world.token(of: other), key: 1)) == "issued rotated")
    }
  }

  @Test func `accepts a handle only for ending the session`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    let refreshed = try await world.registry.refresh(
      RefreshToken(world.handle(of: new).secret), key: key(1), now: start)
    #expect(refreshed == .forged)
    #expect(try await world.store.session(new.row.id) == new.row)
  }

  @Test func `reveals nothing about other accounts' sessions`() async throws {
    let world = try await World()
    let bob = try await world.registry.openAccount(
      email: EmailAddress("bob@example.org"), username: "Bob", passwordHash: nil, now: start)
    let adas = try await world.signIn()
    await #expect(throws: RegistryError.notFound) { try await world.registry.end(adas.row.id, of: bob.id, now: start) }
    await #expect(throws: RegistryError.notFound) {
      try await world.registry.end(SessionID("none"), of: bob.id, now: start)
    }
    #expect(try await world.registry.endAll(of: bob.id, now: start).isEmpty)
    #expect(try await world.registry.sessions(of: bob.id, now: start).isEmpty)
    #expect(try await world.registry.isLive(adas.row.id, now: start))
    let outcome = try await world.registry.end(adas.row.id, of: world.ada.id, now: start)
    #expect(outcome.map(\.end?.reason) == [.revoked])
    #expect(try await world.registry.end(adas.row.id, of: world.ada.id, now: start).isEmpty)
  }

  @Test func `ends the other sessions or all of them, in one write`() async throws {
    let world = try await World()
    var sessions: [NewSession] = []
    for device in ["a", "b", "c"] { sessions.append(try await world.signIn(device)) }
    let others = try await world.registry.endAll(of: world.ada.id, except: sessions[1].row.id, now: start)
    #expect(Set(others.map(\.id)) == [sessions[0].row.id, sessions[2].row.id])
    #expect(try await world.registry.sessions(of: world.ada.id, now: start) == [sessions[1].row])
    let all = try await world.registry.endAll(of: world.ada.id, reason: .tokenReuseDetected, now: start)
    #expect(all.map(\.end?.reason) == [.tokenReuseDetected])
    #expect(try await world.registry.sessions(of: world.ada.id, now: start).isEmpty)
  }

  @Test(arguments: ["end", "end all", "revoke", "reset", "theft", "sign in"])
  func `ends a session that another writer keeps changing`(way: String) async throws {
    let store = FailingStore()
    let world = try await World(store: store)
    let new = try await world.signIn("phone")
    let next = try await world.successor(of: world.token(of: new), key: 1)
    _ = try await world.successor(of: next, key: 2)
    let token = try await world.registry.issueResetCode(of: world.ada, now: start)
    store.disturb(new.row.id)
    let reason: EndReason
    switch way {
    case "end":
      _ = try await world.registry.end(new.row.id, of: world.ada.id, now: start)
      reason = .revoked
    case "end all":
      _ = try await world.registry.endAll(of: world.ada.id, now: start)
      reason = .revoked
    case "revoke":
      _ = try await world.registry.revoke(next.secret, now: start)
      reason = .signedOut
    case "reset":
      _ = try await world.registry.resetPassword(with: token, hash: Secret("$"), now: start)
      reason = .revoked
    case "theft":
      #expect(outline(try await world.refresh(next, key: 9)).hasPrefix("theft"))
      reason = .tokenReuseDetected
    default:
      try await world.registry.recordFirstUse(of: try await world.signIn("phone").row, now: start)
      reason = .replaced
    }
    #expect(try await store.session(new.row.id)?.end == SessionEnd(at: start, reason: reason))
    let told = try await world.events().filter { $0.session == new.row.id && $0.kind == .sessionRevoked }
    #expect(told.map(\.reason) == [reason])
  }

  @Test func `during refreshes ends the right sessions`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var token = world.token(of: new)
        for number in 1... as PartialRangeFrom<UInt64> where !Task.isCancelled {
          guard case .issued(let issue) = try await world.refresh(token, key: number) else { return }
          token = world.registry.mint.refreshToken(issue.token)
        }
      }
      group.addTask { _ = try await world.registry.endAll(of: world.ada.id, now: start) }
      try await group.waitForAll()
    }
    #expect(try await !world.registry.isLive(new.row.id, now: start))
    #expect(try await world.events().map(\.kind) == [.sessionEstablished, .sessionRevoked])
  }

  @Test func `ends a session by age or idleness, and reports it once`() async throws {
    let world = try await World(limits: RegistryLimits(absoluteLimit: .seconds(1000), idleLimit: .seconds(300)))
    let (idle, used) = (try await world.signIn("idle"), try await world.signIn("used"))
    #expect(try await world.registry.touch(used.row, now: after(.seconds(250))))
    #expect(try await world.registry.expire(now: after(.milliseconds(299_999))).isEmpty)
    #expect(try await world.registry.isLive(idle.row.id, now: after(.milliseconds(299_999))))
    #expect(try await !world.registry.isLive(idle.row.id, now: after(.seconds(300))))
    #expect(outline(try await world.refresh(world.token(of: idle), key: 1, now: after(.seconds(300)))) == "ended idle")
    let before = try await world.store.lastEventID()
    let first = try await world.registry.expire(now: after(.seconds(301)))
    #expect(first.map(\.id) == [idle.row.id])
    #expect(try await world.events(after: before).map(\.reason) == [.idle])
    #expect(try await world.registry.expire(now: after(.seconds(301))).isEmpty)
    var token = world.token(of: used)
    for number in 2...4 as ClosedRange<UInt64> {
      token = try await world.successor(of: token, key: number, now: after(.seconds(Int64(number) * 240)))
    }
    #expect(outline(try await world.refresh(token, key: 9, now: after(.seconds(1000)))) == "ended expired")
    let second = try await world.registry.expire(now: after(.seconds(1000)))
    #expect(second.map(\.end?.reason) == [.expired])
  }

  @Test func `records use of a session at most once a minute`() async throws {
    let world = try await World()
    let new = try await world.signIn()
    #expect(try await !world.registry.touch(new.row, now: after(.milliseconds(59_999))))
    #expect(try await world.registry.touch(new.row, now: after(.seconds(60))))
    let seen = try #require(try await world.registry.session(new.row.id, now: after(.seconds(60))))
    #expect(seen.lastSeenAt == after(.seconds(60)))
    #expect(try await !world.registry.touch(new.row, now: after(.seconds(61))))
    #expect(try await !world.registry.touch(seen, now: after(.seconds(1))))
    #expect(RegistryLimits().touchInterval(idleLimit: .seconds(8)) == .seconds(2))
    _ = try await world.registry.revoke(world.token(of: new).secret, now: after(.seconds(61)))
    #expect(try await !world.registry.touch(seen, now: after(.seconds(200))))
  }

  @Test func `lists live sessions, most recently seen first`() async throws {
    let world = try await World(limits: RegistryLimits(idleLimit: .seconds(100)))
    let (a, b) = (try await world.signIn("a"), try await world.signIn("b", now: after(.seconds(10))))
    _ = try await world.successor(of: world.token(of: a), key: 1, now: after(.seconds(20)))
    let ids = try await world.registry.sessions(of: world.ada.id, now: after(.seconds(30))).map(\.id)
    #expect(ids == [a.row.id, b.row.id])
    #expect(try await world.registry.sessions(of: world.ada.id, now: after(.seconds(110))).map(\.id) == [a.row.id])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `User input` {
  @Test(arguments: [
    "", "a", "@", "a@", "@b", "ada", "a b@c",
    "ada@exam ple.org", "ada@exa\nmple", "a\0@b.c",
    "a\u{200B}da@example.org", "ada@exa\u{AD}mple.org", "ad\u{2060}a@example.org", "a\u{3164}@example.org",
    "a\u{FE0F}b@c.d",
    String(repeating: "a", count: 250) + "@b.de",
  ])
  func `is rejected as an email address`(text: String) { #expect(EmailAddress(text) == nil) }

  @Test(arguments: [
    ("a@b", "a@b"), (" Ada@Example.ORG\n", "ada@example.org"), ("\"a@b\"@c.d", "\"a@b\"@c.d"), ("ÀB@c.d", "àb@c.d"),
    ("\u{FEFF}ada@c.d\u{200B}", "ada@c.d"), ("\"Ada\"@c.d", "ada@c.d"), ("\"a\\da.b\"@c.d", "ada.b@c.d"),
    ("\"a\\@b\\\"\"@c.d", "\"a@b\\\"\"@c.d"), ("\"a..b\"@c.d", "\"a..b\"@c.d"), ("\"\"@c.d", "\"\"@c.d"),
    ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"), ("ada@XN--bcher-KVA.example", "ada@xn--bcher-kva.example"),
    ("ada@例え。テスト", "ada@xn--r8jz45g.xn--zckzah"),
  ])
  func `is accepted as an email address`(text: String, normal: String) {
    #expect(EmailAddress(text)?.normalized == normal)
    #expect(EmailAddress(normal)?.normalized == normal, "the key has its own form")
  }

  @Test func `cannot inject terminal control codes as a device name`() {
    let device = DeviceInfo(
      id: DeviceID("a\0b"), name: "\u{1B}[31mred\u{202E}\u{7}👩‍👩‍👧 Zoë\r\n", platform: String(repeating: "é", count: 500))
    #expect(device.id == DeviceID("ab"))
    #expect(device.name == "[31mred👩‍👩‍👧 Zoë")
    #expect(device.platform == String(repeating: "é", count: 100))
    #expect(DeviceInfo(id: DeviceID("d"), name: " \u{3164}", platform: "ios").name == "ios")
    #expect(DeviceInfo(id: DeviceID("d"), name: "", platform: "ios").name == "")
  }
}
