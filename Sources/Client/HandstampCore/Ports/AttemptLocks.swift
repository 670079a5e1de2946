package import HandstampSupport

/// A vault in which a sender holds a lock of its attempt: from before the first byte until the response is stored or its
/// connection is closed, also while it waits without the refresh lock. The kernel releases it when the sender dies, which every
/// process of that kernel sees, in whatever namespace it is.
package protocol AttemptLocks: Sendable {
  /// Locks a new attempt. `nil` if the lock would prove nothing.
  func lockAttempt() -> (lock: any VaultLock, identity: FileIdentity)?

  /// Whether the holder of that lock has died. `false` if that cannot be seen from here, or if it has released the lock.
  func isFree(_ lock: FileIdentity) -> Bool
}
