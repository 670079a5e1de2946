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
  /// The files that storing the response to a request in flight needs.
  private let kept = Locked<Kept?>(nil)
  /// Tells later processes that there was data, for a folder in the platform's place: its disk may be mounted there.
  private let note: (folder: String, name: String)?

  private static let vanished = VaultError.unavailable("the vault folder is missing; is its disk mounted?")

  init(_ path: String) {
    self.path = path
    note = ProgramFolder.note(ofVaults: path)
  }

  /// Opens the folder. Returns `nil` if it is missing, no data was ever seen in it, and it is not to be created.
  func open(making: Bool = false) throws(VaultError) -> PosixFile? {
    // One that was removed is empty, and that must not count as the absence of data.
    if let kept = kept.withLock({ $0 }), kept.folder.contains(kept.lock) { return kept.folder }
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
    let previous = seen.withLock { exchange(&$0, with: place) }
    // Failures are ignored: then a later process does not know.
    if previous == nil, let note, !isNoted { _ = try? PosixFile.folder(note.folder)?.openOrCreate(note.name) }
  }

  private var isNoted: Bool {
    guard let note else { return false }
    return (try? PosixFile.folder(note.folder)?.open(note.name, flags: O_RDONLY)) ?? nil != nil
  }
}

/// Requests in flight whose response has to be stored here.
///
/// While there is one, the folder stays open, with descriptors for the files of a save, and so does the key: the response is stored
/// where the request was recorded, also if the folder has been renamed meanwhile, the key has been moved to another place, or the
/// process may open no more files.
extension VaultFolder {
  private struct Kept: Sendable {
    var folder: PosixFile
    /// The name of a lock, which is in the folder as long as that is there.
    var lock: String
    var key: SealingKey?
    var flights = 1
  }

  /// The key that the folder's vaults had when the request was about to be sent; `nil` without one in flight.
  var keptKey: SealingKey? { kept.withLock { $0?.key } }

  /// Takes the lock `name`, which is held while a request is in flight. Throws if its response could not be stored.
  func flight(
    _ name: String, within limit: Duration, key: VaultKey? = nil
  ) async throws(VaultError) -> any VaultLock {
    let folder = try openOrMake()
    let lock = try await LockFile.flight(name, in: folder, at: path, within: limit)
    // The write that precedes the request reports why a key cannot be read now.
    try? await key?.find()
    let found = (try? key?.load(for: folder)) ?? nil
    let new = Kept(folder: try folder.withSpares(), lock: name, key: found)
    kept.withLock { kept in
      if kept == nil { kept = new } else { kept?.flights += 1 }
    }
    return HeldLock {
      lock.unlock()
      letGo()
    }
  }

  private func letGo() {
    kept.withLock { kept in
      kept?.flights -= 1
      if kept?.flights == 0 { kept = nil }
    }
  }

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
