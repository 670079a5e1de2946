#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// Passwords, passkeys and recovery codes.
extension AccountService {
  // MARK: A forgotten password

  /// Asks for a mail that sets a new password. Costs the same for every address: whether there is a password to reset is looked up later.
  func requestReset(of email: EmailAddress, by caller: Caller) async throws {
    try limits.take(.mails, from: caller.client, about: email.normalized)
    try await outbox.add(.reset(email), to: email)
  }

  /// Returns the account whose password a mailed token can set; `nil` if it is not valid.
  func account(forResetToken token: Secret, _ caller: Caller) async throws -> AccountRecord? {
    try limits.takeOwn(.codes, from: caller.client)
    guard let token = OneTimeToken(presented: token) else { return nil }
    return try await registry.account(forResetToken: token, now: clock.now)
  }

  /// Sets a new password by a mailed token, ends every session, and takes the account back.
  ///
  /// - Parameter keepingOthers: whether passkeys, recovery codes, consents and known devices stay: the owner says that none is a
  ///   stranger's.
  /// - Throws: ``RegistryError/oneTimeTokenInvalid``, `weak_password`.
  func resetPassword(
    with presented: Secret, to password: Secret, keepingOthers: Bool, by caller: Caller
  ) async throws {
    // Do not spend a hash on guesses, nor what all clients share.
    guard let account = try await account(forResetToken: presented, caller),
      let token = OneTimeToken(presented: presented)
    else { throw await refusedCode(caller) }
    try limits.takeShared(.codes)
    let place = try passwords.admit()
    try policy.check(new: password, of: account.email, account.username)
    let hash = try await place.hash(password)
    ended(
      try await owned(caller).resetPassword(
        with: token, hash: hash, takingBack: keepingOthers ? .pending : .everything, now: clock.now),
      of: account.id, caller)
    recorder.metrics.update { $0.passwordChanges += 1 }
  }

  // MARK: The password

  /// Changes the password, given the present one, and ends the other sessions on request.
  ///
  /// - Throws: ``ProblemError/wrongPassword``, `weak_password`.
  func changePassword(of owner: Owner, from current: Secret?, to new: Secret, endingOthers: Bool) async throws {
    let place = try await verify(current, of: owner)
    try policy.check(new: new, of: owner.account.email, owner.account.username)
    try await setPassword(of: owner, hash: try await place.hash(new), endingOthers: endingOthers)
  }

  /// Sets the first password of an account that signs in with passkeys.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired``, `weak_password`; ``ProblemError/wrongPassword`` if there is a password.
  func setFirstPassword(of owner: Owner, to new: Secret, endingOthers: Bool) async throws {
    guard owner.account.passwordHash == nil, owner.account.email != nil else { throw ProblemError.wrongPassword }
    try requireProof(owner)
    try policy.check(new: new, of: owner.account.email, owner.account.username)
    try await setPassword(of: owner, hash: try await passwords.hash(new), endingOthers: endingOthers)
  }

  private func setPassword(of owner: Owner, hash: Secret, endingOthers: Bool) async throws {
    let outcome = try await changing(owner) { record in
      try await owned(owner.caller).setPassword(
        of: record, hash: hash, keeping: owner.session, endingOthers: endingOthers, now: clock.now)
    }
    ended(outcome, of: owner.account.id, owner.caller)
    recorder.metrics.update { $0.passwordChanges += 1 }
    owner.caller.logger.info("Password changed", metadata: ["handstamp.account": "\(owner.account.id)"])
  }

  /// Removes the password of an account that has passkeys.
  ///
  /// - Returns: whether it did.
  /// - Throws: ``ProblemError/reauthenticationRequired``.
  func removePassword(of owner: Owner, in browser: BrowserSession) async throws -> Bool {
    try requireProof(owner)
    let record = try await owned(owner.caller).removePassword(by: browser, now: clock.now)
    recorder.announceChange(owner.account.id)
    return record != nil
  }

  // MARK: Passkeys and recovery codes

  /// Adds the passkey of an authenticator's answer.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired``, ``PasskeyService/VerificationError``.
  func addPasskey(
    _ answer: String, boundTo token: String, orNamed name: String, of owner: Owner, in browser: BrowserSession
  ) async throws {
    guard let passkeys else { throw ProblemError.noPasskeys }
    try requireProof(owner)
    let service = PasskeyService(party: passkeys.party, registry: owned(owner.caller), clock: passkeys.clock)
    _ = try await service.add(answer, boundTo: token, by: browser, orNamed: name, owner.caller.logger)
    recorder.announceChange(owner.account.id)
  }

  /// - Throws: ``ProblemError/reauthenticationRequired``.
  func removePasskey(_ id: String, of owner: Owner, in browser: BrowserSession) async throws -> PasskeyRemoval {
    try requireProof(owner)
    let removal = try await owned(owner.caller).removePasskey(id, by: browser, now: clock.now)
    recorder.announceChange(owner.account.id)
    return removal
  }

  /// Makes new recovery codes; former ones no longer work.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired``.
  func makeRecoveryCodes(of owner: Owner, in browser: BrowserSession) async throws -> [RecoveryCode] {
    try requireProof(owner)
    let codes = try await owned(owner.caller).makeRecoveryCodes(by: browser, now: clock.now)
    recorder.announceChange(owner.account.id)
    return codes
  }

  // MARK: Proofs

  /// The user proves to be the account's owner by a password.
  func prove(_ password: Secret, _ owner: Owner) async throws {
    _ = try await verify(password, of: owner)
    try await proved(.password, owner)
  }

  /// The user proves to be the account's owner by a token of another provider.
  func prove(by token: Secret, nonce: String, _ owner: Owner) async throws {
    try limits.takeOwn(.passwords, from: owner.caller.client)
    let claims = try await verify(token, nonce: nonce)
    guard claims.identity == owner.account.identity else { throw ProblemError.badIDToken }
    try await registry.use(claims.usedNonce(at: clock.now))
    try await proved(.provider, owner)
  }

  private func proved(_ way: SignInWay, _ owner: Owner) async throws {
    try await owned(owner.caller).audit(
      .reauthenticated, account: owner.account.id, session: owner.session,
      details: JSONText([("way", way.rawValue)]).text,
      now: clock.now)
  }

  /// The user proves to be the account's owner by a passkey.
  func prove(byPasskey answer: String, _ owner: Owner) async throws {
    try await verify(
      passkey: answer, boundTo: PasskeySignInController.app, as: owner.account.id, owner.caller
    ) { try await owned(owner.caller).commit($0, now: clock.now) }
  }
}
#endif
