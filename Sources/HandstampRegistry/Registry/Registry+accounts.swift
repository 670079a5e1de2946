public import HandstampCore

extension Registry {
  /// Opens an account. Fails with ``RegistryError/emailTaken`` when the address has one, closed ones included.
  public func openAccount(
    email: EmailAddress?, username: String, passwordHash: Secret?, now: UnixTime
  ) async throws(RegistryError) -> AccountRecord {
    var source = source
    let record = AccountRecord(
      id: AccountID("acc_" + SessionBytes(from: &source).id.rawValue), email: email, username: username,
      passwordHash: passwordHash, createdAt: now)
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

  /// Sets a new password and ends every session but the one that asks, in one write (OWASP ASVS 7.4.3). A sign-in that was
  /// checked against the old password fails.
  public func setPassword(
    of record: AccountRecord, hash: Secret, keeping kept: SessionID?, now: UnixTime
  ) async throws(RegistryError) -> EndOutcome {
    var changed = record
    changed.passwordHash = hash
    let event = RegistryEvent(kind: .credentialChange, account: record.id, session: kept, at: now)
    return try await end(
      .revoked, now: now, with: [.replaceAccount(changed, expecting: record.revision)], events: [event]
    ) { () throws(RegistryStoreError) in
      try await store.sessions(of: record.id).filter { $0.id != kept }
    }
  }

  /// Closes an account and ends all its sessions, in one write.
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
  fileprivate var advanced: AccountRecord {
    var record = self
    record.revision += 1
    return record
  }
}
