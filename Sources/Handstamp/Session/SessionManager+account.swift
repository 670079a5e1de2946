import HandstampCore
/// What a person does with their account, for backends that offer it: an ``AccountBackend``. With any other these throw
/// ``SessionError/unsupported(_:)``.
extension SessionManager {
  /// Makes an account, and signs in unless the address is to be confirmed first.
  @discardableResult
  public func signUp(
    email: String, password: Secret, username: String, remember: Bool = true
  ) async throws(SessionError) -> SignUpResult {
    try await working { () async throws(SessionError) in
      let backend = try accountBackend
      return try await enter(try await backend.signUp(email: email, password: password, username: username), remember)
    }
  }

  /// Signs in with a password.
  public func signIn(email: String, password: Secret, remember: Bool = true) async throws(SessionError) {
    let backend = try accountBackend
    try await signIn(remember: remember) { try await backend.signIn(email: email, password: password) }
  }

  /// Signs in as a guest.
  public func signInAnonymously() async throws(SessionError) {
    let backend = try accountBackend
    try await signIn { try await backend.signInAnonymously() }
  }

  /// Makes a full account of a guest's, with all that belongs to it.
  @discardableResult
  public func upgrade(email: String, password: Secret, username: String) async throws(SessionError) -> SignUpResult {
    try await working { () async throws(SessionError) in
      let backend = try accountBackend
      let token = try await controller.token()
      // A guest who is not remembered is not written to a disk by becoming somebody.
      let remember = await controller.isRemembered
      return try await enter(
        try await backend.upgrade(email: email, password: password, username: username, token: token), remember)
    }
  }

  /// Signs in with what Apple's sheet returned.
  ///
  /// - Parameter nonce: the value whose SHA-256, in hexadecimal, was given to the sheet.
  public func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) {
    let backend = try accountBackend
    try await signIn { try await backend.signInWithApple(idToken: idToken, nonce: nonce) }
  }

  /// Asks for a mail by which the password can be set anew. Succeeds also for an address without an account.
  public func resetPassword(email: String) async throws(SessionError) {
    try await working { () async throws(SessionError) in
      try await accountBackend.requestPasswordReset(email: email)
    }
  }

  /// - Parameter endingOthers: whether the account's sessions on other devices end with the old password.
  public func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool = true
  ) async throws(SessionError) {
    try await working { () async throws(SessionError) in
      let backend = try accountBackend
      let token = try await controller.token()
      try await backend.changePassword(from: old, to: new, endingOthers: endingOthers, token: token)
    }
  }

  /// Removes the account at the server, then everything of it from this device.
  ///
  /// - Throws: when the server did not remove it; the session goes on then.
  @discardableResult
  public func deleteAccount(password: Secret? = nil) async throws(SessionError) -> SignOutReport {
    try await working { () async throws(SessionError) in
      let backend = try accountBackend
      let token = try await controller.token()
      let state = controller.state
      try await backend.deleteAccount(password: password, token: token)
      // Not a session that took its place meanwhile.
      if case .signedIn(let before) = state, case .signedIn(let now) = controller.state, before.session != now.session {
        return SignOutReport()
      }
      return await controller.signOut(.everything, reason: .accountClosed)
    }
  }

  /// Ends every session of the account, this one last. Here it always ends; whether the others did is in the report. The
  /// server is waited for at most 10 s.
  @discardableResult
  public func signOutEverywhere(_ plan: SignOutPlan = .standard) async -> SignOutReport {
    begin()
    let failure = await endOthers(within: .seconds(10))
    var report = await controller.signOut(plan)
    await end()
    report.others = failure
    return report
  }

  private func endOthers(within limit: Duration) async -> SessionError? {
    guard let backend = backend as? any AccountBackend else { return .unsupported("accounts") }
    return await withTaskGroup(of: SessionError?.self) { [controller] group in
      group.addTask {
        do throws(SessionError) {
          try await backend.endOtherSessions(token: try await controller.token())
          return nil
        } catch {
          return error
        }
      }
      group.addTask {
        try? await controller.clock.sleep(for: limit)
        return .unreachable(retryAfter: nil)
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  private var accountBackend: any AccountBackend {
    get throws(SessionError) {
      guard let backend = backend as? any AccountBackend else { throw .unsupported("accounts") }
      return backend
    }
  }

  private func enter(_ outcome: SignUpOutcome, _ remember: Bool) async throws(SessionError) -> SignUpResult {
    switch outcome {
    case .confirmationSent: return .confirmationSent
    case .signedIn(let grant): return .signedIn(try await controller.signIn(remember: remember) { grant })
    }
  }
}

/// How a sign-up went, as an app shows it.
public enum SignUpResult: Sendable, Hashable {
  case signedIn(SignedIn)
  /// A mail with a link is on its way, if the address can have an account.
  case confirmationSent
}
