import HandstampCore

/// What all who write in a folder of vaults share.
enum VaultFolder {
  /// The folder, open; nothing when there is none, unless it is to be made.
  static func open(_ path: String, making: Bool = false) throws(VaultTrouble) -> PosixFile? {
    guard path.hasPrefix("/") else { throw .unavailable("the path of a vault's folder must be absolute") }
    let opened = making ? try PosixFile.makeFolder(path) : try PosixFile.folder(path)
    guard let opened else { return nil }
    guard try opened.status().mode & 0o022 == 0 else {
      throw .unavailable("others may write to the vault's folder: its mode should be 0700")
    }
    return opened
  }

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
