#if Programs
import Foundation
import Handstamp
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `An audit log that lost its key` {
  @Test func `keeps a session from being stored, until doctor --fix has set it aside`() async throws {
    let home = Home(path: NSTemporaryDirectory() + "handstamp-test-\(UInt64.random(in: 0 ... .max))")
    defer { try? FileManager.default.removeItem(atPath: home.path) }
    let vault = home.vault(of: AccountID("https://id.example.org#ada"))
    await FileAuditLog(vault).record(
      AuditEntry(
        action: .signIn(.password), session: nil, account: AccountID("ada"), at: UnixTime(seconds: 1), outcome: "ok"))
    try FileManager.default.removeItem(atPath: home.keyFile)
    guard case .failed(.wrongKey) = await vault.edit(.begin(VaultSamples.session())) else {
      Issue.record("a second key was made")
      return
    }
    let damage = try #require(await HomeCheck.damages(of: home).first { $0.check == "key_file" })
    #expect(damage.cure == .fix && damage.blocksEveryVault)
    #expect(try await Repair.run(on: home, settingAside: false).count == 1)
    #expect(await HomeCheck.damages(of: home).isEmpty)
    guard case .done = await vault.edit(.begin(VaultSamples.session())) else {
      Issue.record("no way out")
      return
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: home.vaultFolder)
    #expect(names.contains { $0.hasSuffix(".audit.corrupt-1") })
  }
}
#endif
