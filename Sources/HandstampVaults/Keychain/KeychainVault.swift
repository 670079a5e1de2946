public import HandstampCore

/// Keeps an account's secrets in the keychain of Apple's systems: the data-protection keychain, never the file-based one of
/// macOS, and never synchronised to other devices.
///
/// | item | holds | can be read |
/// |---|---|---|
/// | refresh item | everything: the truth | while the device is unlocked, on this device only; with `inBackground` from the first unlock after a start on |
/// | access item | session, profile, access token: a copy that may lag | from the first unlock after a start on |
/// | canary | nothing | when the refresh item can |
///
/// - While the refresh item is locked the access item serves alone (``VaultReading/accessOnly(_:_:_:)``).
/// - "Not found" alone is no answer: before the first unlock the system may say it of an item that is there. Nobody is
///   signed in only when the canary could be read, or made, and the item was looked for once more.
/// - An item is updated, else added: there is no moment without the token. An update makes an item stricter where it was
///   too weak, and never weaker; a new sign-in sets the level that the vault was made with.
/// - What is broken is set aside under another name by the next sign-in; only a sign-out removes it.
/// - An item that is found in another access group, because the app had no shared one before, moves to this vault's group
///   with the next write.
/// - Nothing is ever erased because an app was installed anew: its keychain items outlive it, and the session with them.
///
/// Lock files and a file that signals changes are in a folder of the app's choice; they hold no secret. An app and its
/// extensions name a folder in their group container. A keychain has no means to have a write synced: what it reports as
/// stored counts as durable.
public struct KeychainVault: Vault {
  /// Where lock files and signals are, absolute.
  public let folder: String
  public let account: AccountID
  /// The access group of the items; nothing: the program's default one.
  public let accessGroup: String?
  let service: String
  let inBackground: Bool
  let keychain: any Keychain
  let files: VaultFiles

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

  /// Takes no lock.
  @concurrent public func read() async -> VaultReading {
    do throws(VaultTrouble) {
      let found = try find()
      return found.entry.isEmpty ? .absent : .value(found.entry)
    } catch {
      return (error == .locked ? readAccess() : nil) ?? .trouble(error)
    }
  }

  /// Waits at most ten seconds for others who write.
  @concurrent public func edit(_ edit: VaultEdit) async -> VaultOutcome {
    do throws(VaultTrouble) {
      let folder = try openFolder()
      let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
      defer { lock.unlock() }
      return try apply(edit, in: folder)
    } catch {
      return .failed(error)
    }
  }

  /// Excludes other processes and other vaults of this process alike; see ``SealedFileVault/lock(within:)``.
  @concurrent public func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await LockFile.flight(files.flightLock, in: openFolder(), at: folder, within: limit)
  }

  /// Like ``lock(within:)``, and independent of it.
  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await LockFile.flight(files.signInLock, in: openFolder(), at: folder, within: limit)
  }

  /// What is stored is not in it: a folder that is missing, as where the system has emptied it, is made anew.
  private func openFolder() throws(VaultTrouble) -> PosixFile { try VaultFolder(folder).openOrMake() }

  /// Yields after every write of this account, one's own included.
  public func changes() -> AsyncStream<Void> { FileWatch.changes(of: files.signal, in: folder) }
}
