#if Server
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

extension AccountRecord {
  /// The account as administrators see it.
  var described: JSONText {
    var json = JSONText()
    AccountMembers.admin.add(self, to: &json)
    return json
  }
}

extension WaitingLogout {
  /// The logout as administrators see it.
  var described: JSONText {
    var json = JSONText()
    json.add("session", session.rawValue)
    json.add("ended_at", endedAt.description)
    json.add("failures", Int64(failures))
    json.add("next_at", ifPresent: nextAt?.description)
    json.add("failure", ifPresent: failure)
    return json
  }
}

extension Administration {
  /// A live session as administrators see it.
  ///
  /// - Parameter address: where it began; `nil` if the audit log no longer has it.
  func described(_ row: SessionRow, from address: String?) -> JSONText {
    var json = row.described(from: address)
    if lacksClient(row) { json.add("client_missing", true) }
    return json
  }
}

extension SessionRow {
  /// The session as administrators see it.
  ///
  /// - Parameter address: where it began; `nil` if the audit log no longer has it.
  func described(from address: String? = nil) -> JSONText {
    var json = JSONText()
    json.add("id", id.rawValue)
    var device = JSONText()
    // That of a browser is the secret of its cookie.
    if kind != .browser { device.add("id", self.device.id.rawValue) }
    device.add("name", self.device.name)
    device.add("platform", self.device.platform)
    json.add("device", device)
    json.add("persistence", persistence.rawValue)
    if let client {
      json.add("client", client.id)
      json.add("scope", client.scope)
    }
    json.add("created_at", createdAt.description)
    json.add("created_at_ms", createdAt.milliseconds)
    json.add("last_seen_at", lastSeenAt.description)
    json.add("last_seen_at_ms", lastSeenAt.milliseconds)
    json.add("address", ifPresent: address)
    json.add("expires_at", ifPresent: expiry?.description)
    json.add("ended_at", ifPresent: end?.at.description)
    json.add("end_reason", ifPresent: end?.reason.rawValue)
    json.add("has_push_token", pushToken != nil)
    return json
  }
}

extension StoredAuditedAction {
  /// The entry with its details as text: they are JSON, but an entry may come from another version.
  var described: JSONText {
    var json = JSONText()
    json.add("id", id)
    json.add("at", audited.at.description)
    json.add("at_ms", audited.at.milliseconds)
    json.add("action", audited.action)
    json.add("actor", audited.actor)
    json.add("account", ifPresent: audited.account?.rawValue)
    json.add("session", ifPresent: audited.session?.rawValue)
    json.add("address", ifPresent: audited.address)
    json.add("details", audited.details)
    return json
  }

  /// The entry as one line of JSON, without the newline.
  package var jsonLine: [UInt8] { described.finished }
}

extension ConfiguredClient {
  /// - Parameter machine: what is known of the client's own tokens.
  func described(with machine: MachineRecord?) -> JSONText {
    var json = JSONText()
    json.add("id", id)
    json.add("name", name)
    json.add("is_confidential", isConfidential)
    json.add("has_registered_itself", hasRegisteredItself)
    json.add("redirect_uris", redirectURIs)
    json.add("flows", flows.map(\.rawValue).sorted())
    json.add("scopes", scopes)
    json.add("audiences", audiences)
    json.add("first_party", isFirstParty)
    json.add("access_token_signing_alg", accessTokenSigning.rawValue)
    guard let machine else { return json }
    var own = JSONText()
    own.add("issued_at", machine.issuedAt.description)
    own.add("count", machine.count)
    own.add("address", ifPresent: machine.address)
    json.add("own_tokens", own)
    return json
  }
}

extension RegistryCounts {
  var described: JSONText {
    var json = JSONText()
    json.add("accounts", Int64(accounts))
    json.add("guests", Int64(guests))
    json.add("live_sessions", Int64(liveSessions))
    json.add("ended_sessions", Int64(endedSessions))
    json.add("one_time_tokens", Int64(oneTimeTokens))
    json.add("facts", Int64(items))
    json.add("events", Int64(events))
    json.add("audited_actions", Int64(auditedActions))
    return json
  }
}
extension Credentials {
  /// The ways into an account as administrators and the owner see them.
  var described: JSONText {
    var json = JSONText()
    json.add("has_password", hasPassword)
    json.add("password_changed_at", ifPresent: passwordChangedAt?.description)
    json.add(
      "identities",
      identities.map { link in
        var json = link.identity.described
        json.add("label", link.label)
        json.add("created_at", link.createdAt.description)
        json.add("last_used_at", ifPresent: link.lastUsedAt?.description)
        return json
      })
    json.add(
      "passkeys",
      passkeys.map { passkey in
        var json = JSONText()
        json.add("id", passkey.id)
        json.add("name", passkey.name)
        json.add("created_at", passkey.createdAt.description)
        json.add("last_used_at", ifPresent: passkey.lastUsedAt?.description)
        return json
      })
    json.add("recovery_codes", Int64(recoveryCodes))
    if let totp {
      var app = JSONText()
      app.add("created_at", totp.createdAt.description)
      app.add("last_used_at", ifPresent: totp.lastUsedAt?.description)
      json.add("authenticator_app", app)
    }
    json.add(
      "consents",
      consents.map { consent in
        var json = JSONText()
        json.add("client", consent.client)
        json.add("scope", consent.scopes.joined(separator: " "))
        json.add("given_at", consent.givenAt.description)
        return json
      })
    json.add("pending_email", ifPresent: pendingEmail?.email.typed)
    return json
  }
}

/// A code with which the owner of an account sets a password, once.
public struct ResetCode: Sendable, Hashable {
  public let code: Secret
  /// The address with the code in it. `nil` where the server's address is not known.
  public let link: Secret?
  /// The first instant at which the code is no longer valid.
  public let expiresAt: UnixTime
}

extension Administration {
  /// Returns at most `limit` accounts in the order of their IDs, deleted ones too: those after `id`, or the first ones.
  public func accounts(
    after id: AccountID? = nil, limit: Int = 100
  ) async throws(AdministrationError) -> [AccountRecord] {
    try await ask(try await registry.accounts(after: id, limit: Administration.clamped(limit)))
  }

  public func account(_ id: AccountID) async throws(AdministrationError) -> AccountRecord {
    guard let record = try await ask(try await registry.account(id)) else { throw .accountNotFound }
    return record
  }

  public func account(email: String) async throws(AdministrationError) -> AccountRecord {
    guard let email = EmailAddress(composed: email) else { throw .invalidEmail }
    guard let record = try await ask(try await registry.account(email: email)) else { throw .accountNotFound }
    return record
  }

  /// Creates an account, whether sign-up is closed or not. The address counts as confirmed.
  ///
  /// - Parameters:
  ///   - username: the display name; `nil` uses the part of the address before the `@`.
  ///   - password: `nil` issues a code with which the owner sets one.
  public func createAccount(
    email: String, username: String? = nil, password: Secret? = nil
  ) async throws(AdministrationError) -> (account: AccountRecord, code: ResetCode?) {
    let (email, name) = try checked(email, username)
    guard let password else {
      let time = now()
      let (record, code) = try await ask(
        try await registry.openAccount(
          email: email, username: name, codeLasting: Administration.invitation, now: time))
      return (record, resetCode(code, expiresAt: time.advanced(by: Administration.invitation)))
    }
    if let weakness = policy.weakness(of: password, names: [email.typed, name]) { throw .weakPassword(weakness) }
    let hash: Secret
    do throws(PasswordHashError) { hash = try await passwords.hash(password) } catch { throw .busy(error) }
    let record = try await ask(
      try await registry.openAccount(email: email, username: name, passwordHash: hash, now: now()))
    return (record, nil)
  }

  /// Creates an account, whose owner the server invites by mail to choose a password. The use of that mail confirms the address.
  ///
  /// - Parameter language: the code of the mail's language, such as `de`; `nil` is English.
  package func inviteAccount(
    email: String, username: String?, in language: String?
  ) async throws(AdministrationError) -> AccountRecord {
    let (email, name) = try checked(email, username)
    guard hasMailer else { throw .noMailer }
    guard Mailbox(email) != nil else { throw .invalidEmail }
    return try await ask(
      try await registry.inviteAccount(email: email, username: name, in: language, now: now()))
  }

  private func checked(
    _ email: String, _ username: String?
  ) throws(AdministrationError) -> (EmailAddress, name: String) {
    guard !hasDirectory else { throw .notOffered }
    guard let email = EmailAddress(new: email) else { throw .invalidEmail }
    let name = username ?? String(email.typed.prefix { $0 != "@" })
    guard name.isDisplayName else { throw .invalidName }
    return (email, name)
  }

  /// Has the server send a mail that shows whether mails arrive.
  package func testMail(to email: String, in language: String?) async throws(AdministrationError) -> StoredItemID {
    guard let email = EmailAddress(new: email), Mailbox(email) != nil else { throw .invalidEmail }
    return try await ask(try await registry.postTest(to: email, in: language, now: now()))
  }

  /// Returns that mail as long as it waits, with the failure of the last attempt; `nil` once it was sent.
  package func waitingTest(_ id: StoredItemID) async throws(AdministrationError) -> MailJob? {
    try await ask(try await registry.waitingTest(id))
  }

  /// Disables an account and ends its sessions: the owner can neither sign in nor sign up again with the address. An account that
  /// is disabled already is not an error.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func disable(_ id: AccountID) async throws(AdministrationError) -> Int {
    let ended = try await changing(id) { record throws(AdministrationError) -> [SessionRow] in
      guard record.state == .active else { return [] }
      guard !record.isGuest else { throw .noAddress }
      return try await ask(try await registry.closeAccount(record, now: now()))
    }
    announce(id, ended)
    return ended.count
  }

  /// Lets the owner of a disabled account sign in again. The sessions that ended stay ended.
  public func enable(_ id: AccountID) async throws(AdministrationError) {
    try await changing(id) { record throws(AdministrationError) in
      guard record.state == .disabled else { return }
      _ = try await ask(try await registry.reopenAccount(record, now: now()))
    }
  }

  /// Permanently deletes an account: erases its address, name, password and devices, and ends its sessions. Its ID stays.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func delete(_ id: AccountID) async throws(AdministrationError) -> Int {
    let ended = try await changing(id) { record throws(AdministrationError) in
      try await ask(try await registry.deleteAccount(record, now: now()))
    }
    announce(id, ended)
    return ended.count
  }

  /// Issues a code with which the owner of the account sets a new password, which ends all sessions. The password that the
  /// account has stays valid until then.
  public func issueResetCode(of id: AccountID) async throws(AdministrationError) -> ResetCode {
    guard !hasDirectory else { throw .notOffered }
    let time = now()
    let code = try await changing(id) { record throws(AdministrationError) in
      guard record.state == .active else { throw .accountDisabled }
      guard record.email != nil else { throw .noAddress }
      return try await ask(try await registry.issueResetCode(of: record, now: time))
    }
    return resetCode(code, expiresAt: time.advanced(by: OneTimeTokenLimits.reset))
  }

  func resetCode(_ code: OneTimeToken, expiresAt end: UnixTime) -> ResetCode {
    let link = configuration.mail.link.map { template in
      code.secret.withExposed { code in
        Secret(template.replacing("{action}", with: "reset").replacing("{token}", with: code))
      }
    }
    return ResetCode(code: code.secret, link: link, expiresAt: end)
  }
}

extension Administration {
  /// The most entries that one read of the export returns.
  private static let page = 1000

  /// Returns everything that is stored about the owner of an account, as a JSON object: the account, its sessions, devices, events,
  /// and entries of the audit log (GDPR article 15). No hashes, no tokens, no keys.
  ///
  /// The audit log gets that it was given out.
  public func export(_ id: AccountID) async throws(AdministrationError) -> [UInt8] {
    let record = try await account(id)
    var json = JSONText(reserving: 16 << 10)
    json.add("schema_version", 1)
    json.add("exported_at", now().description)
    json.add("account", record.described)
    json.add("credentials", try await credentials(of: id).described)
    // In this order: a session that ends in between is in both lists rather than in neither.
    let live = try await ask(try await registry.sessions(of: id, now: now()))
    let ended = try await ask(try await registry.endedSessions(of: id))
    let over = Set(ended.map(\.id))
    json.add("sessions", (live.filter { !over.contains($0.id) } + ended).map { $0.described() })
    let items = try await ask(try await registry.items(about: record))
    json.add("remembered", items.map(\.described))
    let events = try await all { (last: StoredEvent?) async throws(AdministrationError) in
      try await ask(try await registry.events(after: last?.id ?? .zero, of: id, limit: Administration.page))
    }
    json.add("events", events.map(\.event.described))
    let entries = try await all { (last: StoredAuditedAction?) async throws(AdministrationError) in
      try await auditedActions(after: last?.id ?? 0, about: id, limit: Administration.page)
    }
    json.add("audit", entries.map(\.described))
    try await ask(try await registry.audit(.accountExported, account: id, now: now()))
    return json.finished
  }

  /// Reads pages until one is empty; each is read after the last entry of the one before.
  private func all<Entry>(
    _ page: (_ last: Entry?) async throws(AdministrationError) -> [Entry]
  ) async throws(AdministrationError) -> [Entry] {
    var all: [Entry] = []
    while case let next = try await page(all.last), !next.isEmpty { all += next }
    return all
  }
}

extension StoredItem {
  fileprivate var described: JSONText {
    var json = JSONText()
    json.add("kind", kind.rawValue)
    json.add("since", createdAt.description)
    json.add("until", expiresAt.description)
    return json
  }
}

extension RegistryEvent {
  fileprivate var described: JSONText {
    var json = JSONText()
    json.add("kind", kind.rawValue)
    json.add("at", at.description)
    json.add("session", ifPresent: session?.rawValue)
    json.add("reason", ifPresent: reason?.rawValue)
    return json
  }
}
#endif
