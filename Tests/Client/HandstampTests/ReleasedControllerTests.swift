import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A controller whose owner has released it` {
  private let clock = ManualClock()
  private let vault = MemoryVault()
  private let gate = Gate()

  /// A released controller, with its only caller cancelled, while the server withholds its response.
  private func dropWhileAsking(_ backend: ScriptedBackend) async throws {
    let session = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let caller = Task { _ = try? await session.token() }
    await gate.arrivals(1)
    caller.cancel()
    await caller.value
  }

  private func refreshToken() async -> RefreshToken? {
    if case .value(let entry) = await vault.read() { entry.session?.refresh } else { nil }
  }

  @Test func `stores a refresh's tokens, then releases the lock`() async throws {
    let gate = gate
    let backend = ScriptedBackend(supportsRotationKeys: false) { call, _, _ in
      await gate.wait()
      return .granted(.sample(call))
    }
    try await dropWhileAsking(backend)
    // Meanwhile, no other process could send the old token.
    #expect((try? await vault.lock(.refresh, within: .zero)) == nil)
    gate.open()
    let lock = try? await vault.lock(.refresh, within: .seconds(600))
    #expect(lock != nil)
    #expect(await refreshToken() == RefreshToken("refresh-s1-1"))
    lock?.unlock()
    #expect(backend.calls.count == 1)
  }

  @Test func `can be awaited until its refresh is stored`() async throws {
    let gate = gate
    let backend = ScriptedBackend(supportsRotationKeys: false) { call, _, _ in
      await gate.wait()
      return .granted(.sample(call))
    }
    let session = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    #expect(await session.waitForRefresh())
    clock.advance(by: .seconds(601))
    let caller = Task { try? await session.token() }
    await gate.arrivals(1)
    let waiting = Task { await session.waitForRefresh() }
    gate.open()
    #expect(await waiting.value)
    #expect(await refreshToken() == RefreshToken("refresh-s1-1"))
    _ = await caller.value
  }
}
