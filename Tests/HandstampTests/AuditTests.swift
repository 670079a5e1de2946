import HandstampCore
import Foundation
import Handstamp
import HandstampTesting
import HandstampVaults
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session's audit log` {
  @Test func `stores its head with the next vault edit, and is checked against it at launch`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/handstamp-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let vault = SealedFileVault(folder: folder, account: AccountID("ada"))
    let log = FileAuditLog(vault, program: "forum")
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: ManualClock(), audit: log)
    try await session.signIn { .sample(0) }
    await session.flushAuditLog()
    #expect(log.head?.sequence == 1)
    _ = await session.signOut()
    await session.flushAuditLog()
    let trail = try await log.trail()
    // The last edit included the head if the log was written before the server was notified.
    #expect([.intact(newer: 0), .intact(newer: 1)].contains(trail.verdict))
    #expect(trail.items.map { $0.record?.entry.action } == [.signIn, .end])
    #expect(trail.items.last?.record?.entry.outcome == "signed_out")

    // Deleted while no process runs: the next one knows from the vault how long the log was.
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".audit") {
      try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
    let next = FileAuditLog(vault, program: "forum")
    let later = SessionController(
      backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: ManualClock(), audit: next)
    try await later.signIn { .sample(1) }
    await later.flushAuditLog()
    let found = try await next.trail()
    #expect(found.verdict == .broken(at: 1, .missing))
    #expect(found.items.map { $0.record?.entry.outcome } == ["cut", "ok"])
  }

  @Test(.timeLimit(.minutes(1))) func `that is absent is never waited for`() async throws {
    let session = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault(), clock: ManualClock())
    try await session.signIn { .sample(0) }
    await session.flushAuditLog()
    #expect(session.state.isSignedIn)
  }
}
