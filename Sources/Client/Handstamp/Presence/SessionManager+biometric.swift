public import HandstampCore

extension SessionManager {
  /// Signs in with a secret that the device releases after the user has confirmed their presence. From then on it is a sign-in
  /// like any other, in the same order.
  ///
  /// ```swift
  /// try await session.signIn(with: biometric, reason: "to sign you in") { password in
  ///   try await server.signIn(email: "ada@example.org", password: password)
  /// }
  /// ```
  /// - Parameter exchange: exchanges the secret for tokens. If it calls a server itself, it must first take its turn, see
  ///   ``SignInTurn``.
  /// - Throws: ``SessionError/presence(_:)`` with ``PresenceError/noSecret`` if no secret is stored, or it has become
  ///   unusable: sign in by other means then, and store it again. Otherwise the error of `exchange`.
  public func signIn(
    with biometric: BiometricSecret, reason: String, remember: Bool = true,
    exchange: (Secret) async throws -> TokenResponse
  ) async throws {
    try await signIn(remember: remember) {
      SignInTurn.name(SignInClaim(.biometric))
      guard let secret = try await biometric.secret(reason) else {
        throw SessionError.presence(.noSecret)
      }
      return try await exchange(secret)
    }
  }
}
