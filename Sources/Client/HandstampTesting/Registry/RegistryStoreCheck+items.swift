import HandstampCore
import HandstampRegistry

extension RegistryStoreCheck {
  private typealias Samples = RegistrySamples

  func everyFieldOfAnItemComesBack() async throws {
    let (store, other) = try await pair()
    let none = try await store.item(Samples.item(1).id)
    try expect(none == nil, "a new store has no items", found: none as Any)
    for (number, kind) in StoredItem.Kind.allCases.enumerated() {
      let full = StoredItem(
        id: StoredItemID(kind, "full"), kind: kind, subject: "'; DROP TABLE stored_item", payload: #"{"a":"'; -- 📱"}"#,
        createdAt: UnixTime(milliseconds: -1), dueAt: Samples.start, expiresAt: UnixTime(milliseconds: .max),
        revision: 7)
      for item in [Samples.item(number, kind), full] {
        try await store.write([.createItem(item)], events: [])
        var expected = item
        expected.revision = 0
        let seen = try await other.item(item.id)
        try expect(seen == expected, "an item is read back as stored, with revision 0", found: seen as Any)
      }
    }
  }

  func staleWritersChangeNoItem() async throws {
    let (store, other) = try await pair()
    var item = Samples.item(1)
    for change in [RegistryChange.replaceItem(item, expecting: 0), .removeItem(item)] {
      try await expect(.notFound, "a missing item is not changed", from: store, writing: [change])
    }
    try await store.write([.createItem(item)], events: [])
    try await expect(.alreadyExists, "an item is created only once", from: other, writing: [.createItem(item)])
    item.payload = "changed"
    item.dueAt = Samples.start
    item.expiresAt = Samples.start.advanced(by: .seconds(7))
    try await other.write([.replaceItem(item, expecting: 0)], events: [])
    item.revision = 1
    let replaced = try await store.item(item.id)
    try expect(replaced == item, "a replaced item has the next revision", found: replaced as Any)
    for stale in [Int64(0), 2] {
      var known = item
      known.revision = stale
      for change in [RegistryChange.replaceItem(Samples.item(1), expecting: stale), .removeItem(known)] {
        try await expect(
          .conflict, "a stale writer changes no item", from: store, writing: [.createItem(Samples.item(2)), change])
      }
    }
    let kept = try await (other.item(item.id), other.item(Samples.item(2).id))
    try expect(kept == (item, nil), "a failed write changes no item", found: kept)
    item.payload = "put"
    let put = StoredItem(
      id: item.id, kind: .mail, subject: "other", payload: "put", createdAt: Samples.start.advanced(by: .seconds(99)),
      dueAt: item.dueAt, expiresAt: item.expiresAt)
    try await store.write([.putItem(put), .putItem(Samples.item(3))], events: [])
    item.revision = 2
    let both = try await (other.item(item.id), other.item(Samples.item(3).id))
    try expect(
      both == (item, Samples.item(3)), "putting an item creates it, or keeps its kind, subject and creation time",
      found: both)
    try await other.write([.removeItem(item)], events: [])
    let gone = try await store.item(item.id)
    try expect(gone == nil, "a removed item is gone", found: gone as Any)
  }

  func itemsAreListed() async throws {
    let (store, other) = try await pair()
    func at(_ seconds: Int64) -> UnixTime { Samples.start.advanced(by: .seconds(seconds)) }
    let items = [
      Samples.item(1, .mail, subject: "ada", at: at(2), due: at(30)),
      Samples.item(2, .mail, subject: "ada", at: at(1), due: at(10)),
      Samples.item(3, .mail, subject: "bob", at: at(3), due: at(20)),
      Samples.item(4, .device, subject: "ada", at: at(4), due: at(5)),
      Samples.item(5, .mail, subject: "ada", at: at(5)),
    ]
    try await store.write(items.map { .createItem($0) }, events: [])
    let ada = try await other.items(.mail, subject: "ada")
    try expect(ada == [items[1], items[0], items[4]], "lists the items of one subject, oldest first", found: ada)
    for (seconds, limit, numbers) in [(9, 9, []), (10, 9, [1]), (99, 9, [1, 2, 0]), (99, 2, [1, 2])]
      as [(Int64, Int, [Int])]
    {
      let due = try await other.dueItems(.mail, at: at(seconds), limit: limit)
      try expect(due == numbers.map { items[$0] }, "finds items that are due, most overdue first", found: due)
    }
    let mails = items.filter { $0.kind == .mail }.sorted { $0.id < $1.id }
    for (after, limit, expected) in [
      (nil, 9, mails), (nil, 2, Array(mails.prefix(2))), (mails[1].id, 9, Array(mails.dropFirst(2))),
      (mails[3].id, 9, []),
      (nil, 0, []),
    ] as [(StoredItemID?, Int, [StoredItem])] {
      let page = try await other.items(.mail, after: after, limit: limit)
      try expect(page == expected, "lists the items of one kind in the order of their IDs", found: page)
    }
    try await other.write([.removeItems(.mail, subject: "ada"), .removeItems(.mail, subject: "eve")], events: [])
    let left = try await (store.items(.mail, subject: "ada"), store.item(items[2].id), store.item(items[3].id))
    try expect(
      left == ([], items[2], items[3]), "only items of this kind and subject are removed", found: left)
    try await store.write([.moveTimes(TimeShift(span: at(3)...at(3), distance: .seconds(1000)))], events: [])
    let moved = try await other.item(items[2].id)
    try expect(
      moved?.createdAt == at(1003) && moved?.dueAt == at(1020) && moved?.revision == 1
        && moved?.expiresAt == items[2].expiresAt.advanced(by: .seconds(1000)),
      "the times of items are moved", found: moved as Any)
    let still = try await other.item(items[3].id)
    try expect(still == items[3], "only items in the span are moved", found: still as Any)
  }

  func itemsExpire() async throws {
    let (store, other) = try await pair()
    let now = Samples.start.advanced(by: .seconds(60))
    let items = [59, 60, 61].map { Samples.item(Int($0), lasting: .seconds($0)) }
    try await store.write(items.map { .createItem($0) }, events: [])
    let retention = Retention(eventsBefore: Samples.start, endedBefore: Samples.start, now: now)
    var counts: [Int] = []
    while case let count = try await other.prune(retention, limit: 1), count > 0 { counts.append(count) }
    var left: [Bool] = []
    for item in items { left.append(try await store.item(item.id) != nil) }
    try expect(
      counts == [1, 1] && left == [false, false, true], "only expired items are deleted", found: (counts, left))
  }

  func guestsGoWithTheirLastSession() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let end = SessionEnd(at: Samples.start, reason: .revoked)
    let after = Samples.start.advanced(by: .seconds(1000))
    func guest(_ id: AccountID, closedAt: UnixTime? = nil) -> AccountRecord {
      AccountRecord(
        id: id, email: nil, username: "", passwordHash: nil, createdAt: Samples.start, closedAt: closedAt)
    }
    var number: UInt8 = 0
    func add(_ account: AccountID, ended: Bool) async throws {
      number += 1
      var row = Samples.session(number, of: account)
      row.absoluteExpiry = Samples.start.advanced(by: .seconds(10))
      row.end = ended ? end : nil
      try await store.write([.createSession(row)], events: [])
    }
    for record in [guest("gone"), guest("stays"), guest("closed", closedAt: Samples.start)] {
      try await store.write([.createAccount(record)], events: [])
    }
    for account in ["gone", "gone", "stays", "closed", Samples.ada] as [AccountID] {
      try await add(account, ended: true)
    }
    try await add("stays", ended: false)
    while try await other.prune(Retention(eventsBefore: after, endedBefore: after, now: after), limit: 1) > 0 {}
    let left = try await store.accounts(after: nil, limit: 9).map(\.id)
    try expect(left == [Samples.ada, "closed", "stays"], "only guests without sessions are deleted", found: left)
  }

  func theAuditLogGrows() async throws {
    let (store, other) = try await pair()
    func entry(_ number: Int64) -> AuditedAction {
      AuditedAction(at: Samples.start.advanced(by: .seconds(number)), action: "session.ended", actor: "owner")
    }
    let full = AuditedAction(
      at: Samples.start, action: "'; --", actor: "admin:Zoë 📱", account: Samples.ada, session: SessionID("s"),
      address: "2001:db8::1", details: #"{"a":"'; --"}"#)
    try await store.write([.audit(full), .audit(entry(1))], events: [])
    try await expect(
      .notFound, "a failed write leaves no audited action", from: other,
      writing: [.audit(entry(9)), .expectAccount(Samples.bob, revision: 0)])
    try await other.write([.audit(entry(2)), .audit(entry(3))], events: [])
    let all = try await store.auditedActions(after: 0, about: nil, limit: 9)
    try expect(
      all.map(\.audited) == [full, entry(1), entry(2), entry(3)], "audited actions are stored in order", found: all)
    let ids = all.map(\.id)
    try expect(ids == ids.sorted() && Set(ids).count == 4, "the IDs of audited actions increase", found: ids)
    let part = try await other.auditedActions(after: ids[1], about: nil, limit: 1).map(\.id)
    try expect(part == [ids[2]], "reads audited actions after an ID", found: part)
    try await auditedActionsAreFound(store, other, ids)
    let retention = Retention(
      eventsBefore: Samples.start, endedBefore: Samples.start,
      auditBefore: Samples.start.advanced(by: .seconds(2)), now: Samples.start)
    var counts: [Int] = []
    while case let count = try await other.prune(retention, limit: 1), count > 0 { counts.append(count) }
    try await store.write([.audit(entry(4))], events: [])
    let left = try await other.auditedActions(after: 0, about: nil, limit: 9)
    try expect(
      counts == [1, 1] && left.map(\.audited) == [entry(2), entry(3), entry(4)]
        && left.map(\.id).allSatisfy { $0 > ids[1] },
      "old audited actions are deleted, and the others keep their IDs", found: left)
  }

  /// By account, in both directions.
  private func auditedActionsAreFound(_ store: any RegistryStore, _ other: any RegistryStore, _ ids: [Int64])
    async throws
  {
    let about = try await store.auditedActions(after: 0, about: Samples.ada, limit: 9).map(\.id)
    let none = try await store.auditedActions(after: ids[0], about: Samples.ada, limit: 9).map(\.id)
    try expect((about, none) == ([ids[0]], []), "audited actions are found by account", found: (about, none))
    let latest = try await other.latestAuditedActions(about: Samples.ada, before: nil, limit: 9).map(\.id)
    let earlier = try await other.latestAuditedActions(about: Samples.ada, before: ids[0], limit: 9).map(\.id)
    try expect(
      (latest, earlier) == ([ids[0]], []), "the latest audited actions are found by account", found: (latest, earlier))
  }

  func addressesOfTheAuditLogAreReduced() async throws {
    let (store, other) = try await pair()
    func entry(_ number: Int64, _ address: String?) -> AuditedAction {
      AuditedAction(
        at: Samples.start.advanced(by: .seconds(number)), action: "a", actor: "b", account: Samples.ada,
        address: address)
    }
    let addresses = ["203.0.113.77", "2001:db8:1:2::3", nil, "unknown", "198.51.100.9"]
    try await store.write(
      addresses.enumerated().map { .audit(entry(Int64($0), $1)) }, events: [])
    let retention = Retention(
      eventsBefore: Samples.start, endedBefore: Samples.start, auditBefore: Samples.start,
      addressesBefore: Samples.start.advanced(by: .seconds(4)), now: Samples.start)
    var deleted = 0
    for _ in 0..<2 { deleted += try await other.prune(retention, limit: 2) }
    let left = try await store.latestAuditedActions(about: Samples.ada, before: nil, limit: 9).map(\.audited.address)
    try expect(
      deleted == 0 && left == ["198.51.100.9", nil, nil, "2001:db8:1::/48", "203.0.113.0/24"],
      "old addresses of the audit log become networks", found: (deleted, left))
  }

  func accountsAreListedAndCounted() async throws {
    let (store, other) = try await pair(with: "ada", "Bob", "zoë")
    var closed = Samples.account("ada")
    closed.closedAt = Samples.start
    let guest = AccountRecord(id: "guest", email: nil, username: "", passwordHash: nil, createdAt: Samples.start)
    try await store.write([.replaceAccount(closed, expecting: 0), .createAccount(guest)], events: [])
    let first = try await other.accounts(after: nil, limit: 2).map(\.id)
    let rest = try await other.accounts(after: first.last, limit: 9).map(\.id)
    try expect(
      (first, rest) == (["Bob", "ada"], ["guest", "zoë"]), "accounts are listed by the bytes of their IDs",
      found: (first, rest))
    let client = SessionClient(id: "a \"b\" é", scope: "")
    var ended = Samples.session(1, of: "Bob", client: client)
    ended.end = SessionEnd(at: Samples.start, reason: .revoked)
    ended.pushToken = Secret("push")
    try await store.write(
      [
        .createSession(ended), .createSession(Samples.session(2, of: "Bob")),
        .createSession(Samples.session(3, of: "zoë", client: client)),
        .createOneTimeToken(Samples.oneTimeToken(1)), .createItem(Samples.item(1)),
        .audit(AuditedAction(at: Samples.start, action: "a", actor: "b")),
      ], events: [Samples.event(1)])
    let counts = try await other.counts()
    let expected = RegistryCounts(
      accounts: 3, guests: 1, liveSessions: 2, endedSessions: 1, oneTimeTokens: 1, items: 1, events: 1,
      auditedActions: 1)
    try expect(counts == expected, "rows are counted", found: counts)
    let clients = try await other.clientSessions()
    try expect(clients == [client.id: 1], "live sessions are counted by client", found: clients)
    try await other.write(
      [
        .endSession(Samples.session(2).id, SessionEnd(at: Samples.start, reason: .accountClosed)),
        .eraseDevices(of: "Bob"),
      ],
      events: [])
    for number in [UInt8(1), 2] {
      let row = try await store.session(Samples.session(number).id)
      try expect(
        row?.device == DeviceInfo(id: "", name: "", platform: "") && row?.pushToken == nil, "devices are erased",
        found: row as Any)
    }
    let zoe = try await store.session(Samples.session(3).id)
    try expect(zoe?.device == Samples.session(3).device, "only one account's devices are erased", found: zoe as Any)
  }
}
