import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A profile that the app knows` {
  private let vault = MemoryVault()
  private let ada = Profile(id: AccountID("ada"), name: "Ada")
  private let ended = Locked<[AccountID?]>([])

  private func session() -> SessionManager<Void> {
    let step = CleanupStep("store", .preferences) { [ended] session in ended.withLock { $0.append(session.account) } }
    return SessionManager(
      backend: ScriptedBackend.rotating(), vault: vault, baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: ManualClock(), cleanups: [step])
  }

  private var unnamed: TokenResponse {
    var tokens = TokenResponse.sample(0)
    tokens.profile = nil
    return tokens
  }

  @Test func `is the session's from then on, also after a restart and at its end`() async throws {
    let first = session()
    let tokens = unnamed
    try await first.signIn { tokens }
    #expect(first.isAuthenticated && first.currentUser == nil)
    try await first.update(profile: ada)
    #expect(first.currentUser == ada && !first.snapshot.isWorking)
    let renamed = Profile(id: ada.id, name: "Ada Lovelace")
    try await first.update(profile: renamed)
    let second = session()
    await second.restoreSession()
    #expect(second.currentUser == renamed)
    await second.signOut()
    // The other program cleans up as well.
    #expect(ended.withLock { Set($0) } == [ada.id])
  }

  @Test func `is not another account's`() async throws {
    let session = session()
    try await session.signIn { .sample(0) }
    let error = SessionError.refused(code: "other_account", detail: "the profile is another account's")
    await #expect(throws: error) { try await session.update(profile: Profile(id: AccountID("bob"), name: "Bob")) }
    #expect(session.currentUser == ada)
  }

  @Test func `needs a session, which may be one that is not remembered`() async throws {
    let session = session()
    await #expect(throws: SessionError.signedOut(nil)) { try await session.update(profile: ada) }
    let tokens = unnamed
    try await session.signIn(remember: false) { tokens }
    try await session.update(profile: ada)
    #expect(session.currentUser == ada)
    #expect(await vault.read() == .absent)
  }
}
