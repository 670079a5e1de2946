import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A folder of vaults, as this program knows it. All copies know the same.
///
/// Once the program has seen that something is stored there, it does not make the folder anew: one that is missing then has
/// vanished, with its disk or under another name, and what was in it is not gone. Nor does another folder in its place show that
/// nothing is stored.
struct VaultFolder: Sendable {
  /// Absolute.
  let path: String
  /// Where something was stored when it was looked for last.
  private let seen = Locked<FileStatus.Place?>(nil)

  private static let vanished = VaultTrouble.unavailable("the vault's folder has vanished; is its disk mounted?")

  init(_ path: String) { self.path = path }

  /// The folder, open; `nil` where it is missing and nothing was seen in it, unless it is to be made.
  func open(making: Bool = false) throws(VaultTrouble) -> PosixFile? {
    guard path.hasPrefix("/") else { throw .unavailable("the path of a vault's folder must be absolute") }
    let known = seen.withLock { $0 }
    let opened = making && known == nil ? try PosixFile.makeFolder(path) : try PosixFile.folder(path)
    guard let opened else {
      if known != nil { throw VaultFolder.vanished }
      return nil
    }
    let status = try opened.status()
    guard status.mode & 0o022 == 0 else {
      throw .unavailable("others may write to the vault's folder: its mode should be 0700")
    }
    // What lies under a disk that is not mounted is left as it is.
    if let known, known != status.place, try opened.open(VaultFiles.storeLock, flags: O_RDONLY) == nil {
      throw VaultFolder.vanished
    }
    return opened
  }

  /// The folder, open, and made if need be.
  func openOrMake() throws(VaultTrouble) -> PosixFile {
    guard let opened = try open(making: true) else { throw .unavailable("the vault's folder cannot be made") }
    return opened
  }

  /// Confirms that nothing is stored where a file is missing. In another folder than the one where something was seen, that is so
  /// only if `trace` is there with as many bytes, as the write that emptied it leaves it.
  func confirmAbsence(in folder: PosixFile, trace: String, count: Int) throws(VaultTrouble) {
    if let known = seen.withLock({ $0 }), known != (try folder.status().place) {
      guard try folder.open(trace, flags: O_RDONLY)?.status().size == count else { throw VaultFolder.vanished }
    }
    seen.withLock { $0 = nil }
  }

  /// Something is stored in `folder`.
  func confirm(_ folder: PosixFile) throws(VaultTrouble) {
    let place = try folder.status().place
    seen.withLock { $0 = place }
  }
}

extension VaultFolder {
  /// The lock under which everything in the folder is written. Whoever is next waits for it while holding another lock, the
  /// turn, so that a process that has just let go cannot take it again before those who have waited.
  static func lock(in folder: PosixFile, within patience: Duration) async throws(VaultTrouble) -> LockFile {
    let deadline = ContinuousClock.now + patience
    let turn = try LockFile(VaultFiles.turnLock, in: folder)
    let lock = try LockFile(VaultFiles.storeLock, in: folder)
    guard try await turn.take(until: deadline, pauses: .inQueue), try await lock.take(until: deadline, pauses: .asNext)
    else { throw .unavailable("another process does not let go of the vault") }
    turn.unlock()
    return lock
  }
}
