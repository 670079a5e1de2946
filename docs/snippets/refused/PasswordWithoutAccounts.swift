// Must not compile: a session signs in with a password only if its backend does. `make docs` expects exactly this error:
// error: requires that 'NoAccounts' conform to 'AccountBackend'
import Handstamp

struct NoAccounts: Backend {
  var abilities: BackendAbilities { BackendAbilities() }
  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult { .superseded }
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult { .ended }
}

@MainActor func signIn(_ session: SessionManager<NoAccounts, Void>) async throws {
  try await session.signIn(email: "ada@example.org", password: "correct horse")
}
