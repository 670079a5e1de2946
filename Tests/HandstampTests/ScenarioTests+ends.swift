import Foundation
import Handstamp
import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

@Suite struct `Where other clients lose a session or keep too much` {
  private let clock = ManualClock()

  /// "Cannot be read" is an answer of its own: the state says so, nothing is erased, and the session is back when the device is
  /// unlocked.
  @Test(arguments: [VaultTrouble.locked, .unavailable("out of order"), .corrupt])
  func `05 the storage cannot be read`(trouble: VaultTrouble) async throws {
    let memory = MemoryVault()
    let vault = FaultyVault(memory)
    try await SessionController(vault: vault, backend: ScriptedBackend.rotating(), policy: quiet, clock: clock)
      .signIn { .sample(0) }
    await vault.set { $0.reading = .trouble(trouble) }
    let session = SessionController(vault: vault, backend: ScriptedBackend.rotating(), policy: quiet, clock: clock)
    await #expect(throws: SessionError.storage(trouble)) { try await session.token() }
    #expect(session.state == .unavailable(.storage(trouble)))
    await vault.set { $0 = .init() }
    await session.nudge()
    #expect(try await session.token().text == "access-s1-0")
  }

  /// The new access token serves, the write is tried again, and no rotation starts before it is done. A program that dies before
  /// that has the old token and its key: the same question, the same answer.
  @Test func `06 the storage cannot be written after the server has rotated`() async throws {
    let server = try TestServer(clock: clock)
    let memory = MemoryVault()
    let vault = FaultyVault(memory)
    let session = SessionController(vault: vault, backend: server, policy: quiet, clock: clock)
    try await session.signIn { try await server.signIn("ada") }
    clock.advance(by: .seconds(601))
    await vault.set { $0.failing = { if case .advance = $0.plain { .unavailable("full") } else { nil } } }
    let token = try await session.token()
    #expect(try await session.token() == token)
    // This program never gets to write it; the next one can.
    clock.advance(by: .seconds(601))
    let relaunched = SessionController(vault: memory, backend: server, policy: quiet, clock: clock)
    _ = try await relaunched.token()
    #expect(await server.rotations == 1)
    #expect(await server.repeats == 1)
    #expect(relaunched.state.isSignedIn)
  }

  /// The fence comes first, then the tombstone; what a refresh brings home later finds neither an owner nor a place.
  @Test func `07 a person signs out while a refresh is in flight`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let vault = MemoryVault()
    let session = SessionController(vault: vault, backend: backend, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let caller = Task { try await session.token() }
    await gate.arrivals(1)
    await session.signOut()
    gate.open()
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await caller.value }
    #expect(await session.endsDelivered(within: .seconds(60)))
    #expect(session.state == .signedOut(.signedOut))
    #expect(await vault.storedSession == nil)
    let relaunched = SessionController(vault: vault, backend: backend, policy: quiet, clock: clock)
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await relaunched.token() }
  }

  /// Every answer belongs to a session, and the vault's edit compares: what was A's is stored nowhere once B is there.
  @Test func `08 somebody else signs in while a refresh is in flight`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let vault = MemoryVault()
    let session = SessionController(vault: vault, backend: backend, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let caller = Task { try await session.token() }
    await gate.arrivals(1)
    try await session.signIn {
      var grant = Grant.sample(0, session: "s2")
      grant.profile = Profile(id: AccountID("bob"), name: "Bob")
      return grant
    }
    gate.open()
    await #expect(throws: SessionError.self) { try await caller.value }
    #expect(try await session.token().text == "access-s2-0")
    #expect(await session.endsDelivered(within: .seconds(60)))
    #expect(await vault.storedSession?.id == SessionID("s2"))
    #expect(await vault.storedSession?.refresh == RefreshToken("refresh-s2-0"))
  }

  /// It holds here at once; what ends the session at the server is in the tombstone, and goes when there is a network, also by the
  /// next launch.
  @Test func `11 a person signs out without a network`() async throws {
    let vault = MemoryVault()
    let backend = ScriptedBackend.rotating()
    let session = SessionController(vault: vault, backend: backend, policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    backend.failRevocations(with: .unreachable(retryAfter: nil))
    #expect(await session.signOut().notDurable == nil)
    #expect(session.state == .signedOut(.signedOut))
    #expect(session.authorizationHeader == nil)
    backend.failRevocations(with: nil)
    let relaunched = SessionController(vault: vault, backend: backend, policy: quiet, clock: clock)
    await first(relaunched.states) { $0.isSignedOut }
    #expect(await relaunched.endsDelivered(within: .seconds(60)))
    #expect(backend.revoked.contains(RevocationHandle("handle-s1")))
  }

  /// A tombstone is all that is left, and in it neither a token nor a name. What the app keeps of the person goes with its
  /// clean-up steps. Another account's vault is another file: it has lost nothing.
  @Test func `16 a session is removed, and traces of the person stay`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let draft = folder.appending(path: "draft of ada@example.org")
    let cleanup = CleanupStep.removal(of: draft, "draft", .preferences)
    let vault = SealedFileVault(folder: folder.path, account: AccountID("ada"))
    let neighbour = SealedFileVault(folder: folder.path, account: AccountID("bob"))
    let backend = ScriptedBackend.rotating()
    let other = SessionController(vault: neighbour, backend: backend, policy: quiet, clock: clock)
    try await other.signIn { .sample(0, session: "s2") }
    let session = SessionController(
      vault: vault, backend: backend, policy: quiet, clock: clock, cleanups: [cleanup])
    try await session.signIn { .sample(0) }
    try Data("for ada".utf8).write(to: draft)
    let report = await session.signOut()
    #expect(report.cleanup.cleared == ["draft"])
    #expect(await session.endsDelivered(within: .seconds(60)))
    #expect(!FileManager.default.fileExists(atPath: draft.path))
    // Comes back after everything that was queued for the vault before it.
    await session.signOut(SignOutPlan())
    guard case .value(let entry) = await vault.read() else {
      Issue.record("the tombstone tells why the session ended")
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
