public import Handstamp
import HandstampCore

/// The sign-in for another account: it is added to the list, or signed in to again if it is there, and becomes the active one. The
/// session of the account that was active before continues.
///
/// The backend is that of the accounts. Where they were created with a closure for each session, it is the one passed beside the
/// closure, or else that of the active account's session; without an `AccountBackend`, every function throws
/// `SessionError.unsupported`.
extension Accounts: AuthService {
  public func signIn(email: String, password: String, remember: Bool) async throws(SessionError) {
    try await signIn(by: SignInClaim(.password, as: email), remember) { backend throws(SessionError) in
      try await backend.signIn(email: email, password: Secret(password))
    }
  }

  public func signUp(
    email: String, password: String, username: String, remember: Bool
  ) async throws(SessionError) -> SignUpResult {
    var isPending = false
    do throws(SessionError) {
      let facts = try await signIn(by: SignInClaim(.signUp, as: email), remember) { backend throws(SessionError) in
        switch try await backend.signUp(email: email, password: Secret(password), username: username) {
        case .signedIn(let tokens): return tokens
        case .confirmationSent:
          isPending = true
          throw .cancelled
        }
      }
      return .signedIn(facts)
    } catch {
      if isPending { return .confirmationSent }
      throw error
    }
  }

  public func confirmSignUp(_ code: String, password: String, remember: Bool) async throws(SessionError) {
    try await signIn(by: SignInClaim(.signUp), remember) { backend throws(SessionError) in
      try await backend.confirmSignUp(Secret(code), password: Secret(password))
    }
  }

  public func signInAnonymously() async throws(SessionError) {
    try await signIn(by: SignInClaim(.guest), true) { backend throws(SessionError) in
      try await backend.signInAnonymously()
    }
  }

  public func signInWithApple(idToken: Secret, nonce: String, remember: Bool) async throws(SessionError) {
    try await signIn(by: SignInClaim(.apple), remember) { backend throws(SessionError) in
      try await backend.signInWithApple(idToken: idToken, nonce: nonce)
    }
  }

  public func signInWithPasskey(
    remember: Bool,
    asking ask: @escaping @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) {
    try await signIn(by: SignInClaim(.passkey), remember) { backend throws(SessionError) in
      try await backend.signInWithPasskey(asking: ask)
    }
  }

  public func addPasskey(
    proof: AccessToken?, asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> PasskeyList {
    guard let session = active else { throw .signedOut(nil) }
    return try await session.addPasskey(proof: proof, asking: ask)
  }

  public func resetPassword(email: String) async throws(SessionError) {
    try await accountBackend().requestPasswordReset(email: email)
  }

  private func accountBackend() throws(SessionError) -> any AccountBackend {
    guard let found = (backend ?? active?.backend) as? any AccountBackend else { throw .unsupported("accounts") }
    return found
  }

  @discardableResult
  private func signIn(
    by claim: SignInClaim, _ remember: Bool,
    _ perform: (any AccountBackend) async throws(SessionError) -> TokenResponse
  ) async throws(SessionError) -> SignedIn {
    let backend = try accountBackend()
    let id: AccountID
    do {
      id = try await add(remember: remember) {
        SignInTurn.name(claim)
        let tokens = try await perform(backend)
        guard Task.isCancelled else { return tokens }
        // The user has left the form: the session that the server began is ended, and no account is listed.
        if let handle = tokens.revocation { _ = await Task { await backend.revoke(handle) }.value }
        throw SessionError.cancelled
      }
    } catch let error as SessionError { throw error } catch { throw .cancelled }
    try await activate(id)
    guard case .signedIn(let facts)? = session(of: id)?.controller.state else { throw .signedOut(nil) }
    return facts
  }
}
