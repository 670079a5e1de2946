import HandstampCore
import HandstampSupport

/// A lock between processes, and between the vaults of one process: `flock` on a file that is never removed, so that
/// all lock the same file. The kernel releases it when the process dies.
final class LockFile: VaultLock {
  /// The pauses between attempts. Random, so that no waiter is always late.
  struct Pauses {
    var longest: Duration
    var endWithTask: Bool

    /// For work that cannot be abandoned: waiting behind others who do it, and as the next in line.
    static let inQueue = Pauses(longest: .milliseconds(20), endWithTask: false)
    static let asNext = Pauses(longest: .milliseconds(2), endWithTask: false)
    /// For a lock that is held during network requests.
    static let inFlight = Pauses(longest: .milliseconds(25), endWithTask: true)
  }

  private let file: Locked<PosixFile?>

  init(_ name: String, in folder: PosixFile) throws(VaultError) {
    file = Locked(try folder.openOrCreate(name))
  }

  deinit { unlock() }

  /// Takes the refresh lock or sign-in lock `name` in `folder`, whose path is `path`.
  ///
  /// - Throws: ``VaultError/unavailable(_:)`` if it could not be taken within `limit`, naming the holders where the
  ///   system reveals them.
  static func flight(
    _ name: String, in folder: PosixFile, at path: String, within limit: Duration
  ) async throws(VaultError) -> LockFile {
    let lock = try LockFile(name, in: folder)
    if try await lock.take(until: ContinuousClock.now + limit, pauses: .inFlight) { return lock }
    let holders = (LockHolder.all(of: "\(path)/\(name)") ?? []).map(\.words)
    let names = holders.isEmpty ? "another process" : holders.joined(separator: ", ")
    let kind = name.hasSuffix(VaultFiles.signInEnding) ? "sign-in" : "refresh"
    throw .unavailable("the \(kind) lock is held by \(names)")
  }

  /// Retries until `deadline`, without blocking a thread. Returns whether the lock was taken.
  func take(until deadline: ContinuousClock.Instant, pauses: Pauses) async throws(VaultError) -> Bool {
    var bound = Duration.microseconds(500)
    while let file = file.withLock({ $0 }) {
      if try file.tryLock() { return true }
      let left = ContinuousClock.now.duration(to: deadline)
      if left <= .zero || (pauses.endWithTask && Task.isCancelled) { return false }
      let rest = min(bound * Double.random(in: 0.2...1), left)
      if pauses.endWithTask {
        try? await Task.sleep(for: rest)
      } else {
        // In a task of its own, because a cancelled task does not sleep.
        await Task.detached { try? await Task.sleep(for: rest) }.value
      }
      bound = min(bound * 1.5, pauses.longest)
    }
    return false
  }

  func unlock() { file.withLock { $0.take() }?.unlock() }
}
