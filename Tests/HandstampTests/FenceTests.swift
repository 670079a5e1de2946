import Handstamp
import HandstampTesting
import HandstampVaults
import Testing

@Suite struct `The fence of a sign-out` {
  @Test func `lets no token pass once the header is gone`() async throws {
    for _ in 0..<200 {
      let session = SessionController(
        vault: MemoryVault(), backend: ScriptedBackend.rotating(), policy: quiet, clock: ManualClock())
      try await session.signIn { .sample(0) }
      async let report = session.signOut()
      while session.authorizationHeader != nil { await othersFirst() }
      await #expect(throws: SessionError.signedOut(.signedOut)) { try await session.token() }
      _ = await report
    }
  }

  @Test func `is gone when the sign-out is over`() async throws {
    let session = SessionController(
      vault: MemoryVault(), backend: ScriptedBackend.rotating(), policy: quiet, clock: ManualClock())
    try await session.signIn { .sample(0) }
    await session.signOut()
    try await session.signIn { .sample(0, session: "s2") }
    #expect(session.authorizationHeader == "Bearer access-s2-0")
    _ = try await session.token()
  }
}
