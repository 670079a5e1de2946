import Handstamp
import HandstampTesting
import HandstampVaults
import Testing

@Suite struct `Tokens that an app brings along` {
  @Test(arguments: [
    "", "a\r\nX-Injected: 1", "t\u{f6}ken", "\u{0}", String(repeating: "x", count: 8 << 20),
  ])
  func `are refused when no request could carry them`(token: String) async throws {
    let session = SessionController(vault: MemoryVault(), backend: ScriptedBackend.rotating())
    var access = Grant.sample(0)
    access.tokens.access = AccessToken(token)
    var refresh = Grant.sample(0)
    refresh.tokens.refresh = RefreshToken(token)
    var revocation = Grant.sample(0)
    revocation.revocation = RevocationHandle(token)
    for grant in [access, refresh, revocation] {
      do {
        try await session.adopt(grant)
        Issue.record("adopted")
      } catch {
        guard case .invalidAnswer = error else { throw error }
      }
      #expect(session.authorizationHeader == nil)
    }
    try await session.adopt(.sample(0))
  }
}
