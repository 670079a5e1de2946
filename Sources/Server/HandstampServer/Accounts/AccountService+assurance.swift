#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// How strong the proofs of people have to be, as clients ask and the operator requires.
extension AccountService {
  /// Returns what the operator requires of an account's sign-in; `nil` for nothing.
  ///
  /// - Parameter client: the client that it is for; `nil` for the server's own app.
  func requiredContext(
    of account: AccountRecord, for client: ConfiguredClient? = nil
  ) async throws -> AuthenticationContext? {
    guard !account.isGuest else { return nil }
    return [try await assurance.requirement.context(of: account, in: registry), client?.requiredContext]
      .compactMap(\.self).max()
  }

  /// Returns the strongest context that an account can prove with what it has; `nil` with one factor alone.
  func reachableContext(of account: AccountRecord) async throws -> AuthenticationContext? {
    if try await hasPasskey(account) { return .phishingResistant }
    return try await hasApp(account) ? .multiFactor : nil
  }

  func hasPasskey(_ account: AccountRecord) async throws -> Bool {
    guard passkeys != nil else { return false }
    return try await !registry.passkeys(of: account.id).isEmpty
  }

  /// Whether the password of an account needs the code of an authenticator app.
  func hasApp(_ account: AccountRecord) async throws -> Bool {
    guard account.passwordHash != nil else { return false }
    return try await registry.totp(of: account.id) != nil
  }

  /// Refuses a sign-in of an app that is weaker than the operator requires. Sessions that began before go on: a new rule signs out
  /// no user.
  func require(_ methods: AuthenticationMethods, of account: AccountRecord) async throws {
    guard methods.amount(to: try await requiredContext(of: account)) else {
      throw AccountError.secondFactorMissing(page: assurance.page)
    }
  }

  // MARK: Actions of owners

  /// Asks for the proof of an action.
  ///
  /// - Throws: ``AccountError/reauthenticationRequired(_:)``.
  func require(_ action: OwnerAction, of owner: Owner) async throws {
    guard !owner.methods.isRecovering else { return try await requireRecovery(action, of: owner) }
    switch action.proof {
    case .session: return
    case .oneFactor: try requireProof(owner)
    case .strong, .strongOrRecovery: try await requireStrongProof(owner)
    }
  }

  private func requireRecovery(_ action: OwnerAction, of owner: Owner) async throws {
    switch action.proof {
    case .strongOrRecovery: try requireProof(owner)
    case .session, .oneFactor, .strong:
      throw AccountError.reauthenticationRequired(try await neededContext(of: owner.account))
    }
  }

  /// Asks for the proof of an action whose request has the account's password: that is a proof of now. It has the code of an
  /// authenticator app as well, unless the session has shown a second factor.
  ///
  /// - Returns: the place in the queue, for the hash of a new password.
  /// - Throws: ``AccountError/wrongPassword``; the errors of ``withSecondFactor(of:code:_:)`` for the code;
  ///   ``AccountError/reauthenticationRequired(_:)`` if that is not enough.
  func require(
    _ action: OwnerAction, of owner: Owner, password: Secret?, code: Secret?
  ) async throws -> PasswordPool.Place {
    if owner.methods.isRecovering { try await require(action, of: owner) }
    // A passkey shows more than the password does.
    if password == nil, owner.methods.amount(to: .phishingResistant) {
      try await require(action, of: owner)
      return try passwords.admit()
    }
    let place = try await verify(password, of: owner)
    guard try await !isAllowed(action, to: owner) else { return place }
    var proven = owner
    (proven.provenAt, proven.methods) = (clock.now, .passwordAndCode)
    // No code is asked for that would not be enough.
    try await require(action, of: proven)
    proven.methods = try await withSecondFactor(of: owner, code: code) { use in
      if use.methods != .password { try await owned(owner.caller).commit(use, now: clock.now) }
      return use.methods
    }
    try await require(action, of: proven)
    return place
  }

  /// Returns what proves that somebody is the owner of an account, for ``OwnerAction``s that ask for it.
  func proofs(of account: AccountRecord) async throws -> [Proof.Kind] {
    guard !account.isGuest else { return [] }
    var found: [Proof.Kind] = []
    let onlyPasskeys = try await neededContext(of: account) == .phishingResistant
    for kind in Proof.Kind.allCases where try await accepts(kind, of: account) {
      if !onlyPasskeys || kind == .passkey { found.append(kind) }
    }
    return found.isEmpty ? [.page] : found
  }

  private func accepts(_ kind: Proof.Kind, of account: AccountRecord) async throws -> Bool {
    switch kind {
    case .password:
      let hasApp = try await hasApp(account)
      return account.passwordHash != nil && !hasApp
    case .passwordAndCode: return try await hasApp(account)
    case .passkey: return try await hasPasskey(account)
    case .apple:
      guard let issuer = identityTokens?.issuer else { return false }
      return try await registry.identities(of: account).contains { $0.identity.issuer == issuer }
    case .mailedCode: return try await takesMailedProof(account)
    case .page: return false
    }
  }

  /// Returns whether ``require(_:of:)`` lets the owner.
  func isAllowed(_ action: OwnerAction, to owner: Owner) async throws -> Bool {
    do {
      try await require(action, of: owner)
      return true
    } catch AccountError.reauthenticationRequired { return false }
  }

  /// Asks for a recent proof. Where the operator requires two factors or the account has an authenticator app, and it can prove them, it
  /// has to be such a proof: else one factor alone would be enough to add another second one.
  private func requireStrongProof(_ owner: Owner) async throws {
    guard !owner.account.isGuest else { return }
    let needed = try await neededContext(of: owner.account)
    guard isProven(owner.provenAt), owner.methods.amount(to: needed), try await isDated(owner) else {
      throw AccountError.reauthenticationRequired(needed)
    }
  }

  /// Returns what a proof has to amount to before one of the ways into an account is changed; `nil` if one factor is enough, as it is to
  /// add the first second one.
  func neededContext(of account: AccountRecord) async throws -> AuthenticationContext? {
    let asked = [try await requiredContext(of: account), try await hasApp(account) ? .multiFactor : nil]
    guard let asked = asked.compactMap(\.self).max(), let reachable = try await reachableContext(of: account) else {
      return nil
    }
    return min(asked, reachable)
  }

  /// Returns whether the owner's proof has a time. That of a provider that names none may be of any time (OpenID Connect Core 1.0
  /// section 3.1.2.1): it counts only for an account that has nothing else.
  private func isDated(_ owner: Owner) async throws -> Bool {
    guard reauthentication != nil, owner.methods.isUndated else { return true }
    return try await !hasOtherProof(owner.account)
  }

  /// Whether an account has a proof besides the word of other providers.
  func hasOtherProof(_ account: AccountRecord) async throws -> Bool {
    guard account.passwordHash == nil, try await !hasPasskey(account) else { return true }
    return account.email != nil && outbox.hasMailer
  }

  /// Whether a mailed code proves who an account's owner is: only without a factor of its own, which no mail must replace.
  func takesMailedProof(_ account: AccountRecord) async throws -> Bool {
    guard account.email != nil, outbox.hasMailer, account.passwordHash == nil else { return false }
    return try await !hasPasskey(account)
  }

  /// Returns whether who reads an account's mails must not replace a second factor: the operator requires it, and the account has it.
  func keepsFactors(_ account: AccountRecord) async throws -> Bool {
    guard let required = try await requiredContext(of: account) else { return false }
    return try await reachableContext(of: account).map { $0 >= required } ?? false
  }
}

/// The operator's rule for the strength of proofs.
struct Assurance: Sendable {
  var requirement = AssuranceRequirement()
  /// The page where people set up a second factor.
  var page: String
}

/// The authenticator app of an account: a second factor beside its password. A passkey needs none.
extension AccountService {
  /// Runs `work` for the owner of an account whose password was right, after the second factor that the account asks for.
  ///
  /// - Parameters:
  ///   - code: the one-time password, if there was one.
  ///   - device: the device that it was typed on.
  ///   - isSignedIn: whether the owner is signed in.
  ///   - repeated: what an earlier request with the same code has begun; `nil` if there was none.
  ///   - work: records the use in the write that it makes: of the password alone if the account has no app.
  /// - Throws: ``AccountError/secondFactorRequired(isSignedIn:)`` without a code, ``AccountError/secondFactorWrong(isSignedIn:)``,
  ///   `rate_limited`.
  func withSecondFactor<Value>(
    of account: AccountRecord, code: Secret?, on device: DeviceID?, isSignedIn: Bool = false, _ caller: Caller,
    repeated: () async throws -> Value? = { nil }, _ work: (CredentialUse) async throws -> Value
  ) async throws -> Value {
    guard try await registry.totp(of: account.id) != nil else { return try await work(.password(of: account)) }
    guard let email = account.email, let code, !code.isEmpty else {
      throw AccountError.secondFactorRequired(isSignedIn: isSignedIn)
    }
    let wrong = AccountError.secondFactorWrong(isSignedIn: isSignedIn)
    // No attempt, which would count.
    guard !code.withExposed({ TOTPSecret.digits(of: $0) }).isEmpty else { throw wrong }
    let attempt = PasswordAttempt(email: email, password: code, device: device, caller: caller)
    var value: Value?
    let fits = try await passwordGuard.check(attempt, for: account.id, isCode: true, at: clock.now) { _ in
      // Again if the record was changed at the same time.
      for _ in 0..<2 {
        guard let record = try await registry.totp(of: account.id) else { throw RegistryError.accountChanged }
        let time = clock.read()
        switch try await registry.check(
          totp: code.withExposed { $0 }, of: account, record, now: time.now, or: time.wall)
        {
        case .use(let use):
          do { value = try await work(use) } catch RegistryError.oneTimeTokenInvalid { continue }
        case .used: value = try await repeated()
        case .wrong: return false
        }
        return value != nil
      }
      return false
    }
    guard fits, let value else {
      await note(refused: .passwordAndCode, of: account.id, because: "code", caller)
      throw wrong
    }
    return value
  }

  /// The same for a signed-in owner.
  func withSecondFactor<Value>(
    of owner: Owner, code: Secret?, _ work: (CredentialUse) async throws -> Value
  ) async throws -> Value {
    let device = try await registry.session(owner.session, now: clock.now)?.device.id
    return try await withSecondFactor(
      of: owner.account, code: code, on: device, isSignedIn: true, owner.caller, work)
  }

  /// Begins to set up an authenticator app.
  func newTOTP(of owner: Owner) async throws -> TOTPSetup {
    try await require(.addApp, of: owner)
    try requirePassword(owner)
    return try registry.newTOTP(in: owner.session, now: clock.now)
  }

  /// Adds an authenticator app that shows the right code. In a session of a recovery code, it replaces the one that was lost.
  ///
  /// - Returns: `false` if the code is wrong, or there is an app.
  func addTOTP(_ setup: TOTPSetup, code: String, of owner: Owner) async throws -> Bool {
    try await require(.addApp, of: owner)
    try requirePassword(owner)
    guard !TOTPSecret.digits(of: code).isEmpty else { return false }
    try limits.take(.codes, from: owner.caller.client)
    let isAdded = try await changing(owner) { record in
      let time = clock.read()
      return try await owned(owner.caller).addTOTP(
        setup, code: code, to: record, in: owner.session, replacing: owner.methods.isRecovering, now: time.now,
        or: time.wall)
    }
    if isAdded { recorder.hub.announce(owner.account.id) }
    return isAdded
  }

  /// - Returns: whether there was one.
  func removeTOTP(of owner: Owner) async throws -> Bool {
    try await require(.removeApp, of: owner)
    let isRemoved = try await owned(owner.caller).removeTOTP(of: owner.account.id, in: owner.session, now: clock.now)
    recorder.hub.announce(owner.account.id)
    return isRemoved
  }

  /// Without recovery codes, which come with passkeys, a lost device would be the end of the account.
  private func requirePassword(_ owner: Owner) throws(AccountError) {
    guard passkeys != nil, owner.account.passwordHash != nil, owner.account.email != nil else {
      throw .notOffered(.authenticatorApp)
    }
  }
}

/// The actions of a signed-in person on their own account, at whichever door, and the proof that each asks for (OWASP ASVS 6.3.3, 7.5.1,
/// 7.5.2). ``AccountService/require(_:of:)`` asks for it.
enum OwnerAction: CaseIterable, Sendable {
  case signOut, renameOwnDevice, rename
  case allowClient, upgrade, cancelEmailChange, confirmEmailChange
  case endDevices, renameDevice, withdrawConsent
  case addPasskey, addApp
  case removePasskey, removeApp, makeRecoveryCodes, link, unlink, changeEmail
  case changePassword, setPassword, removePassword
  case download, delete

  enum Proof: Sendable {
    /// The session itself.
    case session
    /// A recent proof with any one factor: a lost device may be the second one.
    case oneFactor
    /// A recent proof, with a second factor where the operator requires one, or the account has an authenticator app.
    case strong
    /// The same; or a recovery code, which replaces the second factor. It is good for nothing else.
    case strongOrRecovery
  }

  var proof: Proof {
    switch self {
    // An address that is confirmed was asked for with a proof.
    case .signOut, .renameOwnDevice, .rename, .allowClient, .upgrade, .cancelEmailChange, .confirmEmailChange:
      .session
    // They remove no way in, and a mail tells the owner.
    case .endDevices, .renameDevice, .withdrawConsent: .oneFactor
    case .addPasskey, .addApp: .strongOrRecovery
    case .removePasskey, .removeApp, .makeRecoveryCodes, .link, .unlink, .changeEmail, .changePassword, .setPassword,
      .removePassword, .download, .delete:
      .strong
    }
  }
}
#endif
