package import HandstampCore

/// A vault key in a keychain, for programs whose vaults are sealed files. The login keychain of macOS asks the user before it
/// answers another build of the program, so each call has a thread of its own.
package struct KeychainVaultKey: VaultKeyCopy {
  private let keychain: any Keychain
  private let key: KeychainKey

  /// - Parameter name: The name of the item. Use one per folder of vaults.
  package init(_ keychain: any Keychain, name: String) {
    self.keychain = keychain
    key = KeychainKey(service: "org.handstamp.VaultKey", account: name)
  }

  @concurrent package func load() async throws(VaultError) -> Secret? {
    try await onOwnThread { [keychain, key] () throws(VaultError) -> Secret? in
      guard var data = try keychain.items(key).first?.data else { return nil }
      defer { wipe(&data) }
      return Secret(bytes: data[...])
    }
  }

  @concurrent package func store(_ key: Secret) async throws(VaultError) {
    try await onOwnThread { [keychain, place = self.key] in
      var data = key.withExposedBytes { Array($0) }
      defer { wipe(&data) }
      return keychain.add(
        KeychainItem(key: place, group: nil, accessibility: .afterFirstUnlockThisDeviceOnly, data: data))
    }.check()
  }

  @concurrent package func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError) {
    try await onOwnThread { [keychain, key] in keychain.delete(key, group: nil) }.check(accepting: .itemNotFound)
  }
}
