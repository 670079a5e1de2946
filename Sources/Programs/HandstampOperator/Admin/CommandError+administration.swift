#if Operator
import HandstampCommandLine
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import HandstampSupport

extension CommandError {
  init(_ error: AdministrationError) {
    switch error {
    case .accountNotFound:
      self.init(
        .failure, "there is no such account", hint: "run: handstamp-server admin accounts list",
        code: "account_not_found")
    case .sessionNotFound:
      self.init(
        .failure, "there is no such session", hint: "run: handstamp-server admin sessions list ACCOUNT",
        code: "session_not_found")
    case .emailTaken:
      self.init(
        .failure, "an account with this email address already exists",
        hint: "run: handstamp-server admin accounts show with the address", code: "email_taken")
    case .invalidEmail:
      self.init(.usage, "not a valid email address", hint: "write it as ada@example.org", code: "invalid_email")
    case .invalidName:
      self.init(
        .usage, "not a valid name", hint: "use 1 to 200 characters, without control characters", code: "invalid_name")
    case .invalidGroup:
      self.init(
        .usage, "not a valid group, or more than \(Registry.mostGroups) groups",
        hint: "use 1 to 100 bytes, with no space, comma or control character", code: "invalid_group")
    case .weakPassword(let fault):
      self.init(
        .failure, "the password does not meet the requirements: \(fault.rawValue.replacing("_", with: " "))",
        hint: fault.hint, code: "weak_password")
    case .accountDeleted:
      self.init(.failure, "the account was deleted", hint: "create another account", code: "account_deleted")
    case .accountDisabled:
      self.init(
        .failure, "the account is disabled", hint: "run: handstamp-server admin accounts enable ACCOUNT",
        code: "account_disabled")
    case .noAddress:
      self.init(
        .failure, "the account has no email address to sign in with",
        hint: "run: handstamp-server admin accounts take-back ACCOUNT --email OWNER", code: "no_address")
    case .webhookNotFound:
      self.init(
        .failure, "there is no such webhook", hint: "run: handstamp-server admin webhooks list",
        code: "webhook_not_found")
    case .webhookExists:
      self.init(
        .failure, "a webhook with this name already exists", hint: "use another name, or remove it first",
        code: "webhook_exists")
    case .tooManyWebhooks:
      self.init(
        .failure, "there are too many webhooks", hint: "remove one: handstamp-server admin webhooks remove NAME",
        code: "too_many_webhooks")
    case .invalidWebhook(let field):
      self.init(
        .usage, "not a valid \(field)",
        hint: "name: lower-case letters, digits and -; URL: https, or http with --allow-private",
        code: "invalid_webhook")
    case .webhooksNotSent: self.init(BuildPart.webhooks)
    case .notOffered:
      self.init(
        .failure, "this server does not manage accounts", hint: "use the app that does", code: "not_offered")
    case .noMailer:
      self.init(
        .failure, "mail is not set up on this server", hint: "leave out --invite, for a code", code: "not_offered")
    case .busy:
      self.init(.failure, "there is too little memory to hash a password", hint: "try again later", code: "busy")
    case .registry(.unavailable(let cause)):
      self.init(
        .failure, "the database is unavailable: \(plain(cause))", hint: "run: handstamp-server admin database check",
        code: "unavailable")
    case .registry(let error):
      self.init(.failure, plain("the database refused the change: \(error)"), hint: "run the same command again")
    }
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
