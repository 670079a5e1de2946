public import HandstampCore

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
    let former = try await item(id)
    let entries = try await auditedActions(after: former.flatMap { Int64($0.payload) } ?? 0, limit: limit)
    guard let last = entries.last else { return [] }
    let next = StoredItem(
      id: id, kind: .auditCopy, payload: String(last.id), createdAt: former?.createdAt ?? now,
      expiresAt: now.advanced(by: StoredItem.forever))
    // If it cannot be written, another server has taken them.
    return try await write([Registry.replacing(former, by: next)], []) ? entries : []
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
    guard try await account(email: email) == nil else { throw .emailTaken }
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
    guard try await account(email: email) == nil else { throw .emailTaken }
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
