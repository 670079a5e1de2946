#if Server
import HandstampRegistry

/// A refusal by ``AccountService``, or by a part of it. ``ProblemError`` has its code and status, ``ErrorMapper`` its words on pages.
enum AccountError: Error, Sendable, Hashable {
  /// No account has this address and password.
  case wrongCredentials
  /// The password is not that of the signed-in owner.
  case wrongPassword
  case invalid(Flaw)
  /// - Parameter least: ``PasswordPolicy/minimumLength``.
  case weakPassword(PasswordPolicy.Weakness, least: Int)
  /// The authenticator's answer is not accepted.
  case passkey(PasskeyService.Refusal)
  /// After the right password, the code of an authenticator app.
  ///
  /// - Parameter isSignedIn: whether the access token is valid, so that the status is not 401.
  case secondFactorRequired(isSignedIn: Bool = false)
  case secondFactorWrong(isSignedIn: Bool = false)
  /// The sign-in is weaker than the operator requires. On the page, the owner adds a passkey or an authenticator app.
  case secondFactorMissing(page: String)
  /// The owner has proved it too long ago, or not by enough. `POST /v1/reauthenticate` helps.
  ///
  /// - Parameter context: the least that a proof has to amount to; `nil` if one factor is enough.
  case reauthenticationRequired(AuthenticationContext?)
  case idTokenInvalid
  /// The mailed token or code has expired, was used, or was replaced. It is not said whether it was ever valid.
  case oneTimeTokenInvalid
  /// Only to a person who has proved to be the owner: to others it would reveal that there is an account.
  case disabled
  case signUpClosed
  case notGuest
  case emailTaken
  /// Another account has the identity at a provider.
  case identityTaken
  /// The address of a provider's user has an account, to which the provider is not linked.
  case identityNotLinked
  /// The sign-in at the provider has ended.
  case providerEnded
  case rotationKeyUsed
  case notFound
  case notOffered(Offer)
  case rateLimited(LimitReached)
  /// Too many passwords are being hashed.
  case busy
  /// No change was made, or it is not known whether it was.
  case unavailable

  /// A flaw of a request. The raw value is for developers of apps.
  enum Flaw: String {
    case passwordTooLong = "The password is too long."
    case passwordMissing = "Missing: password."
    case unmailable = "email: mail cannot be sent to this address."
  }

  /// An offer that a server, or an account, may be without. The raw value is for developers of apps.
  enum Offer: String {
    case apple = "Sign in with Apple is not set up on this server"
    case provider = "There is no such provider on this server"
    case passkeys = "This server has no passkeys"
    case mail = "Mail is not set up on this server"
    case guestPasskeys = "A guest has no passkeys"
    case guestIdentities = "A guest has no other ways to sign in"
    case passkeyUpgrade = "A new address is confirmed with a password first"
    case authenticatorApp = "An authenticator app is for accounts with a password"
    case mailedCode = "A mailed code is for accounts without password and passkey"
  }
}

extension AccountError {
  init(_ error: RegistryError) {
    self =
      switch error {
      case .emailTaken: .emailTaken
      case .identityTaken: .identityTaken
      case .notFound: .notFound
      case .oneTimeTokenInvalid: .oneTimeTokenInvalid
      case .notGuest: .notGuest
      case .nonceUsed: .idTokenInvalid
      case .keyUsed: .rotationKeyUsed
      case .upstreamEnded: .providerEnded
      case .accountClosed: .disabled
      // The password may have changed in the meantime; it must be checked again.
      case .accountChanged, .unavailable, .unknownKey: .unavailable
      }
  }
}
#endif
