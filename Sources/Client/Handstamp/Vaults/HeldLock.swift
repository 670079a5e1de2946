import HandstampCore
import HandstampSupport

/// A lock that is released once, at the latest with its last reference.
final class HeldLock: VaultLock {
  private let release: Locked<(@Sendable () -> Void)?>

  init(_ release: @escaping @Sendable () -> Void) { self.release = Locked(release) }

  deinit { unlock() }

  func unlock() { release.withLock { $0.take() }?() }
}
