#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Accounts that people have at other providers.
extension AccountService {
  func provider(_ id: String?) throws(AccountError) -> UpstreamSignIn {
    guard let found = providers.first(where: { $0.provider.id == id }) else { throw .notOffered(.provider) }
    return found
  }

  // MARK: Sign-in

  /// Signs in the user of an ID token that an app got itself.
  ///
  /// - Parameter username: for a new account; an empty text takes the provider's.
  /// - Throws: ``AccountError/notOffered(_:)``, ``UpstreamError``, `rate_limited`, and as ``admitting(_:at:nonce:_:_:)``.
  func signIn(
    at id: String, with token: Secret, nonce: String, username: String, _ start: SessionStart, by caller: Caller
  ) async throws -> NewSession {
    // It may create an account, and each check costs a signature.
    try limits.take(.signUps, from: caller.client, .own)
    let provider = try provider(id)
    var (user, used) = try await provider.user(identityToken: token, nonce: nonce, at: clock.read())
    if !username.isEmpty { user.name = username }
    return try await admitting(user, at: provider.provider, nonce: used, caller) { use, isNew in
      try await require(use.methods, of: use.account)
      return recordSignIn(
        try await owned(caller).createSession(by: use, start, now: clock.now), as: isNew ? .signUp : .signIn, caller)
    }
  }

  /// Finds the account of a provider's user, or opens one, and lets `work` begin a session in the same write; again if something has
  /// changed meanwhile.
  ///
  /// - Parameter work: is told whether the account is new.
  /// - Throws: ``AccountError/signUpClosed`` for a user who may have no account, ``AccountError/identityNotLinked`` for one whose
  ///   address has an account, ``AccountError/disabled``, ``RegistryError/nonceUsed``.
  func admitting<Result>(
    _ user: UpstreamUser, at provider: UpstreamProvider, nonce: OneTimeTokenRecord? = nil, _ caller: Caller,
    _ work: (CredentialUse, Bool) async throws -> Result
  ) async throws -> Result {
    for _ in 0..<Registry.attempts {
      let (use, isNew) = try await use(of: user, at: provider, nonce, by: caller)
      do { return try await work(use, isNew) } catch let error as RegistryError
        where error == .oneTimeTokenInvalid || error == .accountChanged
      {
        if let nonce, try await registry.hasUsed(nonce) { throw RegistryError.nonceUsed }
      }
    }
    throw RegistryError.accountChanged
  }

  /// An account is found by the user's ID at the provider, and by nothing else, unless the operator trusts the provider's word about
  /// addresses, the provider has verified this one, the account's own is confirmed, and no authenticator app protects it.
  private func use(
    of user: UpstreamUser, at provider: UpstreamProvider, _ nonce: OneTimeTokenRecord?, by caller: Caller
  ) async throws -> (CredentialUse, isNew: Bool) {
    let (registry, now, proof) = (owned(caller), clock.now, user.proof(nonce, at: clock.read()))
    if let account = try await registry.account(identity: user.identity) {
      guard account.closedAt == nil else { throw AccountError.disabled }
      guard let use = try await registry.credentialUse(by: proof, of: account, now: now) else {
        throw RegistryError.accountChanged
      }
      return (use, false)
    }
    // An address that the provider has not verified says nothing, not even whether it has an account here.
    let address = user.isEmailVerified ? user.email.flatMap { EmailAddress(verified: $0.typed) } : nil
    if let address, let owner = try await registry.account(email: address) {
      // A reader of the owner's mails could get an account there with the address, and never be asked for the code of the app here.
      guard provider.trustsEmail, owner.hasConfirmedSpelling, try await registry.totp(of: owner.id) == nil else {
        throw AccountError.identityNotLinked
      }
      guard owner.closedAt == nil else { throw AccountError.disabled }
      return (registry.credentialUse(linking: proof, to: owner, now: now), false)
    }
    guard provider.admits(address) else { throw AccountError.signUpClosed }
    // Of domains the operator says who may come, also where people get no account by themselves.
    if provider.signUp == .open { try requireOpen() }
    try limits.take(.signUps, from: nil, .shared)
    let shown = user.name.flatMap { $0.isShown ? $0 : nil }
    let name = shown ?? address.map { String($0.typed.prefix { $0 != "@" }) } ?? ""
    let use = registry.credentialUse(
      opening: proof, email: provider.trustsEmail ? address : nil, username: name, now: now)
    return (use, true)
  }

  // MARK: The owner

  /// The user proves to be the account's owner by a token of a provider.
  func prove(by token: Secret, nonce: String, at id: String, _ owner: Owner) async throws -> AuthenticationMethods {
    try limits.take(.passwords, from: owner.caller.client, .own)
    let time = clock.read()
    let (user, used) = try await provider(id).user(identityToken: token, nonce: nonce, at: time)
    let proof = user.proof(nil, at: time)
    // The provider may have asked the user for nothing now. Without a time, the proof says so.
    guard user.authenticatedAt.map({ isProven($0, at: time.earliest) }) ?? true,
      let use = try await owned(owner.caller).credentialUse(by: proof, of: owner.account, now: clock.now)
    else { throw AccountError.idTokenInvalid }
    try await registry.use(used)
    try await owned(owner.caller).commit(use, now: clock.now)
    return use.methods
  }

  /// Lets a user of a provider sign in to the account. The owner has proved both: with ``OwnerAction/link`` before the browser was
  /// sent to the provider, and there.
  func link(_ user: UpstreamUser, to owner: Owner) async throws -> IdentityChange {
    guard !owner.account.isGuest else { throw AccountError.notOffered(.guestIdentities) }
    let change = try await owned(owner.caller).link(
      user.proof(nil, at: clock.read()), to: owner.account.id, in: owner.session, now: clock.now)
    if case .done = change { recorder.hub.announce(owner.account.id) }
    return change
  }

  /// - Parameter link: its ``LinkedIdentity/id``.
  func unlink(_ link: String, of owner: Owner) async throws -> IdentityChange {
    try await require(.unlink, of: owner)
    let change = try await owned(owner.caller).unlink(
      link, of: owner.account.id, orMailed: outbox.hasMailer, in: owner.session, now: clock.now)
    if case .done = change { recorder.hub.announce(owner.account.id) }
    return change
  }
}

extension AccountRecord {
  /// Whether its address is confirmed, and spelled as here. Another spelling, of a program that embeds the server, may be another mailbox
  /// at the provider.
  fileprivate var hasConfirmedSpelling: Bool {
    emailConfirmedAt != nil && email.flatMap { EmailAddress(verified: $0.typed) } != nil
  }
}

extension UpstreamUser {
  /// The sign-in as the registry takes it.
  func proof(_ nonce: OneTimeTokenRecord?, at time: ServerClock.Reading) -> IdentityProof {
    var proof = IdentityProof(
      identity, provider: provider, label: email?.typed ?? name ?? "",
      methods: AuthenticationMethods(provider: methods, isDated: authenticatedAt != nil), session: session,
      authenticatedAt: authenticatedAt.map { min($0, time.latest) }, latestExpiry: sessionExpiry, nonce: nonce)
    proof.askedAt = askedAt
    return proof
  }
}
#endif
