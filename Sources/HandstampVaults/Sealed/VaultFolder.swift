import HandstampCore
import HandstampSupport

/// A folder of vaults, as known to this program. All copies share this knowledge.
///
/// Once the program has seen data there, it does not create the folder again: a folder missing from then on has
/// vanished, with its disk or under another name, and its data still exists. Nor does another folder in its place prove
/// that nothing is stored.
struct VaultFolder: Sendable {
  /// Absolute.
  let path: String
  /// The folder in which data was found last.
  private let seen = Locked<FileIdentity?>(nil)
  /// The key of the file beside the vaults, as it was used last.
  private let known = Locked<SealingKey?>(nil)
  /// Tells later processes that there was data, for a folder in the platform's place: its disk may be mounted there.
  private let note: (folder: String, name: String)?

  private static let vanished = VaultError.unavailable("the vault folder is missing; is its disk mounted?")

  init(_ path: String) {
    self.path = path
    note = ProgramFolder.note(ofVaults: path)
  }

  /// Opens the folder. Returns `nil` if it is missing, no data was ever seen in it, and it is not to be created.
  func open(making: Bool = false) throws(VaultError) -> PosixFile? {
    guard path.hasPrefix("/") else { throw .unavailable("the path of the vault folder must be absolute") }
    let known = seen.withLock { $0 }
    let opened = making && known == nil ? try PosixFile.makeFolder(path) : try PosixFile.folder(path)
    guard let opened else {
      if known != nil { throw VaultFolder.vanished }
      if let note, isNoted {
        throw .unavailable(
          "the vault folder is missing: mount its disk, or remove \(note.folder)/\(note.name) if it is lost")
      }
      return nil
    }
    let status = try opened.status()
    guard status.mode & 0o022 == 0 else {
      throw .permissions("other users can write to the vault folder: its mode should be 0700")
    }
    // A folder revealed by an unmounted disk is left as it is.
    if let known, known != status.place, try opened.open(VaultFiles.storeLock, flags: O_RDONLY) == nil {
      throw VaultFolder.vanished
    }
    return opened
  }

  /// Returns the key, also if another process has moved it to another place since this program used it, which may have tokens that
  /// it alone can store.
  func key(from source: VaultKey, in folder: PosixFile) throws(VaultError) -> SealingKey? {
    let key = try source.load(for: folder)
    switch source {
    case .fileInVaultFolder:
      return known.withLock { known in
        known = key ?? known
        return known
      }
    // Stores remember it, and can be made to forget it.
    case .file, .passphrase, .managed, .raw: return key
    }
  }

  /// Opens the folder, creating it if need be.
  func openOrMake() throws(VaultError) -> PosixFile {
    guard let opened = try open(making: true) else { throw .unavailable("the vault folder cannot be created") }
    return opened
  }

  /// Confirms that a missing file means that nothing is stored. If data was seen in a folder other than `folder`, that
  /// holds only if `trace` exists with `count` bytes, as left by the write that emptied the vault.
  func confirmAbsence(in folder: PosixFile, trace: String, count: Int) throws(VaultError) {
    if let known = seen.withLock({ $0 }), known != (try folder.status().place) {
      guard try folder.open(trace, flags: O_RDONLY)?.status().size == count else { throw VaultFolder.vanished }
    }
    seen.withLock { $0 = nil }
  }

  /// Records that there is data in `folder`.
  func confirm(_ folder: PosixFile) throws(VaultError) {
    let place = try folder.status().place
    let former = seen.withLock { seen in
      defer { seen = place }
      return seen
    }
    // Failures are ignored: then a later process does not know.
    if former == nil, let note, !isNoted { _ = try? PosixFile.folder(note.folder)?.openOrCreate(note.name) }
  }

  private var isNoted: Bool {
    guard let note else { return false }
    return (try? PosixFile.folder(note.folder)?.open(note.name, flags: O_RDONLY)) ?? nil != nil
  }
}

extension VaultFolder {
  /// Takes the lock that protects all writes in the folder. The next in line waits for it while holding another lock,
  /// the turn, so that a process that has just released the lock cannot take it again before the others.
  ///
  /// - Parameter isFirst: Whether it may do so.
  static func lock(
    in folder: PosixFile, within patience: Duration, isFirst: Bool = false
  ) async throws(VaultError) -> VaultsLock {
    let deadline = ContinuousClock.now + patience
    let turn = try LockFile(VaultFiles.turnLock, in: folder)
    let lock = try LockFile(VaultFiles.storeLock, in: folder)
    if isFirst, try await lock.take(until: .now, pauses: .asNext) { return VaultsLock(folder: folder, file: lock) }
    guard try await turn.take(until: deadline, pauses: .inQueue), try await lock.take(until: deadline, pauses: .asNext)
    else { throw .unavailable("another process keeps the vault locked") }
    turn.unlock()
    return VaultsLock(folder: folder, file: lock)
  }
}

/// The lock of a folder of vaults, held. All copies of the folder's key change under it, the sealed one included.
///
/// It is taken before a passphrase's lock, never after: waiting for it is asynchronous, and the body of a passphrase's lock
/// is not, so the other order does not compile.
struct VaultsLock: ~Copyable {
  let folder: PosixFile
  fileprivate let file: LockFile

  func unlock() { file.unlock() }
}

extension Locked<Bool> {
  /// Returns the value, which is `false` from then on.
  func take() -> Bool {
    withLock { value in
      defer { value = false }
      return value
    }
  }
}
