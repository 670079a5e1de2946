import HandstampCore
import HandstampRegistry

extension RegistryStoreCheck {
  private typealias Samples = RegistrySamples

  func nothingIsThere() async throws {
    let (store, other) = try await pair()
    let session = try await store.session(Samples.session(1).id)
    try expect(session == nil, "a new store has no session", found: session as Any)
    for id in ["", "not an id", "'; --", String(repeating: "A", count: 10_000), "a\0b"] {
      let session = try await store.session(SessionID(id))
      try expect(session == nil, "an unknown ID names no session", found: session as Any)
      let account = try await store.account(AccountID(id))
      try expect(account == nil, "an unknown ID names no account", found: account as Any)
    }
    let account = try await other.account(email: "ada@example.org")
    try expect(account == nil, "a new store has no account", found: account as Any)
    let rows = try await store.sessions(of: Samples.ada)
    try expect(rows.isEmpty, "a new store lists no sessions", found: rows)
    let overdue = try await store.expired(at: UnixTime(milliseconds: .max), limit: 10)
    try expect(overdue.isEmpty, "a new store has no overdue sessions", found: overdue)
    let last = try await store.lastEventID()
    let events = try await store.events(after: .zero, account: nil, limit: 10)
    try expect(last == .zero && events.isEmpty, "a new store has no events", found: (last, events))
    try await expect(
      .notFound, "a session needs its account", from: store, writing: [.createSession(Samples.session(1))])
    try await expect(
      .notFound, "a missing row is not replaced", from: store,
      writing: [.replaceSession(Samples.session(1), expecting: 0)])
    try await expect(
      .notFound, "a missing row is not replaced", from: store,
      writing: [.replaceAccount(Samples.account(Samples.ada), expecting: 0)])
  }

  func everyFieldOfASessionComesBack() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let promise = "a session is read back as stored"
    for row in Samples.oddSessions {
      try await store.write([.createSession(row)], events: [])
      let seen = try await other.session(row.id)
      try expect(seen == row, promise, found: seen as Any)
    }
    for row in Samples.oddSessions {
      let seen = try await other.session(row.id)
      try expect(seen == row, promise, found: seen as Any)
      var next = row
      next.counter += 2
      if row.kind == .plain { next.kind = .keyed }
      next.ring = Samples.ring(.keyed(KeyMark(rawValue: 7)), .unknown)
      next.rotatedAt = row.rotatedAt.advanced(by: .seconds(1))
      next.lastSeenAt = row.rotatedAt.advanced(by: .seconds(2))
      next.end = SessionEnd(at: row.rotatedAt.advanced(by: .seconds(3)), reason: .tokenReuseDetected)
      next.absoluteExpiry = row.absoluteExpiry == nil ? Samples.start : nil
      next.idleLimit = row.idleLimit == nil ? .seconds(5) : nil
      next.dpopThumbprint = row.dpopThumbprint == nil ? "thumb" : nil
      next.pushToken = row.pushToken == nil ? Secret("push") : nil
      next.methods = row.methods.all.isEmpty ? .passwordAndCode : []
      next.cookies = nil
      next.revision = 1
      try await other.write([.replaceSession(next, expecting: 0)], events: [])
      let replaced = try await store.session(row.id)
      try expect(replaced == next, "a replaced session is read back as stored", found: replaced as Any)
    }
    // Sessions that change field by field: a store may have a shortcut for frequent changes.
    let steps: [(inout SessionRow) -> Void] = [
      { $0.pushToken = Secret("push") }, { $0.counter += 1 }, { $0.pushToken = nil },
      { ($0.methods, $0.authenticatedAt) = (.passwordAndCode, $0.authenticatedAt.advanced(by: .seconds(1))) },
      { $0.methods.asked = .multiFactor },
      { $0.device = DeviceInfo(id: $0.device.id, name: "Zoë’s", platform: "ios") },
      { $0.pending = PendingSession(canBeForgotten: true, replaces: [Samples.session(1).id]) }, { $0.counter += 1 },
      { if $0.kind == .browser { $0.cookies = CookieRange(oldest: 0, provenAt: Samples.start) } },
      { $0.cookies?.isReplaced = true }, { $0.counter += 1 }, { $0.cookies = nil }, { $0.pending = nil },
    ]
    for (number, kind) in [(90, SessionKind.keyed), (91, .browser)] {
      var row = Samples.session(UInt8(number))
      row.kind = kind
      try await store.write([.createSession(row)], events: [])
      for step in steps {
        step(&row)
        try await store.write([.replaceSession(row, expecting: row.revision)], events: [])
        row.revision += 1
        let seen = try await other.session(row.id)
        try expect(seen == row, "a replaced session is read back as stored", found: seen as Any)
      }
    }
  }

  func everyFieldOfAnAccountComesBack() async throws {
    let (store, other) = try await pair()
    let full = AccountRecord(
      id: AccountID("'; DROP TABLE account; --"), email: EmailAddress(" Zoë.O'Brien@Example.ORG "),
      username: "Zoë \"📱\"",
      passwordHash: Secret("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA"), createdAt: Samples.start,
      credentialsChangedAt: UnixTime(milliseconds: 2), closedAt: UnixTime(milliseconds: -1),
      emailConfirmedAt: UnixTime(milliseconds: 1), locale: LanguageTag(rawValue: "pt-BR"))
    for property in Mirror(reflecting: full).children where property.label != "identity" {
      try expect("\(property.value)" != "nil", "this account has every property", found: property.label as Any)
    }
    let apple = AccountRecord(
      id: AccountID("apple"), email: nil, identity: ExternalIdentity(issuer: "https://a.example", subject: "00'1:Ä"),
      username: "Zoë", passwordHash: nil, createdAt: Samples.start)
    let bare = AccountRecord(
      id: AccountID("guest"), email: nil, username: "", passwordHash: nil, createdAt: UnixTime(milliseconds: 0))
    let second = AccountRecord(
      id: AccountID("guest 2"), email: nil, username: "", passwordHash: nil, createdAt: Samples.start)
    for record in [full, bare, second, apple] {
      try await store.write([.createAccount(record)], events: [])
      let seen = try await other.account(record.id)
      try expect(seen == record, "an account is read back as stored", found: seen as Any)
    }
    let known = try await other.account(identity: ExternalIdentity(issuer: "https://a.example", subject: "00'1:Ä"))
    try expect(known == apple, "an account is found by its identity", found: known as Any)
    for (issuer, subject) in [("https://a.example0", "0'1:Ä"), ("https://a.example", "00'1:ä"), ("", "")] {
      let found = try await other.account(identity: ExternalIdentity(issuer: issuer, subject: subject))
      try expect(found == nil, "an account is not found by another identity", found: found as Any)
    }
    let found = try await other.account(email: "zoë.o'brien@example.org")
    try expect(found == full, "an account is found by the normal form of its address", found: found as Any)
    for address in ["Zoë.O'Brien@Example.ORG", "%", "", "zoë.o'brien@example.or"] {
      let found = try await other.account(email: address)
      try expect(found == nil, "an account is not found by another address", found: found as Any)
    }
  }

  func nothingIsCreatedTwice() async throws {
    let (store, other) = try await pair(with: Samples.ada, Samples.bob)
    let row = Samples.session(1)
    try await store.write([.createSession(row)], events: [])
    let promise = "creating never overwrites an existing ID"
    for rival in [row, Samples.session(1, of: Samples.bob, device: "other")] {
      try await expect(.alreadyExists, promise, from: other, writing: [.createSession(rival)])
      let seen = try await store.session(row.id)
      try expect(seen == row, promise, found: seen as Any)
    }
    var ended = row
    ended.end = SessionEnd(at: Samples.start, reason: .signedOut)
    try await store.write([.replaceSession(ended, expecting: 0)], events: [])
    try await expect(
      .alreadyExists, "an ended session cannot be created again", from: other, writing: [.createSession(row)])
    try await expect(
      .alreadyExists, promise, from: other,
      writing: [.createAccount(Samples.account(Samples.ada, email: "else@example.org"))])
    let account = try await store.account(Samples.ada)
    try expect(account == Samples.account(Samples.ada), promise, found: account as Any)
  }

  func aDeviceHasOneSessionOfAnAccount() async throws {
    let (store, other) = try await pair(with: Samples.ada, Samples.bob)
    var first = Samples.session(1, device: "phone")
    try await store.write([.createSession(first)], events: [])
    let second = Samples.session(2, device: "phone")
    try await expect(
      .alreadyExists, "a device has one session per account at a time", from: other, writing: [.createSession(second)])
    try await other.write([.createSession(Samples.session(3, of: Samples.bob, device: "phone"))], events: [])
    try await other.write([.createSession(Samples.session(4, device: "laptop"))], events: [])
    first.end = SessionEnd(at: Samples.start, reason: .replaced)
    try await other.write([.replaceSession(first, expecting: 0), .createSession(second)], events: [])
    let rows = try await store.sessions(of: Samples.ada).map(\.session)
    try expect(
      Set(rows) == [Samples.bytes(2), Samples.bytes(4)], "one write can end a session and create its successor",
      found: rows)
    first.end = nil
    try await expect(
      .alreadyExists, "an ended session cannot be restored beside its successor", from: store,
      writing: [.replaceSession(first, expecting: 1)])
  }

  func pendingSessionsExcludeNone() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let used = Samples.session(1, device: "phone")
    var (one, two) = (Samples.session(2, device: "phone"), Samples.session(3, device: "phone"))
    one.pending = PendingSession(canBeForgotten: true)
    two.pending = PendingSession(canBeForgotten: false, replaces: [used.id, one.id])
    try await store.write([.createSession(used), .createSession(one)], events: [])
    try await other.write([.createSession(two)], events: [])
    let rows = try await store.sessions(of: Samples.ada)
    try expect(
      Set(rows) == [used, one, two], "a device has any number of sessions that wait for their first use", found: rows)
    one.pending = nil
    try await expect(
      .alreadyExists, "of the sessions that a device uses, an account has one", from: store,
      writing: [.replaceSession(one, expecting: 0)])
    try await store.write(
      [.endSession(used.id, SessionEnd(at: Samples.start, reason: .replaced)), .replaceSession(one, expecting: 0)],
      events: [])
    one.revision = 1
    let settled = try await other.session(one.id)
    try expect(settled == one, "the first use of a session is stored", found: settled as Any)
  }

  func staleWritersChangeNothing() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    var row = Samples.session(1)
    row.revision = 41
    try await store.write([.createSession(row)], events: [])
    let created = try await other.session(row.id)
    try expect(created?.revision == 0, "the first revision is 0, regardless of the row", found: created as Any)
    row.counter = 1
    try await other.write([.replaceSession(row, expecting: 0)], events: [])
    let replaced = try await store.session(row.id)
    try expect(replaced?.revision == 1, "each write increments the revision", found: replaced as Any)
    for expecting in [0, 2, -1, Int64.max] {
      var late = row
      late.counter = 9
      try await expect(
        .conflict, "a writer that expects another revision changes nothing", from: store,
        writing: [.replaceSession(late, expecting: expecting)])
    }
    let kept = try await other.session(row.id)
    try expect(kept == replaced, "a writer that expects another revision changes nothing", found: kept as Any)
  }

  func anEndNeedsNoRevision() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    var row = Samples.session(1)
    row.pushToken = Secret("push")
    try await store.write([.createSession(row)], events: [])
    row.counter = 1
    try await other.write([.replaceSession(row, expecting: 0)], events: [])
    let end = SessionEnd(at: row.createdAt.advanced(by: .seconds(9)), reason: .revoked)
    try await store.write([.endSession(row.id, end)], events: [Samples.event(1)])
    let events = try await store.events(after: .zero, account: nil, limit: 10)
    try expect(events.count == 1, "an end stores its events", found: events)
    row.end = end
    row.pushToken = nil
    row.revision = 2
    let seen = try await other.session(row.id)
    try expect(seen == row, "a session ends regardless of its revision", found: seen as Any)
    let live = try await other.sessions(of: Samples.ada)
    try expect(live.isEmpty, "an ended session is not listed", found: live)
    for late in [end, SessionEnd(at: Samples.start, reason: .tokenReuseDetected)] {
      try await expect(.conflict, "a session ends once", from: other, writing: [.endSession(row.id, late)])
    }
    for id in [Samples.session(2).id, SessionID("not an id")] {
      try await expect(.notFound, "a missing session cannot be ended", from: store, writing: [.endSession(id, end)])
    }
    try await expect(
      .conflict, "a write with an end is atomic", from: store,
      writing: [
        .createSession(Samples.session(3)), .endSession(Samples.session(3).id, end),
        .endSession(Samples.session(3).id, end),
      ])
    let kept = try await other.session(row.id)
    let created = try await other.session(Samples.session(3).id)
    try expect(
      kept == row && created == nil, "a write with an end is atomic", found: (kept, created))
  }
}
