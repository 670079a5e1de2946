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
  /// The text cannot name a group, or there are too many groups, see ``Registry/isGroup(_:)``.
  case invalidGroup
  case weakPassword(PasswordPolicy.Weakness)
  /// The account was deleted: nothing can be done with it.
  case accountDeleted
  /// The account is disabled: enable it first.
  case accountDisabled
  /// The account has no address to sign in with. A guest can only be deleted: it could not sign in again.
  case noAddress
  case webhookNotFound
  /// A webhook has this name.
  case webhookExists
  /// There are as many webhooks as there may be.
  case tooManyWebhooks
  /// The field of that name is not valid.
  case invalidWebhook(String)
  /// The server sends no webhooks: it is embedded in an app, or its build lacks them.
  case webhooksNotSent
  /// The app keeps its accounts itself, see ``AccountDirectory``.
  case notOffered
  /// Mail is not set up.
  case noMailer
  /// Too many passwords are being hashed, or the hash failed.
  case busy(PasswordHashError)
  case registry(RegistryError)
}

extension ProblemError {
  init(_ error: AdministrationError, _ policy: PasswordPolicy) {
    self =
      switch error {
      case .accountNotFound, .sessionNotFound: .notFound
      case .emailTaken: ProblemError(AccountError.emailTaken)
      case .invalidEmail: .invalidRequest("email: not a valid email address.")
      case .invalidName:
        .invalidRequest("username: must be 1 to 200 characters, without control characters.")
      case .invalidGroup:
        .invalidRequest(
          "groups: at most \(Registry.mostGroups) names of 1 to 100 bytes, with no space, comma or control character.")
      case .weakPassword(let fault): ProblemError(.weakPassword(fault, least: policy.minimumLength))
      case .accountDeleted: ProblemError(.conflict, "account_deleted", "The account was deleted")
      case .accountDisabled: ProblemError(.conflict, "account_disabled", "The account is disabled")
      case .noAddress: ProblemError(.conflict, "no_address", "The account has no address to sign in with")
      case .webhookNotFound: .notFound
      case .webhookExists: ProblemError(.conflict, "webhook_exists", "A webhook with this name already exists")
      case .tooManyWebhooks: ProblemError(.conflict, "too_many_webhooks", "There are too many webhooks")
      case .invalidWebhook(let field): .invalidRequest("\(field): not valid.")
      case .webhooksNotSent: .noWebhooks
      case .notOffered: .notOffered("This server does not manage accounts")
      case .noMailer: ProblemError(.notOffered(.mail))
      case .busy: .busy
      case .registry(let error): ProblemError(AccountError(error))
      }
  }
}
#endif
