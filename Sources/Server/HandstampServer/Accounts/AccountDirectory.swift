#if Server
public import HandstampCore
public import HandstampRegistry
import Hummingbird

/// The accounts of an app that keeps its own, such as a user table. With a directory, the server signs up and signs in what the
/// directory says, and its registry keeps only sessions.
///
/// An account's password is the app's: it also changes and resets it, confirms addresses and deletes accounts, and tells the
/// server with ``SessionServer/credentialsChanged(of:keeping:)`` and ``SessionServer/accountDeleted(_:)``. The routes of the
/// server for these, for guests and for Sign in with Apple answer 403 `not_offered`.
public protocol AccountDirectory: Sendable {
  /// Returns the account with this address, or `nil` if there is none, or it may not sign in.
  @concurrent func account(email: EmailAddress) async throws(AccountDirectoryError) -> DirectoryAccount?

  /// Returns whether the password is the account's. Without an account it returns `false` after the same work, so that the
  /// response time does not reveal which addresses have accounts.
  @concurrent func verify(
    _ password: Secret, of account: DirectoryAccount?
  ) async throws(AccountDirectoryError) -> Bool

  /// Creates an account. Called only where sign-up is ``ServerConfiguration/SignUp/open``.
  ///
  /// - Parameter password: 8 to 1024 characters. Store only a slow hash of it, such as ``PasswordPool/hash(_:)``.
  /// - Throws: ``AccountDirectoryError/emailTaken`` if an account has the address.
  @concurrent func create(
    email: EmailAddress, username: String, password: Secret
  ) async throws(AccountDirectoryError) -> DirectoryAccount
}

/// An account as its directory knows it.
public struct DirectoryAccount: Sendable, Hashable, Identifiable {
  /// The account's ID in the app: the `sub` of its tokens, and ``AuthenticatedSession/account``. It must never be reused.
  public let id: AccountID
  /// The display name.
  public let username: String

  public init(id: AccountID, username: String) {
    self.id = id
    self.username = username
  }
}

/// A failure of an ``AccountDirectory``.
public enum AccountDirectoryError: Error, Sendable, Hashable {
  /// An account has the address: 409 `email_taken`.
  case emailTaken
  /// Too many passwords are being hashed: 503 `busy`.
  case busy
  /// The directory cannot be read or written at the moment: 503. The text goes to the log; it must contain no secret.
  case unavailable(String)
}

/// Refuses the routes for accounts of the server's own where an ``AccountDirectory`` keeps the accounts.
struct OwnAccountsOnly<Context: RequestContext>: RouterMiddleware {
  let hasDirectory: Bool

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard !hasDirectory else { throw ProblemError.notOffered("This server does not manage accounts") }
    return try await next(request, context)
  }
}
#endif
