import HandstampCore

/// The items in the keychain, and the meaning of "not found".
extension KeychainVault {
  /// The refresh items found: one, except during the move to another access group.
  struct Found {
    var entry: VaultEntry
    var items: [KeychainItem] = []
  }

  // Digests, as in file names: the keychain's attributes are less well protected than its data.
  private var name: String { VaultFiles.digest(of: account) }
  var refreshKey: KeychainKey { KeychainKey(service: service, account: name) }
  var accessKey: KeychainKey { KeychainKey(service: service + ".access", account: name) }
  var refreshClass: StorageClass { .refreshToken(inBackground: inBackground) }

  /// Returns the stored entry, or an empty one if its absence is confirmed.
  func find() throws(VaultError) -> Found {
    if let found = try look() { return found }
    // A session that began before `inBackground` was switched on is still stricter: no other canary vouches for it.
    let stricter = StorageClass.refreshToken(inBackground: false).accessibility
    if inBackground { _ = try keychain.items(canaryKey(stricter)) }
    try awaken(refreshClass.accessibility)
    // The device may have been unlocked between the first look and the canary.
    return try look() ?? Found(entry: VaultEntry())
  }

  /// Returns `nil` if the keychain reports "not found", which is not conclusive.
  private func look() throws(VaultError) -> Found? {
    let items = try keychain.items(refreshKey)
    var entries: [VaultEntry] = []
    var isBroken = false
    for item in items {
      do throws(VaultError) {
        entries.append(try KeychainFormat.decode(item.data, account: account))
      } catch {
        // An entry from a newer program takes precedence over all others.
        guard error == .corrupt else { throw error }
        isBroken = true
      }
    }
    entries.sort { $0.revision > $1.revision }
    if var entry = entries.first {
      // In several groups, as after a downgrade: neither hides what is newer in the other.
      for other in entries.dropFirst() { entry.receive(other, isOlder: true) }
      return Found(entry: entry, items: items)
    }
    if isBroken { throw .corrupt }
    return nil
  }

  private func canaryKey(_ level: KeychainAccessibility) -> KeychainKey {
    KeychainKey(service: service + ".canary", account: level.rawValue)
  }

  /// Confirms that an item of this level is readable now, creating one if there is none.
  func awaken(_ level: KeychainAccessibility) throws(VaultError) {
    let key = canaryKey(level)
    guard try keychain.items(key).isEmpty else { return }
    let canary = KeychainItem(key: key, group: accessGroup, accessibility: level, data: Array("canary".utf8))
    let status = keychain.add(canary)
    // "Not found", yet it exists: the keychain hides its items.
    if status == .duplicateItem { throw .locked }
    if let trouble = status.trouble { throw trouble }
    if let trouble = keychain.copy(key, group: nil).status.trouble { throw trouble }
  }

  /// Returns the access item, used while the refresh item is locked, or `nil` if there is none.
  func readAccess() -> VaultReading? {
    let entries = keychain.copy(accessKey, group: nil).items.compactMap {
      try? KeychainFormat.decode($0.data, account: account)
    }
    guard let newest = entries.max(by: { $0.revision < $1.revision })?.session, newest.access != nil else { return nil }
    return .accessOnly(newest.withAccessOnly)
  }

  /// Updates the item, or adds it if missing.
  ///
  /// - Parameter former: The stored items. Their protection is never weakened, unless this write `begins` a session.
  func write(
    _ entry: VaultEntry, to key: KeychainKey, class wanted: StorageClass, former: [KeychainItem], begins: Bool
  ) throws(VaultError) {
    var data = KeychainFormat.encode(entry, account: account)
    defer { wipe(&data) }
    let level =
      begins
      ? wanted.accessibility
      : former.compactMap(\.accessibility).reduce(wanted.accessibility) { $0.joined(with: $1) }
    let isKept = !former.isEmpty && former.allSatisfy { $0.accessibility == level }
    let change = KeychainChange(data: data, accessibility: isKept ? nil : level)
    var status = keychain.update(key, group: accessGroup, with: change)
    if status == .itemNotFound {
      status = keychain.add(KeychainItem(key: key, group: accessGroup, accessibility: level, data: data))
      // Another program added it without taking the lock.
      if status == .duplicateItem { status = keychain.update(key, group: accessGroup, with: change) }
      if status == .itemNotFound { status = .duplicateItem }
    }
    if let trouble = status.trouble { throw trouble }
  }

  /// Removes the item if it exists.
  func remove(_ key: KeychainKey, group: String? = nil) throws(VaultError) {
    let status = keychain.delete(key, group: group)
    if status != .itemNotFound, let trouble = status.trouble { throw trouble }
  }
}
