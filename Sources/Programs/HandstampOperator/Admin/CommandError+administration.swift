#if Operator
import HandstampCommandLine
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import HandstampSupport

extension CommandError {
  init(_ error: AdministrationError) {
    let (exit, message, hint, code): (ExitReason, String, String, String?) =
      switch error {
      case .accountNotFound:
        (.failure, "there is no such account", "run: handstamp-server admin accounts list", "account_not_found")
      case .sessionNotFound:
        (.failure, "there is no such session", "run: handstamp-server admin sessions list ACCOUNT", "session_not_found")
      case .emailTaken:
        (
          .failure, "an account with this email address already exists",
          "run: handstamp-server admin accounts show with the address", "email_taken"
        )
      case .invalidEmail: (.usage, "not a valid email address", "write it as ada@example.org", "invalid_email")
      case .invalidName:
        (.usage, "not a valid name", "use 1 to 200 characters, without control characters", "invalid_name")
      case .invalidGroup:
        (
          .usage, "not a valid group, or more than \(Registry.mostGroups) groups",
          "use 1 to 100 bytes, with no space, comma or control character", "invalid_group"
        )
      case .weakPassword(let fault):
        (
          .failure, "the password does not meet the requirements: \(fault.rawValue.replacing("_", with: " "))",
          fault.hint, "weak_password"
        )
      case .accountDeleted: (.failure, "the account was deleted", "create another account", "account_deleted")
      case .accountDisabled:
        (
          .failure, "the account is disabled", "run: handstamp-server admin accounts enable ACCOUNT", "account_disabled"
        )
      case .noAddress:
        (
          .failure, "the account has no email address to sign in with",
          "run: handstamp-server admin accounts take-back ACCOUNT --email OWNER", "no_address"
        )
      case .webhookNotFound:
        (.failure, "there is no such webhook", "run: handstamp-server admin webhooks list", "webhook_not_found")
      case .webhookExists:
        (
          .failure, "a webhook with this name already exists", "use another name, or remove it first", "webhook_exists"
        )
      case .tooManyWebhooks:
        (
          .failure, "there are too many webhooks", "remove one: handstamp-server admin webhooks remove NAME",
          "too_many_webhooks"
        )
      case .invalidWebhook(let field):
        (
          .usage, "not a valid \(field)",
          "name: lower-case letters, digits and -; URL: https, or http with --allow-private", "invalid_webhook"
        )
      case .webhooksNotSent:
        (.usage, BuildPart.webhooks.refusal, BuildPart.hint(building: CommandProgram.name), "not_in_build")
      case .notOffered: (.failure, "this server does not manage accounts", "use the app that does", "not_offered")
      case .noMailer: (.failure, "mail is not set up on this server", "leave out --invite, for a code", "not_offered")
      case .busy: (.failure, "there is too little memory to hash a password", "try again later", "busy")
      case .registry(.unavailable(let cause)):
        (
          .failure, "the database is unavailable: \(plain(cause))", "run: handstamp-server admin database check",
          "unavailable"
        )
      case .registry(let error):
        (.failure, plain("the database refused the change: \(error)"), "run the same command again", nil)
      }
    self.init(exit, message, hint: hint, code: code)
  }

  /// Describes a folder that cannot be opened.
  init(_ error: RegistryOpenError) {
    var hint = error.hint
    if case .databaseMissing = error {
      hint = "name the data folder of a server with --data, and its database with --database if that is PostgreSQL"
    }
    self.init(.failure, plain("\(error)"), hint: plain(hint))
  }

  init(_ error: RegistryStoreError) {
    self.init(AdministrationError.registry(RegistryError.unavailable("\(error)")))
  }
}

extension PasswordPolicy.Weakness {
  fileprivate var hint: String {
    switch self {
    case .tooShort: "use \(PasswordPolicy.least) characters or more, or what --minimum-password says"
    case .tooLong: "use \(PasswordPolicy.most) characters or fewer"
    case .common, .breached: "use another one, which attackers do not try first"
    case .context: "use another one, which is not the user's name or address, nor the name of the service"
    case .uncheckable: "make the folder of --breached-passwords readable"
    }
  }
}
#endif
