/// When an item can be read, and whether it may leave the device in a back-up. The deprecated levels that are always
/// readable do not exist here.
package enum KeychainAccessibility: Sendable, Hashable, CaseIterable {
  case afterFirstUnlock
  case afterFirstUnlockThisDeviceOnly
  case whenUnlocked
  case whenUnlockedThisDeviceOnly
  case whenPasscodeSetThisDeviceOnly

  /// How much of the time it cannot be read.
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

  /// The weakest level that is as strict as both: neither is simply stricter when one is about locking and the other about
  /// back-ups.
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

/// What kind of secret an item holds, which decides how it is kept.
package enum StorageClass: Sendable, Hashable {
  /// Good for an hour at most.
  case accessToken
  /// The truth about a session. `inBackground`: it is also refreshed while the device is locked.
  case refreshToken(inBackground: Bool)
  /// Released to a person who showed that they are there.
  case biometric

  package var accessibility: KeychainAccessibility {
    switch self {
    case .accessToken: .afterFirstUnlock
    case .refreshToken(let inBackground):
      inBackground ? .afterFirstUnlockThisDeviceOnly : .whenUnlockedThisDeviceOnly
    case .biometric: .whenPasscodeSetThisDeviceOnly
    }
  }
}
