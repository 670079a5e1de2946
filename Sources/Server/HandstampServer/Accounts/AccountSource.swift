#if Server
import HandstampCore
import HandstampRegistry

/// The accounts that users sign in to with an address and a password.
protocol AccountSource: Sendable {
  /// Returns the account with this address and password.
  ///
  /// - Throws: ``ProblemError/wrongCredentials`` without such an account; ``ProblemError/accountDisabled`` if it is closed and the password is
  ///   right; ``ProblemError`` `rate_limited` after too many wrong ones; ``PasswordHashError`` if too many passwords are being hashed.
  func account(_ attempt: PasswordAttempt) async throws -> AccountRecord

  /// Creates an account with its first session.
  ///
  /// - Throws: ``PasswordHashError``; ``RegistryError/emailTaken`` if an account has the address.
  func create(_ new: NewAccount, password: Secret, by caller: AccountService.Caller) async throws -> NewSession
}
#endif
