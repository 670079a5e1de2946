import HandstampCore
import HandstampRegistry

extension RegistryStoreCheck {
  private typealias Samples = RegistrySamples

  func identitiesAreTakenOnce() async throws {
    let (store, other) = try await pair()
    let identity = ExternalIdentity(issuer: "https://a.example", subject: "1")
    func record(_ id: String) -> AccountRecord {
      AccountRecord(
        id: AccountID(id), email: nil, identity: identity, username: id, passwordHash: nil, createdAt: Samples.start)
    }
    var first = record("first")
    _ = try await store.write([.createAccount(first)], events: [])
    try await expect(
      .exists, "an identity belongs to one account", from: other, writing: [.createAccount(record("second"))])
    try await expect(
      .missing, "a write that fails gives an identity back", from: other,
      writing: [
        .replaceAccount(AccountRecord(husk: first), expecting: 0), .createAccount(record("second")),
        .useTicket(Samples.ticket(1).id),
      ])
    let kept = try await store.account(identity: identity)
    try expect(kept == first, "a write that fails gives an identity back", found: kept as Any)
    first = AccountRecord(husk: first)
    _ = try await store.write([.replaceAccount(first, expecting: 0), .createAccount(record("second"))], events: [])
    let found = try await other.account(identity: identity)
    try expect(found?.id == AccountID("second"), "an identity that was given up is free", found: found as Any)
  }

  func everyFieldOfATicketComesBack() async throws {
    let (store, other) = try await pair()
    for (number, purpose) in Ticket.Purpose.allCases.enumerated() {
      let bare = Samples.ticket(number, purpose, subject: "")
      let full = Ticket(
        id: TicketID(of: Secret("full \(number)"), purpose: purpose), purpose: purpose, subject: "'; DROP TABLE ticket",
        account: AccountID("ada"), email: EmailAddress(" Zoë.O'Brien@Example.ORG "), username: "Zoë \"📱\"",
        passwordHash: Secret("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA"), payload: #"{"a":"'; -- 📱"}"#,
        createdAt: UnixTime(milliseconds: -1),
        expiresAt: UnixTime(milliseconds: .max))
      for ticket in [bare, full] {
        _ = try await store.write([.createTicket(ticket)], events: [])
        let seen = try await other.ticket(ticket.id)
        try expect(seen == ticket, "a ticket comes back as it was stored", found: seen as Any)
      }
    }
  }

  func ticketsAreUsedOnce() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let ticket = Samples.ticket(1)
    let none = try await store.ticket(ticket.id)
    try expect(none == nil, "a new store has no ticket", found: none as Any)
    _ = try await store.write([.createTicket(ticket)], events: [])
    try await expect(.exists, "a ticket is created once", from: other, writing: [.createTicket(ticket)])
    try await expect(
      .changed, "a write that fails uses no ticket", from: other,
      writing: [.useTicket(ticket.id), .expectAccount(Samples.ada, revision: 7)])
    let kept = try await store.ticket(ticket.id)
    try expect(kept == ticket, "a write that fails uses no ticket", found: kept as Any)
    let uses = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<16 {
        group.addTask {
          do throws(RegistryStoreError) {
            _ = try await (number % 2 == 0 ? store : other).write(
              [.useTicket(ticket.id)], events: [Samples.event(number)])
            return 1
          } catch {
            guard error == .missing else { throw error }
            return 0
          }
        }
      }
      return try await group.reduce(0, +)
    }
    try expect(uses == 1, "of many who use a ticket one does", found: uses)
    let events = try await store.events(after: .zero, account: nil, limit: 100)
    try expect(events.count == 1, "who does not use the ticket writes nothing", found: events)
    let (ada, bob) = (Samples.ticket(2), Samples.ticket(3, subject: "bob"))
    let other2 = Samples.ticket(4, .upgrade)
    _ = try await store.write([ada, bob, other2, Samples.ticket(5)].map { .createTicket($0) }, events: [])
    _ = try await store.write([.voidTickets(.passwordReset, subject: "ada")], events: [])
    _ = try await store.write([.voidTickets(.passwordReset, subject: "nobody")], events: [])
    for (ticket, isThere) in [(ada, false), (bob, true), (other2, true), (Samples.ticket(5), false)] {
      let seen = try await other.ticket(ticket.id)
      try expect((seen != nil) == isThere, "all tickets of one purpose and subject are void", found: seen as Any)
    }
  }

  func onlyWhatIsOverIsForgotten() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let start = Samples.start
    func at(_ seconds: Int64) -> UnixTime { start.advanced(by: .seconds(seconds)) }
    // Number, end, absolute limit, whether it may go at 100 when what ended before 50 may.
    let rows: [(UInt8, Int64?, Int64?, Bool)] = [
      (1, nil, 10, false), (2, 49, 100, true), (3, 50, 60, false), (4, 49, 101, false), (5, 20, nil, true),
      (6, 21, nil, false), (7, nil, nil, false), (8, 10, 11, true),
    ]
    for (number, end, limit, _) in rows {
      var row = Samples.session(number)
      row.absoluteExpiry = limit.map(at)
      row.end = end.map { SessionEnd(at: at($0), reason: .revoked) }
      _ = try await store.write([.createSession(row)], events: [])
    }
    for seconds in [10, 49, 50, 90] as [Int64] {
      let event = RegistryEvent(kind: .sessionEstablished, account: Samples.ada, at: at(seconds))
      _ = try await store.write([], events: [event])
      _ = try await store.write([.createTicket(Samples.ticket(Int(seconds), lasting: .seconds(seconds)))], events: [])
    }
    let last = try await store.lastEventID()
    let retention = Retention(eventsBefore: at(50), endedBefore: at(50), unlimited: .seconds(80), now: at(100))
    let none = try await store.prune(retention, limit: 0)
    try expect(none == 0, "a limit of zero forgets nothing", found: none)
    var counts: [Int] = []
    while case let count = try await other.prune(retention, limit: 1), count > 0 { counts.append(count) }
    try expect(counts == [3, 3, 2, 1], "at most as many of each kind as asked go at once", found: counts)
    for (number, _, _, goes) in rows {
      let row = try await store.session(Samples.session(number).id)
      try expect((row == nil) == goes, "only sessions that are over go: \(number)", found: row as Any)
    }
    let events = try await store.events(after: .zero, account: nil, limit: 10)
    try expect(events.map(\.event.at) == [at(50), at(90)], "only old events go", found: events)
    let after = try await other.events(after: events[0].id, account: Samples.ada, limit: 10)
    try expect(after == [events[1]], "events keep their place when older ones went", found: after)
    let next = try await store.write([], events: [Samples.event(1)])
    try expect(next[0].id > last, "no id of an event is given twice", found: next)
    let newest = try await other.lastEventID()
    try expect(newest == next[0].id, "the last id is the newest event's", found: newest)
    let gone = try await store.ticket(Samples.ticket(10).id)
    try expect(gone == nil, "tickets that are over go", found: gone as Any)
  }
}

extension AccountRecord {
  /// What is left of an account that was deleted.
  fileprivate init(husk record: AccountRecord) {
    self.init(
      id: record.id, email: nil, username: "", passwordHash: nil, createdAt: record.createdAt,
      closedAt: record.createdAt)
  }
}
