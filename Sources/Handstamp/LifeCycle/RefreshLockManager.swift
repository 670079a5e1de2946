public import HandstampCore
import HandstampSupport

/// Tracks the refresh locks that this program holds, so that they can be released before the system suspends it. iOS terminates
/// a program that is suspended while it holds a lock in a group container (0xDEAD10CC), and its extensions would wait for the
/// lock.
///
/// Releasing a lock early loses nothing. A server with rotation keys gives both processes the same tokens. At a server without,
/// the attempt recorded in the vault keeps other processes from presenting the refresh token until
/// ``RefreshPolicy/responseTimeout`` has passed.
public final class RefreshLockManager: Sendable {
  private struct Content: Sendable {
    var held: [UInt64: any VaultLock] = [:]
    var last: UInt64 = 0
    var isSuspended = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let content = Locked(Content())

  /// Creates a manager without locks.
  public init() {}

  /// The number of locks held now.
  public var count: Int { content.withLock { $0.held.count } }

  /// Releases all locks, and grants none until ``resume()``.
  public func suspend() {
    let (held, waiters) = content.withLock { content in
      content.isSuspended = true
      defer { (content.held, content.waiters) = ([:], []) }
      return (content.held.sorted { $0.key < $1.key }.map(\.value), content.waiters)
    }
    for lock in held { lock.unlock() }
    for waiter in waiters { waiter.resume() }
  }

  /// Grants locks again.
  public func resume() { content.withLock { $0.isSuspended = false } }

  /// Returns when no lock is held.
  public func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = content.withLock { content in
        if !content.held.isEmpty { content.waiters.append(continuation) }
        return content.held.isEmpty
      }
      if isIdle { continuation.resume() }
    }
  }

  fileprivate var isSuspended: Bool { content.withLock { $0.isSuspended } }

  /// Registers `lock`, unless the program is about to be suspended.
  fileprivate func keep(_ lock: any VaultLock) -> (any VaultLock)? {
    let number: UInt64? = content.withLock { content in
      guard !content.isSuspended else { return nil }
      content.last += 1
      content.held[content.last] = lock
      return content.last
    }
    guard let number else {
      lock.unlock()
      return nil
    }
    return Kept(number: number, keeper: self)
  }

  fileprivate func release(_ number: UInt64) {
    let (lock, waiters) = content.withLock { content in
      let lock = content.held.removeValue(forKey: number)
      guard content.held.isEmpty else { return (lock, [CheckedContinuation<Void, Never>]()) }
      defer { content.waiters = [] }
      return (lock, content.waiters)
    }
    lock?.unlock()
    for waiter in waiters { waiter.resume() }
  }

  private final class Kept: VaultLock {
    private let number: UInt64
    private let keeper: RefreshLockManager

    init(number: UInt64, keeper: RefreshLockManager) {
      self.number = number
      self.keeper = keeper
    }

    func unlock() { keeper.release(number) }
    deinit { unlock() }
  }
}

extension RefreshLockManager {
  /// Returns `vault` with refresh locks that this manager can release.
  public func guarding(_ vault: any Vault) -> some Vault { GuardedVault(vault: vault, keeper: self) }

  private struct GuardedVault: Vault {
    let vault: any Vault
    let keeper: RefreshLockManager

    @concurrent func load() async -> VaultReading { await vault.load() }
    @concurrent func replace(
      _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
    ) async throws(VaultError) -> VaultReplacement {
      try await vault.replace(revision, with: entry, as: write)
    }
    func changes() -> AsyncStream<Void> { vault.changes() }

    @concurrent func lock(
      _ kind: VaultLockKind, within limit: Duration
    ) async throws(VaultError) -> any VaultLock {
      // A sign-in by link may arrive before the system reports the foreground: it continues without a lock.
      if kind == .signIn, keeper.isSuspended { return NoLock() }
      guard !keeper.isSuspended, let lock = keeper.keep(try await vault.lock(kind, within: limit)) else {
        throw .unavailable("the program is being suspended")
      }
      return lock
    }

    private struct NoLock: VaultLock {
      func unlock() {}
    }
  }
}
