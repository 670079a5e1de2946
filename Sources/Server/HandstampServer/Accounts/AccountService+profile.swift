#if Server
import HandstampCore
import HandstampRegistry

/// The name and the address.
extension AccountService {
  /// - Parameter name: 1 to ``AccountRecord/maxUsername`` bytes.
  func rename(_ owner: Owner, to name: String) async throws -> AccountRecord {
    try await require(.rename, of: owner)
    return try await changing(owner) { record in
      var changed = record
      changed.username = name
      return try await owned(owner.caller).update(changed)
    }
  }

  /// Asks for a mail to another address, which confirms it, and one to the present one with the news.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired(_:)``: who reads the mails to the address owns the account. `rate_limited`.
  func beginEmailChange(of owner: Owner, to email: EmailAddress) async throws {
    // A mailed link to that address removes passkeys.
    try await require(.changeEmail, of: owner)
    try limits.take(.mails, from: owner.caller.client, about: email.normalized)
    try await owned(owner.caller).beginEmailChange(
      of: owner.account, to: email, by: owner.session, now: clock.now)
    outbox.bell.signal(.look)
  }

  func cancelEmailChange(of owner: Owner) async throws {
    try await require(.cancelEmailChange, of: owner)
    try await owned(owner.caller).cancelEmailChange(of: owner.account.id, now: clock.now)
  }

  /// Returns the address that a mailed token gives to the account; `nil` if it is not valid, or for another account.
  func emailChange(of owner: Owner, confirmedBy token: Secret) async throws -> EmailAddress? {
    guard let token = self.token(token) else { return nil }
    try limits.take(.codes, from: owner.caller.client, .own)
    return try await registry.emailChange(of: owner.account.id, confirmedBy: token, now: clock.now)
  }

  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` also for a token of another account; ``RegistryError/emailTaken``.
  func completeEmailChange(of owner: Owner, with token: Secret, in browser: BrowserSession) async throws
    -> AccountRecord
  {
    try await require(.confirmEmailChange, of: owner)
    guard let token = self.token(token) else { throw RegistryError.oneTimeTokenInvalid }
    try limits.take(.codes, from: owner.caller.client, .own)
    let changed = try await owned(owner.caller).completeEmailChange(with: token, by: browser, now: clock.now)
    recorder.announceChange(changed.id)
    outbox.bell.signal(.look)
    return changed
  }
}
#endif
