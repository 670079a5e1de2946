package import HandstampCore
import HandstampSupport

/// Tracks the refresh locks that this program holds, so that they can be released before the system suspends it. iOS terminates
/// a program that is suspended while it holds a lock in a group container (0xDEAD10CC), and its extensions would wait for the
/// lock.
///
/// Releasing a lock early loses nothing. A server with rotation keys gives both processes the same tokens. At a server without,
/// the attempt recorded in the vault keeps other processes from presenting the refresh token until
/// ``RefreshPolicy/responseTimeout`` has passed.
package final class RefreshLockManager: Sendable {
  private struct Content: Sendable {
    var held: [UInt64: any VaultLock] = [:]
    var last: UInt64 = 0
    var isSuspended = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let content = Locked(Content())

  /// Creates a manager without locks.
  package init() {}

  /// The number of locks held now.
  package var count: Int { content.withLock { $0.held.count } }

  /// Releases all locks, and grants none until ``resume()``.
  package func suspend() {
    let (held, waiters) = content.withLock { content in
      content.isSuspended = true
      defer { (content.held, content.waiters) = ([:], []) }
      return (content.held.sorted { $0.key < $1.key }.map(\.value), content.waiters)
    }
    for lock in held { lock.unlock() }
    for waiter in waiters { waiter.resume() }
  }

  /// Grants locks again.
  package func resume() { content.withLock { $0.isSuspended = false } }

  /// Returns when no lock is held.
  package func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = content.withLock { content in
        if !content.held.isEmpty { content.waiters.append(continuation) }
        return content.held.isEmpty
      }
      if isIdle { continuation.resume() }
    }
  }

  /// Acquires a lock of `vault` that this manager can release.
  @concurrent package func lock(
    _ kind: VaultLockKind, of vault: any Vault, within limit: Duration
  ) async throws(VaultError) -> any VaultLock {
    let isSuspended = content.withLock { $0.isSuspended }
    // A sign-in by link may arrive before the system reports the foreground: it continues without a lock.
    if kind == .signIn, isSuspended { return HeldLock {} }
    let lock = isSuspended ? nil : try await vault.lock(kind, within: limit)
    let number: UInt64? = content.withLock { content in
      guard let lock, !content.isSuspended else { return nil }
      content.last += 1
      content.held[content.last] = lock
      return content.last
    }
    guard let number else {
      lock?.unlock()
      throw .unavailable("the program is being suspended")
    }
    // Also unlocks when it is released: a lock that arrives after its controller is gone has no other owner.
    return HeldLock { self.release(number) }
  }

  private func release(_ number: UInt64) {
    let (lock, waiters) = content.withLock { content in
      let lock = content.held.removeValue(forKey: number)
      guard content.held.isEmpty else { return (lock, [CheckedContinuation<Void, Never>]()) }
      return (lock, exchange(&content.waiters, with: []))
    }
    lock?.unlock()
    for waiter in waiters { waiter.resume() }
  }
}
