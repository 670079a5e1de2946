#if Server
public import HandstampRegistry
import HTTPTypes

/// A reason for which an administrator's request was not carried out. Nothing was changed, unless the store failed.
public enum AdministrationError: Error, Sendable, Hashable {
  case accountNotFound
  case sessionNotFound
  /// An account, active or disabled, has this address.
  case emailTaken
  /// The text is not an email address.
  case invalidEmail
  /// The display name is empty, has more than 200 characters, or control characters.
  case invalidName
  case weakPassword(PasswordPolicy.Weakness)
  /// The account was deleted: nothing can be done with it.
  case accountDeleted
  /// The account is disabled: enable it first.
  case accountDisabled
  /// The account has no address to sign in with. A guest can only be deleted: it could not sign in again.
  case noAddress
  /// The app keeps its accounts itself, see ``AccountDirectory``.
  case notOffered
  /// Too many passwords are being hashed, or the hash failed.
  case busy(PasswordHashError)
  case registry(RegistryError)
}

extension ProblemError {
  init(_ error: AdministrationError, _ policy: PasswordPolicy) {
    self =
      switch error {
      case .accountNotFound, .sessionNotFound: .notFound
      case .emailTaken: .emailTaken
      case .invalidEmail: .invalidRequest("email: not a valid email address.")
      case .invalidName:
        .invalidRequest("username: must be 1 to 200 characters, without control characters.")
      case .weakPassword(let fault): .weakPassword(fault, policy)
      case .accountDeleted: ProblemError(.conflict, "account_deleted", "The account was deleted")
      case .accountDisabled: ProblemError(.conflict, "account_disabled", "The account is disabled")
      case .noAddress: ProblemError(.conflict, "no_address", "The account has no address to sign in with")
      case .notOffered: .notOffered("This server does not manage accounts")
      case .busy: .busy
      case .registry(let error): ProblemError(error)
      }
  }
}
#endif
