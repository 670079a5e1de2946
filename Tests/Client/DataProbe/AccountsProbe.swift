#if Data
import Foundation
import GRDB
import Handstamp
import HandstampData
import HandstampTesting

/// Two accounts of the program `name`, each with a database.
@MainActor struct AccountsProbe {
  let name: String

  /// Signs both in, and fills their databases.
  func signIn() async throws {
    let accounts = try accounts { .sealedFile(name, account: $0) }
    for id in ["ada", "bob"] {
      var response = TokenResponse.sample(0, session: "session-\(id)")
      response.profile = Profile(id: AccountID(id), name: id)
      let account = try await accounts.add { [response] in response }
      let schema = StoreSchema(tables: []) { migrator in
        migrator.registerMigration("1") { try $0.execute(sql: "CREATE TABLE note (text TEXT)") }
      }
      let store = try DataStore(StorePlace(name, account: account), schema: schema)
      try await store.write { try $0.execute(sql: "INSERT INTO note VALUES ('kept')") }
    }
  }

  /// Signs ada out, and is killed as soon as the end is stored.
  func signOut() async throws {
    let accounts = try accounts { KillingVault(base: .sealedFile(name, account: $0)) }
    await accounts.load()
    let session = accounts.session(of: AccountID("ada"))
    _ = await session?.restoreSession()
    await session?.signOut(.everything)
  }

  /// Returns when ada's folder is gone.
  func resume() async throws {
    let accounts = try accounts { .sealedFile(name, account: $0) }
    await accounts.load()
    _ = await accounts.session(of: AccountID("ada"))?.restoreSession()
    let folder = AccountFolder(of: AccountID("ada"), program: name)
    _ = await eventually { folder.map { !FileManager.default.fileExists(atPath: $0.path) } ?? true }
  }

  private func accounts(
    _ vault: @escaping (AccountID) -> any Vault
  ) throws -> Accounts<Void> {
    guard let url = URL(string: "https://example.org") else { throw URLError(.badURL) }
    return Accounts(
      backend: ScriptedBackend { call, _, _ in .granted(.sample(call)) }, name: name, vault: vault, baseURL: url
    ) { _ in }
  }
}

/// Ends the process as soon as a session's end is stored.
private struct KillingVault: Vault {
  let base: SealedFileVault

  @concurrent func load() async -> VaultReading { await base.load() }

  @concurrent func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    let result = try await base.replace(revision, with: entry, as: write)
    if write.endsSession, result == .done { kill(getpid(), SIGKILL) }
    return result
  }

  @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(kind, within: limit)
  }

  func changes() -> AsyncStream<Void> { base.changes() }
}
#endif
