public import HandstampCore
import HandstampSupport

/// The result of removing a passkey.
public enum PasskeyRemoval: Sendable, Hashable {
  case removed(PasskeyRecord)
  /// It is the only way into the account, which has no password and no identity elsewhere. Nothing changed.
  case isLast
  /// The account has no such passkey.
  case unknown
}

extension Registry {
  /// Returns the passkeys of an account, the oldest first.
  public func passkeys(of account: AccountID) async throws(RegistryError) -> [PasskeyRecord] {
    try await items(.passkey, of: account.rawValue).compactMap { PasskeyRecord($0) }
  }

  /// Returns the passkey with that ID, of whichever account.
  ///
  /// - Parameter id: see ``PasskeyRecord/id``.
  public func passkey(_ id: String) async throws(RegistryError) -> PasskeyRecord? {
    try await item(StoredItemID(.passkey, id)).flatMap { PasskeyRecord($0) }
  }

  /// Adds a passkey to its account, whose owner a mail tells.
  ///
  /// - Parameters:
  ///   - account: as read when the owner asked for it.
  ///   - session: the session that the owner asked in.
  ///   - challenge: the record of the challenge that it was made for, which refuses a second use.
  /// - Returns: `false` if any account has a passkey with this ID, the challenge was used, or there are ``PasskeyRecord/most``.
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account has changed.
  public func addPasskey(
    _ passkey: PasskeyRecord, to account: AccountRecord, in session: SessionID,
    challenge: OneTimeTokenRecord, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    guard try await passkeys(of: account.id).count < PasskeyRecord.most else { return false }
    let changes: [RegistryChange] =
      [
        .expectSession(session), .expectAccount(account.id, revision: account.revision),
        .createOneTimeToken(challenge), .createItem(passkey.item),
      ] + changed(.passkeyAdded, .passkeyAdded, of: account.id, passkey.name, now: now)
    return try await writeNew(changes, of: account.id, now: now)
  }

  /// Writes a new credential; `false` if it exists.
  ///
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account has changed.
  func writeNew(
    _ changes: [RegistryChange], of account: AccountID, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    do throws(RegistryStoreError) {
      try await store.write(changes, events: [RegistryEvent(kind: .credentialChange, account: account, at: now)])
      return true
    } catch {
      switch error {
      case .alreadyExists: return false
      case .conflict, .notFound: throw .accountChanged
      case .unavailable: throw RegistryError(error)
      }
    }
  }

  /// Removes a passkey of an account, whose owner a mail tells. Sessions go on.
  ///
  /// - Parameter session: the session that the owner asked in.
  public func removePasskey(
    _ id: String, of account: AccountID, in session: SessionID, now: UnixTime
  ) async throws(RegistryError) -> PasskeyRemoval {
    for _ in 0..<Registry.attempts {
      guard let record = try await self.account(account), record.closedAt == nil else { throw .accountChanged }
      let all = try await passkeys(of: account)
      guard let passkey = all.first(where: { $0.id == id }) else { return .unknown }
      if all.count == 1, record.passwordHash == nil, try await identities(of: record).isEmpty { return .isLast }
      let changes: [RegistryChange] =
        [
          .expectSession(session),
          // Replaced, so that the last passkey and the password, or two passkeys, are not removed at the same time.
          .replaceAccount(record, expecting: record.revision),
          .removeItem(passkey.item),
        ] + changed(.passkeyRemoved, .passkeyRemoved, of: account, passkey.name, now: now)
      if try await writeWays(changes, of: account, in: session, now: now) { return .removed(passkey) }
    }
    throw Registry.contention
  }

  /// Returns the use of a passkey whose signature was verified.
  ///
  /// - Parameters:
  ///   - passkey: as read from this registry.
  ///   - signCount: its counter after this use.
  ///   - isBackedUp: whether it was copied at this use.
  ///   - challenge: the record of the challenge that was signed, which refuses a second use.
  /// - Returns: `nil` if its account is closed.
  public func credentialUse(
    for passkey: PasskeyRecord, signCount: UInt32, isBackedUp: Bool, challenge: OneTimeTokenRecord, now: UnixTime
  ) async throws(RegistryError) -> CredentialUse? {
    guard let account = try await account(passkey.account), account.closedAt == nil else { return nil }
    var used = passkey
    (used.signCount, used.isBackedUp, used.lastUsedAt) = (signCount, isBackedUp, now)
    return CredentialUse(
      account: account, way: .passkey, methods: .passkey(mayBeCopied: passkey.isBackupEligible),
      changes: [.createOneTimeToken(challenge), .replaceItem(used.item, expecting: passkey.revision)])
  }

  /// Records that a user has proved to be the account's owner, without a new session.
  ///
  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` if the credential was used at the same time, or removed;
  ///   ``RegistryError/upstreamEnded`` if the provider has announced an end of what it depends on.
  public func commit(_ use: CredentialUse, now: UnixTime) async throws(RegistryError) {
    let audit = audited(
      .reauthenticated, account: use.account.id, details: JSONText([("way", use.way.rawValue)]).text, at: now)
    let changes = use.changes + (try await expectations(of: use.upstream, now: now)) + [audit]
    guard try await write(changes, []) else { throw .oneTimeTokenInvalid }
  }

  /// Logs that a passkey was refused whose signature is valid, because its counter says that it was copied.
  public func recordRefusal(_ passkey: PasskeyRecord, received: UInt32, now: UnixTime) async throws(RegistryError) {
    let details = #"{"stored":\#(passkey.signCount),"received":\#(received)}"#
    try await write([audited(.passkeyRefused, account: passkey.account, details: details, at: now)])
  }

  /// The changes that log and tell that the ways into an account have changed.
  func changed(
    _ kind: AuditedAction.Kind, _ notice: AccountNotice, of account: AccountID, _ name: String, now: UnixTime
  ) -> [RegistryChange] {
    [audited(kind, account: account, details: JSONText([("name", name)]).text, at: now)]
      + self.notice(notice, of: account, NoticedName(text: name), now: now)
  }
}
