public import HandstampCore

/// A store that lasts as long as its process: for tests, and for servers without a disk.
public actor MemoryRegistryStore: RegistryStore {
  private var contents = Contents()

  public init() {}

  public func write(_ changes: [RegistryChange], events: [RegistryEvent]) throws(RegistryStoreError) -> [StoredEvent] {
    // What a change is about is looked up before it is made: one that fails takes back those before it.
    var former: [Contents.Former] = []
    for change in changes {
      former.append(contents.former(change))
      do throws(RegistryStoreError) { try contents.apply(change) } catch {
        for value in former.reversed() { contents.restore(value) }
        throw error
      }
    }
    let stored = events.enumerated().map { offset, event in
      StoredEvent(id: EventID(rawValue: Int64(contents.events.count + offset + 1)), event: event)
    }
    contents.events.append(contentsOf: stored)
    return stored
  }

  public func session(_ id: SessionID) -> SessionRow? { contents.sessions[id] }

  public func sessions(of account: AccountID) -> [SessionRow] {
    contents.live(of: account).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
  }

  public func expired(at now: UnixTime, limit: Int) -> [SessionRow] {
    let due = contents.sessions.values.compactMap { row -> (UnixTime, SessionRow)? in
      guard row.end == nil, let expiry = row.expiry, expiry <= now else { return nil }
      return (expiry, row)
    }
    return due.sorted { ($0.0, $0.1.id) < ($1.0, $1.1.id) }.prefix(max(limit, 0)).map(\.1)
  }

  public func account(_ id: AccountID) -> AccountRecord? { contents.accounts[id] }

  public func account(email normalised: String) -> AccountRecord? {
    contents.emails[normalised].flatMap { contents.accounts[$0] }
  }

  public func events(after id: EventID, account: AccountID?, limit: Int) -> [StoredEvent] {
    // The id of an event is its place in the list.
    let start = Int(clamping: max(id.rawValue, 0))
    let matching = contents.events.dropFirst(start).lazy.filter { account == nil || $0.event.account == account }
    return Array(matching.prefix(max(limit, 0)))
  }

  public func lastEventID() -> EventID { contents.events.last?.id ?? .zero }
}

private struct Contents {
  var sessions: [SessionID: SessionRow] = [:]
  /// Those that were not ended.
  var live: [AccountID: Set<SessionID>] = [:]
  var accounts: [AccountID: AccountRecord] = [:]
  var emails: [String: AccountID] = [:]
  var events: [StoredEvent] = []

  func live(of account: AccountID) -> [SessionRow] {
    (live[account] ?? []).compactMap { sessions[$0] }
  }

  /// What a change may overwrite.
  enum Former {
    case session(SessionRow?, SessionRow)
    case account(AccountRecord?, AccountRecord)
    case nothing
  }

  func former(_ change: RegistryChange) -> Former {
    switch change {
    case .createSession(let row), .replaceSession(let row, _): .session(sessions[row.id], row)
    case .createAccount(let record), .replaceAccount(let record, _): .account(accounts[record.id], record)
    case .expectAccount: .nothing
    }
  }

  mutating func restore(_ former: Former) {
    switch former {
    case .session(let old, let new):
      sessions[new.id] = old
      live[new.account]?.remove(new.id)
      if let old, old.end == nil { live[old.account, default: []].insert(old.id) }
    case .account(let old, let new):
      if let email = new.email, emails[email.normalised] == new.id { emails[email.normalised] = nil }
      accounts[new.id] = old
      if let old, let email = old.email { emails[email.normalised] = old.id }
    case .nothing: return
    }
  }

  mutating func apply(_ change: RegistryChange) throws(RegistryStoreError) {
    switch change {
    case .createSession(var row):
      guard accounts[row.account] != nil else { throw .missing }
      guard sessions[row.id] == nil else { throw .exists }
      row.revision = 0
      try store(row)
    case .replaceSession(var row, let expecting):
      guard let stored = sessions[row.id] else { throw .missing }
      guard stored.revision == expecting, stored.account == row.account else { throw .changed }
      row.revision = expecting + 1
      try store(row)
    case .createAccount(var record):
      guard accounts[record.id] == nil else { throw .exists }
      record.revision = 0
      try store(record)
    case .replaceAccount(var record, let expecting):
      guard let stored = accounts[record.id] else { throw .missing }
      guard stored.revision == expecting else { throw .changed }
      record.revision = expecting + 1
      try store(record)
      if let email = stored.email, email.normalised != record.email?.normalised { emails[email.normalised] = nil }
    case .expectAccount(let id, let revision):
      guard let stored = accounts[id] else { throw .missing }
      guard stored.revision == revision else { throw .changed }
    }
  }

  private mutating func store(_ row: SessionRow) throws(RegistryStoreError) {
    if row.end == nil {
      let rivals = live(of: row.account).contains { $0.id != row.id && $0.device.id == row.device.id }
      guard !rivals else { throw .exists }
      live[row.account, default: []].insert(row.id)
    } else {
      live[row.account]?.remove(row.id)
    }
    sessions[row.id] = row
  }

  private mutating func store(_ record: AccountRecord) throws(RegistryStoreError) {
    if let email = record.email {
      guard emails[email.normalised] == nil || emails[email.normalised] == record.id else { throw .exists }
      emails[email.normalised] = record.id
    }
    accounts[record.id] = record
  }
}
