public import HandstampCore

/// One sealed file per account, in a folder that belongs to vaults alone. Several processes may share it.
///
/// - Every edit replaces the file in one step and returns when file and folder have reached the disk. A crash or a power
///   cut at any instant leaves the file as it was before or after.
/// - Edits are applied under one lock per folder, held for milliseconds; reads take no lock.
/// - A file that is broken is ``VaultTrouble/corrupt`` and stays where it is. The next sign-in gives it another name
///   (`….corrupt-1`, `-2` …) before it takes the place; only a sign-out removes it, and those others.
/// - A file of a newer format, one that was sealed with another key, and one whose key is missing are
///   ``VaultTrouble/unavailable(_:)``; none of them is touched, and no new key is made while there is any vault.
/// - Beside the file of a session lies one of random bytes, the room (`….room`). What must not be lost when the disk is full goes
///   there: the answer to a refresh that cannot be repeated, and the end of a session. Without room such a refresh is not begun.
///   File systems that copy what is overwritten may refuse nevertheless.
/// - Where not even the room can be used, the file of a session that ends is removed, so that no secret stays, and its end is
///   written in the space that this makes. If that fails too, so does the edit, although no session is stored any more, nor
///   what earlier ones have left to be told to the server.
/// - A folder in which this program has seen something stored, and that is missing now, is ``VaultTrouble/unavailable(_:)``, and is
///   not made anew: its disk may have been unmounted. Reading makes none in any case.
/// - An account of which nothing is left has no file. Its revisions rise nevertheless: the last one is noted in the
///   account's lock file, as well as that can be done when the disk is full.
///
/// File names are digests of account ids: they show nobody's name and fit every file system. Folder and files are for
/// their owner alone, and are excluded from back-ups where the system knows how (on Linux by a `CACHEDIR.TAG`).
public struct SealedFileVault: Vault {
  /// Where the files are, absolute.
  public var folder: String { place.path }
  let place: VaultFolder
  public let account: AccountID
  let key: VaultKey
  let files: VaultFiles
  /// How long an edit waits for others who write.
  let patience: Duration
  /// Told of every step of a write; tests end the process there.
  let reached: @Sendable (WriteStep) -> Void

  /// The steps of a write, for tests that interrupt it.
  package enum WriteStep: String, Sendable, CaseIterable {
    case locked, written, synced, replaced, durable
  }

  /// The vault of `account` in `folder`. Nothing is read or made until it is used.
  public init(folder: String, account: AccountID, key: VaultKey = .fileBeside) {
    self.init(folder: folder, account: account, key: key, patience: .seconds(10), reached: { _ in })
  }

  package init(
    folder: String, account: AccountID, key: VaultKey = .fileBeside, patience: Duration,
    reached: @escaping @Sendable (WriteStep) -> Void = { _ in }
  ) {
    self.init(in: VaultFolder(folder), account: account, key: key, patience: patience, reached: reached)
  }

  init(
    in place: VaultFolder, account: AccountID, key: VaultKey, patience: Duration = .seconds(10),
    reached: @escaping @Sendable (WriteStep) -> Void = { _ in }
  ) {
    self.place = place
    self.account = account
    self.key = key
    self.patience = patience
    self.reached = reached
    files = VaultFiles(account: account)
  }

  /// Takes no lock, and some tens of microseconds.
  @concurrent public func read() async -> VaultReading {
    do throws(VaultTrouble) {
      guard let folder = try place.open(), let file = try load(in: folder) else { return .absent }
      try await key.find()
      let entry = try open(file, key: try key.load(for: folder))
      // A writer may have died between replacing the file and syncing the folder. Whoever reads a pending key sends it
      // next, so it must not be lost any more.
      if entry.session?.pendingKey != nil || entry.session?.attempt != nil { try sync(folder) }
      return entry.isEmpty ? .absent : .value(entry)
    } catch {
      return .trouble(error)
    }
  }

  /// Waits at most ten seconds for others who write.
  @concurrent public func edit(_ edit: VaultEdit) async -> VaultOutcome {
    do throws(VaultTrouble) {
      guard let folder = try place.open(making: edit.writesIntoNothing) else { return edit.outcomeOfNothing }
      // Before the lock, so that nobody waits for a key store that takes its time.
      try await key.find()
      let lock = try await VaultFolder.lock(in: folder, within: patience)
      defer { lock.unlock() }
      reached(.locked)
      if edit.writesIntoNothing { try await key.make(for: folder) }
      return try apply(edit, in: folder)
    } catch {
      return .failed(error)
    }
  }

  /// Excludes other processes and other vaults of this process alike. Throws at once when no lock is possible,
  /// on a disk that cannot be written. A cancelled task waits no longer.
  @concurrent public func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await LockFile.flight(files.flightLock, in: place.openOrMake(), at: folder, within: limit)
  }

  /// Like ``lock(within:)``, and independent of it.
  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await LockFile.flight(files.signInLock, in: place.openOrMake(), at: folder, within: limit)
  }

  /// Yields after every write of this account, one's own included, and when its passphrase was given or its key was found.
  public func changes() -> AsyncStream<Void> {
    let changes = FileWatch.changes(of: files.vault, in: folder)
    return switch key {
    case .passphrase(let passphrase): passphrase.changes.merged(with: changes)
    case .kept(let kept): kept.changes.merged(with: changes)
    case .fileBeside, .file, .given: changes
    }
  }
}
