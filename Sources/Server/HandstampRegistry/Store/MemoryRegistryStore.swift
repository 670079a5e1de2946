public import HandstampCore

/// An in-memory store that lasts as long as its process, for tests and for servers without a disk.
public actor MemoryRegistryStore: RegistryStore {
  private var contents = MemoryContents()

  public init() {}

  public func write(_ changes: [RegistryChange], events: [RegistryEvent]) throws(RegistryStoreError) {
    // Save the previous values before each change, so that a failure can undo the changes before it.
    var undos: [MemoryContents.Undo] = []
    for change in changes {
      undos.append(contents.undo(of: change))
      do throws(RegistryStoreError) { try contents.apply(change) } catch {
        for undo in undos.reversed() { contents.restore(undo) }
        throw error
      }
    }
    contents.append(events)
  }

  public func change<Value: Sendable>(
    _ session: SessionBytes, _ decide: @escaping @Sendable (SessionRow?, UnixTime?) -> Decision<Value>
  ) throws(RegistryStoreError) -> Value {
    let decision = decide(contents.sessions[session.id], nil)
    if !decision.isEmpty { try write(decision.changes, events: decision.events) }
    return decision.value
  }

  public func session(_ id: SessionID) -> SessionRow? { contents.sessions[id] }

  public func sessions(of account: AccountID) -> [SessionRow] {
    contents.live(of: account).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
  }

  public func endedSessions(of account: AccountID) -> [SessionRow] {
    contents.sessions.values.filter { $0.account == account && $0.end != nil }
      .sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
  }

  public func expired(at now: UnixTime, limit: Int) -> [SessionRow] {
    let due = contents.sessions.values.compactMap { row -> (UnixTime, SessionRow)? in
      guard row.end == nil, let expiry = row.expiry, expiry <= now else { return nil }
      return (expiry, row)
    }
    return due.sorted { ($0.0, $0.1.id) < ($1.0, $1.1.id) }.prefix(max(limit, 0)).map(\.1)
  }

  public func account(_ id: AccountID) -> AccountRecord? { contents.accounts[id] }

  public func account(email normalized: String) -> AccountRecord? {
    contents.emails[normalized].flatMap { contents.accounts[$0] }
  }

  public func account(identity: ExternalIdentity) -> AccountRecord? {
    contents.identities[identity].flatMap { contents.accounts[$0] }
  }

  public func oneTimeToken(_ id: OneTimeTokenID) -> OneTimeTokenRecord? { contents.oneTimeTokens[id] }

  public func item(_ id: StoredItemID) -> StoredItem? { contents.items[id] }

  public func items(_ kind: StoredItem.Kind, subject: String) -> [StoredItem] {
    contents.items.values.filter { $0.kind == kind && $0.subject == subject }
      .sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
  }

  public func dueItems(_ kind: StoredItem.Kind, at now: UnixTime, limit: Int) -> [StoredItem] {
    let due = contents.items.values.compactMap { item -> (UnixTime, StoredItem)? in
      guard item.kind == kind, let time = item.dueAt, time <= now else { return nil }
      return (time, item)
    }
    return due.sorted { ($0.0, $0.1.id) < ($1.0, $1.1.id) }.prefix(max(limit, 0)).map(\.1)
  }

  public func items(_ kind: StoredItem.Kind, after id: StoredItemID?, limit: Int) -> [StoredItem] {
    let items = contents.items.values.filter { item in item.kind == kind && id.map { $0 < item.id } ?? true }
    return Array(items.sorted { $0.id < $1.id }.prefix(max(limit, 0)))
  }

  public func accounts(after id: AccountID?, limit: Int) -> [AccountRecord] {
    let ids = contents.accounts.keys.filter { key in id.map { AccountID.isBefore($0, key) } ?? true }
    return ids.sorted(by: AccountID.isBefore).prefix(max(limit, 0)).compactMap { contents.accounts[$0] }
  }

  public func auditedActions(after id: Int64, about account: AccountID?, limit: Int) -> [StoredAuditedAction] {
    Array(contents.auditedActions(about: account).lazy.filter { $0.id > id }.prefix(max(limit, 0)))
  }

  public func latestAuditedActions(about account: AccountID, before id: Int64?, limit: Int) -> [StoredAuditedAction] {
    contents.auditedActions(about: account).filter { $0.id < id ?? .max }.suffix(max(limit, 0)).reversed()
  }

  public func liveSessions(upTo time: UnixTime?) -> (refreshed: Int, begun: Int) {
    let live = contents.sessions.values.filter { $0.end == nil }
    return (
      live.count { row in time.map { row.rotatedAt <= $0 } ?? true },
      live.count { row in time.map { row.createdAt <= $0 } ?? true }
    )
  }

  public func clientSessions() -> [String: Int] { contents.clientSessions }

  public func counts() -> RegistryCounts { contents.counts }

  public func prune(_ retention: Retention, limit: Int) -> Int { contents.prune(retention, limit: max(limit, 0)) }

  public func events(after id: EventID, account: AccountID?, limit: Int) -> [StoredEvent] {
    contents.events(after: id, account: account, limit: max(limit, 0))
  }

  public func clockNote() -> ClockNote? { contents.clock }

  public nonisolated var damage: String? { nil }
  public nonisolated func news() -> StoreNews? { nil }
  public nonisolated var replacements: Int { 0 }

  public func lastEventID() -> EventID { contents.lastEventID }
}

extension AccountID {
  /// The order of databases: by bytes.
  fileprivate static func isBefore(_ left: AccountID, _ right: AccountID) -> Bool {
    left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
  }
}
