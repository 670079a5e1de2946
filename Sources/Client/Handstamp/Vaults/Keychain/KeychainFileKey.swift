import HandstampCore

/// The key of the files beside the vaults of one keychain service: audit logs and queues. It is readable after the first
/// unlock, also where the session is not: the log records that the session is locked.
struct KeychainFileKey: VaultKeyStore {
  let vault: KeychainVault

  private static let level = KeychainAccessibility.afterFirstUnlockThisDeviceOnly
  private var key: KeychainKey { KeychainKey(service: vault.service + ".audit", account: "key") }

  @concurrent func load() async throws(VaultError) -> Secret? {
    if let found = try look() { return found }
    try vault.awaken(KeychainFileKey.level)
    return try look()
  }

  /// Returns `nil` if the keychain reports "not found", which is not conclusive.
  private func look() throws(VaultError) -> Secret? {
    var items = try vault.keychain.items(key)
    defer { for index in items.indices { wipe(&items[index].data) } }
    let own = items.firstIndex { $0.group == vault.accessGroup } ?? items.indices.first
    return own.map { Secret(bytes: items[$0].data[...]) }
  }

  @concurrent func store(_ secret: Secret) async throws(VaultError) {
    var data = secret.withExposedBytes { Array($0) }
    defer { wipe(&data) }
    let item = KeychainItem(key: key, group: vault.accessGroup, accessibility: KeychainFileKey.level, data: data)
    // Another program was faster: its key counts.
    try vault.keychain.add(item).check(accepting: .duplicateItem)
  }
}

extension KeychainVault {
  /// For files beside the vault: the folder of the locks, with a key in a keychain item of its own, one per service. It holds
  /// no session.
  package var fileVault: SealedFileVault {
    let key = ManagedVaultKey(in: KeychainFileKey(vault: self))
    return SealedFileVault(folder: folder, account: account, key: .managed(by: key))
  }
}
