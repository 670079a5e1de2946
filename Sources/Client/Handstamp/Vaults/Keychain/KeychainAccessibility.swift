/// When an item is readable, and whether backups may carry it to another device. The deprecated levels that are always
/// readable are omitted.
package enum KeychainAccessibility: String, Sendable, Hashable, CaseIterable {
  case afterFirstUnlock
  case afterFirstUnlockThisDeviceOnly
  case whenUnlocked
  case whenUnlockedThisDeviceOnly
  case whenPasscodeSetThisDeviceOnly

  /// The strictness with regard to locking.
  private var lock: Int {
    switch self {
    case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: 1
    case .whenUnlocked, .whenUnlockedThisDeviceOnly: 2
    case .whenPasscodeSetThisDeviceOnly: 3
    }
  }

  private var isThisDeviceOnly: Bool {
    switch self {
    case .afterFirstUnlock, .whenUnlocked: false
    case .afterFirstUnlockThisDeviceOnly, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: true
    }
  }

  /// The weakest level at least as strict as both. Neither of two levels may be stricter in every respect: one may be
  /// about locking, the other about backups.
  package func joined(with other: KeychainAccessibility?) -> KeychainAccessibility {
    guard let other else { return self }
    let isBound = isThisDeviceOnly || other.isThisDeviceOnly
    return switch max(lock, other.lock) {
    case 1: isBound ? .afterFirstUnlockThisDeviceOnly : .afterFirstUnlock
    case 2: isBound ? .whenUnlockedThisDeviceOnly : .whenUnlocked
    case let level: level > 2 ? .whenPasscodeSetThisDeviceOnly : .afterFirstUnlock
    }
  }
}

/// The kind of secret in an item, which determines its protection.
package enum StorageClass: Sendable, Hashable {
  /// Valid for an hour at most, or a session cookie. On this device only: on another one it would show this one's user.
  case accessToken
  /// The authoritative state of a session. `inBackground`: it is also refreshed while the device is locked.
  case refreshToken(inBackground: Bool)
  /// Released only after the user's presence is confirmed.
  case biometric

  package var accessibility: KeychainAccessibility {
    switch self {
    case .accessToken: .afterFirstUnlockThisDeviceOnly
    case .refreshToken(let inBackground):
      inBackground ? .afterFirstUnlockThisDeviceOnly : .whenUnlockedThisDeviceOnly
    case .biometric: .whenPasscodeSetThisDeviceOnly
    }
  }
}
