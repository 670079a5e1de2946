#if Server
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

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
    let link = link.map { template in
      code.secret.withExposed { code in
        Secret(template.replacing("{action}", with: "reset").replacing("{token}", with: code))
      }
    }
    return ResetCode(code: code.secret, link: link, expiresAt: end)
  }
}
#endif
