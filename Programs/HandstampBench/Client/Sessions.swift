#if Programs
import Handstamp
import HandstampTesting

/// Sessions for measurements, in memory and without a server.
enum Sessions {
  /// An access token as long as one signed by a server.
  static let accessToken = AccessToken(String(repeating: "x", count: 600))

  /// Returns a signed-in controller, after it has restored the session from its vault.
  ///
  /// - Parameter life: lifetime of the stored access token; zero requires a refresh.
  static func controller(
    life: Duration, backend: any Backend, policy: SessionPolicy = SessionPolicy()
  ) async throws -> SessionController {
    let now = SystemClock().now()
    let session = StoredSession(
      id: SessionID("s"), profile: Profile(id: AccountID("ada"), name: "Ada"), refresh: RefreshToken("refresh-0"),
      revocation: RevocationHandle("revocation"),
      access: StoredAccess(token: accessToken, lifetime: Lifetime(start: now, duration: life)), startedAt: now,
      activeAt: now)
    let controller = SessionController(
      backend: backend, vault: MemoryVault(VaultEntry(revision: 1, session: session)), policy: policy)
    for await state in controller.states where state != .restoring {
      guard case .signedIn = state else { throw BenchError("a session was not restored") }
      break
    }
    return controller
  }

  /// - Parameter session: `nil` for a refresh, which keeps the session.
  static func grant(_ number: Int, session: SessionID?) -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(
        access: AccessToken("access-\(number)"), expiresIn: .seconds(3600), refresh: RefreshToken("refresh-\(number)")),
      sessionID: session, profile: Profile(id: AccountID("ada"), name: "Ada"),
      revocation: RevocationHandle("revocation-\(number)"))
  }

  /// A server that is never reached.
  static let silent = ScriptedBackend { _, _, _ in .noDecision(.network(.timedOut)) }
}
#endif
