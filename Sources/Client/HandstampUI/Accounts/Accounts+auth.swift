public import Handstamp

/// The sign-in for another account: it is added to the list, or signed in to again if it is there, and becomes the active one. The
/// session of the account that was active before continues.
///
/// The backend is that of the accounts. Where they were created with a closure for each session, it is the one passed beside the
/// closure, or else that of the active account's session; without an `AccountBackend`, every function throws
/// `SessionError.unsupported`.
extension Accounts: AuthService {
  public var offer: SignInOffer {
    (backend ?? active?.backend).map { SignInOffer($0) }
      ?? SignInOffer(identifier: nil, accounts: false, browser: false)
  }

  public var isAnonymous: Bool { active?.isAnonymous ?? false }
  /// A guest stays in the list.
  public var losesGuest: Bool { false }

  /// That of the active account.
  public var currentSession: SignedIn? { active?.currentSession }

  public func signIn(
    email: String, password: String, code: String?, by method: SignInMethod, remember: Bool
  ) async throws(SessionError) {
    try await signIn(by: SignInClaim(method, as: email), remember) { backend throws(SessionError) in
      if let backend = backend as? any CredentialBackend {
        return try await backend.signIn(email, Secret(password))
      }
      return try await accounts(of: backend).signIn(
        email: email, password: Secret(password), code: code.map { Secret($0) })
    }
  }

  public func signInWithBrowser(_ page: BrowserPage, remember: Bool) async throws(SessionError) {
    try await signIn(by: SignInClaim(.browser), remember) { backend throws(SessionError) in
      guard let backend = backend as? any BrowserBackend else { throw .unsupported("sign-in on a page") }
      return try await backend.signIn(on: page)
    }
  }

  public func upgrade(by way: GuestUpgrade) async throws(SessionError) -> SignUpResult {
    guard let session = active else { throw .signedOut(nil) }
    return try await session.upgrade(by: way)
  }

  public func signUp(
    email: String, password: String, username: String, remember: Bool
  ) async throws(SessionError) -> SignUpResult {
    if isAnonymous {
      return try await upgrade(by: .password(email: email, password: Secret(password), username: username))
    }
    var isPending = false
    do throws(SessionError) {
      let facts = try await signIn(by: SignInClaim(.signUp, as: email), remember) { backend throws(SessionError) in
        switch try await accounts(of: backend).signUp(email: email, password: Secret(password), username: username) {
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
      try await accounts(of: backend).confirmSignUp(Secret(code), password: Secret(password))
    }
  }

  public func signInAnonymously() async throws(SessionError) {
    try await signIn(by: SignInClaim(.guest), true) { backend throws(SessionError) in
      try await accounts(of: backend).signInAnonymously()
    }
  }

  public func signInWithApple(
    _ credential: AppleCredential, upgradesGuest: Bool, remember: Bool
  ) async throws(SessionError) {
    if upgradesGuest, isAnonymous {
      _ = try await upgrade(by: .apple(credential))
      return
    }
    try await signIn(by: SignInClaim(.apple), remember) { backend throws(SessionError) in
      try await accounts(of: backend).signInWithApple(credential)
    }
  }

  public func signInWithPasskey(remember: Bool, asking ask: @escaping PasskeyPrompt) async throws(SessionError) {
    try await signIn(by: SignInClaim(.passkey), remember) { backend throws(SessionError) in
      try await accounts(of: backend).signInWithPasskey(asking: ask)
    }
  }

  public func addPasskey(proof: AccessToken?, asking ask: PasskeyPrompt) async throws(SessionError) -> PasskeyList {
    guard let session = active else { throw .signedOut(nil) }
    return try await session.addPasskey(proof: proof, asking: ask)
  }

  public func resetPassword(email: String) async throws(SessionError) {
    try await accounts(of: try signInBackend()).requestPasswordReset(email: email)
  }

  private func signInBackend() throws(SessionError) -> any Backend {
    guard let found = backend ?? active?.backend else { throw .unsupported("accounts") }
    return found
  }

  private func accounts(of backend: any Backend) throws(SessionError) -> any AccountBackend {
    guard let found = backend as? any AccountBackend else { throw .unsupported("accounts") }
    return found
  }

  @discardableResult
  private func signIn(
    by claim: SignInClaim, _ remember: Bool,
    _ perform: (any Backend) async throws(SessionError) -> TokenResponse
  ) async throws(SessionError) -> SignedIn {
    let backend = try signInBackend()
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
