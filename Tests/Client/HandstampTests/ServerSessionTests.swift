import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session at Handstamp's server` {
  @Test(arguments: [
    ("https://a.example.org/", "https://A.example.org:443", true),
    ("https://a.example.org", "https://a.example.org.", true),
    ("https://a.example.org", "https://b.example.org", false),
    ("https://a.example.org", "http://a.example.org", false),
    ("https://a.example.org", "https://a.example.org:8443", false),
    ("https://a.example.org/one/", "https://a.example.org/one", true),
    ("https://a.example.org/one", "https://a.example.org/two", false),
  ])
  func `is the session of a server whose URL differs only in its form`(_ one: String, _ other: String, _ isSame: Bool) {
    #expect(one.isSameServer(as: other) == isSame)
  }

  @Test func `is kept in the vault that was passed`() async throws {
    let url = try #require(URL(string: "https://a.example.org"))
    let vault = MemoryVault()
    let session = await SessionManager(server: url, vault: vault)
    try await session.signIn { .sample(0) }
    guard case .value = await vault.read() else {
      Issue.record("the session is not in the vault")
      return
    }
  }

  #if os(Linux)
  @Test func `asks for no place that its app has not named`() async throws {
    let url = try #require(URL(string: "https://a.example.org"))
    let name = "handstamp-test-\(UUID().uuidString)"
    let other = SealedFileVault.standard(name, account: AccountID("https://a.example.org:443"))
    defer { try? FileManager.default.removeItem(atPath: (other.folder as NSString).deletingLastPathComponent) }
    _ = await other.edit(.begin(VaultSamples.session()))
    let stored = await other.read()
    let session = await SessionManager(server: url, name: name)
    #expect(await first(session.controller.states) { $0 != .restoring } == .signedOut(nil))
    #expect(await other.read() == stored && stored != .absent)
  }
  #endif
}
