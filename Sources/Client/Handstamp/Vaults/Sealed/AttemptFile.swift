package import HandstampCore
package import HandstampSupport

/// The lock of an attempt: `flock` on a file that is there only while it is locked, or after its sender has died.
///
/// Its identity, and not its name, is what an attempt records. The next sender may find the lock held, because a sender lives
/// whose limit has passed: it gives the name to a file of its own. The system gives no file a number that is still open.
///
/// - `flock`, and not `fcntl`, whose lock is lost when another vault of the process closes the file.
/// - Programs that a sender starts do not inherit it, because it is closed on `exec`. A child that was forked without `exec`
///   has it, too. While that lives, the end of its parent is not seen: others wait until the limit has passed, as without a
///   lock.
/// - A sign-out or another sign-in removes the record with its session, and the file of a sender that died. A sender that lives
///   releases the lock when it learns of that. A new vault key changes nothing.
final class AttemptFile: VaultLock {
  let identity: FileIdentity
  private let file: Locked<PosixFile?>
  /// Not an open folder: descriptors may be scarce while a response is awaited.
  private let folder: String
  private let name: String

  private init(_ file: PosixFile, identity: FileIdentity, name: String, at folder: String) {
    self.identity = identity
    self.file = Locked(file)
    self.folder = folder
    self.name = name
  }

  /// Takes the lock, in the folder at `path`. Returns `nil` where it could not be had or would prove nothing: the file system is
  /// not known to be a local one, or grants a lock twice.
  static func lock(_ name: String, at path: String) -> (lock: any VaultLock, identity: FileIdentity)? {
    guard let lock = try? take(name, at: path) else { return nil }
    return (lock, lock.identity)
  }

  private static func take(_ name: String, at path: String) throws(VaultError) -> AttemptFile? {
    // Not the vault's own, whose spare descriptors are for saves.
    guard let folder = try PosixFile.folder(path), let fileSystem = folder.fileSystem, local.contains(fileSystem) else {
      return nil
    }
    for _ in 0..<3 {
      let file = try folder.openOrCreate(name)
      if try file.tryLock() {
        let identity = try file.status().place
        // Another process may have given the name to another file.
        if let second = try folder.open(name, flags: O_RDONLY), try second.status().place == identity,
          try !second.tryLock()
        {
          return AttemptFile(file, identity: identity, name: name, at: path)
        }
      }
      try folder.remove(name)
    }
    return nil
  }

  /// Whether the lock of that identity is free. `false` if that cannot be seen.
  static func isFree(_ identity: FileIdentity, _ name: String, at path: String) -> Bool {
    guard let file = try? PosixFile.folder(path)?.open(name, flags: O_RDONLY), (try? file.status().place) == identity,
      (try? file.tryLock()) == true
    else { return false }
    file.unlock()
    return true
  }

  deinit { unlock() }

  func unlock() {
    guard let held = file.withLock({ $0.take() }) else { return }
    defer { held.unlock() }
    // While it is locked: no other process has made it its own.
    guard let folder = try? PosixFile.folder(folder), let named = try? folder.open(name, flags: O_RDONLY),
      (try? named.status().place) == identity
    else { return }
    try? folder.remove(name)
  }

  /// The file systems whose locks every process of the machine sees, by the names of `mount`. Others ask a server, or a
  /// program, or are not known.
  private static let local: Set<String> = [
    "apfs", "hfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "overlay",
  ]
}

extension PosixFile {
  /// The type of the file system, as `mount` names it; `nil` if that is not known.
  var fileSystem: String? {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
    // A program that is suspended while it holds a lock in a group container is terminated.
    return nil
    #elseif canImport(Darwin)
    var status = statfs()
    guard fstatfs(descriptor, &status) == 0, status.f_flags & UInt32(MNT_LOCAL) != 0 else { return nil }
    return withUnsafeBytes(of: status.f_fstypename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    #else
    // proc(5): "mnt_id:\t24", then "24 43 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw". statfs(2), which Swift does not
    // import, has only numbers.
    let facts = PosixFile.text("/proc/self/fdinfo/\(descriptor)")?.split(separator: "\n")
    guard let mount = facts?.first(where: { $0.hasPrefix("mnt_id:") })?.dropFirst(8),
      let fields = PosixFile.text("/proc/self/mountinfo")?.split(separator: "\n").first(where: {
        $0.hasPrefix("\(mount) ")
      })?.split(separator: " "), let dash = fields.dropFirst(6).firstIndex(of: "-"), dash + 1 < fields.endIndex
    else { return nil }
    return String(fields[dash + 1])
    #endif
  }
}

extension SealedFileVault: AttemptLocks {
  package func lockAttempt() -> (lock: any VaultLock, identity: FileIdentity)? {
    AttemptFile.lock(files.attempt, at: folder)
  }

  package func isFree(_ lock: FileIdentity) -> Bool { AttemptFile.isFree(lock, files.attempt, at: folder) }
}

extension KeychainVault: AttemptLocks {
  package func lockAttempt() -> (lock: any VaultLock, identity: FileIdentity)? {
    AttemptFile.lock(files.attempt, at: folder)
  }

  package func isFree(_ lock: FileIdentity) -> Bool { AttemptFile.isFree(lock, files.attempt, at: folder) }
}
