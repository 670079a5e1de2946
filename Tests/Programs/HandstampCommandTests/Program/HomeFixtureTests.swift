#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  /// A home that the program has written, as every later version reads it. Until the first tag, a change of a form remakes it in the
  /// same commit: `HANDSTAMP_UPDATE=1 make test FILTER='The home of format 1'`.
  @Suite struct `The home of format 1` {
    private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/format-1/home").path

    @Test func `is read: a session, a pending end, accounts, settings and the audit log`() async throws {
      if ProcessInfo.processInfo.environment["HANDSTAMP_UPDATE"] == "1" { try await Self.record() }
      try await ProcessFixture.inFolder { folder in
        let home = Home(path: folder + "/home")
        try FileManager.default.copyItem(atPath: Self.fixture, toPath: home.path)
        // Git keeps no modes.
        let inside = try FileManager.default.subpathsOfDirectory(atPath: home.path).map { "\(home.path)/\($0)" }
        for path in [home.path] + inside { chmod(path, FileFacts.isFolder(path) ? 0o700 : 0o600) }
        let known = try await KnownAccounts(of: home)
        let (ada, bob) = (try #require(known.active), try known.account("work"))
        #expect(known.accounts == [bob, ada] && known.settings.server == ada.serverAddress)
        #expect(try home.knownDevice() != nil && FolderRules(of: home).all.map(\.account) == [bob.id])
        let session = try await home.vault(of: ada.id).read().entry(for: .ordinary).session
        #expect(session?.refresh != nil && session?.profile?.id == ada.idAtServer)
        let ended = try await home.vault(of: bob.id).read().entry(for: .ordinary)
        #expect(ended.session == nil && ended.unrevoked.count == 1)
        let log = FileAuditLog(home.vault(of: ada.id))
        #expect(try await log.verify().isIntact)
        #expect(try await log.entries().map(\.entry.action) == [.signIn(.signUp), .refresh])
        #expect(await HomeCheck.damages(of: home).isEmpty)
      }
    }

    private static func record() async throws {
      try await ProcessFixture.run { stage in
        let (home, files) = (stage.first, FileManager.default)
        try await stage.signUp(home, email: "bob@example.org", "--tag", "work")
        try await stage.signUp(home)
        try await stage.run(["refresh"], on: home)
        let bob = try await KnownAccounts(of: home).account("work").id
        try FolderRules(of: home).set(FolderRules.Rule(folder: "/srv/work", account: bob))
        // The server is not told of it.
        _ = await home.vault(of: bob).edit(.signOut(.signedOut, at: SystemClock().now()))
        try? files.removeItem(atPath: fixture)
        try files.createDirectory(
          atPath: (fixture as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try files.copyItem(atPath: home.path, toPath: fixture)
        // Random bytes, which the next write reserves again.
        for name in try files.subpathsOfDirectory(atPath: fixture) where name.hasSuffix(".room") {
          try files.removeItem(atPath: "\(fixture)/\(name)")
        }
      }
    }
  }
}
#endif
