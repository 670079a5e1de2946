public import Handstamp
import HandstampCore

/// What ``AuthViewModel`` needs; a `SessionManager` is one, and a preview or a test brings its own.
@MainActor public protocol AuthService: AnyObject {
  func signIn(email: String, password: Secret, remember: Bool) async throws(SessionError)
  func signUp(
    email: String, password: Secret, username: String, remember: Bool
  ) async throws(SessionError) -> SignUpResult
  func signInAnonymously() async throws(SessionError)
  func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError)
  func resetPassword(email: String) async throws(SessionError)
}

extension SessionManager: AuthService {}
