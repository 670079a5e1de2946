public import HandstampCore
public import HandstampVaults

extension SessionManager {
  /// Signs in with a secret that the device hands out to a person who is there. From there on it is a sign-in like any other,
  /// in the same order.
  ///
  /// ```swift
  /// try await session.signIn(with: biometric, reason: "to sign you in") { password in
  ///   try await server.password("ada@example.org", password)
  /// }
  /// ```
  /// - Parameter exchange: makes a grant of the secret.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `no_biometric_secret` where none is stored, or it became useless:
  ///   sign in by other means then, and store it anew.
  public func signIn(
    with biometric: BiometricSecret, reason: String, remember: Bool = true,
    exchange: (Secret) async throws -> Grant
  ) async throws(SessionError) {
    try await signIn(remember: remember) {
      guard let secret = try await biometric.secret(reason) else {
        throw SessionError.refused(code: "no_biometric_secret", detail: nil)
      }
      return try await exchange(secret)
    }
  }
}
