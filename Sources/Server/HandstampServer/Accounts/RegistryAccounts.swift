#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// Accounts in the server's own registry, with their passwords. An account and its first session are created in one write.
struct RegistryAccounts: AccountSource {
  let registry: Registry
  let passwords: PasswordPool
  let passwordGuard: PasswordGuard
  let clock: ServerClock

  func account(_ attempt: PasswordAttempt) async throws -> AccountRecord {
    try PasswordPolicy.check(attempt: attempt.password)
    let found = try await registry.account(email: attempt.email)
    let fits = try await passwordGuard.check(attempt, for: found?.id, at: clock.now) { isKnownDevice in
      // One hash, whether the account exists or not.
      let place = try passwords.admit(isPreferred: isKnownDevice)
      return try await place.verify(attempt.password, against: found?.passwordHash)
    }
    guard fits, let found else { throw AccountError.wrongCredentials }
    // Only to someone who knows the password.
    guard found.closedAt == nil else {
      try await registry.acting(as: .owner(from: attempt.caller.client.text)).audit(
        .signInRefused, account: found.id, details: #"{"way":"password","reason":"account_disabled"}"#, now: clock.now)
      throw AccountError.disabled
    }
    return try await strengthened(found, attempt)
  }

  /// Hashes the password again if the stored hash has weaker parameters than the server's. Without room for it, or if the
  /// account changes meanwhile, a later sign-in does it.
  private func strengthened(_ account: AccountRecord, _ attempt: PasswordAttempt) async throws -> AccountRecord {
    guard let hash = account.passwordHash, passwords.isWeaker(hash, of: attempt.password),
      let new = try? await passwords.hash(attempt.password)
    else { return account }
    do throws(RegistryError) { return try await registry.strengthen(account, hash: new) } catch {
      attempt.caller.logger.info("Password hash not strengthened", metadata: ["handstamp.cause": "\(error)"])
      return account
    }
  }

  func create(_ new: NewAccount, password: Secret, by caller: AccountService.Caller) async throws -> NewSession {
    // Hash before the address is looked up, so that the response time is the same either way.
    let hash = try await passwords.hash(password)
    let registry = registry.acting(as: caller.owner)
    let now = clock.now
    do throws(RegistryError) {
      return try await registry.signUp(
        email: new.email, username: new.username, passwordHash: hash, new.session, now: now)
    } catch {
      guard error == .emailTaken,
        let repeated = try await registry.repeatedSignUp(email: new.email, new.session, now: now),
        try await passwords.verify(password, against: repeated.account.passwordHash)
      else { throw error }
      return repeated
    }
  }
}

/// The accounts that users sign in to with an address and a password.
protocol AccountSource: Sendable {
  /// Returns the account with this address and password.
  ///
  /// - Throws: ``AccountError/wrongCredentials`` without such an account; ``AccountError/disabled`` if it is closed and the password is
  ///   right; ``AccountError`` `rate_limited` after too many wrong ones; ``PasswordHashError`` if too many passwords are being hashed.
  func account(_ attempt: PasswordAttempt) async throws -> AccountRecord

  /// Creates an account with its first session.
  ///
  /// - Throws: ``PasswordHashError``; ``RegistryError/emailTaken`` if an account has the address.
  func create(_ new: NewAccount, password: Secret, by caller: AccountService.Caller) async throws -> NewSession
}
#endif
