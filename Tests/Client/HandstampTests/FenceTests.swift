import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A sign-out's fence` {
  @Test func `lets no token through once the header is gone`() async throws {
    for _ in 0..<200 {
      let session = SessionController(
        backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: ManualClock())
      try await session.signIn { .sample(0) }
      async let report = session.signOut()
      await othersFirst { session.authorizationHeader == nil }
      await #expect(throws: SessionError.signedOut(.signedOut)) { try await session.token() }
      _ = await report
    }
  }

  @Test func `is lifted when the sign-out is finished`() async throws {
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: ManualClock())
    try await session.signIn { .sample(0) }
    await session.signOut()
    try await session.signIn { .sample(0, session: "s2") }
    #expect(session.authorizationHeader == "Bearer access-s2-0")
    _ = try await session.token()
  }
}
