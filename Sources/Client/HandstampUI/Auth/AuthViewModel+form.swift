public import Handstamp

/// The forms of ``AuthView``, and what they say.
extension AuthViewModel {
  public enum Form: Sendable, Hashable, CaseIterable {
    case signIn, signUp
    /// Asks for the code of an authenticator app, after name and password.
    case secondFactor
    /// Asks for the code of the mail that a sign-up causes, and for the password. An app that the mail's link opens shows it with
    /// ``AuthViewModel/code`` filled in.
    case confirm
    case reset
  }

  /// The operation that the user started.
  public enum Action: Sendable, Hashable, CaseIterable {
    case submit, guest, apple, passkey, passkeySignUp, browser, biometric
  }

  /// A decision that the user has to make first: nothing has happened yet.
  public enum Question: Sendable, Hashable {
    /// Another account has the address or the Apple account that a guest's account was to get.
    case accountExists
    /// The sign-in ends the guest's session, and nothing takes over what the guest has.
    case leavesGuest

    public var wording: Wording { Wording(self == .accountExists ? .accountExists : .leavesGuest) }
  }

  /// The message after a success that does not start a session.
  public enum Notice: Sendable, Hashable {
    case confirmationSent, resetSent

    public var wording: Wording { Wording(self == .confirmationSent ? .confirmationSent : .resetSent) }
  }

  /// The action offered after a failure, as a button.
  public enum Remedy: Sendable, Hashable {
    /// Repeats the failed action.
    case tryAgain
    case resetPassword
    case signInInstead

    public var word: Word {
      switch self {
      case .tryAgain: .tryAgain
      case .resetPassword: .forgotPassword
      case .signInInstead: .signInInstead
      }
    }
  }

  public struct Failure: Sendable, Hashable {
    public var error: SessionError
    public var action: Action
    public var wording: Wording
    public var remedy: Remedy?
  }
}
