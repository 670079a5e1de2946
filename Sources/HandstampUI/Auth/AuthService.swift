public import Handstamp
import HandstampCore

/// The service behind an ``AuthViewModel``: a `SessionManager`, an `Accounts`, or a stand-in for previews and tests.
@MainActor public protocol AuthService: AnyObject {
  func signIn(email: String, password: String, remember: Bool) async throws(SessionError)
  func signUp(
    email: String, password: String, username: String, remember: Bool
  ) async throws(SessionError) -> SignUpResult
  func confirmSignUp(_ code: String, password: String, remember: Bool) async throws(SessionError)
  func signInAnonymously() async throws(SessionError)
  func signInWithApple(idToken: Secret, nonce: String, remember: Bool) async throws(SessionError)
  func signInWithPasskey(
    remember: Bool,
    asking ask: @escaping @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError)
  func addPasskey(
    proof: AccessToken?, asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> PasskeyList
  func resetPassword(email: String) async throws(SessionError)
}

extension SessionManager: AuthService {}
