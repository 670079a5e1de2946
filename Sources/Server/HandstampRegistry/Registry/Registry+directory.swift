public import HandstampCore

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
          events: [RegistryEvent(kind: .credentialChange, account: id, session: kept, at: now)]
        ) { () throws(RegistryStoreError) in try await store.sessions(of: id).filter { $0.id != kept } }
      } catch {
        guard error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }
}
