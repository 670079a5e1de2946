import HandstampCore

/// How a user has proved to be an account's owner: a value of the claim `amr` (RFC 8176).
///
/// | proof | methods |
/// |---|---|
/// | password | `pwd` |
/// | password and one-time password | `pwd otp mfa` |
/// | passkey that never leaves its device | `hwk user mfa` |
/// | passkey that may be copied to others | `swk user mfa` |
/// | recovery code, or a mailed code | `otp`, for it works once (RFC 4949) |
/// | another provider | `fed`, `undated` if it does not say when, and those that the provider names |
/// | guest | none |
public struct AuthenticationMethod: RawRepresentable, Sendable, Hashable {
  public let rawValue: String

  /// - Parameter rawValue: a word of RFC 8176, or another one that a provider uses: 1 to 64 printable ASCII characters without
  ///   spaces, quotation marks and backslashes. `nil` for other texts, which no client could read.
  public init?(rawValue: String) {
    guard (1...64).contains(rawValue.utf8.count),
      rawValue.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != 0x22 && $0 != 0x5c })
    else { return nil }
    self.rawValue = rawValue
  }

  private init(_ word: String) { rawValue = word }

  public static let password = AuthenticationMethod("pwd")
  /// A password that works once.
  public static let oneTimePassword = AuthenticationMethod("otp")
  /// A key that its device does not give away. Without attestation, that is the authenticator's word.
  public static let hardwareKey = AuthenticationMethod("hwk")
  /// A key that may be copied to other devices.
  public static let softwareKey = AuthenticationMethod("swk")
  /// The user was present.
  public static let presence = AuthenticationMethod("user")
  /// Two factors or more.
  public static let multiFactor = AuthenticationMethod("mfa")
  /// Another provider has seen the proof. Not in RFC 8176, but in use.
  public static let federated = AuthenticationMethod("fed")
  /// Another provider does not say when it has seen the proof. Not in RFC 8176.
  package static let undated = AuthenticationMethod("undated")
  /// A recovery code in place of a second factor. Not in RFC 8176: a session with it gets no tokens.
  package static let recovery = AuthenticationMethod("recovery")
}

/// The methods of one proof. Empty if they are not known, as for sessions that were taken over, and for guests.
public struct AuthenticationMethods: Sendable, Hashable, ExpressibleByArrayLiteral {
  static let most = 8

  public let all: [AuthenticationMethod]
  /// The context that a session's client has asked for, so that its tokens name that one rather than a stronger: clients compare
  /// texts. `nil` names the strongest.
  public var asked: AuthenticationContext?

  /// Keeps the first eight.
  public init(_ all: some Sequence<AuthenticationMethod>) { self.all = Array(all.prefix(AuthenticationMethods.most)) }

  public init(arrayLiteral elements: AuthenticationMethod...) { self.init(elements) }

  /// A proof that another provider has seen, with the methods that it names. Leaves out words that no client could read.
  ///
  /// - Parameter isDated: whether the provider says when it has seen it.
  public init(provider words: [String], isDated: Bool = true) {
    self.init([.federated] + (isDated ? [] : [.undated]) + words.compactMap { AuthenticationMethod(rawValue: $0) })
  }

  /// The stored form of ``all``: words, separated by spaces; `nil` without any.
  public var text: String? { all.isEmpty ? nil : all.map(\.rawValue).joined(separator: " ") }

  public init(text: String?, asked: AuthenticationContext? = nil) {
    self.init((text ?? "").split(separator: " ").compactMap { AuthenticationMethod(rawValue: String($0)) })
    self.asked = asked
  }

  public static let password: AuthenticationMethods = [.password]
  public static let passwordAndCode: AuthenticationMethods = [.password, .oneTimePassword, .multiFactor]
  public static let recoveryCode: AuthenticationMethods = [.oneTimePassword]
  /// A recovery code beside another proof, see ``CredentialUse/beside(_:now:)``.
  package static let recovered: AuthenticationMethods = [.oneTimePassword, .recovery]
  package var isRecovering: Bool { all == AuthenticationMethods.recovered.all }
  package var isUndated: Bool { all.contains(.undated) }

  /// Those of a passkey, whose user the authenticator has recognized.
  public static func passkey(mayBeCopied: Bool) -> AuthenticationMethods {
    [mayBeCopied ? .softwareKey : .hardwareKey, .presence, .multiFactor]
  }
}

extension SignInWay {
  /// The methods of a sign-in where nothing else is said.
  var methods: AuthenticationMethods {
    switch self {
    case .password, .signUp, .upgrade: .password
    case .passwordAndCode: .passwordAndCode
    case .passkey: .passkey(mayBeCopied: true)
    case .recoveryCode, .mailedCode: .recoveryCode
    case .provider: [.federated]
    // The former system does not say how the user signed in.
    case .guest, .authorizationCode, .deviceCode, .formerSession: []
    }
  }
}
