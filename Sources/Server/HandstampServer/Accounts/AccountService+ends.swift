#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// Ends of sessions, consents and accounts.
extension AccountService {
  /// Ends one session of the account, which another one than its own may do only with a recent proof.
  ///
  /// - Parameters:
  ///   - isWhole: whether the other sessions of its ``SessionGroup`` end with it.
  ///   - password: a proof for this alone, with which the code of an authenticator app is not needed: the lost device may have it.
  /// - Returns: the sessions that ended; none if it had ended already.
  /// - Throws: ``RegistryError/notFound`` for one that is unknown or belongs to another account.
  @discardableResult
  func end(
    _ session: SessionID, whole isWhole: Bool = false, by owner: Owner, password: Secret? = nil
  ) async throws -> [SessionRow] {
    let isOwn = session == owner.session
    try await require(isOwn ? .signOut : .endDevices, of: owner, by: password)
    let group = isWhole ? try await group(of: session, owner) : []
    return ended(
      try await owned(owner.caller).end(
        group.isEmpty ? [session] : group.map(\.id), of: owner.account.id, reason: isOwn ? .signedOut : .revoked,
        now: clock.now), owner.caller)
  }

  /// Returns the sessions that the owner sees as one with this one; none if it is not live.
  func group(of session: SessionID, _ owner: Owner) async throws -> [SessionRow] {
    SessionGroup.groups(
      of: try await registry.sessions(of: owner.account.id, now: clock.now), current: owner.session
    ).first { $0.rows.contains { $0.id == session } }?.rows ?? []
  }

  /// Ends all sessions of the account, after what waits to be answered.
  ///
  /// - Parameters:
  ///   - keepingOwn: whether the one that asks for it stays.
  ///   - password: as for ``end(_:whole:by:password:)``.
  /// - Throws: ``ProblemError/reauthenticationRequired(_:)``.
  @discardableResult
  func endAll(by owner: Owner, keepingOwn: Bool, password: Secret? = nil) async throws -> [SessionRow] {
    try await require(.endDevices, of: owner, by: password)
    return ended(
      try await owned(owner.caller).endAll(
        of: owner.account.id, except: keepingOwn ? owner.session : nil, now: clock.now), owner.caller)
  }

  /// Withdraws what the owner allows a client, and ends the client's sessions of the account.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired(_:)``: it ends sessions elsewhere.
  func withdrawConsent(to client: String, by owner: Owner) async throws {
    try await require(.withdrawConsent, of: owner)
    ended(
      try await owned(owner.caller).withdrawConsent(of: owner.account.id, to: client, now: clock.now), owner.caller)
  }

  /// Renames the device of a session. Another than the own one only with a recent proof: a thief could have the owner end the wrong one.
  func rename(_ session: SessionID, to name: String, by owner: Owner) async throws -> SessionRow {
    try await require(session == owner.session ? .renameOwnDevice : .renameDevice, of: owner)
    return try await registry.rename(session, of: owner.account.id, to: name, now: clock.now)
  }

  /// Permanently deletes the account and ends all its sessions. Takes the password if the account has one, or a recent proof unless it
  /// is a guest's.
  ///
  /// - Parameter code: that of an authenticator app, where the session does not show a second factor that the account asks for.
  /// - Throws: as ``require(_:of:password:code:)``.
  func delete(_ owner: Owner, password: Secret?, code: Secret? = nil) async throws {
    if owner.account.passwordHash != nil {
      _ = try await require(.delete, of: owner, password: password, code: code)
    } else {
      try await require(.delete, of: owner)
    }
    ended(
      try await owned(owner.caller).deleteAccount(owner.account, now: clock.now), of: owner.account.id, owner.caller)
    recorder.metrics.update { $0.accountsDeleted += 1 }
    owner.caller.logger.info("Account deleted", metadata: ["handstamp.account": "\(owner.account.id)"])
  }

  /// Returns everything that is stored about the owner.
  ///
  /// - Parameter export: reads it, for the audit log by the owner.
  /// - Throws: ``ProblemError/reauthenticationRequired(_:)``, `rate_limited`.
  func download(
    _ owner: Owner, by export: (AccountID, AuditActor) async throws -> [UInt8]
  ) async throws -> [UInt8] {
    try await require(.download, of: owner)
    // It reads the whole audit log.
    try limits.take(.codes, from: owner.caller.client, about: owner.account.id.rawValue)
    return try await export(owner.account.id, .owner(from: owner.caller.client.text))
  }

  /// - Parameter password: a proof for this action alone, which gives the session no other right.
  private func require(_ action: OwnerAction, of owner: Owner, by password: Secret?) async throws {
    do { try await require(action, of: owner) } catch {
      guard let password else { throw error }
      _ = try await verify(password, of: owner)
    }
  }

  @discardableResult
  private func ended(_ rows: [SessionRow], _ caller: Caller) -> [SessionRow] {
    recorder.recordEnd(rows, logger: caller.logger)
    return rows
  }

  /// Tells of an account whose credentials or existence have changed, and of the sessions that ended by it.
  func ended(_ rows: [SessionRow], of account: AccountID, _ caller: Caller) {
    recorder.recordEnd(rows, logger: caller.logger)
    recorder.announceChange(account)
  }
}
#endif
