public import HandstampCore

extension Registry {
  /// Opens an account. Fails with ``RegistryError/emailTaken`` when the address has one, closed ones included.
  public func openAccount(
    email: EmailAddress?, username: String, passwordHash: Secret?, now: UnixTime
  ) async throws(RegistryError) -> AccountRecord {
    let record = newAccount(email: email, username: username, passwordHash: passwordHash, now: now)
    do throws(RegistryStoreError) {
      _ = try await store.write([.createAccount(record)], events: [])
      return record
    } catch {
      switch error {
      case .exists: throw .emailTaken
      case .changed, .missing, .unavailable: throw RegistryError(error)
      }
    }
  }

  public func account(_ id: AccountID) async throws(RegistryError) -> AccountRecord? {
    try await reading { () throws(RegistryStoreError) in try await store.account(id) }
  }

  public func account(email: EmailAddress) async throws(RegistryError) -> AccountRecord? {
    try await reading { () throws(RegistryStoreError) in try await store.account(email: email.normalised) }
  }

  /// Stores a changed record over the one it was made of, with its revision: a new name, say. Fails with
  /// ``RegistryError/accountChanged`` when somebody was faster.
  public func update(_ record: AccountRecord) async throws(RegistryError) -> AccountRecord {
    do throws(RegistryStoreError) {
      _ = try await store.write([.replaceAccount(record, expecting: record.revision)], events: [])
      return record.advanced
    } catch {
      switch error {
      case .exists: throw .emailTaken
      case .changed: throw .accountChanged
      case .missing: throw .missing
      case .unavailable: throw RegistryError(error)
      }
    }
  }

  /// Sets a new password and, if asked, ends every session but the one that asks, in one write (OWASP ASVS 7.4.3). A sign-in
  /// that was checked against the old password fails, and a mail with which the password could be reset is good for nothing.
  public func setPassword(
    of record: AccountRecord, hash: Secret, keeping kept: SessionID?, endingOthers: Bool = true, now: UnixTime
  ) async throws(RegistryError) -> EndOutcome {
    var changed = record
    changed.passwordHash = hash
    let event = RegistryEvent(kind: .credentialChange, account: record.id, session: kept, at: now)
    return try await end(
      .revoked, now: now,
      with: [
        .replaceAccount(changed, expecting: record.revision),
        .voidTickets(.passwordReset, subject: record.id.rawValue),
      ],
      events: [event]
    ) { () throws(RegistryStoreError) in
      endingOthers ? try await store.sessions(of: record.id).filter { $0.id != kept } : []
    }
  }

  /// Deletes an account for good, in one write: its address, name, password and identity are forgotten, all its sessions end.
  /// The id stays taken, so that nobody ever has it again.
  public func deleteAccount(_ record: AccountRecord, now: UnixTime) async throws(RegistryError) -> EndOutcome {
    let husk = AccountRecord(
      id: record.id, email: nil, username: "", passwordHash: nil, createdAt: record.createdAt,
      closedAt: record.closedAt ?? now)
    let event = RegistryEvent(kind: .accountPurged, account: record.id, at: now)
    return try await end(
      .accountClosed, now: now,
      with: [
        .replaceAccount(husk, expecting: record.revision),
        .voidTickets(.passwordReset, subject: record.id.rawValue),
        .voidTickets(.upgrade, subject: record.id.rawValue),
      ],
      events: [event]
    ) { () throws(RegistryStoreError) in
      try await store.sessions(of: record.id)
    }
  }

  /// Closes an account and ends all its sessions, in one write. It keeps its address.
  public func closeAccount(_ record: AccountRecord, now: UnixTime) async throws(RegistryError) -> EndOutcome {
    var changed = record
    changed.closedAt = record.closedAt ?? now
    let event = RegistryEvent(kind: .accountDisabled, account: record.id, at: now)
    return try await end(
      .accountClosed, now: now, with: [.replaceAccount(changed, expecting: record.revision)], events: [event]
    ) { () throws(RegistryStoreError) in
      try await store.sessions(of: record.id)
    }
  }
}

extension AccountRecord {
  /// The record as it is after one more write.
  var advanced: AccountRecord {
    var record = self
    record.revision += 1
    return record
  }
}
