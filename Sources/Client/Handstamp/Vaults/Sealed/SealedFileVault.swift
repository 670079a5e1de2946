public import HandstampCore
import HandstampSupport

/// One sealed file per account, in a folder used for vaults only. Several processes may share it.
///
/// - Every write replaces the file atomically and returns once file and folder are on disk. A crash or a power cut at
///   any instant leaves the file as it was before or after.
/// - Writes compare the revision under one lock per folder, held for milliseconds; reads take no lock.
/// - A broken file is ``VaultError/corrupt`` and stays in place. The next sign-in renames it (`….corrupt-1`, `-2` …)
///   before writing a new one; only a sign-out removes it and earlier ones set aside.
/// - A file in another format is ``VaultError/newerFormat(_:)``; one that was sealed with another key, or whose key is
///   missing or damaged, is ``VaultError/wrongKey(_:)``. Neither is ever touched, not even by a sign-in or a sign-out,
///   and no new key is created while there is any vault.
/// - Beside the file of a session lies a reserve of random bytes (`….room`), for writes that must not fail on a full
///   disk: the response to a refresh that cannot be repeated, and the end of a session. Without the reserve such a
///   refresh is not started. File systems that copy on write may refuse nevertheless.
/// - If not even the reserve can be used, the file of a session that ends is removed, so that no secret remains, and
///   the end is written into the freed space. If that fails too, the write fails, although neither the session nor the
///   pending revocations of earlier ones are stored any more.
/// - While a lock is held, so that a request may be in flight, everything that storing its response needs is open: also if the
///   folder is renamed, or the process may open no more files. Without that the lock is refused, and nothing is sent.
/// - A folder in which this program has seen data and that is missing now is ``VaultError/unavailable(_:)``, and is
///   not created again: its disk may have been unmounted. Reading never creates a folder. For a folder in the platform's
///   place, a note beside it tells that to later processes, too.
/// - An account without data has no file. Its revisions keep rising nevertheless: the last one is noted in the
///   account's lock file, as far as a full disk allows.
///
/// File names are digests of account IDs: they reveal no names and fit every file system. Folder and files are
/// accessible by their owner only, and excluded from backups where the system supports it (on Linux by a
/// `CACHEDIR.TAG`).
public struct SealedFileVault: Vault {
  /// The absolute path of the folder.
  package var folder: String { place.path }
  let place: VaultFolder
  package let account: AccountID
  let key: VaultKey
  let files: VaultFiles
  /// How long a write waits for other writers.
  let patience: Duration
  /// Whether ``changes()`` watches the file. A short-lived program saves the milliseconds that ending a watch costs.
  package var isWatched = true
  /// The revision that this program has made durable last.
  private let durable = Locked<UInt64?>(nil)
  /// Whether a write of this program has lost: the next one goes before others that wait, or it would lose to each of them.
  let hasLost = Locked(false)
  /// The steps of a write.
  package enum WriteStep: String, Sendable, CaseIterable {
    case locked, written, synced, replaced, durable
  }
  #if Exploration
  /// Called at every step of a write; tests end the process there.
  package var reached: @Sendable (WriteStep) -> Void = { _ in }
  #else
  func reached(_ step: WriteStep) {}
  #endif

  /// Creates the vault of `account` in `folder`. Nothing is read or created until first use.
  public init(folder: String, account: AccountID, key: VaultKey = .fileInVaultFolder) {
    self.init(in: VaultFolder(folder), account: account, key: key)
  }

  package init(
    folder: String, account: AccountID, key: VaultKey = .fileInVaultFolder, patience: Duration
  ) {
    self.init(in: VaultFolder(folder), account: account, key: key, patience: patience)
  }

  init(in place: VaultFolder, account: AccountID, key: VaultKey, patience: Duration = .seconds(10)) {
    self.place = place
    self.account = account
    self.key = key
    self.patience = patience
    files = VaultFiles(account: account)
  }

  /// Reads the entry without taking a lock, in some tens of microseconds.
  @concurrent public func load() async -> VaultReading {
    do throws(VaultError) {
      guard let folder = try place.open() else { return .absent }
      guard let file = try load(in: folder) else { return .value(VaultEntry(revision: notedRevision(in: folder))) }
      try await key.find()
      let entry = try open(file, key: try sealingKey(in: folder))
      // The reader of a pending key sends it next, so from now on it must not be lost.
      if entry.session?.pendingKey != nil || entry.session?.attempt != nil { try confirm(entry.revision, in: folder) }
      return .value(entry)
    } catch {
      return .trouble(error)
    }
  }

  /// The key; `nil` if there is none.
  func sealingKey(in folder: PosixFile) throws(VaultError) -> SealingKey? {
    if let kept = place.keptKey { return kept }
    return try key.load(for: folder)
  }

  /// Takes one of the account's locks, which exclude other processes as well as other vaults of this process. Throws
  /// immediately if locking is impossible, as on a read-only disk. Cancelling the task ends the wait.
  @concurrent public func lock(
    _ kind: VaultLockKind, within limit: Duration
  ) async throws(VaultError) -> any VaultLock {
    try await place.flight(files.lock(kind), within: limit, key: key)
  }

  /// Yields after every write to this account, including this process's own, and when the passphrase was entered or the
  /// key was found.
  public func changes() -> AsyncStream<Void> {
    guard isWatched else { return AsyncStream { $0.finish() } }
    let changes = FileWatch.changes(of: files.vault, in: folder)
    return switch key {
    case .passphrase(let passphrase): passphrase.changes.merged(with: changes)
    case .managed(let kept): kept.changes.merged(with: changes)
    case .fileInVaultFolder, .file, .raw: changes
    }
  }

  /// Makes a stored revision durable, whose writer may have died between replacing the file and syncing the folder.
  func confirm(_ revision: UInt64, in folder: PosixFile) throws(VaultError) {
    if durable.withLock({ $0 }) != revision { try sync(folder, at: revision) }
  }

  /// Makes the names in the folder durable, with the vault in this revision.
  func sync(_ folder: PosixFile, at revision: UInt64? = nil) throws(VaultError) {
    try folder.sync(attempt: "syncing the vault's folder")
    if let revision { durable.withLock { $0 = revision } }
  }
}
