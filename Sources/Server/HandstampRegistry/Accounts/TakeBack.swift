public import HandstampCore

/// How much of what gives access to an account, or will give it, its owner takes back (OWASP ASVS 7.4.3).
public enum TakeBack: Int, Sendable, Hashable {
  /// All that waits to be answered: a change of the address, codes for a new password, codes of clients and devices. The owner knows the
  /// other ways in, and sees them on the account's page. For a new or a removed password, a changed address, a detected theft.
  case pending
  /// That, and whatever begins a session by a sign-in of before: for the end of all sessions, and for an account that is disabled.
  case sessions
  /// That, and every way in that one factor has made or is: identities at other providers, consents, and known devices. Not passkeys
  /// and recovery codes, where the account has to have two: who reads the owner's mails must not replace the other one. For a
  /// mailed reset of such an account.
  case oneFactor
  /// That, and every way in that a stranger may have made or used: passkeys, recovery codes, consents, and known devices. Not the
  /// authenticator app: who reads the owner's mails must not shed it by a new password. For any other mailed reset, unless the
  /// owner keeps the passkeys on the page.
  case waysIn
  /// That, and the authenticator app, which a stranger may have set up. For an administrator's command, and for the first proof that
  /// the owner reads the mails to the account's address: before, anyone may have set up anything.
  case everything
  /// That, and whatever else is stored about an account that is deleted.
  case account
}

extension OneTimeTokenRecord.Purpose {
  /// The least that voids those of an account; `nil` if none of them gives access to an account that exists.
  fileprivate var voidedBy: TakeBack? {
    switch self {
    case .passwordReset, .upgrade, .emailChange, .ownerProof, .authorizationCode, .deviceCode: .pending
    // Without an account, or no way into one. What a used code says of its session keeps a second use from being missed.
    case .signUp, .nonce, .usedCode, .userCode, .pushedRequest: nil
    }
  }
}

extension StoredItem.Kind {
  /// The fate of an account's items of a kind.
  fileprivate enum Fate {
    /// They are removed, by this extent at the least.
    case removed(TakeBack)
    /// They are noted as used, by this extent at the least, and removed with the account.
    case used(TakeBack)
    /// They are about its sessions, and forgotten with the account.
    case ofSessions
    /// They are jobs that wait for its end.
    case due
    /// They are no way in, and nothing that spares a sign-in a notice. They have a time of their own.
    case stay
  }

  /// Each kind says it, so that none can be forgotten.
  fileprivate var fate: Fate {
    switch self {
    case .emailChange: .removed(.pending)
    case .formerToken: .used(.sessions)
    case .identity, .consent, .device, .client: .removed(.oneFactor)
    case .passkey, .recoveryCodes: .removed(.waysIn)
    case .totp: .removed(.everything)
    // Administrators decide about groups. Mails tell the owner. What they would give access by is looked up when they are written.
    case .groups, .mail, .guesses: .removed(.account)
    case .upstreamSession: .ofSessions
    case .appleGrant: .due
    // No account's; or told to others, who have to hear of it also after the account's end.
    case .logout, .probe, .masterKey, .nodeKeys, .tokenLife, .auditCopy, .machine, .registration, .removal, .webhook,
      .deadLetter, .upstreamEnd, .upstreamEvent, .formerEnd:
      .stay
    }
  }
}

extension TakeBack {
  /// The word for a reset in the audit log.
  var audited: String {
    switch self {
    case .pending, .sessions: "pending"
    case .oneFactor: "one_factor"
    case .waysIn, .everything, .account: "everything"
    }
  }

  /// The changes that void it, besides those that depend on what is stored, see ``Registry/voiding(_:of:now:)``. They never fail.
  ///
  /// Each purpose of a token and each kind of item says above what becomes of it, so that none can be forgotten.
  func changes(of account: AccountID) -> [RegistryChange] {
    OneTimeTokenRecord.Purpose.allCases.filter { $0.voidedBy.map(includes) ?? false }
      .map { .voidOneTimeTokens($0, subject: account.rawValue) }
      + StoredItem.Kind.allCases.filter { kind in
        switch kind.fate {
        case .removed(let least): includes(least)
        case .used: self == .account
        case .ofSessions, .due, .stay: false
        }
      }.map { .removeItems($0, subject: account.rawValue) }
  }

  fileprivate func includes(_ least: TakeBack) -> Bool { least.rawValue <= rawValue }
}

extension Registry {
  /// The changes that void an account's tokens and items, as far as the extent says. They never fail.
  func voiding(
    _ extent: TakeBack, of account: AccountID, now: UnixTime
  ) async throws(RegistryError) -> [RegistryChange] {
    var changes = extent.changes(of: account)
    for kind in StoredItem.Kind.allCases {
      switch kind.fate {
      case .used(let least) where extent.includes(least) && extent != .account:
        changes += try await items(kind, of: account.rawValue).compactMap { FormerToken.spending($0) }
      case .ofSessions where extent == .account: changes += try await forgettingUpstream(of: account, now: now)
      case .due where extent == .account:
        changes += try await items(kind, of: account.rawValue).compactMap { AppleGrant.ending($0, now: now) }
      case .removed, .used, .ofSessions, .due, .stay: continue
      }
    }
    return changes
  }
}

extension Registry {
  /// Takes an account back for its owner, in one write: ends its sessions, removes its password, passkeys, identities
  /// at other providers, recovery codes, consents and known devices, and voids what waits to be answered. A code sets a new password.
  ///
  /// - Parameter email: the owner's address, if the account has none or a stranger's; `nil` keeps it.
  /// - Throws: ``RegistryError/accountClosed`` if it was deleted, ``RegistryError/accountChanged``, ``RegistryError/emailTaken``,
  ///   ``RegistryError/notFound`` without an address to sign in with.
  public func takeBack(_ record: AccountRecord, email: EmailAddress? = nil, now: UnixTime) async throws(RegistryError)
    -> ([SessionRow], OneTimeToken)
  {
    guard record.state != .deleted else { throw .accountClosed }
    guard email ?? record.email != nil else { throw .notFound }
    var changed = record
    if let email, email != record.email { (changed.email, changed.emailConfirmedAt) = (email, nil) }
    changed.passwordHash = nil
    changed.identity = nil
    changed.credentialsChangedAt = now
    let (code, change) = token(
      .passwordReset, subject: record.id.rawValue, account: record.id, lasting: OneTimeTokenLimits.reset, now: now)
    let void = try await voiding(.everything, of: record.id, now: now)
    let ended = try await end(
      .revoked, now: now,
      with: [
        .replaceAccount(changed, expecting: record.revision), audited(.takenBack, account: record.id, at: now),
      ] + (changed.email == record.email ? [] : [addressChanged(of: record, to: changed.email, at: now)])
        + GuessSubject.forgetting(record),
      // After the ends, which remember devices. The code is the only one that is left.
      finally: void + [change],
      events: [RegistryEvent(kind: .credentialChange, account: record.id, at: now)],
      rows: try await store.sessions(of: record.id))
    return (ended, code)
  }
}
