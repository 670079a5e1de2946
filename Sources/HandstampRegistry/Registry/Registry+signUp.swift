public import HandstampCore

extension Registry {
  /// Opens an account and its first session, in one write. Fails with ``RegistryError/emailTaken`` when the address has an
  /// account.
  ///
  /// - Parameter email: nothing for a guest, whose account only this session leads to.
  public func signUp(
    email: EmailAddress?, username: String, passwordHash: Secret?, device: DeviceInfo, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    let record = newAccount(email: email, username: username, passwordHash: passwordHash, now: now)
    do throws(RegistryStoreError) {
      return try await begin(record, device, replacing: [], now: now, with: [.createAccount(record)])
    } catch {
      switch error {
      // The ids are random: what is there is the address.
      case .exists: throw .emailTaken
      case .changed, .missing, .unavailable: throw RegistryError(error)
      }
    }
  }

  /// Makes a full account of a guest's, under the same id, and a new session that replaces all the guest's, in one write.
  ///
  /// Fails with ``RegistryError/emailTaken`` when the address has an account, and with ``RegistryError/notGuest`` when this
  /// one is full already; the guest's account and sessions are then as they were.
  public func upgrade(
    _ guest: AccountRecord, email: EmailAddress, username: String, passwordHash: Secret, device: DeviceInfo,
    now: UnixTime, using ticket: TicketID? = nil
  ) async throws(RegistryError) -> NewSession {
    guard guest.closedAt == nil else { throw .accountClosed }
    guard guest.isGuest else { throw .notGuest }
    var full = guest
    full.email = email
    full.username = username
    full.passwordHash = passwordHash
    var changes: [RegistryChange] = ticket.map { [.useTicket($0)] } ?? []
    changes.append(.replaceAccount(full, expecting: guest.revision))
    changes.append(.voidTickets(.upgrade, subject: guest.id.rawValue))
    full.revision += 1
    let event = RegistryEvent(kind: .credentialChange, account: guest.id, at: now)
    for _ in 0..<Registry.attempts {
      let former = try await liveSessions(of: guest.id)
      do throws(RegistryStoreError) {
        return try await begin(
          full, device, replacing: former, now: now, with: changes, events: [event])
      } catch {
        switch error {
        case .exists:
          if try await account(email: email) != nil { throw .emailTaken }
        case .changed, .missing:
          if let ticket, try await liveTicket(ticket, now: now) == nil { throw .linkInvalid }
          try await confirm(guest)
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  /// Signs in whom another identity provider vouches for, and opens an account at the first time.
  ///
  /// - Parameters:
  ///   - username: for a new account.
  ///   - nonce: what makes this sign-in unlike any other of its provider, as a ticket of purpose `nonce`. Stored in the same
  ///     write; fails with ``RegistryError/nonceUsed`` when it is there already.
  public func signIn(
    as identity: ExternalIdentity, username: String, device: DeviceInfo, nonce: Ticket, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    for _ in 0..<Registry.attempts {
      guard try await ticket(nonce.id) == nil else { throw .nonceUsed }
      let known = try await reading { () throws(RegistryStoreError) in try await store.account(identity: identity) }
      if known?.closedAt != nil { throw .accountClosed }
      do throws(RegistryStoreError) {
        guard let known else {
          let record = newAccount(identity: identity, username: username, passwordHash: nil, now: now)
          return try await begin(
            record, device, replacing: [], now: now, with: [.createTicket(nonce), .createAccount(record)])
        }
        let former = try await store.sessions(of: known.id).filter { $0.device.id == device.id }
        return try await begin(
          known, device, replacing: former, now: now,
          with: [.createTicket(nonce), .expectAccount(known.id, revision: known.revision)])
      } catch {
        switch error {
        // The same token twice at once, the same person on two devices, a change of the account: look again.
        case .exists, .changed, .missing: continue
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
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
