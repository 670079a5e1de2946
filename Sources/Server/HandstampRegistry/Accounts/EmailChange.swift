public import HandstampCore
import HandstampSupport

/// The address that the owner of an account wants instead, until a mail to it is answered.
public struct EmailChange: Sendable, Hashable {
  public let email: EmailAddress
  /// When the mailed link expires.
  public let until: UnixTime
  let item: StoredItem
}

extension Registry {
  /// Asks for mails to both addresses: to the new one with a token that changes it, to the present one with the news. An earlier
  /// wish is forgotten.
  ///
  /// - Parameter session: the session that asks for it.
  /// - Throws: ``RegistryError/accountChanged`` if that session has ended.
  public func beginEmailChange(
    of account: AccountRecord, to email: EmailAddress, by session: SessionID? = nil, now: UnixTime
  ) async throws(RegistryError) {
    let wish = StoredItem(
      id: StoredItemID(.emailChange, account.id.rawValue), kind: .emailChange, subject: account.id.rawValue,
      payload: email.typed, createdAt: now, expiresAt: now.advanced(by: OneTimeTokenLimits.confirmation))
    let job = MailJob(kind: .emailChange, email: email, account: account.id, language: actor.language)
    let key = email.normalized + " " + String(random(), radix: 36)
    try await writeIfUnchanged(
      (session.map { [.expectSession($0)] } ?? []) + [
        .voidOneTimeTokens(.emailChange, subject: account.id.rawValue), .putItem(wish),
        .putItem(job.item(key: key, delay: .zero, now: now)),
      ] + notice(.emailChange, of: account.id, .none, now: now))
  }

  /// Returns what ``beginEmailChange(of:to:by:now:)`` waits for; `nil` for nothing.
  public func emailChange(of account: AccountID, now: UnixTime) async throws(RegistryError) -> EmailChange? {
    guard let item = try await liveItem(StoredItemID(.emailChange, account.rawValue), now: now),
      let email = EmailAddress(item.payload)
    else { return nil }
    return EmailChange(email: email, until: item.expiresAt, item: item)
  }

  /// Forgets the wish. The mailed token is worth nothing from then on.
  public func cancelEmailChange(of account: AccountID, now: UnixTime) async throws(RegistryError) {
    try await write([
      .voidOneTimeTokens(.emailChange, subject: account.rawValue),
      .removeItems(.emailChange, subject: account.rawValue),
    ])
  }

  func emailChangeToken(
    for account: AccountRecord, _ wish: EmailChange, now: UnixTime
  ) -> (OneTimeToken, [RegistryChange]) {
    let (token, change) = token(
      .emailChange, subject: account.id.rawValue, account: account.id, email: wish.email,
      lasting: OneTimeTokenLimits.confirmation, now: now)
    // Only as long as the wish stands: it may be withdrawn while the mail is written.
    return (token, [.replaceItem(wish.item, expecting: wish.item.revision), change])
  }

  /// Returns the address that a mailed token gives to an account at the moment; `nil` if the token is not valid, or for another
  /// account.
  public func emailChange(
    of account: AccountID, confirmedBy token: OneTimeToken, now: UnixTime
  ) async throws(RegistryError) -> EmailAddress? {
    let id = OneTimeTokenID(of: token.secret, purpose: .emailChange)
    return try await liveOneTimeToken(id, now: now).flatMap { $0.account == account ? $0.email : nil }
  }

  /// Redeems a mailed token: the account has the new address from now on, and the previous one is told. Sessions stay.
  ///
  /// Only its own signed-in user can redeem it: a reader of the mail must not move the account of another, nor lend that account a
  /// confirmed address.
  ///
  /// - Throws: ``RegistryError/oneTimeTokenInvalid``, ``RegistryError/emailTaken``.
  public func completeEmailChange(
    with token: OneTimeToken, by user: BrowserSession, now: UnixTime
  ) async throws(RegistryError) -> AccountRecord {
    let owner = user.account.id
    for _ in 0..<Registry.attempts {
      let id = OneTimeTokenID(of: token.secret, purpose: .emailChange)
      guard let stored = try await liveOneTimeToken(id, now: now), let email = stored.email, stored.account == owner,
        let account = try await account(owner), account.closedAt == nil, try await isLive(user.row.id, now: now)
      else { throw .oneTimeTokenInvalid }
      var changed = account
      changed.email = email
      changed.emailConfirmedAt = now
      var changes: [RegistryChange] = [
        .expectSession(user.row.id), .redeemOneTimeToken(id), .replaceAccount(changed, expecting: account.revision),
        addressChanged(of: account, to: changed.email, at: now),
      ]
      // Codes for a new password were mailed to the previous address.
      changes += TakeBack.pending.changes(of: owner) + GuessSubject.forgetting(account)
      if let previous = account.email, notices.contains(.emailChange) {
        let job = MailJob(
          kind: .emailChanged, email: previous, account: owner, name: email.typed, language: actor.language)
        let key = previous.normalized + " " + String(random(), radix: 36)
        changes.append(.putItem(job.item(key: key, delay: .zero, now: now)))
      }
      let event = RegistryEvent(kind: .credentialChange, account: owner, at: now)
      do throws(RegistryStoreError) {
        try await store.write(changes, events: [event])
        return changed.advanced
      } catch {
        switch error {
        case .alreadyExists: throw .emailTaken
        // The token was used at the same time, or the account has changed: read again.
        case .conflict, .notFound: continue
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }
}

extension Registry {
  /// The entry of the audit log for another address of an account. It names both as ``TokenMint/mac(of:for:)`` does, so that who
  /// knows an address finds the account that it belonged to.
  func addressChanged(of account: AccountRecord, to email: EmailAddress?, at now: UnixTime) -> RegistryChange {
    var details = JSONText()
    details.add("former_email_hash", ifPresent: account.email.map { mint.mac(of: $0.normalized, for: .logName) })
    details.add("email_hash", ifPresent: email.map { mint.mac(of: $0.normalized, for: .logName) })
    return audited(.emailChanged, account: account.id, details: details.text, at: now)
  }
}
