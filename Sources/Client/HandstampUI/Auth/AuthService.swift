public import Handstamp

/// The service behind an ``AuthViewModel``: a `SessionManager`, an `Accounts`, or a stand-in for previews and tests.
@MainActor public protocol AuthService: AnyObject {
  /// The ways to sign in that a form can offer.
  var offer: SignInOffer { get }
  /// Whether a guest is signed in, whose account a sign-up makes a full one.
  var isAnonymous: Bool { get }
  /// Whether a sign-in to an account that exists ends a guest's session, and nothing takes over what the guest has.
  var losesGuest: Bool { get }
  /// The session in use, which a sign-in has begun; `nil` if there is none.
  var currentSession: SignedIn? { get }
  /// - Parameter method: `.biometric` for a password that the device has kept; otherwise `.password`.
  func signIn(
    email: String, password: String, code: String?, by method: SignInMethod, remember: Bool
  ) async throws(SessionError)
  func signUp(
    email: String, password: String, username: String, remember: Bool
  ) async throws(SessionError) -> SignUpResult
  func confirmSignUp(_ code: String, password: String, remember: Bool) async throws(SessionError)
  func signInAnonymously() async throws(SessionError)
  /// Makes the guest's account a full one, with the same ID.
  func upgrade(by way: GuestUpgrade) async throws(SessionError) -> SignUpResult
  /// - Parameter upgradesGuest: whether a guest's account becomes the credential's; `false` signs in to the one that exists.
  func signInWithApple(
    _ credential: AppleCredential, upgradesGuest: Bool, remember: Bool
  ) async throws(SessionError)
  func signInWithPasskey(remember: Bool, asking ask: @escaping PasskeyPrompt) async throws(SessionError)
  func signInWithBrowser(_ page: BrowserPage, remember: Bool) async throws(SessionError)
  func addPasskey(proof: AccessToken?, asking ask: PasskeyPrompt) async throws(SessionError) -> PasskeyList
  func resetPassword(email: String) async throws(SessionError)
}

extension SessionManager: AuthService {
  public var losesGuest: Bool { isAnonymous && mergeGuest == nil }
  public var currentSession: SignedIn? { snapshot.session.value ?? nil }
}
