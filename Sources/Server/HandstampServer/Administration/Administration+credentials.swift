#if Server
public import HandstampCore
public import HandstampRegistry

/// The ways into an account.
public struct Credentials: Sendable, Hashable {
  public let hasPassword: Bool
  /// When the password was last set or removed; `nil` if that never happened after the account was created.
  public let passwordChangedAt: UnixTime?
  /// The user's identities at other providers.
  public let identities: [LinkedIdentity]
  public let passkeys: [PasskeyRecord]
  /// How many recovery codes are unused.
  public let recoveryCodes: Int
  /// The authenticator app whose codes the password needs; `nil` without one.
  public let totp: TOTPRecord?
  /// The clients that the owner allows something, or that have a session.
  public let consents: [Consent]
  /// The address that the account gets once a mail to it is answered.
  public let pendingEmail: EmailChange?
}

extension Administration {
  /// Returns the ways into an account.
  public func credentials(of id: AccountID) async throws(AdministrationError) -> Credentials {
    let record = try await account(id)
    let time = now()
    return try await ask(
      Credentials(
        hasPassword: record.passwordHash != nil, passwordChangedAt: record.credentialsChangedAt,
        identities: try await registry.identities(of: record), passkeys: try await registry.passkeys(of: id),
        recoveryCodes: try await registry.recoveryCodesLeft(of: id), totp: try await registry.totp(of: id),
        consents: try await registry.apps(of: id, now: time),
        pendingEmail: try await registry.emailChange(of: id, now: time)))
  }

  /// Removes the authenticator app of an account, such as after its owner has lost the device and the recovery codes. The password is
  /// then enough. A mail tells the owner; sessions go on.
  ///
  /// - Returns: whether there was one.
  public func removeTOTP(of id: AccountID) async throws(AdministrationError) -> Bool {
    _ = try await account(id)
    let time = now()
    let isRemoved = try await ask(try await registry.removeTOTP(of: id, now: time))
    if isRemoved { announce(id, []) }
    return isRemoved
  }

  /// When the audit log says that the address of an account was changed, the last time; `nil` if it does not.
  public func lastAddressChange(of id: AccountID) async throws(AdministrationError) -> UnixTime? {
    try await ask(try await registry.latestAuditedActions(about: id, limit: Administration.mostRows))
      .first { $0.audited.action == AuditedAction.Kind.emailChanged.rawValue }?.audited.at
  }

  /// Takes an account back for its owner: ends its sessions, removes its password, passkeys, recovery codes, consents and known
  /// devices, and voids what waits to be answered, in one write.
  ///
  /// - Parameter email: the owner's address, if the account has none or a stranger's; `nil` keeps it.
  /// - Returns: how many sessions ended, and the code with which the owner sets a new password, once the account is enabled.
  public func takeBack(
    _ id: AccountID, email: String? = nil
  ) async throws(AdministrationError) -> (ended: Int, code: ResetCode) {
    guard !hasDirectory else { throw .notOffered }
    var address: EmailAddress?
    if let email {
      address = EmailAddress(new: email)
      guard address != nil else { throw .invalidEmail }
    }
    let owner = address
    let time = now()
    let (ended, code) = try await changing(id) { record throws(AdministrationError) in
      guard owner ?? record.email != nil else { throw .noAddress }
      return try await ask(try await registry.takeBack(record, email: owner, now: time))
    }
    announce(id, ended)
    return (ended.count, resetCode(code, expiresAt: time.advanced(by: OneTimeTokenLimits.reset)))
  }

  /// Returns the clients that have had tokens for themselves lately, the most recent first.
  public func machines() async throws(AdministrationError) -> [MachineRecord] {
    try await ask(try await registry.machines(now: now()))
  }

  /// Returns the clients that have registered themselves, the oldest first.
  package func registeredClients() async throws(AdministrationError) -> [ConfiguredClient] {
    try await ask(try await registry.registeredClients(now: now())).compactMap { known in
      var client = try? StrangerRights(scopes: known.scopes).client()
      client?.id = known.id
      client?.name = known.name ?? known.id
      client?.redirectURIs = known.redirectURIs
      return client
    }
  }

  /// Forgets a client that has registered itself, and ends all sessions of the client, registered or not.
  ///
  /// - Returns: whether it was known as one that has registered itself, and how many sessions ended.
  package func removeClient(
    _ client: String
  ) async throws(AdministrationError) -> (wasRegistered: Bool, ended: Int) {
    // First, so that no session begins by it in the meantime.
    let wasRegistered = try await ask(try await registry.forgetClient(client, now: now()))
    return (wasRegistered, try await endSessions(ofClient: client))
  }

  /// Ends all sessions of a client, account by account, such as after it was removed from the configuration. If it fails, those of some
  /// accounts have ended, and it can be called again. The tokens that the client has got for itself end as well.
  ///
  /// - Returns: how many sessions ended; the client's own tokens count as one.
  @discardableResult
  public func endSessions(ofClient client: String) async throws(AdministrationError) -> Int {
    var (count, last) = (0, AccountID?.none)
    let machine = try await ask(try await registry.endTokens(ofMachine: client, now: now()))
    if machine != nil {
      count = 1
      announce(AccountID(client), [])
    }
    while case let page = try await accounts(after: last, limit: Administration.mostRows), let end = page.last {
      // A disabled account has no sessions, but what it has allowed comes back when it is enabled.
      for record in page where record.state != .deleted {
        let ended = try await ask(try await registry.endAll(of: record.id, ofClient: client, now: now()))
        if !ended.isEmpty { announce(record.id, ended) }
        count += ended.count
      }
      last = end.id
    }
    return count
  }
}
#endif
