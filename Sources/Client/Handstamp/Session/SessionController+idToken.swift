public import HandstampCore
import HandstampSupport

extension SessionController {
  /// Returns the session's ID token, as ``SessionManager/identityToken()`` does, with its lifetime.
  ///
  /// - Parameter validity: the minimum remaining lifetime, or what is left of the current one, if a refresh brings no other.
  package nonisolated func identityToken(
    minimumValidity validity: Duration = .zero
  ) async throws(SessionError) -> StoredIDToken {
    try await guarded { () async throws(SessionError) in
      for await state in states where state != .restoring { break }
      if let token = await idToken(for: validity) { return token }
      var failure = SessionError.idTokenExpired
      do throws(SessionError) {
        // Fails if no session is in use.
        let current = try await unguarded(SessionMachine.Need(validity: .zero))
        if let token = await idToken(for: validity) { return token }
        guard await machine.idToken != nil else { throw await missingIDToken() }
        if await machine.mayRenewIDToken(for: validity) {
          _ = try await unguarded(SessionMachine.Need(refused: current))
        }
      } catch {
        let isWithoutSuccessor = error == .noRefreshToken || error == .tokenRejected
        if await machine.idToken == nil || !isWithoutSuccessor { failure = error }
      }
      guard let token = await idToken(for: .zero) else { throw failure }
      return token
    }
  }

  /// The reason why there is none; a locked vault is read again for the next call.
  private func missingIDToken() -> SessionError {
    guard machine.hasLockedIDToken else { return .noIDToken }
    post(.conditionsChanged)
    return .storage(.locked)
  }

  /// The ID token in use, if it is valid for that long, and no sign-out has begun.
  private func idToken(for validity: Duration) -> StoredIDToken? {
    guard snapshot.withLock({ $0.fences == 0 }), let token = machine.idToken,
      SessionMachine.serves(token.lifetime, for: validity, at: clock.now())
    else { return nil }
    return token
  }
}

extension SessionError {
  /// No response to this session brought an ID token.
  package static let noIDToken = SessionError.unsupported("an ID token")
  /// The backend knows no targets.
  package static let noTargets = SessionError.unsupported("tokens for other scopes or APIs")
  /// The ID token has expired, and a refresh brought no other one, as OpenID Connect Core 1.0 section 12.2 allows.
  package static let idTokenExpired = SessionError.unsupported("a new ID token without a new sign-in")
}

extension SessionManager {
  /// Returns the ID token of the session (OpenID Connect Core 1.0 section 2), for a service that asks for it, such as a Kubernetes
  /// cluster. It says who has signed in, to the client that its `aud` names; send APIs the access token of
  /// ``token(minimumValidity:)`` instead.
  ///
  /// It comes with the sign-in, is replaced by that of a refresh, and erased with the session. An expired one is never returned: the
  /// session is refreshed first. The expiry of an ID token ends no session, and its renewal extends none.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` if the sign-in brought no ID token, as with every server that does not speak OpenID
  ///   Connect or without the scope `openid`; or if it has expired, and the refresh brought no other one: then signing in again
  ///   helps. Otherwise as ``token(minimumValidity:)``.
  public nonisolated func identityToken() async throws(SessionError) -> Secret {
    try await controller.identityToken().secret
  }
}
