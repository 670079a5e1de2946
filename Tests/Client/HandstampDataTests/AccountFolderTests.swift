#if Data
import Foundation
import GRDB
import Handstamp
import HandstampData
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The folder of an account` {
  private let program = NewProgram()

  private func accounts() throws -> Accounts<Void> {
    Accounts(
      backend: ScriptedBackend { call, _, _ in .granted(.sample(call)) }, name: program.name,
      baseURL: try #require(URL(string: "https://example.org"))
    ) { _ in }
  }

  private func add(_ name: String, to accounts: Accounts<Void>) async throws -> DataStore {
    var response = TokenResponse.sample(0, session: "session-\(name)")
    response.profile = Profile(id: AccountID(name), name: name)
    let account = try await accounts.add { [response] in response }
    let store = try DataStore(StorePlace(program.name, account: account), schema: Small.schema)
    try await store.add(1...3)
    return store
  }

  @Test func `goes at a sign-out of everything, with the database in it, and no other account's does`() async throws {
    let accounts = try accounts()
    let (ada, bob) = (try await add("ada", to: accounts), try await add("bob", to: accounts))
    #expect(FileManager.default.fileExists(atPath: ada.place.folder.path))
    let report = try #require(await accounts.session(of: AccountID("ada"))?.signOut(.everything))
    let folders = ["account_database", "account_downloads", "account_images"]
    #expect(Set(report.cleanup.cleared).isSuperset(of: folders) && report.failed.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: try program.folder(of: "ada").path))
    #expect(try bob.read(Small.texts) == ["text 1", "text 2", "text 3"])
    // Bob leaves for good.
    try await accounts.remove(AccountID("bob"))
    #expect(!FileManager.default.fileExists(atPath: try program.folder(of: "bob").path))
    #expect(try program.folders.isEmpty)
  }

  @Test func `stays at other sign-outs, except for what their plan names`() async throws {
    let accounts = try accounts()
    let ada = try await add("ada", to: accounts)
    let folder = try program.folder(of: "ada")
    for path in [folder.downloads, folder.images] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    let session = try #require(accounts.session(of: AccountID("ada")))
    _ = await session.signOut()
    #expect(try ada.read(Small.texts).count == 3)
    _ = await session.signOut(.standard.erasing(.downloads))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["database", "images"])
    #expect(try ada.read(Small.texts).count == 3)
  }

  @Test func `goes after a restart if the program was killed in the middle of the sign-out`() async throws {
    #expect(try await probe("sign-in") == 0)
    #expect(try program.folders.count == 2)
    #expect(try await probe("sign-out") == SIGKILL)
    #expect(try program.folders.count == 2)
    #expect(try await probe("resume") == 0)
    #expect(try program.folders == [try program.folder(of: "bob").path])
    let schema = StoreSchema(tables: []) { migrator in migrator.registerMigration("1") { _ in } }
    let bob = try DataStore(StorePlace(program.name, account: AccountID("bob")), schema: schema)
    #expect(try bob.read { try String.fetchOne($0, sql: "SELECT text FROM note") } == "kept")
  }

  @Test func `is one for a store, an app and the clean-up, and reveals no name`() throws {
    let folder = try program.folder(of: "ada@example.org")
    #expect(try StorePlace(program.name, account: AccountID("ada@example.org")).folder.path == folder.database)
    #expect(!folder.path.contains("ada"))
    #expect(folder.path.hasPrefix(try #require(ProgramFolder(program.name)).path + "/accounts/"))
  }

  /// Runs the probe, and returns its exit status or the signal that ended it.
  private func probe(_ task: String) async throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("DataProbe")
    process.arguments = [task, program.name]
    return try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
  }
}

/// A program of its own, whose folders are removed with its last reference.
private final class NewProgram: Sendable {
  let name = "handstamp-test-\(UUID().uuidString)"

  func folder(of account: String) throws -> AccountFolder {
    try #require(AccountFolder(of: AccountID(account), program: name))
  }

  /// The folders of its accounts.
  var folders: [String] {
    get throws {
      let parent = (try folder(of: "ada").path as NSString).deletingLastPathComponent
      return try FileManager.default.contentsOfDirectory(atPath: parent).map { "\(parent)/\($0)" }
    }
  }

  deinit {
    if let folder = ProgramFolder(name) { try? FileManager.default.removeItem(atPath: folder.path) }
  }
}
#endif
