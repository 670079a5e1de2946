import Foundation
import Handstamp
import HandstampCore
import HandstampTesting
import HandstampVaults
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
    // By the session's clock, which stands still until it is moved.
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
    // The former session must not be restored in its place.
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
    #expect(entry.tombstones.map(\.session) == [facts.session])
    #expect(await test.session.waitForRevocations(timeout: .seconds(60)))
    #expect(try await !test.server.isLive(facts.session))
    #expect(test.session.state == .signedOut(.signedOut))
  }

  @Test func `is replaced by one that is`() async throws {
    let test = try SessionTest()
    let first = try await test.session.signIn(remember: false) { try await test.server.signIn("ada") }
    let second = try await test.session.signIn { try await test.server.signIn("ada", device: "other") }
    guard case .value(let entry) = await test.vault.read() else { throw CancellationError() }
    #expect(entry.session?.id == second.session)
    #expect(entry.tombstone(of: first.session)?.reason == .replaced)
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
