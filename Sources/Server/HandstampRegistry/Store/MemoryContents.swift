import HandstampCore

/// The contents of a memory store, with changes that can be undone.
struct MemoryContents {
  private(set) var sessions: [SessionID: SessionRow] = [:]
  /// The sessions that were not ended.
  private var live: [AccountID: Set<SessionID>] = [:]
  private(set) var accounts: [AccountID: AccountRecord] = [:]
  private(set) var emails: [String: AccountID] = [:]
  private(set) var identities: [ExternalIdentity: AccountID] = [:]
  private(set) var oneTimeTokens: [OneTimeTokenID: OneTimeTokenRecord] = [:]
  private(set) var items: [StoredItemID: StoredItem] = [:]
  private(set) var clock: ClockNote?
  private var audit: [AuditedAction] = []
  /// The number of pruned audited actions, all of them before ``audit``.
  private var forgottenAudit = 0
  private var events: [StoredEvent] = []
  /// The number of pruned events, all of them before ``events``.
  private var forgotten = 0

  var lastEventID: EventID { EventID(rawValue: Int64(forgotten + events.count)) }

  func live(of account: AccountID) -> [SessionRow] {
    (live[account] ?? []).compactMap { sessions[$0] }
  }

  func events(after id: EventID, account: AccountID?, limit: Int) -> [StoredEvent] {
    // The ID of an event is its position, counting pruned events.
    let start = max(Int(clamping: max(id.rawValue, 0)) - forgotten, 0)
    let matching = events.dropFirst(start).lazy.filter { account == nil || $0.event.account == account }
    return Array(matching.prefix(limit))
  }

  func auditedActions(about account: AccountID?) -> [StoredAuditedAction] {
    audit.enumerated().filter { account == nil || $1.account == account }.map { index, entry in
      StoredAuditedAction(id: Int64(forgottenAudit + index + 1), audited: entry)
    }
  }

  var counts: RegistryCounts {
    let open = accounts.values.filter { $0.closedAt == nil }
    let ended = sessions.values.count { $0.end != nil }
    return RegistryCounts(
      accounts: open.count, guests: open.count(where: \.isGuest), liveSessions: sessions.count - ended,
      endedSessions: ended, oneTimeTokens: oneTimeTokens.count, items: items.count, events: events.count,
      auditedActions: audit.count)
  }

  var clientSessions: [String: Int] {
    sessions.values.lazy.filter { $0.end == nil }.compactMap(\.client?.id).reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  mutating func append(_ new: [RegistryEvent]) {
    for event in new { events.append(StoredEvent(id: EventID(rawValue: lastEventID.rawValue + 1), event: event)) }
  }

  mutating func prune(_ retention: Retention, limit: Int) -> Int {
    let old = events.prefix(limit).prefix { $0.event.at < retention.eventsBefore }.count
    events.removeFirst(old)
    forgotten += old
    let ended = sessions.values.filter(retention.covers).map(\.id).sorted().prefix(limit)
    let owners = Set(ended.compactMap { sessions[$0]?.account })
    for id in ended { sessions[id] = nil }
    let left = Set(sessions.values.map(\.account))
    let guests = owners.subtracting(left).filter { accounts[$0].map { $0.isGuest && $0.closedAt == nil } ?? false }
    for id in guests { accounts[id] = nil }
    let over = oneTimeTokens.values.filter { $0.expiresAt <= retention.now }.map(\.id).sorted().prefix(limit)
    for id in over { oneTimeTokens[id] = nil }
    let stale = items.values.filter { $0.expiresAt <= retention.now }.map(\.id).sorted().prefix(limit)
    for id in stale { items[id] = nil }
    let audited = audit.prefix(limit).prefix { $0.at < retention.auditBefore }.count
    audit.removeFirst(audited)
    forgottenAudit += audited
    let coarsened = audit.indices.filter { audit[$0].at < retention.addressesBefore && audit[$0].hasWholeAddress }
      .prefix(limit)
    for index in coarsened { audit[index].address = audit[index].network }
    return old + ended.count + guests.count + over.count + stale.count + audited
  }

  /// The previous values that a change may overwrite.
  enum Undo {
    case session(SessionRow?, SessionRow)
    case account(AccountRecord?, AccountRecord)
    case oneTimeTokens([OneTimeTokenID: OneTimeTokenRecord])
    case items([StoredItemID: StoredItem])
    case audit(count: Int)
    case clock(ClockNote?)
    case rows([SessionID: SessionRow], [OneTimeTokenID: OneTimeTokenRecord], [StoredItemID: StoredItem])
    case nothing
  }

  func undo(of change: RegistryChange) -> Undo {
    switch change {
    case .createSession(let row), .replaceSession(let row, _): .session(sessions[row.id], row)
    case .endSession(let id, _): sessions[id].map { .session($0, $0) } ?? .nothing
    case .createAccount(let record), .replaceAccount(let record, _): .account(accounts[record.id], record)
    case .createOneTimeToken, .redeemOneTimeToken, .voidOneTimeTokens: .oneTimeTokens(oneTimeTokens)
    case .createItem, .replaceItem, .putItem, .removeItem, .removeItems: .items(items)
    case .eraseDevices, .moveTimes: .rows(sessions, oneTimeTokens, items)
    case .audit: .audit(count: audit.count)
    case .noteClock: .clock(clock)
    case .expectAccount, .expectSession: .nothing
    }
  }

  mutating func restore(_ undo: Undo) {
    switch undo {
    case .session(let old, let new):
      sessions[new.id] = old
      live[new.account]?.remove(new.id)
      if let old, old.end == nil { live[old.account, default: []].insert(old.id) }
    case .account(let old, let new):
      if let email = new.email, emails[email.normalized] == new.id { emails[email.normalized] = nil }
      if let identity = new.identity, identities[identity] == new.id { identities[identity] = nil }
      accounts[new.id] = old
      if let email = old?.email { emails[email.normalized] = new.id }
      if let identity = old?.identity { identities[identity] = new.id }
    case .oneTimeTokens(let old): oneTimeTokens = old
    case .items(let old): items = old
    case .audit(let count): audit.removeSubrange(count...)
    case .clock(let old): clock = old
    case .rows(let oldSessions, let oldTokens, let oldItems):
      (sessions, oneTimeTokens, items) = (oldSessions, oldTokens, oldItems)
    case .nothing: return
    }
  }

  mutating func apply(_ change: RegistryChange) throws(RegistryStoreError) {
    switch change {
    case .createSession(var row):
      guard accounts[row.account] != nil else { throw .notFound }
      guard sessions[row.id] == nil else { throw .alreadyExists }
      row.revision = 0
      try store(row)
    case .replaceSession(var row, let expecting):
      guard let stored = sessions[row.id] else { throw .notFound }
      guard stored.revision == expecting, stored.account == row.account else { throw .conflict }
      row.revision = expecting + 1
      try store(row)
    case .endSession(let id, let end):
      guard let stored = sessions[id] else { throw .notFound }
      guard stored.end == nil else { throw .conflict }
      try store(stored.ended(end.reason, at: end.at))
    case .createAccount(var record):
      guard accounts[record.id] == nil else { throw .alreadyExists }
      record.revision = 0
      try store(record)
    case .replaceAccount(var record, let expecting):
      guard let stored = accounts[record.id] else { throw .notFound }
      guard stored.revision == expecting else { throw .conflict }
      record.revision = expecting + 1
      try store(record)
      if let email = stored.email, email.normalized != record.email?.normalized { emails[email.normalized] = nil }
      if let identity = stored.identity, identity != record.identity { identities[identity] = nil }
    case .expectAccount(let id, let revision):
      guard let stored = accounts[id] else { throw .notFound }
      guard stored.revision == revision else { throw .conflict }
    case .expectSession(let id):
      guard let stored = sessions[id] else { throw .notFound }
      guard stored.end == nil else { throw .conflict }
    case .createOneTimeToken(let record):
      guard oneTimeTokens[record.id] == nil else { throw .alreadyExists }
      oneTimeTokens[record.id] = record
    case .redeemOneTimeToken(let id):
      guard oneTimeTokens.removeValue(forKey: id) != nil else { throw .notFound }
    case .voidOneTimeTokens(let purpose, let subject):
      oneTimeTokens = oneTimeTokens.filter { $0.value.purpose != purpose || $0.value.subject != subject }
    case .createItem(var item):
      guard items[item.id] == nil else { throw .alreadyExists }
      item.revision = 0
      items[item.id] = item
    case .replaceItem(let item, let expecting):
      try expect(item.id, expecting)
      try apply(.putItem(item))
    case .putItem(let item):
      var next = items[item.id] ?? item
      next.revision = items[item.id].map { $0.revision + 1 } ?? 0
      (next.payload, next.dueAt, next.expiresAt) = (item.payload, item.dueAt, item.expiresAt)
      items[item.id] = next
    case .removeItem(let item):
      try expect(item.id, item.revision)
      items[item.id] = nil
    case .removeItems(let kind, let subject):
      items = items.filter { $0.value.kind != kind || $0.value.subject != subject }
    case .eraseDevices(let account):
      for (id, var row) in sessions where row.account == account {
        row.device = DeviceInfo(id: DeviceID(""), name: "", platform: "")
        row.pushToken = nil
        row.revision += 1
        sessions[id] = row
      }
    case .audit(let entry): audit.append(entry)
    case .noteClock(let note):
      guard note.revision == ClockNote.revision(after: clock) else { throw .conflict }
      clock = note
    case .moveTimes(let shift):
      for (id, row) in sessions where row.end == nil { sessions[id] = row.moved(by: shift) }
      oneTimeTokens = oneTimeTokens.mapValues { $0.moved(by: shift) }
      items = items.mapValues { $0.moved(by: shift) }
    }
  }

  private func expect(_ id: StoredItemID, _ revision: Int64) throws(RegistryStoreError) {
    guard let stored = items[id] else { throw .notFound }
    guard stored.revision == revision else { throw .conflict }
  }

  private mutating func store(_ row: SessionRow) throws(RegistryStoreError) {
    if row.end == nil {
      let rivals = live(of: row.account).contains {
        $0.id != row.id && $0.device.id == row.device.id && $0.pending == nil
      }
      guard row.pending != nil || !rivals else { throw .alreadyExists }
      live[row.account, default: []].insert(row.id)
    } else {
      live[row.account]?.remove(row.id)
    }
    sessions[row.id] = row
  }

  private mutating func store(_ record: AccountRecord) throws(RegistryStoreError) {
    if let email = record.email {
      guard emails[email.normalized] == nil || emails[email.normalized] == record.id else { throw .alreadyExists }
    }
    if let identity = record.identity {
      guard identities[identity] == nil || identities[identity] == record.id else { throw .alreadyExists }
      identities[identity] = record.id
    }
    if let email = record.email { emails[email.normalized] = record.id }
    accounts[record.id] = record
  }
}
