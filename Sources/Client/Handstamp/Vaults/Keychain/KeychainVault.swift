public import HandstampCore
import HandstampSupport

/// Keeps an account's secrets in the keychain of Apple platforms: the data-protection keychain, never the file-based
/// one of macOS, and never synchronized to other devices.
///
/// | item | content | readable |
/// |---|---|---|
/// | refresh item | the complete entry, authoritative | while the device is unlocked; with `inBackground`, as the access item |
/// | access item | session, profile, access token or cookies: a copy that may lag | after the first unlock since start-up |
/// | canaries, one for each level | no data of the account | whenever an item of that level is |
///
/// - Both items are bound to this device.
/// - While the refresh item is locked, the access item is used alone (``VaultReading/accessOnly(_:)``).
/// - "Not found" alone is not conclusive: before the first unlock the system may report it for existing items. The
///   vault counts as empty only once the canary of its level could be read or created and a second look found no item.
/// - An item is updated, or added if missing: there is no moment without the token. An update strengthens protection
///   that is too weak, and never weakens it; a new sign-in sets the level configured for the vault.
/// - Broken items are ``VaultError/corrupt``. The next sign-in renames them; only a sign-out removes them. Items in
///   another format are ``VaultError/newerFormat(_:)`` and are never touched.
/// - An item found in another access group, because the app did not share one before, moves to this vault's group with
///   the next read or write. Of items in several groups, neither hides what is newer in another.
/// - Reinstalling the app erases nothing: keychain items outlive the app, and so does the session.
///
/// Lock files and a file that signals changes are kept in a folder of the app's choice; they contain no secrets. An app
/// and its extensions use a folder in their group container. A keychain cannot sync writes on demand: a write counts as
/// durable once the keychain reports success.
public struct KeychainVault: Vault {
  /// The absolute path of the folder for lock files and signals.
  package let folder: String
  package let account: AccountID
  /// The access group of the items; `nil` uses the program's default group.
  package let accessGroup: String?
  let service: String
  let inBackground: Bool
  let keychain: any Keychain
  let files: VaultFiles
  /// As ``SealedFileVault/hasLost``.
  let hasLost = Locked(false)

  package init(
    _ keychain: any Keychain, service: String, account: AccountID, folder: String, accessGroup: String? = nil,
    inBackground: Bool = false
  ) {
    self.keychain = keychain
    self.service = service
    self.account = account
    self.folder = folder
    self.accessGroup = accessGroup
    self.inBackground = inBackground
    files = VaultFiles(account: account)
  }

  /// Reads the entry without taking a lock.
  @concurrent public func load() async -> VaultReading {
    do throws(VaultError) {
      var found = try find()
      // Programs that have only the group must find it there. If that fails now, it may succeed at the next read.
      if found.items.contains(where: { accessGroup != nil && $0.group != accessGroup }),
        let moved = try? await gathered()
      {
        found = moved
      }
      if found.items.isEmpty, let folder = try? PosixFile.folder(folder) {
        found.entry.revision = notedRevision(in: folder)
      }
      return .value(found.entry)
    } catch {
      return (error == .locked ? readAccess() : nil) ?? .trouble(error)
    }
  }

  /// Takes one of the account's locks; see ``SealedFileVault/lock(_:within:)``.
  @concurrent public func lock(
    _ kind: VaultLockKind, within limit: Duration
  ) async throws(VaultError) -> any VaultLock {
    try await LockFile.flight(files.lock(kind), in: openFolder(), at: folder, within: limit)
  }

  /// Opens the folder. It holds no stored data, so a missing one, emptied by the system perhaps, is created again.
  func openFolder() throws(VaultError) -> PosixFile { try VaultFolder(folder).openOrMake() }

  /// Yields after every write to this account, including this process's own.
  public func changes() -> AsyncStream<Void> { FileWatch.changes(of: files.signal, in: folder) }
}
