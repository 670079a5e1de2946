/// The four calls of a keychain for generic passwords, with nothing decided: `SecItemAdd`, `SecItemCopyMatching`,
/// `SecItemUpdate`, `SecItemDelete`. Everything that a vault decides is above, and runs on every system.
package protocol Keychain: Sendable {
  /// Makes an item. ``KeychainStatus/duplicateItem`` when there is one of that key in that group.
  func add(_ item: KeychainItem) -> KeychainStatus
  /// Every item of that key, in whatever access group the program may see, or in `group` alone.
  func copy(_ key: KeychainKey, group: String?) -> Result<[KeychainItem], KeychainStatus>
  /// Changes every item of that key, in one step each.
  func update(_ key: KeychainKey, group: String?, with change: KeychainChange) -> KeychainStatus
  /// Removes every item of that key.
  func delete(_ key: KeychainKey, group: String?) -> KeychainStatus
}

/// What finds an item: `kSecAttrService` and `kSecAttrAccount`.
package struct KeychainKey: Sendable, Hashable {
  package var service: String
  package var account: String

  package init(service: String, account: String) {
    self.service = service
    self.account = account
  }
}

/// An item as it is kept.
package struct KeychainItem: Sendable, Hashable {
  package var key: KeychainKey
  /// `kSecAttrAccessGroup`; nothing, when it is added: the program's default group.
  package var group: String?
  /// `kSecAttrAccessible`; nothing for a level that this package never writes.
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

/// What an update changes; what is nothing stays.
package struct KeychainChange: Sendable, Hashable {
  package var data: [UInt8]?
  package var accessibility: KeychainAccessibility?
  /// A new `kSecAttrAccount`.
  package var account: String?

  package init(data: [UInt8]? = nil, accessibility: KeychainAccessibility? = nil, account: String? = nil) {
    self.data = data
    self.accessibility = accessibility
    self.account = account
  }
}
