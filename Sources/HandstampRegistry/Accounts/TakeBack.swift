public import HandstampCore

/// How much of what gives access to an account, or will give it, its owner takes back (OWASP ASVS 7.4.3).
public enum TakeBack: Int, Sendable, Hashable {
  /// All that waits to be answered: a change of the address, codes for a new password, codes of clients and devices. The owner knows the
  /// other ways in, and sees them on the account's page.
  case pending
  /// That, and every way in that one factor has made or is: identities at other providers, consents, and known devices. Not passkeys
  /// and recovery codes, where the account has to have two: who reads the owner's mails must not replace the other one.
  case oneFactor
  /// That, and every way in that a stranger may have made or used: passkeys, recovery codes, consents, and known devices. Not the
  /// authenticator app: who reads the owner's mails must not shed it by a new password.
  case waysIn
  /// That, and the authenticator app, which a stranger may have set up.
  case everything
}

extension OneTimeTokenRecord.Purpose {
  /// The least that voids those of an account; `nil` if none of them gives access to an account that exists.
  fileprivate var voidedBy: TakeBack? {
    switch self {
    case .passwordReset, .upgrade, .emailChange, .ownerProof, .authorizationCode, .deviceCode: .pending
    // Without an account, or no way into one. What a used code says of its session keeps a second use from being missed.
    case .signUp, .nonce, .usedCode, .userCode, .pushedRequest, .webSession: nil
    }
  }
}

extension StoredItem.Kind {
  /// The least that removes those of an account; `nil` if they are no way in, and nothing that spares a sign-in a notice.
  fileprivate var removedBy: TakeBack? {
    switch self {
    case .emailChange: .pending
    case .identity, .consent, .device, .client: .oneFactor
    case .passkey, .recoveryCodes: .waysIn
    case .totp: .everything
    // Administrators decide about groups. Mails tell the owner. What they would give access by is looked up when they are written.
    case .formerToken: .everything
    case .groups, .guesses, .logout, .mail, .probe, .masterKey, .nodeKeys, .tokenLife, .auditCopy, .machine, .removal,
      .webhook,
      .deadLetter, .upstreamSession, .upstreamEnd, .upstreamEvent, .formerEnd:
      nil
    }
  }
}

extension TakeBack {
  /// The word for a reset in the audit log.
  var audited: String {
    switch self {
    case .pending: "pending"
    case .oneFactor: "one_factor"
    case .waysIn, .everything: "everything"
    }
  }

  /// The changes that void it. They never fail.
  ///
  /// Each purpose of a token and each kind of item says above what becomes of it, so that none can be forgotten.
  func changes(of account: AccountID) -> [RegistryChange] {
    OneTimeTokenRecord.Purpose.allCases.filter { includes($0.voidedBy) }
      .map { .voidOneTimeTokens($0, subject: account.rawValue) }
      + StoredItem.Kind.allCases.filter { includes($0.removedBy) }
      .map { .removeItems($0, subject: account.rawValue) }
  }

  private func includes(_ least: TakeBack?) -> Bool { least.map { $0.rawValue <= rawValue } ?? false }
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
    let ended = try await end(
      .revoked, now: now,
      with: [
        .replaceAccount(changed, expecting: record.revision), audited(.takenBack, account: record.id, at: now),
      ] + (changed.email == record.email ? [] : [addressChanged(of: record, to: changed.email, at: now)])
        + GuessSubject.forgetting(record),
      // After the ends, which remember devices. The code is the only one that is left.
      finally: TakeBack.everything.changes(of: record.id) + [change],
      events: [RegistryEvent(kind: .credentialChange, account: record.id, at: now)]
    ) { () throws(RegistryStoreError) in try await store.sessions(of: record.id) }
    return (ended, code)
  }
}
