import HandstampCore
import Foundation
import Handstamp
import HandstampTesting
import HandstampVaults
import Testing

@Suite struct `A session's audit log` {
  @Test func `joins the vault with the next edit, and is checked against it at the next launch`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/handstamp-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let vault = SealedFileVault(folder: folder, account: AccountID("ada"))
    let log = FileAuditLog(vault, program: "forum")
    let session = SessionController(
      vault: vault, backend: ScriptedBackend.rotating(), policy: quiet, clock: ManualClock(), audit: log)
    try await session.signIn { .sample(0) }
    await session.auditWritten()
    #expect(log.head?.sequence == 1)
    _ = await session.signOut()
    await session.auditWritten()
    let trail = try await log.trail()
    // The last edit took it along if the server was told of the end later than the log.
    #expect([.intact(newer: 0), .intact(newer: 1)].contains(trail.verdict))
    #expect(trail.items.map { $0.record?.entry.action } == [.signIn, .end])
    #expect(trail.items.last?.record?.entry.outcome == "signed_out")

    // Emptied while nobody ran: who comes next knows from the vault how far it had come.
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".audit") {
      try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
    let next = FileAuditLog(vault, program: "forum")
    let later = SessionController(
      vault: vault, backend: ScriptedBackend.rotating(), policy: quiet, clock: ManualClock(), audit: next)
    try await later.signIn { .sample(1) }
    await later.auditWritten()
    let found = try await next.trail()
    #expect(found.verdict == .broken(at: 1, .missing))
    #expect(found.items.map { $0.record?.entry.outcome } == ["cut", "ok"])
  }

  @Test func `that is not there is waited for by nobody`() async throws {
    let session = SessionController(vault: MemoryVault(), backend: ScriptedBackend.rotating(), clock: ManualClock())
    await session.auditWritten()
  }
}
