#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// The use cases of accounts, one operation each, whichever door people come through.
///
/// Routes and pages read a request, call an operation, and write its result. They decide nothing: who may do it, how often, with
/// which proof, and what is written, logged, counted and told, is here. Any operation may refuse with an ``AccountError``. Its parts throw
/// ``RegistryError``, ``PasswordHashError``, ``AccountDirectoryError``, ``UpstreamError``, ``InvalidIDToken`` and ``KeysUnavailable``.
struct AccountService: Sendable {
  let registry: Registry
  let accounts: any AccountSource
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let passwordGuard: PasswordGuard
  /// `nil` if the server has no passkeys.
  let passkeys: PasskeyService?
  /// `nil` disables Sign in with Apple.
  let identityTokens: IdentityTokens?
  /// Wakes ``AppleGrants``; `nil` without Apple's key.
  let appleGrants: JobBell?
  let providers: [UpstreamSignIn]
  let outbox: Outbox
  let recorder: SessionEventRecorder
  let limits: RequestLimits
  let clock: ServerClock
  /// Whether people without an account may get one by themselves.
  let signUp: ServerConfiguration.SignUp
  /// How long a proof allows what a session alone may not do; `nil` for as long as it lasts.
  let reauthentication: Duration?
  let assurance: Assurance
  /// Those of the pages.
  let languages: [String]
  let issuer: String
  /// That of ``MailSettings/link``.
  let mailLink: String?
  let refusals: Tallies<RefusedSignIn>

  /// The client of a request, and its log.
  struct Caller: Sendable {
    var client: ClientAddress
    var logger: Logger
    /// The language to read in; `nil` for a program that does not say.
    var language: String?

    /// The owner, as the actor of changes.
    var owner: AuditActor {
      var actor = AuditActor.owner(from: client.text)
      actor.language = language
      return actor
    }
  }

  /// The signed-in owner of an account.
  struct Owner: Sendable {
    var account: AccountRecord
    var session: SessionID
    /// When the user proved to be the owner, as the token or cookie shows; `nil` if it does not say.
    var provenAt: UnixTime?
    /// How, as it shows.
    var methods: AuthenticationMethods = []
    var caller: Caller
  }

  /// The registry on behalf of an account's owner.
  func owned(_ caller: Caller) -> Registry { registry.acting(as: caller.owner) }

  /// A mailed code as it was typed, or its link; `nil`, and no attempt that counts, if it can be none.
  func token(_ typed: Secret) -> OneTimeToken? { OneTimeToken(typed: typed, at: issuer, template: mailLink) }

  /// Changes the account of an owner, again if something else has changed at the same time, such as the name. What the owner has proved
  /// holds as long as the password is the same.
  func changing<Value>(_ owner: Owner, _ body: (AccountRecord) async throws -> Value) async throws -> Value {
    var record = owner.account
    for _ in 1..<Registry.attempts {
      do { return try await body(record) } catch RegistryError.accountChanged {
        guard let stored = try await registry.account(record.id), stored.passwordHash == owner.account.passwordHash,
          stored.closedAt == nil
        else { throw RegistryError.accountChanged }
        record = stored
      }
    }
    return try await body(record)
  }

  // MARK: Proofs

  /// Asks for a recent proof where a session alone is not enough: a person who holds the owner's phone must not be able to do that.
  /// Guests have nothing to prove it with.
  func requireProof(_ owner: Owner) throws(AccountError) {
    guard !owner.account.isGuest, !isProven(owner.provenAt) else { return }
    throw .reauthenticationRequired(nil)
  }

  /// Returns whether a proof is recent enough. In whole seconds, as access tokens have it: never less than the operator's time, and
  /// less than a second more.
  ///
  /// - Parameter now: the earliest time that it may be, for a proof that a provider has dated.
  func isProven(_ time: UnixTime?, at now: UnixTime? = nil) -> Bool {
    guard let reauthentication else { return true }
    let now = now ?? clock.now
    return time.map { now.seconds - $0.seconds <= reauthentication.components.seconds } ?? false
  }

  /// Verifies the password of an account's owner, and bounds guessing: a stolen session must not find the password out.
  ///
  /// - Returns: the place in the queue, for the hash of a new password.
  /// - Throws: ``AccountError/wrongPassword``: 403, not 401, for the session is valid.
  func verify(_ password: Secret?, of owner: Owner) async throws -> PasswordPool.Place {
    let password = password ?? Secret("")
    try PasswordPolicy.check(attempt: password)
    // Not worth a hash: the account's own session may know that it has no password.
    guard let email = owner.account.email, let hash = owner.account.passwordHash else {
      throw AccountError.wrongPassword
    }
    let device = try await registry.session(owner.session, now: clock.now)?.device.id
    let attempt = PasswordAttempt(email: email, password: password, device: device, caller: owner.caller)
    var place: PasswordPool.Place?
    let fits = try await passwordGuard.check(attempt, for: owner.account.id, at: clock.now) { isKnown in
      let admitted = try passwords.admit(isPreferred: isKnown)
      place = admitted
      return try await admitted.verify(password, against: hash)
    }
    guard fits, let place else { throw AccountError.wrongPassword }
    return place
  }
}

/// Ends of sessions, consents and accounts.
extension AccountService {
  /// Ends one session of the account, which another one than its own may do only with a recent proof.
  ///
  /// - Parameters:
  ///   - group: its ``SessionGroup``, which ends with it; empty for that session alone.
  ///   - password: a proof for this alone, with which the code of an authenticator app is not needed: the lost device may have it.
  /// - Returns: the sessions that ended; none if it had ended already.
  /// - Throws: ``RegistryError/notFound`` for one that is unknown or belongs to another account.
  @discardableResult
  func end(
    _ session: SessionID, with group: [SessionRow] = [], by owner: Owner, password: Secret? = nil
  ) async throws -> [SessionRow] {
    let isOwn = session == owner.session
    try await require(isOwn ? .signOut : .endDevices, of: owner, by: password)
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
  ///   - password: as for ``end(_:with:by:password:)``.
  @discardableResult
  func endAll(by owner: Owner, keepingOwn: Bool, password: Secret? = nil) async throws -> [SessionRow] {
    try await require(.endDevices, of: owner, by: password)
    return ended(
      try await owned(owner.caller).endAll(
        of: owner.account.id, except: keepingOwn ? owner.session : nil, now: clock.now), owner.caller)
  }

  /// Withdraws what the owner allows a client, and ends the client's sessions of the account.
  ///
  /// - Throws: ``AccountError/reauthenticationRequired(_:)``: it ends sessions elsewhere.
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
    recorder.hub.announce(account)
  }
}
#endif
