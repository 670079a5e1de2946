public import HandstampCore

/// The removals that were made again at opening, because the database was an older copy.
public struct Reapplied: Sendable, Hashable {
  /// An account whose password was changed since, so that it has none now.
  public struct LostPassword: Sendable, Hashable {
    public let account: AccountID
    /// Whether it has an address, to which a code for a new password can be mailed.
    public let hasAddress: Bool
    /// Whether its owner has shown to read the mails to that address.
    public let hasConfirmedAddress: Bool
  }

  /// The sessions that were ended again.
  public var sessions = 0
  public var deletedAccounts = 0
  public var disabledAccounts = 0
  /// Accounts that got their later address.
  public var movedAddresses = 0
  /// Passkeys that were removed, and sets of recovery codes that were brought to what was left of them.
  public var credentials = 0
  public var consents = 0
  /// Webhooks that were removed.
  public var webhooks = 0
  /// One-time codes that were void.
  public var codes = 0
  /// Those without a confirmed address first.
  public var lostPasswords: [LostPassword] = []

  /// Whether the log lacked entries of the backup's own log, so that others may be missing.
  public var isIncomplete = false
  /// How many lines of the log could not be read, and were not followed.
  public var unreadableLines = 0

  public init() {}

  /// Whether nothing was taken away.
  public var isEmpty: Bool { counts.isEmpty }

  /// The numbers above zero, with their names in logs and documents.
  package var counts: [(name: String, count: Int)] {
    [
      ("ended_sessions", sessions), ("deleted_accounts", deletedAccounts), ("disabled_accounts", disabledAccounts),
      ("moved_addresses", movedAddresses), ("removed_credentials", credentials), ("withdrawn_consents", consents),
      ("removed_webhooks", webhooks), ("void_codes", codes), ("lost_passwords", lostPasswords.count),
    ].filter { $0.1 > 0 }
  }

  package mutating func add(_ other: Reapplied) {
    sessions += other.sessions
    deletedAccounts += other.deletedAccounts
    disabledAccounts += other.disabledAccounts
    movedAddresses += other.movedAddresses
    credentials += other.credentials
    consents += other.consents
    webhooks += other.webhooks
    codes += other.codes
    isIncomplete = isIncomplete || other.isIncomplete
    unreadableLines += other.unreadableLines
    lostPasswords += other.lostPasswords
    lostPasswords.sort {
      ($0.hasConfirmedAddress ? 1 : 0, $0.account.rawValue) < ($1.hasConfirmedAddress ? 1 : 0, $1.account.rawValue)
    }
  }
}

/// A database that was found to be an older copy. Calls may wait.
package protocol RestoredDatabase {
  func records<Record>(_ query: StoredQuery<Record>) throws -> [Record]
  /// Makes changes in one transaction.
  func make(_ changes: [RegistryChange]) throws
  /// Deletes the one-time tokens with these purposes, and the items of these kinds. Returns how many.
  func delete(_ purposes: [OneTimeTokenRecord.Purpose], _ kinds: [StoredItem.Kind]) throws -> Int
}

extension RestoredDatabase {
  private func account(_ id: AccountID) throws -> AccountRecord? { try records(.account(id)).first }
  private func account(email normalized: String) throws -> AccountRecord? {
    try records(.account(email: normalized)).first
  }
  package func item(_ id: StoredItemID) throws -> StoredItem? { try records(.item(id)).first }

  /// Takes away again what the database still has.
  package func reapply(_ removals: [Removal]) throws -> Reapplied {
    var report = Reapplied()
    // Deleted accounts first: they free their addresses.
    let removals = removals.filter(\.erases) + removals.filter { !$0.erases }
    let previous = try freeAddresses(removals)
    for removal in removals { report.add(try reapply(removal, previous)) }
    return report
  }

  /// Makes one removal again, also while other nodes change the same.
  private func reapply(_ removal: Removal, _ previous: [AccountID: AccountRecord]) throws -> Reapplied {
    for _ in 0..<4 {
      var report = Reapplied()
      // Another node has done it, or its owner has changed it again since.
      if let stored = try item(removal.key).flatMap({ PayloadCoding.value(Removal.self, $0.payload) }),
        stored.at >= removal.at
      {
        return report
      }
      let changes = try changes(for: removal, previous, &report)
      do {
        try make(changes + [.putItem(removal.item)])
        return report
      } catch let error as RegistryStoreError where error == .conflict || error == .notFound {
        continue
      }
    }
    throw RegistryStoreError.unavailable("what was taken away keeps changing")
  }

  /// Takes the addresses that other accounts are to get from accounts that are to get others themselves. What does not come to its end
  /// is done again: the removals are not stored yet.
  ///
  /// - Returns: the accounts as they were.
  private func freeAddresses(_ removals: [Removal]) throws -> [AccountID: AccountRecord] {
    var wanted: Set<String> = []
    for case .account(let state) in removals.map(\.content) {
      if let email = state.email { wanted.insert(email.normalized) }
    }
    var previous: [AccountID: AccountRecord] = [:]
    for removal in removals {
      guard case .account(let state) = removal.content, let email = state.email,
        let record = try account(removal.account), record.state != .deleted, let own = record.email,
        own.normalized != email.normalized, wanted.contains(own.normalized)
      else { continue }
      var bare = record
      (bare.email, bare.emailConfirmedAt) = (nil, nil)
      try make([.replaceAccount(bare, expecting: record.revision)])
      previous[record.id] = record
    }
    return previous
  }

  /// Deletes the codes that were mailed or shown before the backup: whether they were used since is not known. Also deletes the notes of
  /// servers that ran then. Returns how many codes.
  package func voidCodes() throws -> Int {
    _ = try delete([], StoredItem.Kind.allCases.filter { $0.afterRestore == .isVoid && $0 != .emailChange })
    return try delete(OneTimeTokenRecord.Purpose.allCases.filter(\.isVoidAfterRestore), [.emailChange])
  }

  private func changes(
    for removal: Removal, _ previous: [AccountID: AccountRecord], _ report: inout Reapplied
  ) throws -> [RegistryChange] {
    switch removal.content {
    case .account(let state):
      guard let record = try account(removal.account), record.state != .deleted else { return [] }
      return try changes(of: record, to: state, at: removal.at, previous[record.id], &report)
    case .item(let id):
      guard let item = try item(id), item.expiresAt > removal.at else { return [] }
      report.count([item])
      return [.removeItem(item)]
    case .payload(let id, let payload):
      guard var item = try item(id), item.payload != payload else { return [] }
      item.payload = payload
      return [.replaceItem(item, expecting: item.revision)]
    case .items(let kind):
      // Later ones come from after the restore.
      let items = try records(.items(kind, subject: removal.account.rawValue)).filter { $0.createdAt < removal.at }
      report.count(items)
      return items.map { .removeItem($0) }
    case .rest(let kind, let payload):
      let id = StoredItemID(kind, removal.account.rawValue)
      let stored = try item(id)
      guard stored?.payload != payload, try account(removal.account) != nil else { return [] }
      report.credentials += 1
      return [
        .putItem(
          StoredItem(
            id: id, kind: kind, subject: removal.account.rawValue, payload: payload, createdAt: removal.at,
            expiresAt: removal.at.advanced(by: StoredItem.forever)))
      ]
    }
  }

  private func changes(
    of record: AccountRecord, to state: AccountState, at time: UnixTime, _ previous: AccountRecord?,
    _ report: inout Reapplied
  ) throws -> [RegistryChange] {
    if state.isErased {
      report.deletedAccounts += 1
      return RegistryChange.erasing(record, at: state.closedAt ?? time) + [.eraseDevices(of: record.id)]
    }
    var changed = record
    changed.closedAt = state.closedAt
    if let email = state.email {
      if changed.email?.normalized == email.normalized {
        changed.emailConfirmedAt = state.emailConfirmedAt
      } else if try account(email: email.normalized) == nil {
        (changed.email, changed.emailConfirmedAt) = (email, state.emailConfirmedAt)
        report.movedAddresses += 1
      } else if let own = previous?.email, try account(email: own.normalized) == nil {
        // Another account has the address by now: this one keeps its own, which proves nothing any more.
        (changed.email, changed.emailConfirmedAt) = (own, nil)
      }
    }
    if let own = record.identity, own.key != state.identity {
      let later = try state.identity.flatMap {
        try records(.account(identity: $0)).isEmpty ? ExternalIdentity(key: $0) : nil
      }
      // Without either, the account would be a guest's, and be deleted.
      if later != nil || changed.email != nil { changed.identity = later }
    }
    var more: [RegistryChange] = []
    // Its item may have been made after the backup, also if it is the previous one, which was unlinked in between.
    if let identity = changed.identity, identity.key == state.identity {
      let link = LinkedIdentity(identity, of: record.id, at: time).item
      if try item(link.id) == nil { more.append(.putItem(link)) }
    }
    if let at = state.credentialsChangedAt, record.credentialsChangedAt.map({ $0 < at }) ?? true {
      changed.passwordHash = nil
      changed.credentialsChangedAt = at
    }
    if state.hasPassword, changed.passwordHash == nil {
      report.lostPasswords.append(
        Reapplied.LostPassword(
          account: record.id, hasAddress: changed.email != nil, hasConfirmedAddress: changed.emailConfirmedAt != nil))
    }
    if state.closedAt != nil, record.closedAt == nil { report.disabledAccounts += 1 }
    return (changed == record ? [] : [.replaceAccount(changed, expecting: record.revision)]) + more
  }
}

extension Reapplied {
  fileprivate mutating func count(_ items: [StoredItem]) {
    for item in items {
      switch item.kind {
      case .consent: consents += 1
      case .webhook: webhooks += 1
      // Known devices and clients spare an account a notice; the others are no accounts'.
      case .device, .client, .machine, .registration, .formerToken: break
      default: credentials += 1
      }
    }
  }
}
