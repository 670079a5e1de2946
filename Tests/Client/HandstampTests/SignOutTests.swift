import Dispatch
import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A sign-out` {
  let clock = ManualClock()
  let backend = ScriptedBackend.rotating()

  func controller(_ vault: any Vault, _ cleanups: [CleanupStep]) -> SessionController {
    SessionController(backend: backend, vault: vault, policy: quiet, clock: clock, cleanups: cleanups)
  }

  @Test func `reports what was cleared and what failed`() async throws {
    struct Full: Error {}
    let session = controller(
      MemoryVault(),
      [
        CleanupStep("jar", .cookies) { _ in }, CleanupStep("settings", .preferences) { _ in throw Full() },
        CleanupStep("store", .database) { _ in Issue.record("not in the plan") },
      ])
    try await session.signIn { .sample(0) }
    let report = await session.signOut()
    #expect(report.cleanup.cleared == ["jar"])
    #expect(report.failed == ["settings": "Full"])
    #expect(report.storageError == nil)
  }

  @Test func `does not wait forever for a step`() async throws {
    let gate = Gate()
    let session = controller(MemoryVault(), [CleanupStep("slow", .always) { _ in await gate.wait() }])
    try await session.signIn { .sample(0) }
    async let report = session.signOut()
    // By the session's clock, which stands still until it is moved. The sign-out has a limit for its vault, too, so the step runs first.
    await gate.arrivals(1)
    let moving = Task {
      while !Task.isCancelled {
        clock.advance(by: .seconds(1))
        await othersFirst()
      }
    }
    #expect(await report.cleanup.unfinished == ["slow"])
    moving.cancel()
    gate.open()
  }

  @Test func `reports no clean-up of earlier sessions, and does not wait for it`() async throws {
    struct Full: Error {}
    let (gate, arrived) = (Gate(), Gate())
    let session = controller(
      MemoryVault(),
      [
        CleanupStep("jar", .cookies) { if $0.id == SessionID("s1") { throw Full() } },
        CleanupStep("cache", .always) {
          guard $0.id == SessionID("s1") else { return }
          arrived.open()
          await gate.wait()
        },
      ])
    try await session.signIn { .sample(0) }
    async let first = session.signOut()
    await arrived.wait()
    // The clock may move once the failure is known, and not before: a step that has not begun yet is unfinished too.
    await othersFirst { await session.cleanupCount != 0 }
    var other = TokenResponse.sample(0, session: "s2")
    other.profile = Profile(id: AccountID("bob"), name: "Bob")
    // The sign-in waits for the clean-up, but not longer than its limit.
    async let signedIn = session.signIn(with: other, by: .init(.password))
    let moving = Task {
      while !Task.isCancelled {
        clock.advance(by: .seconds(1))
        await othersFirst()
      }
    }
    let early = await first
    #expect(early.failed == ["jar": "Full"])
    // The step that failed may be running again by then.
    #expect(early.cleanup.unfinished.filter { $0 != "jar" } == ["cache"])
    _ = try await signedIn
    moving.cancel()
    await moving.value
    // The clock stands still: the steps of the first session, which run again or still, would keep this one waiting.
    let report = await session.signOut()
    #expect(Set(report.cleanup.cleared) == ["jar", "cache"])
    #expect(report.failed.isEmpty)
    #expect(report.cleanup.unfinished.isEmpty)
    gate.open()
  }

  /// A vault on a disk that does not answer any more.
  private final class StuckVault: Vault {
    private let gate = Gate()
    private let calls = DispatchSemaphore(value: 0)
    private let base = MemoryVault()
    let isStuck = Locked(false)

    private func wait() async { if isStuck.withLock({ $0 }) { await gate.wait() } }
    func load() async -> VaultReading {
      await wait()
      return await base.load()
    }
    func replace(
      _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
    ) async throws(VaultError) -> VaultReplacement {
      await wait()
      return try await base.replace(revision, with: entry, as: write)
    }
    func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
      await wait()
      return try await base.lock(kind, within: limit)
    }
    /// Blocks its caller, as a system call does.
    func changes() -> AsyncStream<Void> {
      if isStuck.withLock({ $0 }) { calls.wait() }
      return base.changes()
    }
    func recover() {
      isStuck.withLock { $0 = false }
      calls.signal()
      gate.open()
    }
  }

  enum Stage: CaseIterable { case launching, signedIn, refreshing, signingIn, signedOut, endedByServer }

  @Test(arguments: Stage.allCases) func `returns within its limit at every stage if the vault hangs`(stage: Stage)
    async throws
  {
    let vault = StuckVault()
    if stage == .launching { vault.isStuck.withLock { $0 = true } }
    let session = controller(vault, [CleanupStep("cache", .always) { _ in }])
    if stage != .launching { try await session.signIn { .sample(0) } }
    if stage == .signedOut { await session.signOut() }
    vault.isStuck.withLock { $0 = true }
    var others: [Task<Void, any Error>] = []
    switch stage {
    case .launching, .signedIn, .signedOut: break
    case .refreshing: others = [Task { _ = try await session.token(replacing: AccessToken("access-s1-0")) }]
    case .signingIn: others = [Task { _ = try await session.signIn { .sample(0, session: "s2") } }]
    case .endedByServer: await session.sessionDidEnd(SessionID("s1"), reason: .revoked)
    }
    for _ in 0..<20 { await othersFirst() }
    let moving = Task {
      while !Task.isCancelled {
        clock.advance(by: .seconds(1))
        await othersFirst()
      }
    }
    let report = await session.signOut()
    #expect(report.storageError == .unavailable("the vault did not answer within 15 seconds"))
    #expect(session.state.isSignedOut)
    #expect(session.authorizationHeader == nil)
    moving.cancel()
    vault.recover()
    for other in others { _ = await other.result }
  }

  @Test func `does not wait forever for a vault, and reports that it is not durable`() async throws {
    let gate = Gate()
    let vault = FaultyVault(MemoryVault())
    let session = controller(vault, [])
    try await session.signIn { .sample(0) }
    await vault.set { $0.gate = gate }
    async let report = session.signOut()
    let moving = Task {
      while !Task.isCancelled {
        clock.advance(by: .seconds(1))
        await othersFirst()
      }
    }
    #expect(await report.storageError == .unavailable("the vault did not answer within 15 seconds"))
    #expect(session.state == .signedOut(.signedOut))
    moving.cancel()
    gate.open()
  }

  @Test func `is visible, and blocks tokens, while a step runs`() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let gate = Gate()
    let session = controller(
      MemoryVault(),
      [
        CleanupStep("slow", .always) { _ in
          begin.finish()
          await gate.wait()
        }
      ])
    try await session.signIn { .sample(0) }
    async let report = session.signOut()
    for await _ in begun {}
    #expect(session.state == .signedOut(.signedOut))
    #expect(session.authorizationHeader == nil)
    gate.open()
    #expect(await report.cleanup.cleared == ["slow"])
  }

  @Test func `clears a cache without ending the session`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("a picture".utf8).write(to: folder.appending(path: "a"))
    let session = controller(MemoryVault(), [.removal(of: folder, "images", .imageCache)])
    try await session.signIn { .sample(0) }
    #expect(await session.runCleanups().cleared == ["images"])
    #expect(!FileManager.default.fileExists(atPath: folder.path))
    // A missing directory is fine.
    #expect(await session.runCleanups().cleared == ["images"])
    _ = try await session.token()
  }

  @Test func `of an expired session keeps the data for the user's return`() async throws {
    let session = controller(
      MemoryVault(), [CleanupStep("jar", .cookies) { _ in }, CleanupStep("settings", .preferences) { _ in }])
    try await session.signIn { .sample(0) }
    #expect(await session.signOut(.expiry, reason: .expired).cleanup.cleared == ["jar"])
    #expect(session.state == .signedOut(.expired))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A session that is not remembered` {
  @Test func `works, refreshes, and is gone at the next launch`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    let session = test.session
    let facts = try await session.signIn(remember: false) { try await test.server.signIn("ada", device: "other") }
    // The previous session must not be restored in its place.
    guard case .value(let entry) = await test.vault.read() else { throw CancellationError() }
    #expect(entry.session == nil)
    test.clock.advance(by: .seconds(3600))
    _ = try await session.token()
    #expect(session.state == .signedIn(facts))
    await #expect(throws: SessionError.signedOut(.replaced)) { try await test.relaunch().token() }
  }

  @Test func `leaves only its pending revocation in the vault when it ends`() async throws {
    let test = try SessionTest()
    let facts = try await test.session.signIn(remember: false) { try await test.server.signIn("ada") }
    #expect(await test.vault.read() == .absent)
    await test.session.signOut()
    guard case .value(let entry) = await test.vault.read() else { throw CancellationError() }
    #expect(entry.session == nil)
    #expect(entry.tombstones.map(\.session) == [facts.id])
    #expect(await test.session.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !test.server.isLive(facts.id))
    #expect(test.session.state == .signedOut(.signedOut))
  }

  @Test func `is replaced by one that is`() async throws {
    let test = try SessionTest()
    let first = try await test.session.signIn(remember: false) { try await test.server.signIn("ada") }
    let second = try await test.session.signIn { try await test.server.signIn("ada", device: "other") }
    guard case .value(let entry) = await test.vault.read() else { throw CancellationError() }
    #expect(entry.session?.id == second.id)
    #expect(entry.tombstone(of: first.id)?.reason == .replaced)
    _ = try await test.relaunch().token()
  }

  @Test func `ends together with a session that another program stored`() async throws {
    let test = try SessionTest()
    _ = try await test.session.signIn(remember: false) { try await test.server.signIn("ada") }
    let other = test.secondProcess()
    _ = try await other.signIn { try await test.server.signIn("ada", device: "other") }
    await test.session.signOut()
    guard case .value(let entry) = await test.vault.read() else { throw CancellationError() }
    #expect(entry.session == nil)
  }
}
