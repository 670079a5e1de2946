public import HandstampCore
import HandstampSupport

/// Lifetimes of the one-time tokens sent in mails.
public struct OneTimeTokenLimits: Sendable, Hashable {
  /// Lifetime of a password-reset token: at most 30 min (OWASP ASVS 6.4.1, NIST SP 800-63B section 4.2).
  public static let reset = Duration.seconds(30 * 60)
  /// Lifetime of a token that confirms an address.
  public static let confirmation = Duration.seconds(24 * 3600)
}

extension Registry {
  /// The payload of a token that only the owner of the account's address can know.
  private static let mailed = "mailed"

  /// Makes a one-time token that resets a password. Earlier ones stay valid until one is used, so that a stranger who requests mails
  /// cannot make the owner's code useless.
  func resetToken(
    for account: AccountRecord, lasting life: Duration = OneTimeTokenLimits.reset, now: UnixTime
  ) -> (OneTimeToken, RegistryChange) {
    token(
      .passwordReset, subject: account.id.rawValue, account: account.id, payload: Registry.mailed, lasting: life,
      now: now)
  }

  /// Redeems a password-reset token: sets the new password, ends every session, and takes the account back from anyone who has
  /// access, in one write.
  ///
  /// - Parameter extent: ``TakeBack/pending`` if the owner says that all passkeys, recovery codes and consents are the owner's. The first
  ///   proof that the owner reads the mails to the address takes back ``TakeBack/everything``: none of it may be the owner's.
  public func resetPassword(
    with token: OneTimeToken, hash: Secret, takingBack extent: TakeBack = .waysIn, now: UnixTime
  ) async throws(RegistryError) -> [SessionRow] {
    for _ in 0..<Registry.attempts {
      let stored = try await oneTimeToken(of: token, .passwordReset, now: now)
      guard let id = stored.account, let record = try await account(id), record.closedAt == nil else {
        throw .oneTimeTokenInvalid
      }
      var changed = record.with(passwordHash: hash, at: now)
      if stored.payload == Registry.mailed { changed.emailConfirmedAt = now }
      let reach = Registry.isFirstProof(stored, of: record) ? .everything : extent
      // It ends every session, whatever it keeps.
      let void = try await voiding(reach == .pending ? .sessions : reach, of: id, now: now)
      // Its item is void as well.
      if reach != .pending { changed.identity = nil }
      let event = RegistryEvent(kind: .credentialChange, account: id, at: now)
      do throws(RegistryError) {
        return try await end(
          .revoked, now: now,
          with: [
            .redeemOneTimeToken(stored.id), .replaceAccount(changed, expecting: record.revision),
            audited(
              .passwordReset, account: id,
              details: JSONText([("taken_back", reach.audited)]).text, at: now),
          ] + GuessSubject.forgetting(record) + notice(.passwordChanged, of: id, .none, now: now),
          // After the ends, which remember devices.
          finally: void, events: [event], rows: try await store.sessions(of: id))
      } catch {
        guard error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }

  /// Makes a one-time token that confirms the address of a new account. Earlier tokens for the same address stay valid: the first
  /// one redeemed creates the account.
  func signUpToken(for email: EmailAddress, _ username: String, now: UnixTime) -> (OneTimeToken, RegistryChange) {
    token(
      .signUp, subject: email.normalized, email: email, username: username,
      lasting: OneTimeTokenLimits.confirmation, now: now)
  }

  /// Makes a one-time token that turns a guest account into a full one. It replaces any earlier one.
  func upgradeToken(
    for guest: AccountRecord, _ email: EmailAddress, _ username: String, now: UnixTime
  ) -> (OneTimeToken, [RegistryChange]) {
    let (token, change) = token(
      .upgrade, subject: guest.id.rawValue, account: guest.id, email: email, username: username,
      lasting: OneTimeTokenLimits.confirmation, now: now)
    return (token, [.voidOneTimeTokens(.upgrade, subject: guest.id.rawValue), change])
  }

  /// Returns what a confirmation token confirms at the moment, the address and the name; `nil` if the token is not valid. Saves an
  /// expensive password hash; the write decides.
  public func pendingSignUp(
    for token: OneTimeToken, now: UnixTime
  ) async throws(RegistryError) -> OneTimeTokenRecord? {
    if let upgrade = try await find(token, .upgrade, now: now) { return upgrade }
    return try await find(token, .signUp, now: now)
  }

  /// Redeems a confirmation token: creates the account, or upgrades the guest account, and signs in. The password is chosen here,
  /// by the user who reads the address's mail: one that came with the sign-up may be a stranger's.
  ///
  /// - Parameter start: the session. For a repeat with the same key, see ``repeatedConfirmation(_:_:now:)``.
  public func completeSignUp(
    _ token: OneTimeToken, passwordHash hash: Secret, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    let origin = confirmationOrigin(token, start)
    for _ in 0..<Registry.attempts {
      if let stored = try await find(token, .upgrade, now: now) {
        guard let id = stored.account, let guest = try await account(id), guest.isGuest, let email = stored.email
        else { throw .oneTimeTokenInvalid }
        do throws(RegistryError) {
          var origin = origin
          origin.way = .upgrade
          return try await upgrade(
            guest, to: .password(email, hash: hash), username: stored.username, origin, now: now, using: stored.id)
        } catch {
          guard error == .accountChanged else { throw error }
          continue
        }
      }
      let stored = try await oneTimeToken(of: token, .signUp, now: now)
      guard let email = stored.email else { throw .oneTimeTokenInvalid }
      var record = newAccount(email: email, username: stored.username, passwordHash: hash, now: now)
      record.emailConfirmedAt = now
      do throws(RegistryStoreError) {
        // The account goes first: a taken address is reported even if the token was just used.
        return try await begin(
          record, origin, among: [], now: now,
          with: [
            .redeemOneTimeToken(stored.id), .createAccount(record),
            .voidOneTimeTokens(.signUp, subject: stored.subject),
            audited(.accountCreated, account: record.id, at: now),
          ])
      } catch { throw RegistryError(error, exists: .emailTaken, missing: .oneTimeTokenInvalid) }
    }
    throw Registry.contention
  }

  /// Returns the unused session that an earlier request with the same key and token has created; `nil` if there is none. Hand it out
  /// only to a client that knows the account's password as well.
  public func repeatedConfirmation(
    _ token: OneTimeToken, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    try await repeated(confirmationOrigin(token, start), now: now)
  }

  private func confirmationOrigin(_ token: OneTimeToken, _ start: SessionStart) -> SessionOrigin {
    let id = OneTimeTokenID(of: token.secret, purpose: .signUp)
    return SessionOrigin(start: start, way: .signUp, subject: ["confirmation", Base64URL.encode(id.bytes)])
  }

  /// Makes a one-time token that proves who the owner of an account is.
  func ownerToken(for account: AccountRecord, now: UnixTime) -> (OneTimeToken, RegistryChange) {
    token(
      .ownerProof, subject: account.id.rawValue, account: account.id, email: account.email,
      lasting: OneTimeTokenLimits.reset, now: now)
  }

  /// Returns the use of a mailed token that proves who the owner is; `nil` if it is not valid.
  package func credentialUse(byMailed token: OneTimeToken, now: UnixTime) async throws(RegistryError) -> CredentialUse?
  {
    guard let stored = try await find(token, .ownerProof, now: now), let id = stored.account,
      let account = try await account(id), account.closedAt == nil, account.email == stored.email
    else { return nil }
    return CredentialUse(
      account: account, way: .mailedCode, methods: .recoveryCode, changes: [.redeemOneTimeToken(stored.id)])
  }

  func oneTimeToken(_ id: OneTimeTokenID) async throws(RegistryError) -> OneTimeTokenRecord? {
    try await read(try await store.oneTimeToken(id))
  }

  func liveOneTimeToken(_ id: OneTimeTokenID, now: UnixTime) async throws(RegistryError) -> OneTimeTokenRecord? {
    try await oneTimeToken(id).flatMap { $0.expiresAt > now ? $0 : nil }
  }

  private func find(
    _ token: OneTimeToken, _ purpose: OneTimeTokenRecord.Purpose, now: UnixTime
  ) async throws(RegistryError) -> OneTimeTokenRecord? {
    try await liveOneTimeToken(OneTimeTokenID(of: token.secret, purpose: purpose), now: now)
  }

  private func oneTimeToken(
    of token: OneTimeToken, _ purpose: OneTimeTokenRecord.Purpose, now: UnixTime
  ) async throws(RegistryError) -> OneTimeTokenRecord {
    guard let stored = try await find(token, purpose, now: now) else { throw .oneTimeTokenInvalid }
    return stored
  }

  /// Returns the account whose password a token can reset at the moment; `nil` if the token is not valid. Saves an expensive
  /// password hash; the write decides.
  public func account(forResetToken token: OneTimeToken, now: UnixTime) async throws(RegistryError) -> AccountRecord? {
    guard let id = try await find(token, .passwordReset, now: now)?.account, let record = try await account(id),
      record.closedAt == nil
    else { return nil }
    return record
  }

  /// Whether a reset token is the first thing to show that the account's owner reads the mails to its address.
  public func isFirstProof(
    _ token: OneTimeToken, of account: AccountRecord, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    try await find(token, .passwordReset, now: now).map { Registry.isFirstProof($0, of: account) } ?? false
  }

  private static func isFirstProof(_ stored: OneTimeTokenRecord, of account: AccountRecord) -> Bool {
    stored.payload == mailed && account.emailConfirmedAt == nil
  }

  /// Draws a one-time token, and returns the change that stores it.
  func token(
    _ purpose: OneTimeTokenRecord.Purpose, subject: String, account: AccountID? = nil, email: EmailAddress? = nil,
    username: String = "", payload: String = "", lasting: Duration, now: UnixTime
  ) -> (OneTimeToken, RegistryChange) {
    var source = source
    let token = OneTimeToken(from: &source)
    let record = OneTimeTokenRecord(
      id: OneTimeTokenID(of: token.secret, purpose: purpose), purpose: purpose, subject: subject, account: account,
      email: email, username: username, payload: payload, createdAt: now, expiresAt: now.advanced(by: lasting))
    return (token, .createOneTimeToken(record))
  }

  func issue(
    _ purpose: OneTimeTokenRecord.Purpose, subject: String, account: AccountID? = nil, payload: String = "",
    lasting: Duration, now: UnixTime, with more: [RegistryChange] = []
  ) async throws(RegistryError) -> OneTimeToken {
    let (token, change) = token(
      purpose, subject: subject, account: account, payload: payload, lasting: lasting, now: now)
    try await writeIfUnchanged([change] + more)
    return token
  }
}
