import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Tokens imported by an app` {
  @Test(arguments: [
    "", "a\r\nX-Injected: 1", "t\u{f6}ken", "\u{0}", String(repeating: "x", count: 8 << 20),
  ])
  func `are refused if no request could carry them`(token: String) async throws {
    let session = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault())
    var access = TokenResponse.sample(0)
    access.tokens.credential = .accessToken(AccessToken(token))
    var refresh = TokenResponse.sample(0)
    refresh.tokens.refresh = RefreshToken(token)
    var revocation = TokenResponse.sample(0)
    revocation.revocation = RevocationHandle(token)
    for grant in [access, refresh, revocation] {
      do {
        try await session.signIn(with: grant, by: .init(.password))
        Issue.record("adopted")
      } catch {
        guard case .invalidResponse = error else { throw error }
      }
      #expect(session.authorizationHeader == nil)
    }
    try await session.signIn(with: .sample(0), by: .init(.password))
  }
}
