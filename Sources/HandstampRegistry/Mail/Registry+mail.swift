package import HandstampCore
import HandstampSupport

extension Registry {
  /// When a mail of a kind that this version does not know is looked at again.
  private static let deferral = Duration.seconds(3600)

  /// Stores a mail to be sent, unless one of this kind to this address waits, or was asked for within the interval that
  /// ``finish(_:interval:now:)`` was given.
  ///
  /// Writes in any case, and looks up no account, so that the time of a response tells nothing about the address.
  package func post(_ job: MailJob, to email: EmailAddress, delay: Duration, now: UnixTime) async throws(RegistryError)
  {
    let fact = job.fact(key: email.normalized, delay: delay, now: now)
    try await updateFact(fact.id, now: now) { $0 ?? fact }
  }

  /// Returns at most `limit` mails to be sent at `now` or earlier, the most overdue first.
  package func dueMails(at now: UnixTime, limit: Int) async throws(RegistryError) -> [RegistryFact] {
    try await reading { () throws(RegistryStoreError) in try await store.dueFacts(.mail, at: now, limit: limit) }
  }

  /// Claims a mail until `lease`; then another worker may. Returns `nil` if another has it, or if this version does not know its
  /// kind.
  package func claim(_ fact: RegistryFact, until lease: UnixTime, now: UnixTime) async throws(RegistryError)
    -> ClaimedMail?
  {
    var source = source
    var next = fact
    let job = GrantCoding.value(MailJob.self, fact.payload)?
      .claimed(as: Base64URL.encode(randomBytes(9, from: &source)))
    next.dueAt = job == nil ? now.advanced(by: Registry.deferral) : lease
    if let job { next.payload = GrantCoding.text(job) }
    guard try await replace(fact, by: next) else { return nil }
    next.revision += 1
    return job.map { ClaimedMail(fact: next, job: $0) }
  }

  /// Looks up the account, issues a one-time token if the mail needs one, and renews the lease.
  ///
  /// Makes one write in any case, so that the store is busy for as long with an address that has no account.
  ///
  /// - Returns: `nil` if another worker has the mail. The letter is `nil` if there is nothing to send.
  package func write(
    _ mail: ClaimedMail, leasedUntil lease: UnixTime, now: UnixTime
  ) async throws(RegistryError) -> (mail: ClaimedMail, letter: Letter?)? {
    let (letter, changes) = try await letter(for: mail, now: now)
    guard let mail = try await change(mail, with: changes, { $0.dueAt = lease }) else { return nil }
    return (mail, letter)
  }

  private func letter(
    for mail: ClaimedMail, now: UnixTime
  ) async throws(RegistryError) -> (Letter?, [RegistryChange]) {
    let job = mail.job
    // Both look-ups come first, so that there are as many in any case.
    let named = try await named(by: job)
    guard let address = job.email else {
      guard let notice = job.kind.notice, let email = named?.email else { return (nil, []) }
      return (Letter(to: email, content: .notice(notice, device: job.name, at: mail.createdAt)), [])
    }
    let account = try await account(email: address)
    switch job.kind {
    case .reset:
      // The account's spelling of the address, which was confirmed.
      guard let account, account.closedAt == nil, account.passwordHash != nil, let email = account.email else {
        return (nil, [])
      }
      let (token, change) = resetToken(for: account, now: now)
      return (Letter(to: email, content: .reset(token)), [change])
    case .signUp:
      guard account == nil else { return (Letter(to: address, content: .known), []) }
      let (token, change) = signUpToken(for: address, job.name, now: now)
      return (Letter(to: address, content: .confirmation(token)), [change])
    case .upgrade:
      guard account == nil else { return (Letter(to: address, content: .known), []) }
      guard let named, named.isGuest else { return (nil, []) }
      let (token, changes) = upgradeToken(for: named, address, job.name, now: now)
      return (Letter(to: address, content: .confirmation(token)), changes)
    case .newDevice, .passwordChanged, .tokenTheft: return (nil, [])
    }
  }

  /// The account that a job names, if it is open.
  private func named(by job: MailJob) async throws(RegistryError) -> AccountRecord? {
    guard let id = job.account, let account = try await account(id), account.closedAt == nil else { return nil }
    return account
  }

  /// Has a mail sent later, because it could not be sent now.
  package func postpone(_ mail: ClaimedMail, until later: UnixTime) async throws(RegistryError) {
    _ = try await change(mail) { $0.dueAt = later }
  }

  /// Ends the work for a mail. What remains until `interval` has passed since it was asked for is that there was one.
  package func finish(_ mail: ClaimedMail, interval: Duration, now: UnixTime) async throws(RegistryError) {
    let end = mail.createdAt.advanced(by: interval)
    _ = try await change(mail) { fact in
      fact.payload = ""
      fact.dueAt = nil
      // Not yet passed, also for an interval that has: a fact is deleted by its expiry.
      fact.expiresAt = max(end, now.advanced(by: .milliseconds(1)))
    }
  }

  /// Changes a mail that is still claimed by the same worker. Returns `nil` if it is not.
  private func change(
    _ mail: ClaimedMail, with more: [RegistryChange] = [], _ change: (inout RegistryFact) -> Void
  ) async throws(RegistryError) -> ClaimedMail? {
    var mail = mail
    for _ in 0..<Registry.attempts {
      var next = mail.fact
      change(&next)
      if try await replace(mail.fact, by: next, with: more) {
        next.revision += 1
        return ClaimedMail(fact: next, job: mail.job)
      }
      // Another request for the same mail has written it again, without a change.
      guard let stored = try await fact(mail.fact.id), stored.payload == mail.fact.payload else { return nil }
      mail.fact = stored
    }
    throw Registry.contention
  }

  /// Returns `false` if the stored fact is no longer `fact`.
  private func replace(
    _ fact: RegistryFact, by next: RegistryFact, with more: [RegistryChange] = []
  ) async throws(RegistryError) -> Bool {
    do throws(RegistryStoreError) {
      _ = try await store.write(more + [.replaceFact(next, expecting: fact.revision)], events: [])
      return true
    } catch {
      switch error {
      case .conflict, .notFound: return false
      case .alreadyExists, .unavailable: throw RegistryError(error)
      }
    }
  }
}
