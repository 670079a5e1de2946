#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// Ends of sessions, consents and accounts.
extension AccountService {
  /// Ends one session of the account, which another one than its own may do only with a recent proof.
  ///
  /// - Returns: the sessions that ended; none if it had ended already.
  /// - Throws: ``RegistryError/notFound`` for one that is unknown or belongs to another account.
  @discardableResult
  func end(_ session: SessionID, by owner: Owner) async throws -> [SessionRow] {
    let isOwn = session == owner.session
    if !isOwn { try requireProof(owner) }
    return ended(
      try await owned(owner.caller).end(
        session, of: owner.account.id, reason: isOwn ? .signedOut : .revoked, now: clock.now), owner.caller)
  }

  /// Ends all sessions of the account, after what waits to be answered.
  ///
  /// - Parameter keepingOwn: whether the one that asks for it stays.
  /// - Throws: ``ProblemError/reauthenticationRequired``.
  @discardableResult
  func endAll(by owner: Owner, keepingOwn: Bool) async throws -> [SessionRow] {
    try requireProof(owner)
    return ended(
      try await owned(owner.caller).endAll(
        of: owner.account.id, except: keepingOwn ? owner.session : nil, now: clock.now), owner.caller)
  }

  /// Withdraws what the owner allows a client, and ends the client's sessions of the account.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired``: it ends sessions elsewhere.
  func withdrawConsent(to client: String, by owner: Owner) async throws {
    try requireProof(owner)
    ended(
      try await owned(owner.caller).withdrawConsent(of: owner.account.id, to: client, now: clock.now), owner.caller)
  }

  /// Renames the device of a session. Another than the own one only with a recent proof: a thief could have the owner end the wrong one.
  func rename(_ session: SessionID, to name: String, by owner: Owner) async throws -> SessionRow {
    if session != owner.session { try requireProof(owner) }
    return try await registry.rename(session, of: owner.account.id, to: name, now: clock.now)
  }

  /// Permanently deletes the account and ends all its sessions. Takes the password if the account has one, or a recent proof unless it
  /// is a guest's.
  ///
  /// - Throws: ``ProblemError/wrongPassword``, ``ProblemError/reauthenticationRequired``.
  func delete(_ owner: Owner, password: Secret?) async throws {
    if owner.account.passwordHash != nil {
      _ = try await verify(password, of: owner)
    } else {
      try requireProof(owner)
    }
    ended(
      try await owned(owner.caller).deleteAccount(owner.account, now: clock.now), of: owner.account.id, owner.caller)
    recorder.metrics.update { $0.accountsDeleted += 1 }
    owner.caller.logger.info("Account deleted", metadata: ["handstamp.account": "\(owner.account.id)"])
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
