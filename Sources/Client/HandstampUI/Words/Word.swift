import Foundation

/// The key of a text in the views. The package has every text in English and German, and shows the one in the app's language.
/// Apps change texts, or translate them into other languages, in a table named `Handstamp` in their main bundle
/// (`Handstamp.strings`, or a string catalog of that name).
///
/// A text that says what an error or an end means is a ``Wording``: a key with its value.
public enum Word: String, Sendable, CaseIterable {
  case signIn = "sign_in"
  case signUp = "sign_up"
  case resetPassword = "reset_password"
  case email
  case password
  case username
  case remember
  case guest
  case appleSignIn = "apple_sign_in"
  case passkeySignIn = "passkey_sign_in"
  case cancel
  case tryAgain = "try_again"
  case signInInstead = "sign_in_instead"
  case forgotPassword = "forgot_password"
  case noAccount = "no_account"
  case haveAccount = "have_account"
  case signOut = "sign_out"
  case working
  case restoring
  case loading
  case unlock
  case contentLocked = "content_locked"
  case endsIdle = "ends_idle"
  case endsExpired = "ends_expired"
  case staySignedIn = "stay_signed_in"
  case offline
  case confirmationSent = "confirmation_sent"
  case code
  case confirm
  case resetSent = "reset_sent"
  case sendReset = "send_reset"
  case accountExists = "account_exists"
  case leavesGuest = "leaves_guest"
  case signInThere = "sign_in_there"
  case stayGuest = "stay_guest"
  case browserSignIn = "browser_sign_in"
  case passkeySignUp = "passkey_sign_up"
  case biometricSignIn = "biometric_sign_in"
  case biometricKeep = "biometric_keep"
  case biometricRemove = "biometric_remove"
  case biometricReason = "biometric_reason"

  case devices
  case thisDevice = "this_device"
  case endSession = "end_session"
  case endOthers = "end_others"
  case endOthersQuestion = "end_others_question"
  case passwordToEnd = "password_to_end"
  case codeOfApp = "code_of_app"
  case codeOfAppWrong = "code_of_app_wrong"
  case noOtherDevices = "no_other_devices"
  case lastSeen = "last_seen"

  case deleteAccount = "delete_account"
  case deleteQuestion = "delete_question"
  case changePassword = "change_password"
  case newPassword = "new_password"
  case proof
  case mailCode = "mail_code"
  case openPage = "open_page"
  case done

  case accounts
  case addAccount = "add_account"
  case removeAccount = "remove_account"
  case removeAccountQuestion = "remove_account_question"
  case activeAccount = "active_account"
  case noAccounts = "no_accounts"

  case enterCode = "enter_code"
  case codeAt = "code_at"
  case codeExpired = "code_expired"

  case reasonRevoked = "reason_revoked"
  case reasonReplaced = "reason_replaced"
  case reasonTokenReuse = "reason_token_reuse"
  case reasonExpired = "reason_expired"
  case reasonIdle = "reason_idle"
  case reasonAccountClosed = "reason_account_closed"
  case reasonProvider = "reason_provider"
  case reasonProviderNamed = "reason_provider_named"
  case reasonRejected = "reason_rejected"

  case errorWrongCredentials = "error_wrong_credentials"
  case errorEmailTaken = "error_email_taken"
  case errorIdentityTaken = "error_identity_taken"
  case errorCodeInvalid = "error_code_invalid"
  case errorWeakPassword = "error_weak_password"
  case errorSignUpClosed = "error_sign_up_closed"
  case errorUnreachable = "error_unreachable"
  case errorUnreachableFor = "error_unreachable_for"
  case errorLocked = "error_locked"
  case errorStorage = "error_storage"
  case errorStorageFull = "error_storage_full"
  case errorNewerFormat = "error_newer_format"
  case errorCorrupt = "error_corrupt"
  case errorSignedOut = "error_signed_out"
  case errorPresence = "error_presence"
  case errorPresenceLockedOut = "error_presence_locked_out"
  case errorUnsupported = "error_unsupported"
  case errorConfiguration = "error_configuration"
  case errorClock = "error_clock"
  case errorServer = "error_server"
  case errorContent = "error_content"
  case errorBrowser = "error_browser"
  case errorRefused = "error_refused"
  case errorOtherAccount = "error_other_account"
  case errorBusy = "error_busy"
  case errorServerDown = "error_server_down"
  case errorNotAllowed = "error_not_allowed"
  case errorNotFound = "error_not_found"
  case errorConflict = "error_conflict"
  case errorNotAccepted = "error_not_accepted"
  case errorApp = "error_app"
  case errorQueueFull = "error_queue_full"
  case errorPermissions = "error_permissions"
  case errorKey = "error_key"
  case errorPassphraseWrong = "error_passphrase_wrong"
  case errorPassphraseShort = "error_passphrase_short"
  case errorPassphraseUnusable = "error_passphrase_unusable"
  case errorOther = "error_other"

  /// The text in the app's language. A text with `{0}` needs a value, see ``Wording``. The package has no bundle of resources: its
  /// generated accessor traps where a build system leaves the bundle out.
  public var text: String {
    let shipped = text(in: Bundle.main.preferredLocalizations.first ?? "en")
    return Bundle.main.localizedString(forKey: rawValue, value: shipped, table: "Handstamp")
  }

  /// Returns the package's own text in a language; in English if it has none.
  ///
  /// - Parameter language: A tag such as `de` or `de-AT`.
  public func text(in language: String) -> String {
    switch language.prefix(while: { $0 != "-" && $0 != "_" }) {
    case "de": german
    default: english
    }
  }
}
