import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Where other clients lose a session or leave data behind` {
  private let clock = ManualClock()

  /// "Cannot be read" is a distinct result: the state reflects it, nothing is erased, and the session is back when the device
  /// is unlocked.
  @Test(arguments: [VaultError.locked, .unavailable("out of order"), .corrupt])
  func `05 the storage cannot be read`(trouble: VaultError) async throws {
    let memory = MemoryVault()
    let vault = FaultyVault(memory)
    try await SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: clock)
      .signIn { .sample(0) }
    await vault.set { $0.reading = .trouble(trouble) }
    let session = SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: clock)
    await #expect(throws: SessionError.storage(trouble)) { try await session.token() }
    #expect(session.state == .unavailable(.storage(trouble)))
    await vault.set { $0 = .init() }
    await session.retryPendingWork()
    #expect(try await session.token().text == "access-s1-0")
  }

  /// The new access token serves, the write is retried, and no rotation starts before it succeeds. A program that dies before
  /// that has the old token and its key: the same request gets the same response.
  @Test func `06 the storage cannot be written after the server has rotated`() async throws {
    let server = try TestServer(clock: clock)
    let memory = MemoryVault()
    let vault = FaultyVault(memory)
    let session = SessionController(backend: server, vault: vault, policy: quiet, clock: clock)
    try await session.signIn { try await server.signIn("ada") }
    clock.advance(by: .seconds(601))
    await vault.set { $0.failing = { $1 == .response ? .unavailable("full") : nil } }
    let token = try await session.token()
    #expect(try await session.token() == token)
    // This program never manages to write it; the next one can.
    clock.advance(by: .seconds(601))
    let relaunched = SessionController(backend: server, vault: memory, policy: quiet, clock: clock)
    _ = try await relaunched.token()
    #expect(await server.rotations == 1)
    #expect(await server.repeats == 1)
    #expect(relaunched.state.isSignedIn)
  }

  /// The fence comes first, then the tombstone; a refresh that completes later finds neither a session nor a place to store it.
  @Test func `07 a user signs out while a refresh is in flight`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let vault = MemoryVault()
    let session = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let caller = Task { try await session.token() }
    await gate.arrivals(1)
    await session.signOut()
    gate.open()
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await caller.value }
    #expect(await session.waitForRevocations(timeout: .seconds(60)))
    #expect(session.state == .signedOut(.signedOut))
    #expect(await vault.storedSession == nil)
    let relaunched = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await relaunched.token() }
  }

  /// Every response belongs to a session, and the vault's edit compares: A's tokens are not stored once B is signed in.
  @Test func `08 another user signs in while a refresh is in flight`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let vault = MemoryVault()
    let session = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let caller = Task { try await session.token() }
    await gate.arrivals(1)
    try await session.signIn {
      var grant = TokenResponse.sample(0, session: "s2")
      grant.profile = Profile(id: AccountID("bob"), name: "Bob")
      return grant
    }
    gate.open()
    await #expect(throws: SessionError.self) { try await caller.value }
    #expect(try await session.token().text == "access-s2-0")
    #expect(await session.waitForRevocations(timeout: .seconds(60)))
    #expect(await vault.storedSession?.id == SessionID("s2"))
    #expect(await vault.storedSession?.refresh == RefreshToken("refresh-s2-0"))
  }

  /// The sign-out takes effect here at once; its revocation handle is in the tombstone, and is sent when there is a network,
  /// also by the next launch.
  @Test func `11 a user signs out without a network`() async throws {
    let vault = MemoryVault()
    let backend = ScriptedBackend.rotating()
    let session = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    backend.answerRevocations(with: .noDecision(.network(.timedOut)))
    #expect(await session.signOut().storageError == nil)
    #expect(session.state == .signedOut(.signedOut))
    #expect(session.authorizationHeader == nil)
    backend.answerRevocations(with: .ended)
    let relaunched = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    await first(relaunched.states) { $0.isSignedOut }
    #expect(await relaunched.waitForRevocations(timeout: .seconds(60)))
    #expect(backend.revoked.contains(RevocationHandle("handle-s1")))
  }

  /// Only a tombstone is left, with neither a token nor a name in it. The app's own data about the user is erased by its
  /// clean-up steps. Another account's vault is a separate file, which has lost nothing.
  @Test func `16 a session is removed, and traces of the user stay`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let draft = folder.appending(path: "draft of ada@example.org")
    let cleanup = CleanupStep.removal(of: draft, "draft", .preferences)
    let vault = SealedFileVault(folder: folder.path, account: AccountID("ada"))
    let neighbour = SealedFileVault(folder: folder.path, account: AccountID("bob"))
    let backend = ScriptedBackend.rotating()
    let other = SessionController(backend: backend, vault: neighbour, policy: quiet, clock: clock)
    try await other.signIn { .sample(0, session: "s2") }
    let session = SessionController(
      backend: backend, vault: vault, policy: quiet, clock: clock, cleanups: [cleanup])
    try await session.signIn { .sample(0) }
    try Data("for ada".utf8).write(to: draft)
    let report = await session.signOut()
    #expect(report.cleanup.cleared == ["draft"])
    #expect(await session.waitForRevocations(timeout: .seconds(60)))
    #expect(!FileManager.default.fileExists(atPath: draft.path))
    // Returns after everything that was queued for the vault before it.
    await session.signOut(SignOutPlan())
    guard case .value(let entry) = await vault.read() else {
      Issue.record("the vault cannot be read")
      return
    }
    #expect(entry.session == nil)
    for tombstone in entry.tombstones {
      let words = "\(tombstone.session.rawValue) \(tombstone.steps) \(tombstone.reason.rawValue)"
      #expect(tombstone.revocation == nil)
      for trace in ["Ada", "refresh", "access", "draft"] { #expect(!words.contains(trace)) }
    }
    #expect(try await other.token().text == "access-s2-0")
  }
}

extension MemoryVault {
  fileprivate var storedSession: StoredSession? {
    get async { if case .value(let entry) = await read() { entry.session } else { nil } }
  }
}
