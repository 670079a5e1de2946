public import HandstampCore
import HandstampSupport

#if canImport(Darwin)
import Foundation
#endif

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

/// Helpers for both reading and writing.
extension SealedFileVault {
  /// Returns the sealed file's bytes, or `nil` if its absence is confirmed. An empty file is corrupt.
  func load(in folder: PosixFile) throws(VaultError) -> [UInt8]? {
    guard let file = try folder.open(files.vault, flags: O_RDONLY) else {
      try place.confirmAbsence(in: folder, trace: files.flightLock, count: 8)
      return nil
    }
    try place.confirm(folder)
    guard try file.status().isRegular else { throw .unavailable("the vault file is not a regular file") }
    return try file.readAll(limit: SealedFormat.sizeLimit)
  }

  func open(_ file: [UInt8], key: SealingKey?) throws(VaultError) -> VaultEntry {
    guard file.count <= SealedFormat.sizeLimit else { throw .corrupt }
    return try SealedFormat.open(file, of: .vault(account), key: key) { VaultEntry(revision: $0, fields: $1) }
  }
}

extension VaultFolder {
  /// Excludes the folder from backups where the system supports it: to the server, a restored vault looks like a
  /// copied one. Failures are ignored.
  func excludeFromBackups(_ folder: PosixFile, names: [String]) {
    #if canImport(Darwin)
    var url = URL(fileURLWithPath: path, isDirectory: true)
    var values = URLResourceValues()
    values.isExcludedFromBackup = true
    try? url.setResourceValues(values)
    #else
    if names.contains(VaultFiles.backupTag) { return }
    // https://bford.info/cachedir/: backup programs look for the first 43 bytes.
    let text = "Signature: 8a477f597d28d172789f06886806bc55\n# Keys and tokens of this device. Do not back up.\n"
    try? folder.create(VaultFiles.backupTag).write(Array(text.utf8), attempt: "writing \(VaultFiles.backupTag)")
    #endif
  }
}

/// Writes, while holding the store lock.
extension SealedFileVault {
  /// The stored file, as found while holding the lock.
  private struct Found {
    var revision: UInt64
    /// `nil` if there is no file.
    var file: [UInt8]?
    var key: SealingKey?
    /// Whether there is a file that is not a valid vault.
    var isBroken = false
  }

  /// Replaces the file, waiting at most ten seconds for other writers.
  @concurrent public func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    guard let folder = try place.open(making: !entry.isEmpty) else { return .done }
    // Before the lock, so that a slow key store does not hold up other writers.
    try await key.find()
    let isFirst = hasLost.withLock { exchange(&$0, with: false) }
    let lock = try await VaultFolder.lock(in: folder, within: patience, isFirst: isFirst)
    defer { lock.unlock() }
    reached(.locked)
    if !entry.isEmpty { try await key.make(for: folder) }
    let found = try find(for: write, in: folder)
    guard found.revision == revision else {
      hasLost.withLock { $0 = true }
      guard let file = found.file, !found.isBroken else { return .lost(VaultEntry(revision: found.revision)) }
      return .lost(try open(file, key: found.key))
    }
    if entry.revision != revision {
      try self.write(entry, over: found, as: write, in: folder)
      if !entry.isEmpty { try place.confirm(folder) }
      if write == .signOut { try erase(in: folder) }
    } else if write == .signOut {
      try erase(alsoVault: found.isBroken, in: folder)
    } else {
      try confirm(revision, in: folder)
    }
    return .done
  }

  /// Looks at the header alone, which was authenticated when its entry was loaded, unless a broken file may be replaced.
  private func find(for write: VaultWrite, in folder: PosixFile) throws(VaultError) -> Found {
    guard let file = try load(in: folder) else { return Found(revision: notedRevision(in: folder)) }
    let key = try sealingKey(in: folder)
    do throws(VaultError) {
      if write.replacesCorruptContent { _ = try open(file, key: key) }
      let header = try SealedFormat.Header(file)
      return Found(revision: header.revision, file: file, key: try header.matching(key))
    } catch {
      guard error == .corrupt, write.replacesCorruptContent else { throw error }
      let stated = (try? SealedFormat.Header(file).revision) ?? 0
      let revision = max(notedRevision(in: folder), SealedFileVault.isPlausible(stated) ? stated : 0)
      return Found(revision: revision, file: file, key: key, isBroken: true)
    }
  }

  /// Replaces the file atomically and durably.
  private func write(
    _ new: VaultEntry, over found: Found, as write: VaultWrite, in folder: PosixFile
  ) throws(VaultError) {
    let names = try folder.names()
    // Such files are created only under the lock held here, so these were left behind by processes that died.
    for name in names where name.hasSuffix(VaultFiles.partialEnding) { try folder.remove(name) }
    // A sender that died has left it.
    if new.session == nil { try? folder.remove(files.attempt) }
    if new.isEmpty { return try removeVault(noting: new.revision, in: folder) }
    place.excludeFromBackups(folder, names: names)
    let key =
      if let key = found.key { key } else { try key.settle(for: folder, isNeeded: VaultFiles.needKey(names)) }
    let sealed = try SealedFormat.seal(new, account: account, key: key)
    if write == .attempt { try keepRoom(beside: sealed.count, in: folder) }
    do throws(VaultError) {
      // A second name for the broken file rather than a rename: there is no instant without a vault file.
      let aside = found.isBroken ? VaultFiles.free(files.aside, among: names) : nil
      try put(sealed, aside: aside, mayUseRoom: write == .response || write.endsSession, in: folder)
    } catch {
      guard write.endsSession else { throw error }
      // The secrets must go in any case. That frees space for the tombstone.
      try removeVault(noting: new.revision, in: folder)
      do throws(VaultError) {
        try put(sealed, in: folder)
      } catch {
        throw error.adding("nothing is stored any more, not even the session's end")
      }
    }
    reached(.replaced)
    if new.session == nil {
      try? folder.remove(files.room)
    } else if write != .attempt {
      try? keepRoom(beside: sealed.count, in: folder)
    }
    try sync(folder, at: new.revision)
    reached(.durable)
  }

  /// Writes a new file in the vault's place, falling back to the reserve.
  private func put(
    _ sealed: [UInt8], aside: String? = nil, mayUseRoom: Bool = false, in folder: PosixFile
  ) throws(VaultError) {
    let partial = VaultFiles.newPartial()
    do throws(VaultError) {
      try write(sealed, to: folder.create(partial))
      try replace(by: partial, aside: aside, in: folder)
    } catch {
      try? folder.remove(partial)
      guard mayUseRoom, let room = try? folder.open(files.room, flags: O_WRONLY), let status = try? room.status(),
        status.isRegular, status.size >= sealed.count
      else { throw error }
      try write(sealed, to: room)
      try replace(by: files.room, aside: aside, in: folder)
    }
  }

  private func replace(by written: String, aside: String?, in folder: PosixFile) throws(VaultError) {
    if let aside, try !folder.link(files.vault, as: aside) {
      throw .unavailable("the damaged vault could not be set aside")
    }
    try folder.rename(written, to: files.vault)
  }

  private func write(_ sealed: [UInt8], to file: PosixFile) throws(VaultError) {
    try file.write(sealed, attempt: "writing the vault")
    if try file.status().size > sealed.count { try file.truncate(to: sealed.count, attempt: "writing the vault") }
    reached(.written)
    try file.sync(attempt: "syncing the vault")
    reached(.synced)
  }

  /// Reserves space to replace a file of `count` bytes: twice as many, and at least 16 KiB.
  private func keepRoom(beside count: Int, in folder: PosixFile) throws(VaultError) {
    let needed = max(16 << 10, 2 * count)
    if let status = try folder.open(files.room, flags: O_RDONLY)?.status(), status.isRegular, status.size >= needed {
      return
    }
    try folder.replace(
      files.room, with: VaultFiles.filling(needed), partial: VaultFiles.newPartial(), content: "the reserve for tokens")
  }

  /// Removes the reserve. A folder in its place holds no session data, and does not keep a session from ending.
  private func removeRoom(in folder: PosixFile) throws(VaultError) {
    do throws(VaultError) { try folder.remove(files.room) } catch {
      guard let status = try? folder.open(files.room, flags: O_RDONLY)?.status(), !status.isRegular else { throw error }
    }
  }

  private func removeVault(noting revision: UInt64, in folder: PosixFile) throws(VaultError) {
    let isNoted = note(revision, in: folder)
    try removeRoom(in: folder)
    try folder.remove(files.vault)
    // On a full disk, removing the file frees space for the note.
    if !isNoted { _ = note(revision, in: folder) }
    try sync(folder)
  }

  /// Removes everything that was set aside, and unfinished files of processes that died, as part of a sign-out.
  private func erase(alsoVault: Bool = false, in folder: PosixFile) throws(VaultError) {
    for name in try folder.names() {
      if name == files.room { try removeRoom(in: folder) }
      let isLeftOver = name.hasPrefix(files.aside) || name.hasSuffix(VaultFiles.partialEnding)
      if isLeftOver || alsoVault && name == files.vault { try folder.remove(name) }
    }
    try sync(folder)
  }
}

/// The last revision of an account without a file, so that its next one is higher. Failures are ignored.
extension SealedFileVault {
  private func note(_ revision: UInt64, in folder: PosixFile) -> Bool {
    do throws(VaultError) {
      let file = try folder.openOrCreate(files.flightLock)
      try file.write(revision.octets, attempt: "noting a revision")
      try file.sync(attempt: "noting a revision")
      return true
    } catch {
      return false
    }
  }

  func notedRevision(in folder: PosixFile) -> UInt64 {
    let bytes = try? folder.open(files.flightLock, flags: O_RDONLY)?.readAll(limit: 8)
    let revision = bytes.flatMap { UInt64(octets: $0) } ?? 0
    return SealedFileVault.isPlausible(revision) ? revision : 0
  }

  /// No vault is written this often: such a number is damage, and the next one must not overflow.
  private static func isPlausible(_ revision: UInt64) -> Bool { revision < 1 << 62 }
}
