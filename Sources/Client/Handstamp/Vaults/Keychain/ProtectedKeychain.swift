/// A keychain with items that are released only after the user confirms presence. It makes no decisions.
package protocol ProtectedKeychain: Keychain {
  /// Adds an item protected by access control (`SecAccessControlCreateWithFlags`).
  func add(_ item: KeychainItem, access: KeychainAccess) -> KeychainStatus
  /// Asks the user to confirm presence, and returns the item's data. Blocks until the user has answered.
  func copy(_ key: KeychainKey, asking reason: String) -> (status: KeychainStatus, data: [UInt8]?)
  /// Looks for the item without asking the user: ``KeychainStatus/interactionNotAllowed`` means that it exists.
  func find(_ key: KeychainKey) -> KeychainStatus
}

/// The condition for releasing a protected item.
package enum KeychainAccess: Sendable, Hashable {
  /// Biometry or the device's passcode.
  case userPresence
  /// The biometry enrolled when the item was stored: a fingerprint or face added later invalidates it.
  case biometryCurrentSet
}
