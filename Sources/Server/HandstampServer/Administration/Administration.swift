#if Server
import Foundation
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

/// An operator's work with a server's accounts and sessions: the one implementation behind `handstamp-server admin` and the HTTP API.
///
/// Every change is in the audit log, in the same write. Changes are durable when a call returns.
public struct Administration: Sendable {
  /// The most rows that a list returns at once.
  public static let mostRows = 1000
  /// Lifetime of the code for an account that an administrator creates without a password.
  public static let invitation = Duration.seconds(24 * 3600)

  let registry: Registry
  let configuration: ServerConfiguration
  let passwords: PasswordPool
  let hasDirectory: Bool
  var hasMailer = true
  let now: @Sendable () -> UnixTime
  /// Wakes the event streams of this process. Those of others read the store.
  let announce: @Sendable (AccountID, [SessionRow]) -> Void
  /// Whether a client is configured, or need not be.
  let knows: @Sendable (_ client: String) -> Bool

  var policy: PasswordPolicy { configuration.policyOfPasswords }
  var sendsWebhooks: Bool { configuration.webhookNetwork != nil }
}

extension Administration {
  /// Administers a store without its server, which may be running: it notices the changes. Times are those of the machine's clock.
  ///
  /// - Parameters:
  ///   - actor: who is named in the audit log.
  ///   - configuration: the server's, as far as it is known: passwords, their policy, links, and clients.
  public init(
    _ registry: Registry, by actor: AuditActor, configuration: ServerConfiguration = ServerConfiguration()
  ) {
    self.init(
      registry: registry.acting(as: actor), configuration: configuration,
      passwords: PasswordPool(parameters: configuration.passwords.hashing), hasDirectory: false,
      now: configuration.now, announce: { _, _ in },
      // Without an entry, nothing is known of the clients; some describe or register themselves.
      knows: { [clients = configuration.clients] id in
        clients.isEmpty || ClientURL(id) != nil || RegisteredClient.isID(id) || clients.contains { $0.id == id }
      })
  }

  /// Whether a session's client is configured no more: its tokens are refused until it is again.
  package func lacksClient(_ row: SessionRow) -> Bool { row.client.map { !knows($0.id) } ?? false }

  /// Counts accounts, sessions and the other rows. It may take long on a large store.
  public func counts() async throws(AdministrationError) -> RegistryCounts {
    try await ask(try await registry.counts())
  }

  /// Returns at most `limit` entries of the audit log after the one with that ID, in order.
  ///
  /// - Parameters:
  ///   - account: returns only those about this account; `nil` returns all.
  ///   - pseudonym: returns only those that name this address, see ``pseudonym(of:)``.
  ///   - since: returns none from before that time.
  public func auditedActions(
    after id: Int64 = 0, about account: AccountID? = nil, naming pseudonym: String? = nil, since: UnixTime? = nil,
    limit: Int = 100
  ) async throws(AdministrationError) -> [StoredAuditedAction] {
    let limit = Administration.clamped(limit)
    var (found, last) = ([StoredAuditedAction](), id)
    let step = since == nil && pseudonym == nil ? limit : Administration.mostRows
    repeat {
      let after = last
      let page = try await ask(try await registry.auditedActions(after: after, about: account, limit: step))
      found += page.filter { entry in
        (since.map { entry.audited.at >= $0 } ?? true) && (pseudonym.map(entry.audited.details.contains) ?? true)
      }
      guard page.count == step, let end = page.last else { break }
      last = end.id
    } while found.count < limit
    return Array(found.prefix(limit))
  }

  /// Returns the name that the log and the audit log have for an address, as `email_hash`: only this server's current refresh key can
  /// connect the two.
  public func pseudonym(of email: String) throws(AdministrationError) -> String {
    guard let email = EmailAddress(composed: email) else { throw .invalidEmail }
    return registry.mint.mac(of: email.normalized, for: .logName)
  }

  /// Appends to the audit log an action that is not in the store, such as a backup.
  public func audit(_ kind: AuditedAction.Kind, details: String = "{}") async throws(AdministrationError) {
    try await ask(try await registry.audit(kind, details: details, now: now()))
  }

  static func clamped(_ limit: Int) -> Int { min(max(limit, 1), mostRows) }

  func ask<Value: Sendable>(
    _ value: @autoclosure () async throws(RegistryError) -> Value
  ) async throws(AdministrationError) -> Value {
    do throws(RegistryError) { return try await value() } catch { throw AdministrationError(error) }
  }

  /// Changes an account as `body` says, again if the account changes meanwhile.
  func changing<Value: Sendable>(
    _ id: AccountID, _ body: (AccountRecord) async throws(AdministrationError) -> Value
  ) async throws(AdministrationError) -> Value {
    for _ in 0..<Registry.attempts {
      let record = try await account(id)
      guard record.state != .deleted else { throw .accountDeleted }
      do throws(AdministrationError) { return try await body(record) } catch {
        guard error == .registry(.accountChanged) else { throw error }
      }
    }
    throw .registry(Registry.contention)
  }
}

extension UnixTime {
  /// Parses a date, or a date and a time with its zone (RFC 3339); a date alone is its first instant in UTC.
  package init?(date text: String) {
    guard let date = try? Date(text.contains("T") ? text : text + "T00:00:00Z", strategy: .iso8601) else { return nil }
    self.init(seconds: Int64(date.timeIntervalSince1970))
  }
}

extension AdministrationError {
  init(_ error: RegistryError) {
    self = error == .emailTaken ? .emailTaken : .registry(error)
  }
}

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

extension Administration {
  /// Returns an account's live sessions, most recently seen first.
  public func sessions(of id: AccountID) async throws(AdministrationError) -> [SessionRow] {
    _ = try await account(id)
    return try await ask(try await registry.sessions(of: id, now: now()))
  }

  /// Returns the addresses that an account's sessions began from, as far as the audit log has them.
  package func addresses(ofSessionsOf id: AccountID) async throws(AdministrationError) -> [SessionID: String] {
    try await ask(try await registry.addresses(ofSessionsOf: id))
  }

  /// Returns the ended sessions that a client was not told of yet (OpenID Connect Back-Channel Logout 1.0), the oldest first.
  public func waitingLogouts(of client: String) async throws(AdministrationError) -> [WaitingLogout] {
    try await ask(try await registry.waitingLogouts(of: client, now: now()))
  }

  /// Ends one session. One that has already ended is not an error.
  ///
  /// - Parameter account: the account that it must belong to; `nil` ends a live session of any.
  /// - Returns: whether the session was live.
  @discardableResult
  public func endSession(_ id: SessionID, of account: AccountID? = nil) async throws(AdministrationError) -> Bool {
    let time = now()
    let owner: AccountID
    if let account {
      owner = account
    } else {
      guard let row = try await ask(try await registry.session(id, now: time)) else { throw .sessionNotFound }
      owner = row.account
    }
    do throws(RegistryError) {
      let ended = try await registry.end(id, of: owner, isAudited: true, now: time)
      announce(owner, ended)
      return !ended.isEmpty
    } catch {
      guard error == .notFound else { throw AdministrationError(error) }
      throw .sessionNotFound
    }
  }

  /// Ends all sessions of an account. Its owner may sign in again.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func endSessions(of id: AccountID) async throws(AdministrationError) -> Int {
    _ = try await account(id)
    return try await endAll(of: id)
  }

  /// Ends all sessions of all accounts, account by account: if it fails, those of some have ended, and it can be called again.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func endEverySession() async throws(AdministrationError) -> Int {
    var (count, last) = (0, AccountID?.none)
    while case let page = try await accounts(after: last, limit: Administration.mostRows), let end = page.last {
      // Deleted and disabled accounts have no sessions.
      for record in page where record.state == .active { count += try await endAll(of: record.id) }
      last = end.id
    }
    return count
  }

  private func endAll(of id: AccountID) async throws(AdministrationError) -> Int {
    let ended = try await ask(try await registry.endAll(of: id, now: now()))
    announce(id, ended)
    return ended.count
  }
}

extension Administration {
  /// Returns the names of an account's groups, sorted.
  public func groups(of id: AccountID) async throws(AdministrationError) -> [String] {
    let record = try await account(id)
    return try await ask(try await registry.groups(of: record.id))
  }

  /// Changes the groups of an account. ID tokens and userinfo have them from the next token on, for clients with the scope
  /// `groups`.
  ///
  /// - Parameter change: given the groups that the account is in; called again if they change meanwhile.
  /// - Returns: the groups after the change, sorted.
  @discardableResult
  public func changeGroups(
    of id: AccountID, _ change: (inout Set<String>) -> Void
  ) async throws(AdministrationError) -> [String] {
    try await changing(id) { record throws(AdministrationError) in
      var groups = Set(try await ask(try await registry.groups(of: id)))
      change(&groups)
      guard groups.count <= Registry.mostGroups, groups.allSatisfy(Registry.isGroup) else { throw .invalidGroup }
      let next = groups.sorted()
      try await ask(try await registry.setGroups(next, of: record, now: now()))
      return next
    }
  }
}
#endif
