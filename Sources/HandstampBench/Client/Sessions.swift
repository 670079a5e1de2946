#if Programs
import Handstamp
import HandstampCore
import HandstampTesting
import HandstampVaults

/// Sessions to measure with, in memory and without a server.
enum Sessions {
  /// As long as one that a server signs.
  static let accessToken = AccessToken(String(repeating: "x", count: 600))

  /// A controller that is signed in, once its vault has answered.
  ///
  /// - Parameter life: of the access token that the vault holds: what was over when it came needs a refresh.
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
      vault: MemoryVault(VaultEntry(revision: 1, session: session)), backend: backend, policy: policy)
    for await state in controller.states where state != .restoring {
      guard case .signedIn = state else { throw BenchFault("a session was not restored") }
      break
    }
    return controller
  }

  /// - Parameter session: nothing for a refresh, which leaves the session as it is.
  static func grant(_ number: Int, session: SessionID?) -> Grant {
    Grant(
      tokens: TokenSet(
        access: AccessToken("access-\(number)"), life: .seconds(3600), refresh: RefreshToken("refresh-\(number)")),
      session: session, profile: Profile(id: AccountID("ada"), name: "Ada"),
      revocation: RevocationHandle("revocation-\(number)"))
  }

  /// A server that is never asked.
  static let silent = ScriptedBackend { _, _, _ in .failure(.unreachable(retryAfter: nil)) }
}
#endif
