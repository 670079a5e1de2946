#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// The account that a sign-up asks for.
struct NewAccount: Sendable {
  var email: EmailAddress
  var username: String
  /// Ignored where addresses are confirmed: the owner of the address chooses it then. One from this request would be known to the
  /// one who typed the address.
  var password: Secret?
  var session: SessionStart
}

/// New accounts.
extension AccountService {
  enum SignUpResult: Sendable {
    case session(NewSession)
    /// Either a mail with a one-time token, or one saying that there is an account, goes to the address.
    case confirmationSent
  }

  /// Creates an account and its first session, or asks for a confirmation of the address.
  func signUp(_ new: NewAccount, by caller: Caller) async throws -> SignUpResult {
    try requireOpen()
    if signUp == .confirmed {
      try await sendConfirmation(to: new.email, username: new.username, by: caller)
      return .confirmationSent
    }
    guard let password = new.password else { throw AccountError.invalid(.passwordMissing) }
    try limits.take(.signUps, from: caller.client, .own)
    try policy.check(new: password, of: new.email, new.username)
    try limits.take(.signUps, from: nil, .shared)
    return .session(recordSignIn(try await accounts.create(new, password: password, by: caller), as: .signUp, caller))
  }

  /// Asks for a confirmation of an address that signed up before, whose mail was lost.
  ///
  /// - Throws: ``AccountError/signUpClosed``; ``AccountError/notFound`` where addresses are not confirmed.
  func resendConfirmation(to email: EmailAddress, by caller: Caller) async throws {
    try requireOpen()
    guard signUp == .confirmed else { throw AccountError.notFound }
    try await sendConfirmation(to: email, username: "", by: caller)
  }

  /// Costs the same for every address: whether it has an account is looked up later.
  private func sendConfirmation(
    to email: EmailAddress, username: String, of guest: AccountRecord? = nil, by caller: Caller
  ) async throws {
    try limits.take(.signUps, from: caller.client)
    guard Mailbox(email) != nil else { throw AccountError.invalid(.unmailable) }
    try limits.take(.mails, from: caller.client, about: email.normalized)
    try await outbox.add(.confirmation(email, username: username, guest: guest?.id), to: email, by: caller)
  }

  /// Returns what a mailed one-time token confirms; `nil` if it is not valid.
  func confirmation(by token: Secret, _ caller: Caller) async throws -> OneTimeTokenRecord? {
    try requireOpen()
    guard let token = self.token(token) else { return nil }
    try limits.take(.codes, from: caller.client, .own)
    return try await registry.pendingSignUp(for: token, now: clock.now)
  }

  /// Redeems a mailed one-time token: creates the account or upgrades the guest account, sets the password, and signs in.
  ///
  /// - Throws: ``AccountError/signUpClosed`` also for a token that was mailed before sign-up was closed; ``RegistryError/oneTimeTokenInvalid``,
  ///   ``RegistryError/emailTaken``, `weak_password`.
  func confirm(_ presented: Secret, password: Secret, _ start: SessionStart, by caller: Caller) async throws
    -> NewSession
  {
    // Do not spend a hash on guesses, nor what all clients share.
    guard let confirmed = try await confirmation(by: presented, caller) else {
      guard let token = token(presented),
        let repeated = try await registry.repeatedConfirmation(token, start, now: clock.now)
      else { throw await refusedCode(caller) }
      return try await handOut(repeated, to: password)
    }
    guard let token = token(presented) else { throw RegistryError.oneTimeTokenInvalid }
    try limits.take(.codes, from: nil, .shared)
    let place = try passwords.admit()
    try policy.check(new: password, of: confirmed.email, confirmed.username)
    let hash = try await place.hash(password)
    let new = try await owned(caller).completeSignUp(token, passwordHash: hash, start, now: clock.now)
    return recordSignIn(new, as: confirmed.purpose == .upgrade ? .upgrade : .signUp, caller)
  }

  /// Returns a session again, for a client that knows the account's password.
  private func handOut(_ repeated: NewSession, to password: Secret) async throws -> NewSession {
    guard try await passwords.verify(password, against: repeated.account.passwordHash) else {
      throw AccountError.rotationKeyUsed
    }
    return repeated
  }

  // MARK: Guests

  /// Creates a guest account and its only session.
  func beginGuest(_ start: SessionStart, by caller: Caller) async throws -> NewSession {
    try requireOpen()
    try limits.take(.signUps, from: caller.client)
    // A guest costs as much as any other sign-in, so that there is no cheaper way to fill the store.
    _ = try await passwords.verify(Secret(""), against: nil)
    let new = try await owned(caller).signUp(
      email: nil, username: "", passwordHash: nil, start, now: clock.now)
    return recordSignIn(new, as: .guest, caller)
  }

  /// Turns a guest account into a full one with the same ID, or asks for a confirmation of the address: then it stays a guest account
  /// until the mailed token is redeemed.
  func upgrade(_ owner: Owner, to full: NewAccount) async throws -> SignUpResult {
    try await require(.upgrade, of: owner)
    try requireOpen()
    let (guest, caller, start) = (owner.account, owner.caller, full.session)
    if signUp == .confirmed {
      guard guest.isGuest else { throw AccountError.notGuest }
      try await sendConfirmation(to: full.email, username: full.username, of: guest, by: caller)
      return .confirmationSent
    }
    guard let password = full.password else { throw AccountError.invalid(.passwordMissing) }
    try limits.take(.signUps, from: caller.client, .own)
    guard guest.isGuest else {
      guard guest.email?.normalized == full.email.normalized,
        let repeated = try await registry.repeatedUpgrade(of: guest, start, now: clock.now)
      else { throw AccountError.notGuest }
      return .session(try await handOut(repeated, to: password))
    }
    try policy.check(new: password, of: full.email, full.username)
    try limits.take(.signUps, from: nil, .shared)
    let hash = try await passwords.hash(password)
    let new = try await owned(caller).upgrade(
      guest, to: .password(full.email, hash: hash), username: full.username, start, now: clock.now)
    return .session(recordSignIn(new, as: .upgrade, caller))
  }

  /// The same with an identity at Apple, whose verified address becomes the account's unless another one has it.
  func upgrade(
    _ owner: Owner, toApple token: Secret, nonce: String, code: Secret?, username: String, _ start: SessionStart
  ) async throws -> NewSession {
    try await require(.upgrade, of: owner)
    try requireOpen()
    try limits.take(.signUps, from: owner.caller.client, .own)
    let claims = try await verify(token, nonce: nonce)
    guard owner.account.isGuest else {
      let known = try await registry.account(identity: claims.identity)
      return try await repeatedUpgrade(of: owner, start, isSame: known?.id == owner.account.id)
    }
    try limits.take(.signUps, from: nil, .shared)
    let proof = IdentityProof(
      claims.identity, provider: AppleSignIn.provider, label: claims.verifiedEmail?.typed ?? "",
      methods: AuthenticationMethods(provider: [], isDated: claims.authenticatedAt != nil),
      nonce: claims.usedNonce(at: clock.now))
    let email = try await registry.unused(claims.verifiedEmail)
    let new = try await owned(owner.caller).upgrade(
      owner.account, to: .identity(proof, email: email), username: username, start, now: clock.now)
    await keep(code, with: claims, of: new.account.id, owner.caller)
    return recordSignIn(new, as: .upgrade, owner.caller)
  }

  /// Returns the options of the passkey with which a guest's account becomes a full one.
  ///
  /// - Throws: ``AccountError/notGuest``; `not_offered` where addresses are confirmed: who reads the mail chooses the way in.
  func upgradeOptions(_ owner: Owner, email: EmailAddress, username: String) async throws -> JSONText {
    let passkeys = try await passkeys(toUpgrade: owner)
    guard owner.account.isGuest else { throw AccountError.notGuest }
    var full = owner.account
    (full.email, full.username) = (email, username)
    return try await passkeys.creationOptions(for: full, boundTo: owner.session.rawValue)
  }

  /// Turns a guest account into one that signs in with a passkey.
  ///
  /// - Parameter answer: `RegistrationResponseJSON` to ``upgradeOptions(_:email:username:)``.
  func upgrade(
    _ owner: Owner, toPasskey answer: String, email: EmailAddress, username: String, orNamed name: String,
    _ start: SessionStart
  ) async throws -> NewSession {
    let passkeys = try await passkeys(toUpgrade: owner)
    try limits.take(.signUps, from: owner.caller.client, .own)
    guard owner.account.isGuest else {
      return try await repeatedUpgrade(
        of: owner, start, isSame: owner.account.email?.normalized == email.normalized)
    }
    let (passkey, used) = try passkeys.verify(
      new: answer, boundTo: owner.session.rawValue, for: owner.account, orNamed: name, owner.caller.logger)
    try limits.take(.signUps, from: nil, .shared)
    let new = try await owned(owner.caller).upgrade(
      owner.account, to: .passkey(email, passkey, challenge: used), username: username, start, now: clock.now)
    return recordSignIn(new, as: .upgrade, owner.caller)
  }

  private func passkeys(toUpgrade owner: Owner) async throws -> PasskeyService {
    try await require(.upgrade, of: owner)
    try requireOpen()
    guard let passkeys else { throw AccountError.notOffered(.passkeys) }
    guard signUp != .confirmed else { throw AccountError.notOffered(.passkeyUpgrade) }
    return passkeys
  }

  /// Hands out the session of an upgrade again. The client has the guest's access token and the key of that request.
  private func repeatedUpgrade(
    of owner: Owner, _ start: SessionStart, isSame: Bool
  ) async throws -> NewSession {
    guard isSame, let repeated = try await registry.repeatedUpgrade(of: owner.account, start, now: clock.now) else {
      throw AccountError.notGuest
    }
    return repeated
  }

  // MARK: Other providers

  /// Keeps the code of a sign-in with Apple, to be exchanged soon. The sign-in does not depend on it.
  private func keep(
    _ code: Secret?, with claims: IdentityTokens.Claims, of account: AccountID, _ caller: Caller
  ) async {
    guard let code, let appleGrants, let client = claims.all.audiences.first else { return }
    do throws(RegistryError) {
      try await registry.keep(appleCode: code, client: client, of: account, now: clock.now)
      appleGrants.signal(.look)
    } catch {
      caller.logger.warning("Apple's code not kept", metadata: ["handstamp.cause": "\(error)"])
    }
  }

  /// Signs in a user of Apple; the first sign-in creates the account, with the token's verified address unless another account has it.
  /// It is found only by Apple's user ID: an address in the token gives access to no account.
  ///
  /// - Throws: ``AccountError/signUpClosed`` for a user without an account; ``AccountError/notOffered(_:)``, ``InvalidIDToken``, ``KeysUnavailable``.
  func signIn(
    with token: Secret, nonce: String, code: Secret?, username: String, _ start: SessionStart, by caller: Caller
  ) async throws -> NewSession {
    // It may create an account, and each check costs a signature.
    try limits.take(.signUps, from: caller.client, .own)
    let claims = try await verify(token, nonce: nonce)
    try limits.take(.signUps, from: nil, .shared)
    let known = try await registry.account(identity: claims.identity)
    let isKnown = known != nil
    if !isKnown { try requireOpen() }
    if let known { try await require(AuthenticationMethods(provider: []), of: known) }
    let new = try await owned(caller).signIn(
      as: claims.identity, username: username, email: claims.verifiedEmail, start,
      methods: AuthenticationMethods(provider: [], isDated: claims.authenticatedAt != nil),
      nonce: claims.usedNonce(at: clock.now), now: clock.now)
    await keep(code, with: claims, of: new.account.id, caller)
    return recordSignIn(new, as: isKnown ? .signIn : .signUp, caller)
  }

  func verify(_ token: Secret, nonce: String) async throws -> IdentityTokens.Claims {
    guard let identityTokens else { throw AccountError.notOffered(.apple) }
    return try await identityTokens.verify(token, nonce: nonce, at: clock.read())
  }

  // MARK: What they have in common

  /// People without an account get none by themselves where sign-up is closed, at whichever door.
  func requireOpen() throws(AccountError) {
    guard signUp != .closed else { throw .signUpClosed }
  }

  /// Pages for mailed links are of a server that can send mails.
  func requireMail() throws(AccountError) {
    guard outbox.hasMailer else { throw .notFound }
  }

  /// Counts and logs a session that began.
  func recordSignIn(_ new: NewSession, as start: SessionEventRecorder.Start, _ caller: Caller) -> NewSession {
    if !new.isRepeated { recorder.recordSignIn(new.row, as: start, logger: caller.logger) }
    return new
  }
}

extension IdentityTokens.Claims {
  /// Returns the record that marks the nonce as used for as long as its token could be sent again.
  func usedNonce(at now: UnixTime) -> OneTimeTokenRecord {
    OneTimeTokenRecord(usedNonce: identity.issuer + " " + nonce, of: identity.issuer, at: now, until: expiresAt)
  }
}

/// The name and the address.
extension AccountService {
  /// - Parameter name: 1 to ``AccountRecord/maxUsername`` bytes.
  func rename(_ owner: Owner, to name: String, reading locale: LanguageTag?) async throws -> AccountRecord {
    try await require(.rename, of: owner)
    return try await changing(owner) { record in
      var changed = record
      changed.username = name
      changed.locale = locale
      return try await owned(owner.caller).update(changed)
    }
  }

  /// Asks for a mail to another address, which confirms it, and one to the present one with the news.
  ///
  /// - Throws: ``AccountError/reauthenticationRequired(_:)``: who reads the mails to the address owns the account. `rate_limited`.
  func beginEmailChange(of owner: Owner, to email: EmailAddress) async throws {
    // A mailed link to that address removes passkeys.
    try await require(.changeEmail, of: owner)
    try limits.take(.mails, from: owner.caller.client, about: email.normalized)
    try await owned(owner.caller).beginEmailChange(
      of: owner.account, to: email, by: owner.session, now: clock.now)
    outbox.bell.signal(.look)
  }

  func cancelEmailChange(of owner: Owner) async throws {
    try await require(.cancelEmailChange, of: owner)
    try await owned(owner.caller).cancelEmailChange(of: owner.account.id, now: clock.now)
  }

  /// Returns the address that a mailed token gives to the account; `nil` if it is not valid, or for another account.
  func emailChange(of owner: Owner, confirmedBy token: Secret) async throws -> EmailAddress? {
    guard let token = self.token(token) else { return nil }
    try limits.take(.codes, from: owner.caller.client, .own)
    return try await registry.emailChange(of: owner.account.id, confirmedBy: token, now: clock.now)
  }

  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` also for a token of another account; ``RegistryError/emailTaken``.
  func completeEmailChange(of owner: Owner, with token: Secret, in browser: BrowserSession) async throws
    -> AccountRecord
  {
    try await require(.confirmEmailChange, of: owner)
    guard let token = self.token(token) else { throw RegistryError.oneTimeTokenInvalid }
    try limits.take(.codes, from: owner.caller.client, .own)
    let changed = try await owned(owner.caller).completeEmailChange(with: token, by: browser, now: clock.now)
    recorder.hub.announce(changed.id)
    outbox.bell.signal(.look)
    return changed
  }
}

/// Sign-in of apps. Browsers begin their sessions in ``BrowserSessions``.
extension AccountService {
  /// Signs in with an address and a password, and the one-time password that the account may ask for.
  ///
  /// - Throws: ``AccountError/wrongCredentials``, ``AccountError/disabled``, `rate_limited`, ``PasswordHashError``, and as
  ///   ``withSecondFactor(of:code:on:_:repeated:_:)``.
  func signIn(
    email: EmailAddress, password: Secret, code: Secret?, _ start: SessionStart, by caller: Caller
  ) async throws -> NewSession {
    let account = try await accounts.account(
      PasswordAttempt(email: email, password: password, device: start.device.id, caller: caller))
    let (registry, now) = (owned(caller), clock.now)
    let new = try await withSecondFactor(of: account, code: code, on: start.device.id, caller) {
      try await registry.repeatedSession(for: account, start, now: now)
    } _: { use in
      try await require(use.methods, of: account)
      return try await registry.createSession(by: use, start, now: now)
    }
    return recordSignIn(new, as: .signIn, caller)
  }

  /// Signs in with an authenticator's answer.
  func signIn(byPasskey answer: String, _ start: SessionStart, by caller: Caller) async throws -> NewSession {
    try await verify(
      passkey: answer, boundTo: PasskeyService.app, mayRepeat: start.key != nil, caller
    ) { use in
      recordSignIn(try await owned(caller).createSession(by: use, start, now: clock.now), as: .signIn, caller)
    }
  }
}

extension AccountService {
  func caller(_ request: Request, _ context: some SessionRequestContext) -> Caller {
    Caller(
      client: limits.client(of: request, context), logger: context.logger,
      language: request.headers[.acceptLanguage].map { LanguageChoice.best($0, of: languages) })
  }

  /// Returns the owner whose session a request of the API belongs to.
  ///
  /// - Throws: ``ProblemError`` `session_ended` if the account was closed in the meantime.
  func owner(_ request: Request, _ context: SignedInContext<some SessionRequestContext>) async throws -> Owner {
    let session = context.session
    return Owner(
      account: try await registry.account(of: session), session: session.id, provenAt: session.authenticatedAt,
      methods: session.methods,
      caller: caller(request, context.parent))
  }
}
#endif
