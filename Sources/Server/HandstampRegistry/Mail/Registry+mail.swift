package import HandstampCore
import HandstampSupport

extension Registry {
  /// Stores a mail to be sent, unless one of this kind to this address waits, or was asked for within the interval that
  /// ``finish(_:interval:now:)`` was given.
  ///
  /// Writes in any case, and looks up no account, so that the time of a response tells nothing about the address.
  package func post(_ job: MailJob, to email: EmailAddress, delay: Duration, now: UnixTime) async throws(RegistryError)
  {
    let item = job.item(key: email.normalized, delay: delay, now: now)
    try await updateItem(item.id, now: now) { $0 ?? item }
  }

  /// Looks up the account, issues a one-time token if the mail needs one, and renews the lease.
  ///
  /// Makes one write in any case, so that the store is busy for as long with an address that has no account.
  ///
  /// - Returns: `nil` if another worker has the mail. The letter is `nil` if there is nothing to send.
  package func write(
    _ mail: ClaimedMail, leasedUntil lease: UnixTime, now: UnixTime
  ) async throws(RegistryError) -> (mail: ClaimedMail, letter: Letter?)? {
    var decision = try await letter(for: mail, now: now)
    let chosen = decision.value?.language
    decision.value?.language = try await language(of: mail.job, chosen: chosen, now: now)
    do throws(RegistryError) {
      guard let mail = try await change(mail, with: decision.changes, { $0.dueAt = lease }) else { return nil }
      return (mail, decision.value)
    } catch {
      // The wish behind the letter was withdrawn in the meantime: there is nothing to send.
      guard error == Registry.contention, !decision.isEmpty else { throw error }
      return try await change(mail) { $0.dueAt = lease }.map { ($0, nil) }
    }
  }

  private func letter(for mail: ClaimedMail, now: UnixTime) async throws(RegistryError) -> Decision<Letter?> {
    let job = mail.job
    // Both look-ups come first, so that there are as many in any case.
    let named = try await named(by: job)
    guard let address = job.email else {
      guard let notice = job.kind.notice, let email = named?.email else { return Decision(nil) }
      let name = NoticedName(text: job.name, client: job.client)
      return Decision(Letter(to: email, content: .notice(notice, name, at: mail.createdAt), about: named))
    }
    let account = try await account(email: address)
    switch job.kind {
    case .reset:
      // The account's spelling of the address, which was confirmed.
      let passkeys = try await passkeys(of: account?.id ?? AccountID(""))
      guard let account, account.closedAt == nil, account.mayReset(with: passkeys, at: now), let email = account.email
      else { return Decision(nil) }
      let (token, change) = resetToken(for: account, now: now)
      return Decision(Letter(to: email, content: .reset(token), about: account), [change])
    case .signUp:
      guard account == nil else { return Decision(Letter(to: address, content: .known, about: account)) }
      let (token, change) = signUpToken(for: address, job.name, now: now)
      return Decision(Letter(to: address, content: .confirmation(token), about: nil), [change])
    case .upgrade:
      guard account == nil else { return Decision(Letter(to: address, content: .known, about: account)) }
      guard let named, named.isGuest else { return Decision(nil) }
      let (token, changes) = upgradeToken(for: named, address, job.name, now: now)
      return Decision(Letter(to: address, content: .confirmation(token), about: named), changes)
    case .emailChange:
      guard account == nil else { return Decision(Letter(to: address, content: .known, about: account)) }
      // The owner may have withdrawn the wish, or taken the account back.
      guard let named, let wish = try await emailChange(of: named.id, now: now), wish.email == address else {
        return Decision(nil)
      }
      let (token, changes) = emailChangeToken(for: named, wish, now: now)
      return Decision(Letter(to: address, content: .emailChange(token), about: named), changes)
    case .ownerProof, .recovery:
      guard let account, account.closedAt == nil, let email = account.email else { return Decision(nil) }
      let (token, change) = ownerToken(for: account, now: now)
      let content = Letter.Content.ownerProof(token, isRecovery: job.kind == .recovery)
      return Decision(Letter(to: email, content: content, about: account), [change])
    case .invitation:
      // Once there is a password, the owner has found another way in.
      guard let named, named.email == address, named.passwordHash == nil else { return Decision(nil) }
      let (token, change) = resetToken(for: named, lasting: OneTimeTokenLimits.confirmation, now: now)
      return Decision(Letter(to: address, content: .invitation(token), about: named), [change])
    case .test: return Decision(Letter(to: address, content: .test, about: nil))
    // Not about the account that has the address by now.
    case .emailChanged: return Decision(Letter(to: address, content: .emailChanged(job.name), about: named))
    case .newDevice, .sessionsEnded, .passwordChanged, .tokenTheft, .emailChanging, .passkeyAdded, .passkeyRemoved,
      .totpAdded, .totpRemoved, .identityLinked, .identityUnlinked, .recoveryCodesMade, .recoveryCodeUsed:
      return Decision(nil)
    }
  }

  /// The languages of a mail, as in `Accept-Language`: the one that the owner of its account has chosen, and that of the request, or for a
  /// notice that a program's request made the one on the owner's last device.
  private func language(of job: MailJob, chosen: String?, now: UnixTime) async throws(RegistryError) -> String? {
    var read = job.language
    if read == nil, job.kind.notice != nil, let account = job.account {
      read = try await liveItems(.device, of: account.rawValue, now: now)
        .filter { Registry.languageRead(on: $0) != nil }.max { $0.expiresAt < $1.expiresAt }
        .flatMap(Registry.languageRead)
    }
    guard let chosen else { return read }
    return read.map { "\(chosen), \($0);q=0.5" } ?? chosen
  }

  /// The account that a job names, if it is open.
  private func named(by job: MailJob) async throws(RegistryError) -> AccountRecord? {
    guard let id = job.account, let account = try await account(id), account.closedAt == nil else { return nil }
    return account
  }

  /// Stores a mail that shows whether mails arrive, to be sent at once.
  package func postTest(
    to email: EmailAddress, in language: String?, now: UnixTime
  ) async throws(RegistryError) -> StoredItemID {
    let job = MailJob(kind: .test, email: email, language: language)
    let item = job.item(key: String(random(), radix: 36), delay: .zero, now: now)
    try await write([.putItem(item)])
    return item.id
  }

  /// Returns the mail of a test as long as it waits, with the failure of the last attempt; `nil` once it was sent.
  package func waitingTest(_ id: StoredItemID) async throws(RegistryError) -> MailJob? {
    try await item(id).flatMap { PayloadCoding.value(MailJob.self, $0.payload) }
  }

  /// Ends the work for a mail. What remains until `interval` has passed since it was asked for is that there was one.
  package func finish(_ mail: ClaimedMail, interval: Duration, now: UnixTime) async throws(RegistryError) {
    let end = mail.createdAt.advanced(by: interval)
    _ = try await change(mail) { item in
      item.payload = ""
      item.dueAt = nil
      // Not yet passed, also for an interval that has: an item is deleted by its expiry.
      item.expiresAt = max(end, now.advanced(by: .milliseconds(1)))
    }
  }
}
