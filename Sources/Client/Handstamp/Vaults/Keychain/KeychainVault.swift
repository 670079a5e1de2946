public import HandstampCore
import HandstampSupport

/// Keeps an account's secrets in the keychain of Apple platforms: the data-protection keychain, never the file-based
/// one of macOS, and never synchronized to other devices.
///
/// | item | content | readable |
/// |---|---|---|
/// | refresh item | the complete entry, authoritative | while the device is unlocked; with `inBackground`, as the access item |
/// | access item | session, profile, access token or cookies: a copy that may lag | after the first unlock since start-up |
/// | canaries, one for each level | no data of the account | whenever an item of that level is |
///
/// - Both items are bound to this device.
/// - While the refresh item is locked, the access item is used alone (``VaultReading/accessOnly(_:)``).
/// - "Not found" alone is not conclusive: before the first unlock the system may report it for existing items. The
///   vault counts as empty only once the canary of its level could be read or created and a second look found no item.
/// - An item is updated, or added if missing: there is no moment without the token. An update strengthens protection
///   that is too weak, and never weakens it; a new sign-in sets the level configured for the vault.
/// - Broken items are ``VaultError/corrupt``. The next sign-in renames them; only a sign-out removes them. Items in
///   another format are ``VaultError/newerFormat(_:)`` and are never touched.
/// - An item found in another access group, because the app did not share one before, moves to this vault's group with
///   the next read or write. Of items in several groups, neither hides what is newer in another.
/// - Reinstalling the app erases nothing: keychain items outlive the app, and so does the session.
///
/// Lock files and a file that signals changes are kept in a folder of the app's choice; they contain no secrets. An app
/// and its extensions use a folder in their group container. A keychain cannot sync writes on demand: a write counts as
/// durable once the keychain reports success.
public struct KeychainVault: Vault {
  /// The absolute path of the folder for lock files and signals.
  package let folder: String
  package let account: AccountID
  /// The access group of the items; `nil` uses the program's default group.
  package let accessGroup: String?
  let service: String
  let inBackground: Bool
  let keychain: any Keychain
  let files: VaultFiles
  /// As ``SealedFileVault/hasLost``.
  let hasLost = Locked(false)

  package init(
    _ keychain: any Keychain, service: String, account: AccountID, folder: String, accessGroup: String? = nil,
    inBackground: Bool = false
  ) {
    self.keychain = keychain
    self.service = service
    self.account = account
    self.folder = folder
    self.accessGroup = accessGroup
    self.inBackground = inBackground
    files = VaultFiles(account: account)
  }

  /// Reads the entry without taking a lock.
  @concurrent public func load() async -> VaultReading {
    do throws(VaultError) {
      var found = try find()
      // Programs that have only the group must find it there. If that fails now, it may succeed at the next read.
      if found.items.contains(where: { accessGroup != nil && $0.group != accessGroup }),
        let moved = try? await gathered()
      {
        found = moved
      }
      if found.items.isEmpty, let folder = try? PosixFile.folder(folder) {
        found.entry.revision = notedRevision(in: folder)
      }
      return .value(found.entry)
    } catch {
      return (error == .locked ? readAccess() : nil) ?? .trouble(error)
    }
  }

  /// Takes one of the account's locks; see ``SealedFileVault/lock(_:within:)``.
  @concurrent public func lock(
    _ kind: VaultLockKind, within limit: Duration
  ) async throws(VaultError) -> any VaultLock {
    try await LockFile.flight(files.lock(kind), in: openFolder(), at: folder, within: limit)
  }

  /// Opens the folder. It holds no stored data, so a missing one, emptied by the system perhaps, is created again.
  func openFolder() throws(VaultError) -> PosixFile { try VaultFolder(folder).openOrMake() }

  /// Yields after every write to this account, including this process's own.
  public func changes() -> AsyncStream<Void> { FileWatch.changes(of: files.signal, in: folder) }
}

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
    try status.check()
    try keychain.copy(key, group: nil).status.check()
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
  /// - Parameter previous: The stored items. Their protection is never weakened, unless this write `begins` a session.
  func write(
    _ entry: VaultEntry, to key: KeychainKey, class wanted: StorageClass, previous: [KeychainItem], begins: Bool
  ) throws(VaultError) {
    var data = KeychainFormat.encode(entry, account: account)
    defer { wipe(&data) }
    let level =
      begins
      ? wanted.accessibility
      : previous.compactMap(\.accessibility).reduce(wanted.accessibility) { $0.joined(with: $1) }
    let isKept = !previous.isEmpty && previous.allSatisfy { $0.accessibility == level }
    let change = KeychainChange(data: data, accessibility: isKept ? nil : level)
    var status = keychain.update(key, group: accessGroup, with: change)
    if status == .itemNotFound {
      status = keychain.add(KeychainItem(key: key, group: accessGroup, accessibility: level, data: data))
      // Another program added it without taking the lock.
      if status == .duplicateItem { status = keychain.update(key, group: accessGroup, with: change) }
      if status == .itemNotFound { status = .duplicateItem }
    }
    try status.check()
  }

  /// Removes the item if it exists.
  func remove(_ key: KeychainKey, group: String? = nil) throws(VaultError) {
    try keychain.delete(key, group: group).check(accepting: .itemNotFound)
  }
}

/// Writes, while holding the store lock.
extension KeychainVault {
  /// Replaces the entry, waiting at most ten seconds for other writers.
  @concurrent public func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    let folder = try openFolder()
    let isFirst = hasLost.withLock { exchange(&$0, with: false) }
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10), isFirst: isFirst)
    defer { lock.unlock() }
    var isBroken = false
    var found: Found
    do throws(VaultError) {
      found = try find()
    } catch {
      guard error == .corrupt, write.replacesCorruptContent else { throw error }
      isBroken = true
      found = Found(entry: VaultEntry())
    }
    if found.items.isEmpty { found.entry.revision = notedRevision(in: folder) }
    guard found.entry.revision == revision else {
      hasLost.withLock { $0 = true }
      return .lost(found.entry)
    }
    if entry.revision != revision {
      if isBroken { try setAside() }
      try self.write(entry, over: found, as: write)
      if write == .signOut { try erase(alsoVault: false) }
      if entry.session == nil { try? folder.remove(files.attempt) }
      signal(entry.revision, in: folder)
    } else if write == .signOut {
      try erase(alsoVault: isBroken)
    }
    return .done
  }

  /// Moves the items to the vault's group, without a change of their content.
  func gathered() async throws(VaultError) -> Found {
    let folder = try openFolder()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    var found = try find()
    let own = found.items.filter { $0.group == accessGroup }
    guard own.count < found.items.count else { return found }
    var entry = found.entry
    // Only an item of the previous group is left, which could not be removed.
    if let item = own.first, let here = try? KeychainFormat.decode(item.data, account: account), here == entry {
      removePrevious(found.items)
      return found
    }
    entry.revision += 1
    try write(entry, over: found, as: .ordinary)
    signal(entry.revision, in: folder)
    found.entry = entry
    return found
  }

  /// Writes the items in an order that guarantees two things: the access item never shows a session that is not in the
  /// refresh item, and there is a refresh item at every instant.
  private func write(_ new: VaultEntry, over found: Found, as write: VaultWrite) throws(VaultError) {
    if new.isEmpty {
      try remove(accessKey)
      return try remove(refreshKey)
    }
    if found.entry.session?.id != new.session?.id || new.session?.access == nil { try remove(accessKey) }
    do throws(VaultError) {
      let here = found.items.filter { accessGroup == nil || $0.group == accessGroup }
      try self.write(new, to: refreshKey, class: refreshClass, previous: here, begins: write == .begin)
    } catch {
      // The tombstone needs space. If there is none, the secrets are removed anyway, which may free enough.
      guard write.endsSession, error != .locked, (try? remove(refreshKey)) != nil else { throw error }
      do throws(VaultError) {
        try self.write(new, to: refreshKey, class: refreshClass, previous: [], begins: true)
      } catch {
        throw error.adding("nothing is stored any more, not even the session's end")
      }
    }
    let previous = removePrevious(found.items)
    guard let session = new.session, session.access != nil else { return }
    if session.access == found.entry.session?.access, previous.isEmpty { return }
    // Failures are ignored: the copy may lag, and the authoritative item is stored.
    try? self.write(
      VaultEntry(revision: new.revision, session: session.withAccessOnly), to: accessKey, class: .accessToken,
      previous: [], begins: true)
  }

  /// After a move to another access group, items in the previous group have an older revision.
  @discardableResult
  private func removePrevious(_ items: [KeychainItem]) -> Set<String> {
    let previous = Set(items.compactMap(\.group)).filter { accessGroup != nil && $0 != accessGroup }
    for group in previous.sorted() {
      try? remove(accessKey, group: group)
      try? remove(refreshKey, group: group)
    }
    return previous
  }

  /// Renames the broken item to the first free name.
  private func setAside() throws(VaultError) {
    for number in 1...KeychainVault.asideLimit {
      let status = keychain.update(refreshKey, group: nil, with: KeychainChange(account: asideKey(number).account))
      if status == .duplicateItem { continue }
      return try status.check(accepting: .itemNotFound)
    }
    throw .unavailable("too many damaged keychain items are set aside")
  }

  /// Removes everything that was set aside, as part of a sign-out.
  private func erase(alsoVault: Bool) throws(VaultError) {
    for number in 1...KeychainVault.asideLimit {
      let status = keychain.delete(asideKey(number), group: nil)
      if status == .itemNotFound { break }
      try status.check()
    }
    guard alsoVault else { return }
    try remove(accessKey)
    try remove(refreshKey)
  }

  private static let asideLimit = 100

  private func asideKey(_ number: Int) -> KeychainKey {
    KeychainKey(service: service, account: "\(refreshKey.account).corrupt-\(number)")
  }
}

/// The signal file. It is replaced after every write, for others to watch, and holds the revision. Failures are
/// ignored: the entry itself is already stored.
extension KeychainVault {
  private func signal(_ revision: UInt64, in folder: PosixFile) {
    // Created only under the store lock.
    let partial = files.signal + VaultFiles.partialEnding
    try? folder.remove(partial)
    do throws(VaultError) {
      try folder.create(partial).write(revision.octets, attempt: "signalling a change")
      try folder.rename(partial, to: files.signal)
    } catch {
      try? folder.remove(partial)
    }
  }

  func notedRevision(in folder: PosixFile) -> UInt64 {
    let bytes = try? folder.open(files.signal, flags: O_RDONLY)?.readAll(limit: 8)
    return bytes.flatMap { UInt64(octets: $0) } ?? 0
  }
}
