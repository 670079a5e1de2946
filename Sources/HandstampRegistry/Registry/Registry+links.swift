public import HandstampCore

/// What a mailed link leads to.
public struct LinkLimits: Sendable, Hashable {
  /// How long a link for a new password is good: at most 30 min (OWASP ASVS 6.4.1, NIST SP 800-63B section 4.2).
  public static let reset = Duration.seconds(30 * 60)
  /// How long a link that confirms an address is good.
  public static let confirmation = Duration.seconds(24 * 3600)
}

extension Registry {
  /// The secret of a mail with which a new password can be set, for an account that has a password. A later one takes the
  /// place of an earlier one.
  public func beginReset(of account: AccountRecord, now: UnixTime) async throws(RegistryError) -> LinkSecret {
    guard account.closedAt == nil, account.passwordHash != nil else { throw .missing }
    return try await issue(
      .passwordReset, subject: account.id.rawValue, account: account.id, lasting: LinkLimits.reset, now: now,
      voidingOthers: true)
  }

  /// Sets a new password and ends every session, for whoever holds the secret of the mail: all in one write, once.
  public func resetPassword(
    with link: LinkSecret, hash: Secret, now: UnixTime
  ) async throws(RegistryError) -> EndOutcome {
    for _ in 0..<Registry.attempts {
      let ticket = try await ticket(of: link, .passwordReset, now: now)
      guard let id = ticket.account, let record = try await account(id), record.closedAt == nil else {
        throw .linkInvalid
      }
      var changed = record
      changed.passwordHash = hash
      let event = RegistryEvent(kind: .credentialChange, account: id, at: now)
      do throws(RegistryError) {
        return try await end(
          .revoked, now: now,
          with: [
            .useTicket(ticket.id), .voidTickets(.passwordReset, subject: ticket.subject),
            .replaceAccount(changed, expecting: record.revision),
          ],
          events: [event]
        ) { () throws(RegistryStoreError) in try await store.sessions(of: id) }
      } catch {
        guard error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }

  /// The secret of a mail that confirms the address of a new account. Others for the same address stay good: whoever opens
  /// the first of them has the account.
  public func beginSignUp(
    email: EmailAddress, username: String, passwordHash: Secret, now: UnixTime
  ) async throws(RegistryError) -> LinkSecret {
    try await issue(
      .signUp, subject: email.normalised, email: email, username: username, passwordHash: passwordHash,
      lasting: LinkLimits.confirmation, now: now)
  }

  /// The same for a guest's account that shall become a full one. A later one takes the place of an earlier one.
  public func beginUpgrade(
    of guest: AccountRecord, email: EmailAddress, username: String, passwordHash: Secret, now: UnixTime
  ) async throws(RegistryError) -> LinkSecret {
    guard guest.isGuest else { throw .notGuest }
    return try await issue(
      .upgrade, subject: guest.id.rawValue, account: guest.id, email: email, username: username,
      passwordHash: passwordHash, lasting: LinkLimits.confirmation, now: now, voidingOthers: true)
  }

  /// Opens the account, or makes a full one of the guest's, that the secret of a mail stands for, and signs in.
  public func confirm(
    _ link: LinkSecret, device: DeviceInfo, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    for _ in 0..<Registry.attempts {
      if let ticket = try await find(link, .upgrade, now: now) {
        guard let id = ticket.account, let guest = try await account(id), guest.isGuest,
          let email = ticket.email, let hash = ticket.passwordHash
        else { throw .linkInvalid }
        do throws(RegistryError) {
          return try await upgrade(
            guest, email: email, username: ticket.username, passwordHash: hash, device: device, now: now,
            using: ticket.id)
        } catch {
          guard error == .accountChanged else { throw error }
          continue
        }
      }
      let ticket = try await ticket(of: link, .signUp, now: now)
      guard let email = ticket.email, let hash = ticket.passwordHash else { throw .linkInvalid }
      let record = newAccount(email: email, username: ticket.username, passwordHash: hash, now: now)
      do throws(RegistryStoreError) {
        // The account first: a taken address is told even when the link was just used.
        return try await begin(
          record, device, replacing: [], now: now,
          with: [
            .useTicket(ticket.id), .createAccount(record), .voidTickets(.signUp, subject: ticket.subject),
          ])
      } catch {
        switch error {
        case .exists: throw .emailTaken
        case .missing: throw .linkInvalid
        case .changed, .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  func ticket(_ id: TicketID) async throws(RegistryError) -> Ticket? {
    try await reading { () throws(RegistryStoreError) in try await store.ticket(id) }
  }

  func liveTicket(_ id: TicketID, now: UnixTime) async throws(RegistryError) -> Ticket? {
    try await ticket(id).flatMap { $0.expiresAt > now ? $0 : nil }
  }

  private func find(
    _ link: LinkSecret, _ purpose: Ticket.Purpose, now: UnixTime
  ) async throws(RegistryError) -> Ticket? {
    try await liveTicket(TicketID(of: link.secret, purpose: purpose), now: now)
  }

  private func ticket(
    of link: LinkSecret, _ purpose: Ticket.Purpose, now: UnixTime
  ) async throws(RegistryError) -> Ticket {
    guard let ticket = try await find(link, purpose, now: now) else { throw .linkInvalid }
    return ticket
  }

  /// Whether a secret would be taken now. For a look before a costly hash; what counts is the write.
  public func isGood(_ link: LinkSecret, for purpose: Ticket.Purpose, now: UnixTime) async throws(RegistryError) -> Bool
  {
    try await find(link, purpose, now: now) != nil
  }

  func issue(
    _ purpose: Ticket.Purpose, subject: String, account: AccountID? = nil, email: EmailAddress? = nil,
    username: String = "", passwordHash: Secret? = nil, payload: String = "", lasting: Duration, now: UnixTime,
    voidingOthers: Bool = false
  ) async throws(RegistryError) -> LinkSecret {
    var source = source
    let link = LinkSecret(from: &source)
    let ticket = Ticket(
      id: TicketID(of: link.secret, purpose: purpose), purpose: purpose, subject: subject, account: account,
      email: email, username: username, passwordHash: passwordHash, payload: payload, createdAt: now,
      expiresAt: now.advanced(by: lasting))
    let void: [RegistryChange] = voidingOthers ? [.voidTickets(purpose, subject: subject)] : []
    do throws(RegistryStoreError) { _ = try await store.write(void + [.createTicket(ticket)], events: []) } catch {
      throw RegistryError(error)
    }
    return link
  }
}
