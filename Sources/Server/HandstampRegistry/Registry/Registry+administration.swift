public import HandstampCore
import HandstampSupport

/// An account that comes from another system, with everything that is written along with it.
public struct ArrivingAccount: Sendable, Hashable {
  public var record: AccountRecord
  /// Whether the ID is that of the other system. Otherwise the address alone says whose account it is.
  public var keepsID: Bool
  /// Their account is that of ``record``.
  public var passkeys: [PasskeyRecord]
  public var groups: [String]
  /// Those beside the record's. Their account is that of ``record``.
  public var identities: [LinkedIdentity]
  package var totp: MovingTOTP?
  /// Hashes that hold for the ID of ``record``.
  package var recoveryCodes: [String] = []

  public init(
    _ record: AccountRecord, keepsID: Bool, passkeys: [PasskeyRecord] = [], groups: [String] = [],
    identities: [LinkedIdentity] = []
  ) {
    self.record = record
    self.keepsID = keepsID
    self.passkeys = passkeys
    self.groups = groups
    self.identities = identities
  }

  /// All identities, each once. That of the record has an item as well, which keeps it from belonging to two accounts.
  package var links: [LinkedIdentity] {
    guard let first = record.identity, !identities.contains(where: { $0.identity == first }) else { return identities }
    return [LinkedIdentity(first, of: record.id, at: record.createdAt)] + identities
  }
}

/// The result for one ``ArrivingAccount``.
public enum Arrival: Sendable, Hashable {
  case created
  /// The account was there, and got the facts that it lacked.
  case merged
  /// The account was there, and is as it was.
  case unchanged
  case refused(Refusal)

  /// The store is as it was.
  public enum Refusal: Sendable, Hashable {
    /// Another account has the ID.
    case idTaken
    /// Another account has the address.
    case addressTaken
    /// Another account has the identity at a provider.
    case identityTaken
    /// Another account has one of the passkeys.
    case passkeyTaken
    /// The account with the ID was deleted here.
    case accountDeleted
  }
}

extension Registry {
  /// Returns the record of a new account for `receive(_:merging:now:)`, with an ID that is drawn here.
  public func arriving(email: EmailAddress?, username: String, at now: UnixTime) -> AccountRecord {
    newAccount(email: email, username: username, passwordHash: nil, now: now)
  }

  /// Stores accounts from another system: all in one write if none of them is here yet, else each in a write of its own. No account
  /// is ever stored in part, and none that is here loses anything.
  ///
  /// - Parameters:
  ///   - batch: at most some hundred, without two that have an ID, an address, an identity or a passkey in common.
  ///   - merging: whether an account that is here gets what it lacks: a password that its owner has not removed, with the
  ///     authenticator app that protects it, a name, groups, passkeys, identities, recovery codes, and the confirmation of its address.
  ///     An account with another ID only if both addresses are confirmed.
  ///   - isTrial: whether nothing is written.
  /// - Returns: the results in the order of the batch.
  public func receive(
    _ batch: [ArrivingAccount], merging: Bool, isTrial: Bool = false, now: UnixTime
  ) async throws(RegistryError) -> [Arrival] {
    if !isTrial {
      var changes: [RegistryChange] = []
      for account in batch { changes += try creating(account, now: now) }
      do throws(RegistryStoreError) {
        try await store.write(changes, events: [])
        return batch.map { _ in .created }
      } catch {
        guard error == .alreadyExists else { throw RegistryError(error) }
      }
    }
    // Together, so that a store can make one transaction of their writes.
    let results = await withTaskGroup(of: (Int, Result<Arrival, RegistryError>).self) { group in
      for (index, account) in batch.enumerated() {
        group.addTask {
          do throws(RegistryError) {
            return (index, .success(try await receive(account, merging: merging, isTrial: isTrial, now: now)))
          } catch { return (index, .failure(error)) }
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    var arrivals: [Arrival] = []
    for index in batch.indices {
      guard let result = results[index] else { throw Registry.contention }
      arrivals.append(try result.get())
    }
    return arrivals
  }

  private func receive(
    _ account: ArrivingAccount, merging: Bool, isTrial: Bool, now: UnixTime
  ) async throws(RegistryError) -> Arrival {
    for _ in 0..<Registry.attempts {
      let decision = try await decision(about: account, merging: merging, now: now)
      if isTrial || decision.isEmpty { return decision.value }
      do throws(RegistryStoreError) {
        try await store.write(decision.changes, events: decision.events)
        return decision.value
      } catch {
        // Something of it came in meanwhile: look again.
        if case .unavailable = error { throw RegistryError(error) }
      }
    }
    throw Registry.contention
  }

  private func decision(
    about account: ArrivingAccount, merging: Bool, now: UnixTime
  ) async throws(RegistryError) -> Decision<Arrival> {
    let new = account.record
    if account.keepsID, let known = try await self.account(new.id) {
      guard known.state != .deleted else { return Decision(.refused(.accountDeleted)) }
      // Of a guest, neither tells who it is.
      let isSame =
        known.email.map { $0.normalized == new.email?.normalized } ?? (!known.isGuest && known.identity == new.identity)
      guard isSame else { return Decision(.refused(.idTaken)) }
      return merging ? try await merge(account, into: known, now: now) : Decision(.unchanged)
    }
    if let email = new.email, let known = try await self.account(email: email) {
      let isConfirmed = known.emailConfirmedAt != nil && new.emailConfirmedAt != nil
      if merging && isConfirmed { return try await merge(account, into: known, now: now) }
      // The same record again, and no other person's whose address is spelled otherwise.
      let isSame = !account.keepsID && known.email?.typed == email.typed
      return Decision(isSame ? .unchanged : .refused(.addressTaken))
    }
    for link in account.links where try await self.account(identity: link.identity) != nil {
      return Decision(.refused(.identityTaken))
    }
    for passkey in account.passkeys where try await self.passkey(passkey.id) != nil {
      return Decision(.refused(.passkeyTaken))
    }
    return Decision(.created, try creating(account, now: now))
  }

  /// The facts that the account lacks. It is never given back what its owner has removed or an administrator has closed.
  private func merge(
    _ account: ArrivingAccount, into known: AccountRecord, now: UnixTime
  ) async throws(RegistryError) -> Decision<Arrival> {
    let new = account.record
    var (changed, more, added) = (known, [RegistryChange](), [String]())
    if known.closedAt == nil, known.passwordHash == nil, known.credentialsChangedAt == nil, new.passwordHash != nil {
      changed.passwordHash = new.passwordHash
      added.append("password")
      // The password alone was never enough.
      if let totp = account.totp, try await self.totp(of: known.id) == nil,
        try await !hasRemoved([.totpRemoved], from: known.id)
      {
        more.append(try creating(totp, of: known.id, now: now))
        added.append("authenticator_app")
      }
    }
    added += changed.fill(from: new)
    // Facts that were never here, and none that the owner has removed.
    let mayGetWaysIn =
      if known.credentialsChangedAt == nil,
        !account.links.isEmpty || !account.passkeys.isEmpty || !account.recoveryCodes.isEmpty
      {
        try await !hasRemoved([.passkeyRemoved, .identityUnlinked], from: known.id)
      } else { false }
    // As at a sign-in with an address that a provider vouches for: an authenticator app here is not passed by.
    if mayGetWaysIn, !account.links.isEmpty, try await totp(of: known.id) == nil {
      let (previous, count) = (more.count, try await identities(of: known).count)
      for link in account.links where count + more.count - previous < LinkedIdentity.most {
        guard try await self.account(identity: link.identity) == nil else { continue }
        more.append(.createItem(LinkedIdentity(link.identity, of: known.id, label: link.label, at: now).item))
      }
      if more.count > previous { added.append("identity") }
    }
    if mayGetWaysIn, known.id == new.id, !account.recoveryCodes.isEmpty,
      try await item(StoredItemID(.recoveryCodes, known.id.rawValue)) == nil
    {
      more.append(.createItem(RecoveryCode.item(account.recoveryCodes, of: known.id, now: now)))
      added.append("recovery_codes")
    }
    if mayGetWaysIn, !account.passkeys.isEmpty, try await passkeys(of: known.id).isEmpty {
      let previous = more.count
      for passkey in account.passkeys where try await self.passkey(passkey.id) == nil {
        var moved = passkey
        moved.account = known.id
        more.append(.createItem(moved.item))
      }
      if more.count > previous { added.append("passkeys") }
    }
    // An account that was taken out of its last group has an item without names.
    if !account.groups.isEmpty, try await item(StoredItemID(.groups, known.id.rawValue)) == nil {
      more.append(Registry.groupsChange(account.groups, of: known.id, now: now))
      added.append("groups")
    }
    guard !added.isEmpty else { return Decision(.unchanged) }
    let details = JSONText([("added", added.joined(separator: " "))]).text
    return Decision(
      .merged,
      [.replaceAccount(changed, expecting: known.revision)] + more
        + [audited(.accountsImported, account: known.id, details: details, at: now)])
  }

  /// Whether the audit log has one of these removals about an account.
  private func hasRemoved(
    _ kinds: [AuditedAction.Kind], from account: AccountID
  ) async throws(RegistryError) -> Bool {
    let removals = kinds.map(\.rawValue)
    var last: Int64?
    while true {
      let actions = try await latestAuditedActions(about: account, before: last, limit: 500)
      if actions.contains(where: { removals.contains($0.audited.action) }) { return true }
      guard actions.count == 500, let next = actions.last?.id else { return false }
      last = next
    }
  }

  private func creating(_ account: ArrivingAccount, now: UnixTime) throws(RegistryError) -> [RegistryChange] {
    let id = account.record.id
    var changes: [RegistryChange] = [.createAccount(account.record)]
    changes += account.links.map { .createItem($0.item) }
    changes += account.passkeys.map { .createItem($0.item) }
    if !account.groups.isEmpty { changes.append(Registry.groupsChange(account.groups, of: id, now: now)) }
    if let totp = account.totp { changes.append(try creating(totp, of: id, now: now)) }
    if !account.recoveryCodes.isEmpty {
      changes.append(.createItem(RecoveryCode.item(account.recoveryCodes, of: id, now: now)))
    }
    return changes
  }
}

/// Operations of administrators beyond those of owners.
extension Registry {
  /// Returns at most `limit` accounts in the order of their IDs, deleted ones too: those after `id`, or the first ones.
  public func accounts(after id: AccountID? = nil, limit: Int) async throws(RegistryError) -> [AccountRecord] {
    try await read(try await store.accounts(after: id, limit: limit))
  }

  /// Returns the sessions of an account that have ended and are still stored, the oldest first.
  public func endedSessions(of account: AccountID) async throws(RegistryError) -> [SessionRow] {
    try await read(try await store.endedSessions(of: account))
  }

  /// Returns the items about an account, its devices for example.
  public func items(about account: AccountRecord) async throws(RegistryError) -> [StoredItem] {
    var items: [StoredItem] = []
    for kind in StoredItem.Kind.allCases { items += try await self.items(kind, of: account.id.rawValue) }
    if let email = account.email, let guesses = try await item(GuessSubject(email).id) { items.append(guesses) }
    return items
  }

  /// Returns at most `limit` entries of the audit log after the one with that ID, in order.
  public func auditedActions(
    after id: Int64 = 0, about account: AccountID? = nil, limit: Int
  ) async throws(RegistryError) -> [StoredAuditedAction] {
    try await read(try await store.auditedActions(after: id, about: account, limit: limit))
  }

  /// Returns at most `limit` entries of the audit log about an account, the newest first: those before the one with that ID, or
  /// the last ones.
  public func latestAuditedActions(
    about account: AccountID, before id: Int64? = nil, limit: Int
  ) async throws(RegistryError) -> [StoredAuditedAction] {
    try await read(try await store.latestAuditedActions(about: account, before: id, limit: limit))
  }

  /// Appends to the audit log an action that changes nothing in the store.
  public func audit(
    _ kind: AuditedAction.Kind, account: AccountID? = nil, session: SessionID? = nil, details: String = "{}",
    now: UnixTime
  ) async throws(RegistryError) {
    try await write([audited(kind, account: account, session: session, details: details, at: now)])
  }

  /// Returns at most `limit` entries of the audit log that were not taken before, in order. Each is given to one server on the store,
  /// once; what that server does with it is not known.
  public func takeAuditedActions(limit: Int, now: UnixTime) async throws(RegistryError) -> [StoredAuditedAction] {
    let id = StoredItemID(.auditCopy)
    let previous = try await item(id)
    let entries = try await auditedActions(after: previous.flatMap { Int64($0.payload) } ?? 0, limit: limit)
    guard let last = entries.last else { return [] }
    let next = StoredItem(
      id: id, kind: .auditCopy, payload: String(last.id), createdAt: previous?.createdAt ?? now,
      expiresAt: now.advanced(by: StoredItem.forever))
    // If it cannot be written, another server has taken them.
    return try await write([Registry.replacing(previous, by: next)], []) ? entries : []
  }

  /// Counts the sessions of other clients that were not ended, by `client_id`.
  package func clientSessions() async throws(RegistryError) -> [String: Int] {
    try await read(try await store.clientSessions())
  }

  /// Counts the rows of the store. It may take long on a large one.
  public func counts() async throws(RegistryError) -> RegistryCounts {
    try await read(try await store.counts())
  }

  /// Creates an account without a password, and a code that sets its first one, in one write.
  ///
  /// - Throws: ``RegistryError/emailTaken`` if an account, open or closed, already uses the address.
  public func openAccount(
    email: EmailAddress, username: String, codeLasting life: Duration, now: UnixTime
  ) async throws(RegistryError) -> (account: AccountRecord, code: OneTimeToken) {
    let record = newAccount(email: email, username: username, passwordHash: nil, now: now)
    let (code, change) = token(
      .passwordReset, subject: record.id.rawValue, account: record.id, lasting: life, now: now)
    // IDs and codes are random, so only the address can be taken.
    let created = try await create(
      record,
      with: [
        change, audited(.accountCreated, account: record.id, at: now),
        audited(.resetCodeIssued, account: record.id, at: now),
      ])
    return (created, code)
  }

  /// Creates an account without a password, whose owner is invited by mail to choose one, in one write.
  ///
  /// - Throws: as ``openAccount(email:username:codeLasting:now:)``.
  package func inviteAccount(
    email: EmailAddress, username: String, in language: String?, now: UnixTime
  ) async throws(RegistryError) -> AccountRecord {
    let record = newAccount(email: email, username: username, passwordHash: nil, now: now)
    let job = MailJob(kind: .invitation, email: email, account: record.id, language: language)
    return try await create(
      record,
      with: [
        .putItem(job.item(subject: record.id.rawValue, key: email.normalized, delay: .zero, now: now)),
        audited(.accountCreated, account: record.id, at: now),
      ])
  }

  /// Returns the addresses that sessions of an account began from, as far as the audit log has them.
  package func addresses(ofSessionsOf account: AccountID) async throws(RegistryError) -> [SessionID: String] {
    var (found, last): ([SessionID: String], Int64) = ([:], 0)
    while case let page = try await auditedActions(after: last, about: account, limit: 1000), let end = page.last {
      for action in page.map(\.audited) where action.action == AuditedAction.Kind.signedIn.rawValue {
        if let session = action.session { found[session] = action.address }
      }
      last = end.id
    }
    return found
  }

  /// Issues a code that sets a password, for an administrator to hand over. Unlike for a mailed one, the account need not
  /// have a password.
  ///
  /// - Throws: ``RegistryError/accountClosed``, ``RegistryError/notFound`` without an address to sign in with.
  public func issueResetCode(of account: AccountRecord, now: UnixTime) async throws(RegistryError) -> OneTimeToken {
    guard account.closedAt == nil else { throw .accountClosed }
    guard account.email != nil else { throw .notFound }
    return try await issue(
      .passwordReset, subject: account.id.rawValue, account: account.id, lasting: OneTimeTokenLimits.reset, now: now,
      with: [audited(.resetCodeIssued, account: account.id, at: now)])
  }
}
