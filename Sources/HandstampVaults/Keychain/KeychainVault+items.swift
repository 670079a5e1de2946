import HandstampCore

/// What is in the keychain, and what its silence means.
extension KeychainVault {
  /// The refresh items that were found; one, but for the move into another access group.
  struct Found {
    var entry: VaultEntry
    var items: [KeychainItem] = []
  }

  // Digests, as in file names: the keychain's attributes are less well protected than its data.
  private var name: String { VaultFiles.digest(of: account) }
  var refreshKey: KeychainKey { KeychainKey(service: service, account: name) }
  var accessKey: KeychainKey { KeychainKey(service: service + ".access", account: name) }
  private var canaryKey: KeychainKey { KeychainKey(service: service + ".canary", account: "canary") }
  var refreshClass: StorageClass { .refreshToken(inBackground: inBackground) }

  /// What is stored; an empty entry for a confirmed absence.
  func find() throws(VaultTrouble) -> Found {
    if let found = try look() { return found }
    try awaken()
    // The device may have been unlocked between the first look and the canary.
    return try look() ?? Found(entry: VaultEntry())
  }

  /// Nothing when the keychain says "not found", which is no answer yet.
  private func look() throws(VaultTrouble) -> Found? {
    let items: [KeychainItem]
    switch keychain.copy(refreshKey, group: nil) {
    case .success(let found): items = found
    case .failure(.itemNotFound): return nil
    case .failure(let status): throw status.trouble ?? .unavailable("the keychain answered nothing")
    }
    var newest: VaultEntry?
    var isBroken = false
    for item in items {
      do throws(VaultTrouble) {
        let entry = try KeychainFormat.decode(item.data, account: account)
        if newest.map({ $0.revision < entry.revision }) ?? true { newest = entry }
      } catch {
        // What a newer program wrote is the last word, whatever is beside it.
        guard error == .corrupt else { throw error }
        isBroken = true
      }
    }
    if let newest { return Found(entry: newest, items: items) }
    if isBroken { throw .corrupt }
    return nil
  }

  /// Returns when an item of the refresh item's class could be read just now; makes it where there is none.
  private func awaken() throws(VaultTrouble) {
    switch keychain.copy(canaryKey, group: nil) {
    case .success(let items) where !items.isEmpty: return
    case .success, .failure(.itemNotFound): break
    case .failure(let status): throw status.trouble ?? .unavailable("the keychain answered nothing")
    }
    let canary = KeychainItem(
      key: canaryKey, group: accessGroup, accessibility: refreshClass.accessibility, data: Array("canary".utf8))
    let status = keychain.add(canary)
    // "Not found", and yet it is there: the keychain does not show what it holds.
    if status == .duplicateItem { throw .locked }
    if let trouble = status.trouble { throw trouble }
    if case .failure(let status) = keychain.copy(canaryKey, group: nil) { throw status.trouble ?? .locked }
  }

  /// What serves while the refresh item is locked; nothing when there is no such thing.
  func readAccess() -> VaultReading? {
    guard case .success(let items) = keychain.copy(accessKey, group: nil) else { return nil }
    let entries = items.compactMap { try? KeychainFormat.decode($0.data, account: account) }
    guard let newest = entries.max(by: { $0.revision < $1.revision })?.session, let access = newest.access else {
      return nil
    }
    return .accessOnly(newest.id, newest.profile, access)
  }

  /// Updates the item, else adds it.
  ///
  /// - Parameters:
  ///   - former: how the item was kept; it is never kept less strictly, unless it `begins` a session.
  func write(
    _ entry: VaultEntry, to key: KeychainKey, class wanted: StorageClass, former: [KeychainItem], begins: Bool
  ) throws(VaultTrouble) {
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
      // Somebody who knows of no lock was quicker.
      if status == .duplicateItem { status = keychain.update(key, group: accessGroup, with: change) }
      if status == .itemNotFound { status = .duplicateItem }
    }
    if let trouble = status.trouble { throw trouble }
  }

  /// That there is nothing to remove is as good.
  func remove(_ key: KeychainKey, group: String? = nil) throws(VaultTrouble) {
    let status = keychain.delete(key, group: group)
    if status != .itemNotFound, let trouble = status.trouble { throw trouble }
  }
}
