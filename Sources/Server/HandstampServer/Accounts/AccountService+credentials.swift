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
    try await outbox.add(.reset(email), to: email, by: caller)
  }

  /// Returns the account whose password a mailed token can set; `nil` if it is not valid.
  func account(forResetToken token: Secret, _ caller: Caller) async throws -> AccountRecord? {
    guard let token = self.token(token) else { return nil }
    try limits.take(.codes, from: caller.client, .own)
    return try await registry.account(forResetToken: token, now: clock.now)
  }

  /// Whether a token takes back everything, because the address was not confirmed before.
  func isFirstProof(_ token: Secret, of account: AccountRecord) async throws -> Bool {
    guard let token = self.token(token) else { return false }
    return try await registry.isFirstProof(token, of: account, now: clock.now)
  }

  /// Sets a new password by a mailed token, ends every session, and takes the account back.
  ///
  /// - Parameter keepingOthers: whether passkeys, recovery codes, consents and known devices stay: the owner says that none is a
  ///   stranger's. The first two also stay where ``keepsFactors(_:)`` says so. Nothing stays if the address was not confirmed before.
  func resetPassword(
    with presented: Secret, to password: Secret, keepingOthers: Bool, by caller: Caller
  ) async throws {
    // Do not spend a hash on guesses, nor what all clients share.
    guard let account = try await account(forResetToken: presented, caller),
      let token = token(presented)
    else { throw await refusedCode(caller) }
    try limits.take(.codes, from: nil, .shared)
    let place = try passwords.admit()
    try policy.check(new: password, of: account.email, account.username)
    let hash = try await place.hash(password)
    let extent: TakeBack = keepingOthers ? .pending : try await keepsFactors(account) ? .oneFactor : .waysIn
    ended(
      try await owned(caller).resetPassword(with: token, hash: hash, takingBack: extent, now: clock.now),
      of: account.id, caller)
    recorder.metrics.update { $0.passwordChanges += 1 }
  }

  // MARK: The password

  /// Changes the password, given the present one, and ends the other sessions on request.
  ///
  /// - Parameter code: that of an authenticator app, where the session does not show a second factor that the account asks for.
  func changePassword(
    of owner: Owner, from current: Secret?, code: Secret? = nil, to new: Secret, endingOthers: Bool
  ) async throws {
    try policy.check(new: new, of: owner.account.email, owner.account.username)
    let place = try await require(.changePassword, of: owner, password: current, code: code)
    try await setPassword(of: owner, hash: try await place.hash(new), endingOthers: endingOthers)
  }

  /// Sets the first password of an account that signs in with passkeys.
  ///
  /// - Throws: ``AccountError/reauthenticationRequired(_:)``, `weak_password`; ``AccountError/wrongPassword`` if there is a password.
  func setFirstPassword(of owner: Owner, to new: Secret, endingOthers: Bool) async throws {
    guard owner.account.passwordHash == nil, owner.account.email != nil else { throw AccountError.wrongPassword }
    try await require(.setPassword, of: owner)
    try policy.check(new: new, of: owner.account.email, owner.account.username)
    try await setPassword(of: owner, hash: try await passwords.hash(new), endingOthers: endingOthers)
  }

  private func setPassword(of owner: Owner, hash: Secret, endingOthers: Bool) async throws {
    let rows = try await changing(owner) { record in
      try await owned(owner.caller).setPassword(
        of: record, hash: hash, keeping: owner.session, endingOthers: endingOthers, now: clock.now)
    }
    ended(rows, of: owner.account.id, owner.caller)
    recorder.metrics.update { $0.passwordChanges += 1 }
    owner.caller.logger.info("Password changed", metadata: ["handstamp.account": "\(owner.account.id)"])
  }

  /// Removes the password of an account that has passkeys.
  ///
  /// - Returns: whether it did.
  func removePassword(of owner: Owner, in browser: BrowserSession) async throws -> Bool {
    try await require(.removePassword, of: owner)
    let record = try await owned(owner.caller).removePassword(by: browser, now: clock.now)
    recorder.hub.announce(owner.account.id)
    return record != nil
  }

  // MARK: Passkeys and recovery codes

  /// Returns the options of a passkey to be added. They take the proof as well: a passkey that the server then refuses would stay on
  /// the device.
  ///
  /// - Parameter place: what only this browser or session knows, which ``addPasskey(_:boundTo:orNamed:of:)`` names again.
  func passkeyOptions(boundTo place: String, of owner: Owner) async throws -> JSONText {
    try await require(.addPasskey, of: owner)
    return try await passkeys(for: owner).creationOptions(for: owner.account, boundTo: place)
  }

  /// Adds the passkey of an authenticator's answer.
  func addPasskey(_ answer: String, boundTo place: String, orNamed name: String, of owner: Owner) async throws {
    try await require(.addPasskey, of: owner)
    try await passkeys(for: owner).add(
      answer, boundTo: place, to: owner.account, in: owner.session, orNamed: name, owner.caller.logger)
    recorder.hub.announce(owner.account.id)
  }

  /// The session alone is the way into a guest's account, which ends with it; a passkey would outlive that.
  private func passkeys(for owner: Owner) throws(AccountError) -> PasskeyService {
    guard var passkeys else { throw .notOffered(.passkeys) }
    guard !owner.account.isGuest else { throw .notOffered(.guestPasskeys) }
    passkeys.registry = owned(owner.caller)
    return passkeys
  }

  func removePasskey(_ id: String, of owner: Owner) async throws -> PasskeyRemoval {
    try await require(.removePasskey, of: owner)
    let removal = try await owned(owner.caller).removePasskey(
      id, of: owner.account.id, in: owner.session, now: clock.now)
    recorder.hub.announce(owner.account.id)
    return removal
  }

  /// Makes new recovery codes; previous ones no longer work.
  func makeRecoveryCodes(of owner: Owner, in browser: BrowserSession) async throws -> [RecoveryCode] {
    try await require(.makeRecoveryCodes, of: owner)
    return try await newRecoveryCodes(of: owner, in: browser)
  }

  func newRecoveryCodes(of owner: Owner, in browser: BrowserSession) async throws -> [RecoveryCode] {
    let codes = try await owned(owner.caller).makeRecoveryCodes(by: browser, now: clock.now)
    recorder.hub.announce(owner.account.id)
    return codes
  }

  // MARK: Proofs

  /// The user proves to be the account's owner by a password.
  ///
  /// - Parameter code: the one-time password that the account may ask for.
  func prove(_ password: Secret, code: Secret?, _ owner: Owner) async throws -> AuthenticationMethods {
    _ = try await verify(password, of: owner)
    return try await withSecondFactor(of: owner, code: code) { use in
      let registry = owned(owner.caller)
      if use.methods == .password {
        try await registry.audit(
          .reauthenticated, account: owner.account.id, session: owner.session,
          details: JSONText([("way", SignInWay.password.rawValue)]).text, now: clock.now)
      } else {
        try await registry.commit(use, now: clock.now)
      }
      return use.methods
    }
  }

  /// The user proves to be the account's owner by a token of another provider.
  func prove(by token: Secret, nonce: String, _ owner: Owner) async throws -> AuthenticationMethods {
    try limits.take(.passwords, from: owner.caller.client, .own)
    let claims = try await verify(token, nonce: nonce)
    let time = claims.authenticatedAt
    guard time.map({ isProven($0, at: clock.read().earliest) }) ?? true else { throw AccountError.idTokenInvalid }
    let proof = IdentityProof(
      claims.identity, provider: AppleSignIn.provider, label: "",
      methods: AuthenticationMethods(provider: [], isDated: time != nil))
    guard let use = try await owned(owner.caller).credentialUse(by: proof, of: owner.account, now: clock.now) else {
      throw AccountError.idTokenInvalid
    }
    try await registry.use(claims.usedNonce(at: clock.now))
    try await owned(owner.caller).commit(use, now: clock.now)
    return use.methods
  }

  /// Mails a code to the owner of an account that has no factor of its own. Returns the address.
  func mailProof(to owner: Owner) async throws -> EmailAddress {
    guard let email = owner.account.email, try await takesMailedProof(owner.account) else {
      throw AccountError.notOffered(.mailedCode)
    }
    try limits.take(.mails, from: owner.caller.client, about: email.normalized)
    try await outbox.add(.ownerProof(email, isRecovery: false), to: email, by: owner.caller)
    return email
  }

  /// Returns the use of a code that was mailed to the owner.
  func use(ofMailed presented: Secret, by owner: Owner) async throws -> CredentialUse {
    guard let token = token(presented) else { throw RegistryError.oneTimeTokenInvalid }
    try limits.take(.codes, from: owner.caller.client, .own)
    guard try await takesMailedProof(owner.account),
      let use = try await owned(owner.caller).credentialUse(byMailed: token, now: clock.now),
      use.account.id == owner.account.id
    else { throw await refusedCode(owner.caller) }
    return use
  }

  /// The user proves to be the account's owner by a mailed code.
  func prove(byMailed code: Secret, _ owner: Owner) async throws -> AuthenticationMethods {
    let use = try await use(ofMailed: code, by: owner)
    try await owned(owner.caller).commit(use, now: clock.now)
    return use.methods
  }

  /// The user proves to be the account's owner by a passkey.
  func prove(byPasskey answer: String, _ owner: Owner) async throws -> AuthenticationMethods {
    try await verify(
      passkey: answer, boundTo: PasskeyService.app, as: owner.account.id, owner.caller
    ) {
      try await owned(owner.caller).commit($0, now: clock.now)
      return $0.methods
    }
  }
}
#endif
