package import HandstampCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HandstampSupport

/// The list of accounts in a file, `accounts.json`, beside their vaults. Several processes may share it.
///
/// Every edit replaces the file atomically, under the lock of the vaults' folder, and is durable on return. An
/// unreadable list is ``VaultError/corrupt``; the next edit renames it before taking its place. A list written by
/// another version is ``VaultError/newerFormat(_:)`` and is left untouched.
package struct FileAccountsStore: AccountsStore {
  /// The absolute path of the vaults' folder.
  package var folder: String { place.path }
  private let place: VaultFolder
  package static let fileName = "accounts.json"
  private static let sizeLimit = 8 << 20

  /// Creates the store. Nothing is read or created until first use.
  package init(folder: String) { place = VaultFolder(folder) }

  @concurrent package func read() async -> Result<AccountsList, VaultError> {
    do throws(VaultError) {
      guard let folder = try place.open() else { return .success(AccountsList()) }
      return .success(try load(in: folder) ?? AccountsList())
    } catch {
      return .failure(error)
    }
  }

  @concurrent package func edit(_ edit: AccountsEdit) async -> Result<AccountsList, VaultError> {
    do throws(VaultError) {
      let folder = try place.openOrMake()
      let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
      defer { lock.unlock() }
      return .success(try apply(edit, in: folder))
    } catch {
      return .failure(error)
    }
  }

  @concurrent package func lockSignIn(within limit: Duration) async throws(VaultError) -> (any VaultLock)? {
    try await place.flight("accounts\(VaultFiles.signInEnding)", within: limit)
  }

  package func changes() -> AsyncStream<Void> { FileWatch.changes(of: FileAccountsStore.fileName, in: folder) }

  private func apply(_ edit: AccountsEdit, in folder: PosixFile) throws(VaultError) -> AccountsList {
    let found: AccountsList
    var isBroken = false
    do throws(VaultError) { found = try load(in: folder) ?? AccountsList() } catch {
      guard error == .corrupt else { throw error }
      isBroken = true
      found = AccountsList()
    }
    guard let new = found.applying(edit) else {
      // The stored list may come from a process that died before it could sync.
      try folder.sync(attempt: "syncing the vault's folder")
      return found
    }
    guard let bytes = try? FileAccountsStore.encoder.encode(Content(new)) else {
      throw .unavailable("the list of accounts cannot be written")
    }
    try folder.replace(
      FileAccountsStore.fileName, with: Array(bytes), partial: VaultFiles.newPartial(), content: "the list of accounts"
    ) { () throws(VaultError) in
      if isBroken { try setAside(in: folder) }
    }
    try folder.sync(attempt: "syncing the vault's folder")
    try place.confirm(folder)
    return new
  }

  private func load(in folder: PosixFile) throws(VaultError) -> AccountsList? {
    guard let file = try folder.open(FileAccountsStore.fileName, flags: O_RDONLY) else {
      try place.confirmAbsence(in: folder, trace: FileAccountsStore.fileName, count: -1)
      return nil
    }
    try place.confirm(folder)
    guard try file.status().isRegular else { throw .unavailable("the list of accounts is not a regular file") }
    let bytes = try file.readAll(limit: FileAccountsStore.sizeLimit)
    guard bytes.count <= FileAccountsStore.sizeLimit else { throw .corrupt }
    let content = try? JSONDecoder().decode(Content.self, from: Data(bytes))
    guard let content, content.version == 1 else {
      guard FileAccountsStore.isOtherFormat(bytes) else { throw .corrupt }
      throw .newerFormat("another version of the program wrote the list of accounts")
    }
    return AccountsList(
      accounts: content.accounts, active: content.active, leaving: content.leaving ?? [],
      signIn: content.sign_in?.signIn)
  }

  private func setAside(in folder: PosixFile) throws(VaultError) {
    var number = 1
    while try !folder.link(FileAccountsStore.fileName, as: "\(FileAccountsStore.fileName).corrupt-\(number)") {
      number += 1
    }
  }

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    // Indented for human readers.
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  private struct Version: Decodable { var version: Int }

  /// Whether the list in `folder` was written by another version.
  package static func isOtherFormat(in folder: String) -> Bool {
    guard case .content(let bytes) = PlainFile.read("\(folder)/\(fileName)", limit: sizeLimit) else { return false }
    return isOtherFormat(bytes)
  }

  private static func isOtherFormat(_ bytes: [UInt8]) -> Bool {
    guard let version = try? JSONDecoder().decode(Version.self, from: Data(bytes)) else { return false }
    return version.version != 1
  }

  private struct Content: Codable {
    var version = 1
    var active: AccountID?
    var accounts: [ListedAccount]
    var leaving: [AccountID]?
    var sign_in: SignIn?

    init(_ list: AccountsList) {
      accounts = list.accounts
      active = list.active
      leaving = list.leaving.isEmpty ? nil : list.leaving
      sign_in = list.signIn.map { SignIn($0) }
    }
  }

  private struct SignIn: Codable {
    var key: String
    var purpose: UInt64
    var started_at_ms: Int64

    init(_ signIn: PendingSignIn) {
      key = signIn.key.wireText.withExposed { $0 }
      (purpose, started_at_ms) = (signIn.purpose, signIn.startedAt.milliseconds)
    }

    var signIn: PendingSignIn? {
      RotationKey(wireText: key).map {
        PendingSignIn(key: $0, purpose: purpose, startedAt: UnixTime(milliseconds: started_at_ms))
      }
    }
  }
}
