import HandstampCore

/// The four keychain calls for generic passwords: `SecItemAdd`, `SecItemCopyMatching`, `SecItemUpdate`,
/// `SecItemDelete`. They make no decisions: those are in the vault, which runs on every platform.
package protocol Keychain: Sendable {
  /// Adds an item. Returns ``KeychainStatus/duplicateItem`` if the group already has one with that key.
  func add(_ item: KeychainItem) -> KeychainStatus
  /// Returns every item with this key, in all access groups available to the program or in `group` only.
  func copy(_ key: KeychainKey, group: String?) -> (status: KeychainStatus, items: [KeychainItem])
  /// Changes every item with this key, each atomically.
  func update(_ key: KeychainKey, group: String?, with change: KeychainChange) -> KeychainStatus
  /// Removes every item with this key.
  func delete(_ key: KeychainKey, group: String?) -> KeychainStatus
}

extension Keychain {
  /// Returns every item with this key; none also if the keychain reports "not found", which is not conclusive.
  func items(_ key: KeychainKey) throws(VaultError) -> [KeychainItem] {
    let (status, items) = copy(key, group: nil)
    try status.check(accepting: .itemNotFound)
    return items
  }
}

/// The attributes that identify an item: `kSecAttrService` and `kSecAttrAccount`.
package struct KeychainKey: Sendable, Hashable {
  package var service: String
  package var account: String
}

/// A stored item.
package struct KeychainItem: Sendable, Hashable {
  package var key: KeychainKey
  /// `kSecAttrAccessGroup`; `nil` when adding means the program's default group.
  package var group: String?
  /// `kSecAttrAccessible`; `nil` for a level that this package never writes.
  package var accessibility: KeychainAccessibility?
  /// `kSecValueData`.
  package var data: [UInt8]

  package init(key: KeychainKey, group: String?, accessibility: KeychainAccessibility?, data: [UInt8]) {
    self.key = key
    self.group = group
    self.accessibility = accessibility
    self.data = data
  }
}

/// An update; properties that are `nil` stay unchanged.
package struct KeychainChange: Sendable, Hashable {
  package var data: [UInt8]?
  package var accessibility: KeychainAccessibility?
  /// A new `kSecAttrAccount`.
  package var account: String?
}
