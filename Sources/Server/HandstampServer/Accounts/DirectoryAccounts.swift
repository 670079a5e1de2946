#if Server
import HandstampCore
import HandstampRegistry

/// Accounts that the app keeps. The registry has a record of each that has signed in, without address and password.
struct DirectoryAccounts: AccountSource {
  /// Marks the registry's records of these accounts. It is stored.
  private static let origin = "urn:handstamp:account-directory"

  let directory: any AccountDirectory
  let registry: Registry
  let clock: ServerClock
  let passwordGuard: PasswordGuard

  func account(_ attempt: PasswordAttempt) async throws -> AccountRecord {
    try PasswordPolicy.check(attempt: attempt.password)
    let entry = try await directory.account(email: attempt.email)
    var record: AccountRecord?
    let fits = try await passwordGuard.check(attempt, for: entry?.id, at: clock.now) { _ in
      record = try await self.record(of: entry, if: attempt.password)
      return record != nil
    }
    guard fits, let entry, let record, record.state != .deleted else { throw AccountError.wrongCredentials }
    guard record.state == .active else { throw AccountError.disabled }
    guard record.identity?.issuer == DirectoryAccounts.origin else {
      throw AccountDirectoryError.unavailable(
        "an account of the server's own has the ID of an account in the directory")
    }
    var renamed = record
    renamed.username = entry.username
    return renamed == record ? record : try await registry.update(renamed)
  }

  /// Returns the registry's record of an account if the password is the account's.
  private func record(of entry: DirectoryAccount?, if password: Secret) async throws -> AccountRecord? {
    // Read before the password is verified: if the password changes in between, the session is not created.
    var record: AccountRecord?
    if let entry { record = try await registry.account(entry.id) }
    var fits = try await directory.verify(password, of: entry)
    if fits, let entry, record == nil {
      // At a first sign-in there was no record in which a change would have been noted.
      record = try await adopted(entry, at: clock.now)
      fits = try await directory.verify(password, of: entry)
    }
    return fits ? record : nil
  }

  func create(_ new: NewAccount, password: Secret, by caller: AccountService.Caller) async throws -> NewSession {
    let now = clock.now
    let entry: DirectoryAccount
    do {
      entry = try await directory.create(email: new.email, username: new.username, password: password)
    } catch AccountDirectoryError.emailTaken {
      guard let repeated = try await repeated(new, password: password, at: now) else {
        throw AccountDirectoryError.emailTaken
      }
      return repeated
    }
    return try await registry.createSession(
      by: .password(of: try await adopted(entry, at: now)), new.session, now: now)
  }

  /// The session that an earlier request with the same key has created.
  private func repeated(
    _ new: NewAccount, password: Secret, at now: UnixTime
  ) async throws -> NewSession? {
    guard new.session.key != nil, let entry = try await directory.account(email: new.email),
      let record = try await registry.account(entry.id), record.state == .active,
      let repeated = try await registry.repeatedSession(for: record, new.session, now: now),
      try await directory.verify(password, of: entry)
    else { return nil }
    return repeated
  }

  private func adopted(_ entry: DirectoryAccount, at now: UnixTime) async throws -> AccountRecord {
    try await registry.adopt(entry.id, of: DirectoryAccounts.origin, username: entry.username, now: now)
  }
}
#endif
