public import HandstampCore

extension SessionManager {
  /// Takes over the session that the app's former system has begun on this device: users stay signed in when the app moves to
  /// Handstamp's own server, which accepts the former refresh token once. Call it at each launch, until no earlier version of the app is
  /// in use.
  ///
  /// ```swift
  /// try await session.adopt(from: { try await oldRefreshToken() }, removing: { try removeOldTokens() })
  /// ```
  ///
  /// A request that got no response is repeated, also by a later launch, and gets the same session. The old token stays where it is until
  /// the new session is stored, or the server says that it is worth nothing.
  ///
  /// | when this returns or throws | the old token |
  /// |---|---|
  /// | `true`: a session is in use, this one or another | removed |
  /// | `false`: there is nothing to take over, and no session | – |
  /// | ``SessionError/sessionEnded(_:)`` with the reason: the user has to sign in, ``state`` is signed out | removed |
  /// | any other error: it is not known; the next launch tries again | kept |
  ///
  /// - Parameters:
  ///   - read: returns the former refresh token; `nil` if there is none. Throws if that is not known now, as on a locked device.
  ///   - remove: removes it. Called again at the next launch if it throws; a token that is missing is no error.
  /// - Throws: ``SessionError/storage(_:)`` if the vault or the former storage cannot be read,
  ///   ``SessionError/requestFailed(_:retryAfter:)`` without an answer, ``SessionError/unsupported(_:)`` if the backend is not
  ///   Handstamp's server, or that takes over no sessions.
  @discardableResult
  public func adopt(
    from read: @escaping @Sendable () async throws -> Secret?,
    removing remove: @escaping @Sendable () async throws -> Void
  ) async throws(SessionError) -> Bool {
    guard let server = backend as? ServerBackend else { throw .unsupported("sessions of a former system") }
    switch await restoreSession() {
    case .success(.some):
      // Taken over before, or the user has signed in.
      try? await remove()
      return true
    case .failure(let error): throw error
    case .success(nil), .notInitiated, .loading: break
    }
    let token: Secret?
    do { token = try await read() } catch {
      throw .storage(
        (error as? VaultError) ?? .unavailable("the former session cannot be read: \(type(of: error))"))
    }
    guard let token else { return false }
    do throws(SessionError) {
      try await signIn(by: SignInClaim(.moved), true) { () async throws(SessionError) in
        try await server.signIn(former: token)
      }
    } catch {
      if case .sessionEnded = error { try? await remove() }
      throw error
    }
    // The session is stored. If this fails, the next launch removes it.
    try? await remove()
    return true
  }
}
