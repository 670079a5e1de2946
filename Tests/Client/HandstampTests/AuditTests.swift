import Foundation
import Handstamp
import HandstampTesting
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
    #expect(trail.lines.map { $0?.entry.action } == [.signIn(.other), .end])
    #expect(trail.lines.last??.entry.outcome == "signed_out")
    #expect(trail.lines.allSatisfy { $0?.entry.account == AccountID("ada") })

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
    #expect(found.lines.map { $0?.entry.outcome } == ["cut", "ok"])
  }

  @Test(arguments: [true, false]) @MainActor
  func `of several accounts finds a cut, with the keychain and with memory`(isKeychain: Bool) async throws {
    let program = "handstamp-test-\(UUID().uuidString)"
    let folder = try #require(ProgramFolder(program)).vaults
    defer { try? FileManager.default.removeItem(atPath: (folder as NSString).deletingLastPathComponent) }
    let device = EmulatedKeychain.Device()
    let memory = MemoryVault()
    func vault(_ account: AccountID) -> any Vault {
      guard isKeychain else { return memory }
      return KeychainVault(EmulatedKeychain(device), service: program, account: account, folder: folder)
    }
    func log(_ account: AccountID) -> FileAuditLog {
      if let vault = vault(account) as? KeychainVault { return FileAuditLog(vault) }
      return FileAuditLog(memory, folder: folder, account: account, key: .file(folder + "/audit.key"))
    }
    func accounts() -> Accounts<Void> {
      Accounts(
        backend: ScriptedBackend.rotating(), name: program, vault: vault, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, policy: quiet, audit: log
      ) { _ in }
    }
    let first = accounts()
    var response = TokenResponse.sample(0, session: "s1")
    response.profile = Profile(id: AccountID("ada"), name: "ada")
    let ada = try await first.add { [response] in
      try await SignInTurn.take(by: .browser)
      return response
    }
    let controller = try #require(first.session(of: ada)).controller
    await controller.flushAuditLog()
    // The next edit of the vault stores how long the log is.
    response.tokens = TokenResponse.sample(1, session: "s1").tokens
    try await first.add { [response] in response }
    await controller.flushAuditLog()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(!names.contains("vault.key"))
    #expect(try await log(ada).entries().map(\.entry.action) == [.signIn(.browser), .signIn(.other)])
    #expect(log(ada).folder == folder)
    let file = "\(folder)/\(try #require(names.first { $0.hasSuffix(".audit") }))"
    try Data().write(to: URL(fileURLWithPath: file))
    // The next launch notes the gap, because its vault knows how long the log was.
    let second = accounts()
    await second.load()
    let later = try #require(second.session(of: ada)).controller
    _ = await HandstampTests.first(later.states) { if case .signedIn = $0 { true } else { false } }
    await later.flushAuditLog()
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains("\"cut\""))
    #expect(try await !log(ada).verify().isIntact)
  }

  @Test(.timeLimit(.minutes(10))) func `that is absent is never waited for`() async throws {
    let session = SessionController(backend: ScriptedBackend.rotating(), vault: MemoryVault(), clock: ManualClock())
    try await session.signIn { .sample(0) }
    await session.flushAuditLog()
    #expect(session.state.isSignedIn)
  }
}
