import HandstampCore
import HandstampRegistry

extension RegistryStoreCheck {
  private typealias Samples = RegistrySamples

  func addressesAreTakenOnce() async throws {
    let (store, other) = try await pair(with: Samples.ada, Samples.bob)
    let carol = AccountID("carol")
    try await expect(
      .alreadyExists, "an address belongs to one account", from: other,
      writing: [.createAccount(Samples.account(carol, email: "ADA@example.org"))])
    let none = try await store.account(carol)
    try expect(none == nil, "a refused account is not stored", found: none as Any)
    var bob = Samples.account(Samples.bob)
    bob.email = EmailAddress("ada@example.org")
    try await expect(
      .alreadyExists, "an address belongs to one account, even after a change", from: other,
      writing: [.replaceAccount(bob, expecting: 0)])
    bob.email = EmailAddress("Robert@example.org")
    bob.passwordHash = Secret("another")
    try await other.write([.replaceAccount(bob, expecting: 0)], events: [])
    bob.revision = 1
    let seen = try await store.account(email: "robert@example.org")
    try expect(seen == bob, "an account is found by its new address", found: seen as Any)
    let old = try await store.account(email: "bob@example.org")
    try expect(old == nil, "an account is not found by its old address", found: old as Any)
    try await store.write([.createAccount(Samples.account(carol, email: "bob@example.org"))], events: [])
    try await expect(
      .conflict, "a writer that expects another revision of an account changes nothing", from: store,
      writing: [.replaceAccount(Samples.account(Samples.bob), expecting: 0)])
    let kept = try await other.account(Samples.bob)
    try expect(kept == bob, "a writer that expects another revision of an account changes nothing", found: kept as Any)
  }

  func accountsMustBeWhatWasChecked() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let sign = RegistryChange.createSession(Samples.session(1))
    try await expect(
      .notFound, "the expected account must exist", from: store,
      writing: [.expectAccount(AccountID("no one"), revision: 0)])
    try await other.write([.replaceAccount(Samples.account(Samples.ada), expecting: 0)], events: [])
    try await expect(
      .conflict, "a sign-in fails if the account has changed since the check", from: store,
      writing: [.expectAccount(Samples.ada, revision: 0), sign])
    let none = try await other.session(Samples.session(1).id)
    try expect(none == nil, "a failed sign-in leaves no session", found: none as Any)
    try await store.write([.expectAccount(Samples.ada, revision: 1), sign], events: [])
    let account = try await other.account(Samples.ada)
    try expect(account?.revision == 1, "checking an account does not change it", found: account as Any)
  }

  func sessionsMustBeLive() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let (row, dependent) = (Samples.session(1), RegistryChange.createSession(Samples.session(2)))
    try await expect(
      .notFound, "the expected session must exist", from: store, writing: [.expectSession(row.id), dependent])
    try await other.write([.createSession(row)], events: [])
    try await store.write([.expectSession(row.id), dependent], events: [])
    let seen = try await other.session(row.id)
    try expect(seen == row, "checking a session does not change it", found: seen as Any)
    try await other.write([.endSession(row.id, SessionEnd(at: Samples.start, reason: .signedOut))], events: [])
    try await expect(
      .conflict, "what an ended session would allow fails", from: store,
      writing: [.createSession(Samples.session(3)), .expectSession(row.id)])
    let none = try await other.session(Samples.session(3).id)
    try expect(none == nil, "what an ended session would allow leaves nothing", found: none as Any)
  }

  func writesAreWholeOrNothing() async throws {
    let (store, other) = try await pair(with: Samples.ada, Samples.bob)
    try await store.write([.createSession(Samples.session(1))], events: [Samples.event(0)])
    var ended = Samples.session(1)
    ended.end = SessionEnd(at: Samples.start, reason: .revoked)
    var ada = Samples.account(Samples.ada)
    ada.email = EmailAddress("new@example.org")
    let carol = Samples.account(AccountID("carol"))
    try await expect(
      .conflict, "a write with one failing change makes no changes", from: store,
      writing: [
        .createAccount(carol), .replaceAccount(ada, expecting: 0), .replaceSession(ended, expecting: 0),
        .createSession(Samples.session(2)), .replaceSession(Samples.session(2), expecting: 7),
      ], events: [Samples.event(1), Samples.event(2)])
    let promise = "a failed write leaves nothing behind"
    let row = try await other.session(ended.id)
    try expect(row == Samples.session(1), promise, found: row as Any)
    let created = try await other.session(Samples.session(2).id)
    try expect(created == nil, promise, found: created as Any)
    let rows = try await other.sessions(of: Samples.ada)
    try expect(rows == [Samples.session(1)], promise, found: rows)
    for (address, owner) in [("carol@example.org", nil), ("new@example.org", nil), ("ada@example.org", Samples.ada)] {
      let account = try await other.account(email: address)
      try expect(account?.id == owner, promise, found: account as Any)
    }
    let events = try await other.events(after: .zero, account: nil, limit: 10).map(\.event)
    try expect(events == [Samples.event(0)], "a failed write leaves no events", found: events)
    try await store.write([], events: [])
    let same = try await other.events(after: .zero, account: nil, limit: 10).map(\.event)
    try expect(same == events, "an empty write succeeds and stores no events", found: same)
  }

  func eventsStandInLine() async throws {
    let (store, other) = try await pair(with: Samples.ada, Samples.bob)
    var written: [StoredEvent] = []
    for number in 0..<6 {
      let account = number % 2 == 0 ? Samples.ada : Samples.bob
      let pair = [Samples.event(2 * number, of: account), Samples.event(2 * number + 1, of: account)]
      written += try await stored(pair, after: written.last?.id, in: number % 3 == 0 ? other : store)
    }
    for kind in RegistryEvent.Kind.allCases {
      let event = RegistryEvent(kind: kind, account: Samples.bob, at: Samples.start)
      written += try await stored([event], after: written.last?.id, in: store)
    }
    let ids = written.map(\.id)
    try expect(ids == Array(Set(ids)).sorted() && ids[0] > .zero, "event IDs increase and start above zero", found: ids)
    for reader in [store, other] {
      let all = try await reader.events(after: .zero, account: nil, limit: 100)
      try expect(all == written, "events are read back as stored", found: all)
      let some = try await reader.events(after: ids[3], account: nil, limit: 2)
      try expect(some == Array(written[4..<6]), "at most `limit` events after the ID are returned", found: some)
      let bobs = try await reader.events(after: ids[2], account: Samples.bob, limit: 3)
      let wanted = written[3...].filter { $0.event.account == Samples.bob }.prefix(3)
      try expect(bobs == Array(wanted), "the events of one account exclude those of others", found: bobs)
      let last = try await reader.lastEventID()
      try expect(last == ids.last, "the last ID is the newest event's", found: last)
      let none = try await reader.events(after: last, account: nil, limit: 100)
      let beyond = try await reader.events(after: EventID(rawValue: .max), account: nil, limit: 100)
      try expect(none.isEmpty && beyond.isEmpty, "there are no events after the last one", found: none + beyond)
      let zero = try await reader.events(after: .zero, account: nil, limit: 0)
      try expect(zero.isEmpty, "a limit of zero returns nothing", found: zero)
    }
  }

  /// Writes events, and returns them with their IDs.
  private func stored(_ events: [RegistryEvent], after last: EventID?, in store: S) async throws -> [StoredEvent] {
    try await store.write([], events: events)
    let stored = try await store.events(after: last ?? .zero, account: nil, limit: 10)
    try expect(stored.map(\.event) == events, "a write stores its events in order", found: stored)
    return stored
  }
}
