public import HandstampCore

extension Registry {
  /// Creates an account.
  ///
  /// - Throws: ``RegistryError/emailTaken`` if an account, open or closed, already uses the address.
  public func openAccount(
    email: EmailAddress?, username: String, passwordHash: Secret?, now: UnixTime
  ) async throws(RegistryError) -> AccountRecord {
    let record = newAccount(email: email, username: username, passwordHash: passwordHash, now: now)
    return try await create(record, with: [audited(.accountCreated, account: record.id, at: now)])
  }

  /// - Throws: ``RegistryError/emailTaken`` if the record's ID, address or identity is taken.
  func create(
    _ record: AccountRecord, with more: [RegistryChange] = []
  ) async throws(RegistryError) -> AccountRecord {
    guard try await write([.createAccount(record)] + more, []) else { throw .emailTaken }
    return record
  }

  public func account(_ id: AccountID) async throws(RegistryError) -> AccountRecord? {
    try await read(try await store.account(id))
  }

  public func account(email: EmailAddress) async throws(RegistryError) -> AccountRecord? {
    try await read(try await store.account(email: email.normalized))
  }

  /// Stores a changed record, such as one with a new name, in place of the stored record with the same revision.
  ///
  /// - Throws: ``RegistryError/accountChanged`` if the stored record has changed since it was read.
  public func update(_ record: AccountRecord) async throws(RegistryError) -> AccountRecord {
    try await update(record, with: [])
  }

  private func update(
    _ record: AccountRecord, with more: [RegistryChange], events: [RegistryEvent] = []
  ) async throws(RegistryError) -> AccountRecord {
    do throws(RegistryStoreError) {
      try await store.write([.replaceAccount(record, expecting: record.revision)] + more, events: events)
      return record.advanced
    } catch { throw RegistryError(error, exists: .emailTaken, changed: .accountChanged, missing: .notFound) }
  }

  /// Sets a new password and, by default, ends every session except `kept`, in one write (OWASP ASVS 7.4.3).
  ///
  /// A sign-in that was checked against the old password fails, and what waits to be answered is void, see ``TakeBack/pending``.
  public func setPassword(
    of record: AccountRecord, hash: Secret, keeping kept: SessionID?, endingOthers: Bool = true, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    let changed = record.with(passwordHash: hash, at: now)
    var name = NoticedName.none
    if let kept, notices.contains(.passwordChanged), let row = try await session(kept, now: now) {
      name = NoticedName(of: row)
    }
    let event = RegistryEvent(kind: .credentialChange, account: record.id, session: kept, at: now)
    return try await end(
      .revoked, now: now, keeping: kept,
      with: [
        .replaceAccount(changed, expecting: record.revision), audited(.passwordChanged, account: record.id, at: now),
      ] + TakeBack.pending.changes(of: record.id)
        + notice(.passwordChanged, of: record.id, name, now: now),
      events: [event], rows: endingOthers ? try await store.sessions(of: record.id).filter { $0.id != kept } : [])
  }

  /// Removes the password of an account, whose passkeys remain. A sign-in that was checked against it fails, and a mailed code may
  /// set another. Sessions go on.
  ///
  /// - Returns: `nil` if the account has no passkey. Nothing changed.
  /// - Throws: ``RegistryError/accountChanged`` if the session of `user` has ended, or the account has changed.
  public func removePassword(
    by user: BrowserSession, now: UnixTime
  ) async throws(RegistryError) -> AccountRecord? {
    guard try await !passkeys(of: user.account.id).isEmpty else { return nil }
    var changed = user.account
    changed.passwordHash = nil
    changed.credentialsChangedAt = now
    try await writeIfUnchanged(
      [
        .expectSession(user.row.id), .replaceAccount(changed, expecting: user.account.revision),
        audited(.passwordRemoved, account: changed.id, at: now),
      ] + TakeBack.pending.changes(of: changed.id)
        + notice(.passwordChanged, of: changed.id, NoticedName(of: user.row), now: now),
      events: [RegistryEvent(kind: .credentialChange, account: changed.id, at: now)])
    return changed.advanced
  }

  /// Replaces the stored hash of an account's unchanged password by a stronger one. Ends nothing.
  ///
  /// - Returns: the new record.
  public func strengthen(_ record: AccountRecord, hash: Secret) async throws(RegistryError) -> AccountRecord {
    var changed = record
    changed.passwordHash = hash
    return try await update(changed)
  }

  /// Permanently deletes an account in one write: erases its address, name, password, identity and devices, and ends all
  /// its sessions. The ID stays reserved and is never reused.
  public func deleteAccount(_ record: AccountRecord, now: UnixTime) async throws(RegistryError) -> [SessionRow] {
    let event = RegistryEvent(kind: .accountPurged, account: record.id, at: now)
    let void = try await voiding(.account, of: record.id, now: now)
    return try await end(
      .accountClosed, now: now,
      with: [audited(.accountDeleted, account: record.id, at: now), RegistryChange.emptying(record, at: now)] + void
        + GuessSubject.forgetting(record),
      finally: [.eraseDevices(of: record.id)],
      events: [event], rows: try await store.sessions(of: record.id))
  }

  /// Closes an account and ends all its sessions, in one write. The account keeps its address and its password. Browsers that
  /// are signed in, and codes that could sign in, are not valid after it was opened again either.
  public func closeAccount(_ record: AccountRecord, now: UnixTime) async throws(RegistryError) -> [SessionRow] {
    var changed = record
    changed.closedAt = record.closedAt ?? now
    let event = RegistryEvent(kind: .accountDisabled, account: record.id, at: now)
    let void = try await voiding(.sessions, of: record.id, now: now)
    return try await end(
      .accountClosed, now: now,
      with: [
        .replaceAccount(changed, expecting: record.revision), audited(.accountDisabled, account: record.id, at: now),
      ] + void,
      events: [event], rows: try await store.sessions(of: record.id))
  }

  /// Opens a closed account again: its owner may sign in. Its sessions stay ended.
  ///
  /// - Throws: ``RegistryError/accountClosed`` if the account was deleted.
  public func reopenAccount(_ record: AccountRecord, now: UnixTime) async throws(RegistryError) -> AccountRecord {
    guard record.state != .deleted else { throw .accountClosed }
    var changed = record
    changed.closedAt = nil
    return try await update(
      changed, with: [audited(.accountEnabled, account: record.id, at: now)],
      events: [RegistryEvent(kind: .accountEnabled, account: record.id, at: now)])
  }
}

extension RegistryChange {
  /// The changes that erase what an account has, besides its sessions. The ID stays.
  package static func erasing(_ record: AccountRecord, at time: UnixTime) -> [RegistryChange] {
    [emptying(record, at: time)] + TakeBack.account.changes(of: record.id)
  }

  fileprivate static func emptying(_ record: AccountRecord, at time: UnixTime) -> RegistryChange {
    let husk = AccountRecord(
      id: record.id, email: nil, username: "", passwordHash: nil, createdAt: record.createdAt,
      closedAt: record.closedAt ?? time)
    return .replaceAccount(husk, expecting: record.revision)
  }
}

extension AccountRecord {
  /// The record with a new password.
  func with(passwordHash hash: Secret, at now: UnixTime) -> AccountRecord {
    var record = self
    record.passwordHash = hash
    record.credentialsChangedAt = now
    return record
  }

  /// The record with the revision it has after the next write.
  var advanced: AccountRecord {
    var record = self
    record.revision += 1
    return record
  }
}

extension Registry {
  /// How long an account's device is known after one of its sessions there was last used.
  public static let deviceMemory = Duration.seconds(90 * 86_400)

  /// Returns whether a session of the account was used on the device within ``deviceMemory``.
  ///
  /// An installation draws its device ID at random, and no response of the API names those of others. So a stranger does not know
  /// the ID of a device that is known.
  public func knows(_ device: DeviceID, of account: AccountID, now: UnixTime) async throws(RegistryError) -> Bool {
    guard !device.rawValue.isEmpty else { return false }
    if try await liveItem(StoredItemID(device, of: account), now: now) != nil { return true }
    return try await liveSessions(of: account).contains {
      $0.client == nil && $0.device.id == device && $0.endReason(at: now) == nil
    }
  }

  /// The change that remembers the device of a session; `nil` for the session of another client, which has no device, and for one in a
  /// borrowed browser.
  ///
  /// - Parameter isOut: whether its session was ended from elsewhere. The owner is told when it signs in again.
  func remembering(
    _ row: SessionRow, isOut: Bool = false
  ) async throws(RegistryStoreError) -> RegistryChange? {
    guard row.client == nil, !row.isBorrowed, !row.device.id.rawValue.isEmpty else { return nil }
    let id = StoredItemID(row.device.id, of: row.account)
    var payload = isOut ? Registry.out : actor.language
    // The owner does not read there now: the session has expired, or a program began it.
    if payload == nil { payload = try await store.item(id).flatMap(Registry.languageRead) }
    return .putItem(
      StoredItem(
        id: id, kind: .device, subject: row.account.rawValue, payload: payload ?? "", createdAt: row.lastSeenAt,
        expiresAt: row.lastSeenAt.advanced(by: Registry.deviceMemory)))
  }

  /// The change after which a device is not known.
  func forgetting(_ device: DeviceID, of account: AccountID, now: UnixTime) -> RegistryChange {
    .putItem(
      StoredItem(
        id: StoredItemID(device, of: account), kind: .device, subject: account.rawValue, createdAt: now, expiresAt: now)
    )
  }

  /// Returns whether a sign-in on this device is news to the owner.
  func isNews(_ device: DeviceID, of account: AccountID, now: UnixTime) async throws(RegistryError) -> Bool {
    if let item = try await liveItem(StoredItemID(device, of: account), now: now) {
      return item.payload == Registry.out
    }
    return try await !knows(device, of: account, now: now)
  }

  /// The payload of a device whose session was ended from elsewhere. Otherwise it is the language that was read there, if known.
  private static let out = "out"

  static func languageRead(on device: StoredItem) -> String? {
    device.payload.isEmpty || device.payload == out ? nil : device.payload
  }
}

extension StoredItemID {
  init(_ device: DeviceID, of account: AccountID) { self.init(.device, account.rawValue, device.rawValue) }
}

/// Accounts that another program keeps: the registry has only what sessions need.
extension Registry {
  /// Returns the record of an account that is kept elsewhere, and creates it if there is none.
  ///
  /// - Parameters:
  ///   - id: the account's ID there, which becomes its ID here.
  ///   - origin: names the place, so that an account of the registry's own is never taken for one of the other program.
  ///   - username: for a new record.
  /// - Throws: ``RegistryError/accountClosed`` if the account was deleted or closed here.
  public func adopt(
    _ id: AccountID, of origin: String, username: String, now: UnixTime
  ) async throws(RegistryError) -> AccountRecord {
    let identity = ExternalIdentity(issuer: origin, subject: id.rawValue)
    for _ in 0..<Registry.attempts {
      do throws(RegistryError) {
        guard let record = try await account(id) else {
          let record = AccountRecord(
            id: id, email: nil, identity: identity, username: username, passwordHash: nil, createdAt: now)
          return try await create(record)
        }
        guard record.closedAt == nil else { throw .accountClosed }
        guard record.identity == identity else { throw .unavailable("an account of the server's own has this ID") }
        return record
      } catch {
        // Another request did the same: read again.
        guard error == .emailTaken else { throw error }
      }
    }
    throw Registry.contention
  }

  /// Ends an account's sessions except `kept`, and refuses sign-ins that were checked before, in one write, because its
  /// password or another credential has changed elsewhere. An unknown account has no sessions, which is not an error.
  public func credentialsChanged(
    of id: AccountID, keeping kept: SessionID? = nil, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    for _ in 0..<Registry.attempts {
      guard let record = try await account(id) else { return [] }
      var changed = record
      // Browsers that signed in before are signed out, too.
      changed.credentialsChangedAt = now
      do throws(RegistryError) {
        return try await end(
          .revoked, now: now, keeping: kept,
          with: [
            .replaceAccount(changed, expecting: record.revision), audited(.passwordChanged, account: id, at: now),
          ] + TakeBack.pending.changes(of: id),
          events: [RegistryEvent(kind: .credentialChange, account: id, session: kept, at: now)],
          rows: try await store.sessions(of: id).filter { $0.id != kept })
      } catch {
        guard error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }
}
