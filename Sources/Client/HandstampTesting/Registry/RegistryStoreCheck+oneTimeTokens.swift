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
    try await store.write([.createAccount(first)], events: [])
    try await expect(
      .alreadyExists, "an identity belongs to one account", from: other, writing: [.createAccount(record("second"))])
    try await expect(
      .notFound, "a failed write keeps the identity", from: other,
      writing: [
        .replaceAccount(AccountRecord(husk: first), expecting: 0), .createAccount(record("second")),
        .redeemOneTimeToken(Samples.oneTimeToken(1).id),
      ])
    let kept = try await store.account(identity: identity)
    try expect(kept == first, "a failed write keeps the identity", found: kept as Any)
    first = AccountRecord(husk: first)
    try await store.write([.replaceAccount(first, expecting: 0), .createAccount(record("second"))], events: [])
    let found = try await other.account(identity: identity)
    try expect(found?.id == AccountID("second"), "a released identity is available", found: found as Any)
  }

  func everyFieldOfAOneTimeTokenComesBack() async throws {
    let (store, other) = try await pair()
    for (number, purpose) in OneTimeTokenRecord.Purpose.allCases.enumerated() {
      let bare = Samples.oneTimeToken(number, purpose, subject: "")
      let full = OneTimeTokenRecord(
        id: OneTimeTokenID(of: Secret("full \(number)"), purpose: purpose), purpose: purpose,
        subject: "'; DROP TABLE one_time_token",
        account: AccountID("ada"), email: EmailAddress(" Zoë.O'Brien@Example.ORG "), username: "Zoë \"📱\"",
        payload: #"{"a":"'; -- 📱"}"#, createdAt: UnixTime(milliseconds: -1), expiresAt: UnixTime(milliseconds: .max))
      for token in [bare, full] {
        try await store.write([.createOneTimeToken(token)], events: [])
        let seen = try await other.oneTimeToken(token.id)
        try expect(seen == token, "a one-time token is read back as stored", found: seen as Any)
      }
    }
  }

  func oneTimeTokensAreUsedOnce() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let token = Samples.oneTimeToken(1)
    let none = try await store.oneTimeToken(token.id)
    try expect(none == nil, "a new store has no one-time tokens", found: none as Any)
    try await store.write([.createOneTimeToken(token)], events: [])
    try await expect(
      .alreadyExists, "a one-time token is created only once", from: other, writing: [.createOneTimeToken(token)])
    try await expect(
      .conflict, "a failed write uses no one-time token", from: other,
      writing: [.redeemOneTimeToken(token.id), .expectAccount(Samples.ada, revision: 7)])
    let kept = try await store.oneTimeToken(token.id)
    try expect(kept == token, "a failed write uses no one-time token", found: kept as Any)
    let uses = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<16 {
        group.addTask {
          do throws(RegistryStoreError) {
            try await (number % 2 == 0 ? store : other).write(
              [.redeemOneTimeToken(token.id)], events: [Samples.event(number)])
            return 1
          } catch {
            guard error == .notFound else { throw error }
            return 0
          }
        }
      }
      return try await group.reduce(0, +)
    }
    try expect(uses == 1, "of many uses of a one-time token, one succeeds", found: uses)
    let events = try await store.events(after: .zero, account: nil, limit: 100)
    try expect(events.count == 1, "a failed use of a one-time token writes nothing", found: events)
    let (ada, bob) = (Samples.oneTimeToken(2), Samples.oneTimeToken(3, subject: "bob"))
    let other2 = Samples.oneTimeToken(4, .upgrade)
    try await store.write([ada, bob, other2, Samples.oneTimeToken(5)].map { .createOneTimeToken($0) }, events: [])
    try await store.write([.voidOneTimeTokens(.passwordReset, subject: "ada")], events: [])
    try await store.write([.voidOneTimeTokens(.passwordReset, subject: "nobody")], events: [])
    for (token, isThere) in [(ada, false), (bob, true), (other2, true), (Samples.oneTimeToken(5), false)] {
      let seen = try await other.oneTimeToken(token.id)
      try expect((seen != nil) == isThere, "only tokens of this purpose and subject are voided", found: seen as Any)
    }
  }

  func onlyWhatIsOverIsForgotten() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let start = Samples.start
    func at(_ seconds: Int64) -> UnixTime { start.advanced(by: .seconds(seconds)) }
    // Number, end, absolute limit, whether it may be deleted at 100 with ends before 50.
    let rows: [(UInt8, Int64?, Int64?, Bool)] = [
      (1, nil, 10, false), (2, 49, 100, true), (3, 50, 60, false), (4, 49, 101, false), (5, 20, nil, true),
      (6, 21, nil, false), (7, nil, nil, false), (8, 10, 11, true),
    ]
    for (number, end, limit, _) in rows {
      var row = Samples.session(number)
      row.absoluteExpiry = limit.map(at)
      row.end = end.map { SessionEnd(at: at($0), reason: .revoked) }
      try await store.write([.createSession(row)], events: [])
    }
    for seconds in [10, 49, 50, 90] as [Int64] {
      let event = RegistryEvent(kind: .sessionEstablished, account: Samples.ada, at: at(seconds))
      try await store.write([], events: [event])
      try await store.write(
        [.createOneTimeToken(Samples.oneTimeToken(Int(seconds), lasting: .seconds(seconds)))], events: [])
    }
    let last = try await store.lastEventID()
    let retention = Retention(eventsBefore: at(50), endedBefore: at(50), unlimited: .seconds(80), now: at(100))
    let none = try await store.prune(retention, limit: 0)
    try expect(none == 0, "a limit of zero deletes nothing", found: none)
    var counts: [Int] = []
    while case let count = try await other.prune(retention, limit: 1), count > 0 { counts.append(count) }
    try expect(counts == [3, 3, 2, 1], "each pruning deletes at most `limit` rows of each kind", found: counts)
    for (number, _, _, goes) in rows {
      let row = try await store.session(Samples.session(number).id)
      try expect((row == nil) == goes, "only ended sessions are deleted: \(number)", found: row as Any)
    }
    let events = try await store.events(after: .zero, account: nil, limit: 10)
    try expect(events.map(\.event.at) == [at(50), at(90)], "only old events are deleted", found: events)
    let after = try await other.events(after: events[0].id, account: Samples.ada, limit: 10)
    try expect(after == [events[1]], "events keep their position when older ones are deleted", found: after)
    try await store.write([], events: [Samples.event(1)])
    let next = try await store.events(after: .zero, account: nil, limit: 10).filter { $0.event == Samples.event(1) }
    try expect(next.count == 1 && next[0].id > last, "event IDs are never reused", found: next)
    let newest = try await other.lastEventID()
    try expect(newest == next[0].id, "the last ID is the newest event's", found: newest)
    let gone = try await store.oneTimeToken(Samples.oneTimeToken(10).id)
    try expect(gone == nil, "expired one-time tokens are deleted", found: gone as Any)
  }
}

extension AccountRecord {
  /// The remains of a deleted account.
  fileprivate init(husk record: AccountRecord) {
    self.init(
      id: record.id, email: nil, username: "", passwordHash: nil, createdAt: record.createdAt,
      closedAt: record.createdAt)
  }
}
