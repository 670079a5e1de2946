/// A keychain that also keeps items which are handed out only to a person who is there, with nothing decided.
package protocol ProtectedKeychain: Keychain {
  /// Makes an item that is protected by access control (`SecAccessControlCreateWithFlags`).
  func add(_ item: KeychainItem, access: KeychainAccess) -> KeychainStatus
  /// Asks the person, and hands the item's data out. Blocks until they have answered.
  func copy(_ key: KeychainKey, asking reason: String) -> Result<[UInt8], KeychainStatus>
  /// Looks for the item and asks nobody: ``KeychainStatus/interactionNotAllowed`` when it is there.
  func find(_ key: KeychainKey) -> KeychainStatus
}

/// Whom a protected item is handed out to.
package enum KeychainAccess: Sendable, Hashable {
  /// Whoever opens the device, by biometry or by passcode.
  case userPresence
  /// Whoever was enrolled for biometry when it was stored: a finger or a face that is added later makes it useless.
  case biometryCurrentSet
}
