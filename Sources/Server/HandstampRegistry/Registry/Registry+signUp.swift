public import HandstampCore

extension Registry {
  /// Creates an account and its first session, in one write.
  ///
  /// - Parameters:
  ///   - email: `nil` for a guest, whose only way into the account is this session.
  ///   - start: its session. A repeat with the same key for a guest gets the same account; for one with an address, see
  ///     ``repeatedSignUp(email:_:now:)``.
  /// - Throws: ``RegistryError/emailTaken`` if an account already uses the address; ``RegistryError/keyUsed``.
  public func signUp(
    email: EmailAddress?, username: String, passwordHash: Secret?, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    let origin = signUpOrigin(email, start)
    // Nothing but the key tells a guest from another one.
    if email == nil, let repeated = try await repeated(origin, now: now) { return repeated }
    let record = newAccount(email: email, username: username, passwordHash: passwordHash, now: now)
    do throws(RegistryStoreError) {
      return try await begin(
        record, origin, among: [], now: now,
        with: [.createAccount(record), audited(.accountCreated, account: record.id, at: now)])
    } catch {
      switch error {
      // IDs are random, so only the address can be taken, or the same request was made at the same time.
      case .alreadyExists:
        if email == nil, let repeated = try await repeated(origin, now: now) { return repeated }
        throw .emailTaken
      case .conflict, .notFound, .unavailable: throw RegistryError(error)
      }
    }
  }

  /// Returns the unused session of an account that an earlier sign-up with the same key and address has created; `nil` if there is
  /// none. Hand it out only to a client that knows the account's password as well.
  public func repeatedSignUp(
    email: EmailAddress, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    try await repeated(signUpOrigin(email, start), now: now)
  }

  private func signUpOrigin(_ email: EmailAddress?, _ start: SessionStart) -> SessionOrigin {
    SessionOrigin(start: start, way: email == nil ? .guest : .signUp, subject: ["sign-up", email?.normalized ?? ""])
  }

  /// Turns a guest account into a full one with the same ID, and creates a session that replaces all of the guest's, in one
  /// write. The guest's session on the same device goes on until the new one is used.
  ///
  /// - Parameter start: the session. For a repeat with the same key, see ``repeatedUpgrade(of:_:now:)``.
  /// - Throws: ``RegistryError/emailTaken`` or ``RegistryError/identityTaken`` if another account has the address or the identity,
  ///   ``RegistryError/notGuest`` if this one is already a full account. The guest's account and sessions are then unchanged.
  public func upgrade(
    _ guest: AccountRecord, to way: WayIn, username: String, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    try await upgrade(guest, to: way, username: username, upgradeOrigin(guest.id, start), now: now)
  }

  /// Returns the unused session that an earlier upgrade with the same key has created; `nil` if there is none. Hand it out only to a
  /// client that knows the account's address and password as well.
  public func repeatedUpgrade(
    of account: AccountRecord, _ start: SessionStart, now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    try await repeated(upgradeOrigin(account.id, start), of: account.id, now: now)
  }

  private func upgradeOrigin(_ guest: AccountID, _ start: SessionStart) -> SessionOrigin {
    SessionOrigin(start: start, way: .upgrade, subject: ["upgrade", guest.rawValue])
  }

  /// - Parameter token: the confirmation of the address, which the same write redeems.
  func upgrade(
    _ guest: AccountRecord, to way: WayIn, username: String, _ origin: SessionOrigin, now: UnixTime,
    using token: OneTimeTokenID? = nil
  ) async throws(RegistryError) -> NewSession {
    guard guest.closedAt == nil else { throw .accountClosed }
    guard guest.isGuest else { throw .notGuest }
    var (full, origin) = (guest, origin)
    full.email = way.email
    full.username = username
    full.credentialsChangedAt = now
    var changes: [RegistryChange] = token.map { [.redeemOneTimeToken($0)] } ?? []
    switch way {
    case .password(_, let hash):
      full.passwordHash = hash
      // The token came by mail.
      full.emailConfirmedAt = token == nil ? nil : now
    case .identity(let proof, let email):
      full.identity = email == nil ? proof.identity : nil
      full.emailConfirmedAt = email == nil ? nil : now
      let use = CredentialUse(
        by: proof, of: full, changes: [.createItem(LinkedIdentity(proof, of: guest.id, at: now).item)])
      (origin.methods, origin.upstream, origin.authenticatedAt) = (use.methods, use.upstream, use.authenticatedAt)
      origin.latestExpiry = use.latestExpiry
      changes += use.changes + (try await expectations(of: use.upstream, now: now))
    case .passkey(_, let passkey, let challenge):
      origin.methods = .passkey(mayBeCopied: passkey.isBackupEligible)
      var used = passkey
      used.lastUsedAt = now
      changes += [.createOneTimeToken(challenge), .createItem(used.item)]
    }
    changes.append(.replaceAccount(full, expecting: guest.revision))
    changes.append(.voidOneTimeTokens(.upgrade, subject: guest.id.rawValue))
    // The guest may have been a stranger, who asked for a mail to the address of the one who confirms it.
    changes +=
      token == nil
      ? [StoredItem.Kind.device, .client].map { .removeItems($0, subject: guest.id.rawValue) }
      : TakeBack.everything.changes(of: guest.id)
    full.revision += 1
    let event = RegistryEvent(kind: .credentialChange, account: guest.id, at: now)
    for _ in 0..<Registry.attempts {
      let live = try await liveSessions(of: guest.id)
      do throws(RegistryStoreError) {
        return try await begin(
          full, origin, among: live,
          // Those on other devices end at once: the guest may have been a stranger, see above.
          ending: live.filter { $0.device.id != origin.start.device.id }, now: now,
          with: changes, events: [event])
      } catch {
        switch error {
        case .alreadyExists: try await refuse(way)
        case .conflict, .notFound:
          if let token, try await liveOneTimeToken(token, now: now) == nil { throw .oneTimeTokenInvalid }
          try await confirm(guest)
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  /// Throws what another account has, or what was used before.
  private func refuse(_ way: WayIn) async throws(RegistryError) {
    if let email = way.email, try await account(email: email) != nil { throw .emailTaken }
    switch way {
    case .password: return
    case .identity(let proof, _):
      if try await account(identity: proof.identity) != nil { throw .identityTaken }
      if let nonce = proof.nonce, try await hasUsed(nonce) { throw .nonceUsed }
    case .passkey(_, let passkey, let challenge):
      if try await self.passkey(passkey.id) != nil { throw .oneTimeTokenInvalid }
      if try await hasUsed(challenge) { throw .oneTimeTokenInvalid }
    }
  }

  func newAccount(
    email: EmailAddress? = nil, identity: ExternalIdentity? = nil, username: String, passwordHash: Secret?,
    now: UnixTime
  ) -> AccountRecord {
    var source = source
    return AccountRecord(
      id: AccountID("acc_" + SessionBytes(from: &source).id.rawValue), email: email, identity: identity,
      username: username, passwordHash: passwordHash, createdAt: now)
  }
}

/// The way in that makes a guest's account a full one: its owner can sign in to it again.
public enum WayIn: Sendable {
  case password(EmailAddress, hash: Secret)
  /// - Parameter email: an address that the provider is trusted to have verified, and that no account has; `nil` for none.
  case identity(IdentityProof, email: EmailAddress?)
  /// - Parameter challenge: the record of the challenge that the passkey was made for, which refuses a second use.
  case passkey(EmailAddress, PasskeyRecord, challenge: OneTimeTokenRecord)

  var email: EmailAddress? {
    switch self {
    case .password(let email, _), .passkey(let email, _, _): email
    case .identity(_, let email): email
    }
  }
}
