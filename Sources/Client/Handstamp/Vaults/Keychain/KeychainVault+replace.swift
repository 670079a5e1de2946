public import HandstampCore
import HandstampSupport

/// Writes, while holding the store lock.
extension KeychainVault {
  /// Replaces the entry, waiting at most ten seconds for other writers.
  @concurrent public func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    let folder = try openFolder()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10), isFirst: hasLost.take())
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
    // Only an item of the former group is left, which could not be removed.
    if let item = own.first, let here = try? KeychainFormat.decode(item.data, account: account), here == entry {
      removeFormer(found.items)
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
      try self.write(new, to: refreshKey, class: refreshClass, former: here, begins: write == .begin)
    } catch {
      // The tombstone needs space. If there is none, the secrets are removed anyway, which may free enough.
      guard write.endsSession, error != .locked, (try? remove(refreshKey)) != nil else { throw error }
      do throws(VaultError) {
        try self.write(new, to: refreshKey, class: refreshClass, former: [], begins: true)
      } catch {
        throw error.adding("nothing is stored any more, not even the session's end")
      }
    }
    let former = removeFormer(found.items)
    guard let session = new.session, session.access != nil else { return }
    if session.access == found.entry.session?.access, former.isEmpty { return }
    // Failures are ignored: the copy may lag, and the authoritative item is stored.
    try? self.write(
      VaultEntry(revision: new.revision, session: session.withAccessOnly), to: accessKey, class: .accessToken,
      former: [], begins: true)
  }

  /// After a move to another access group, items in the former group have an older revision.
  @discardableResult
  private func removeFormer(_ items: [KeychainItem]) -> Set<String> {
    let former = Set(items.compactMap(\.group)).filter { accessGroup != nil && $0 != accessGroup }
    for group in former.sorted() {
      try? remove(accessKey, group: group)
      try? remove(refreshKey, group: group)
    }
    return former
  }

  /// Renames the broken item to the first free name.
  private func setAside() throws(VaultError) {
    for number in 1...KeychainVault.asideLimit {
      let status = keychain.update(refreshKey, group: nil, with: KeychainChange(account: asideKey(number).account))
      if status == .duplicateItem { continue }
      if status != .itemNotFound, let trouble = status.trouble { throw trouble }
      return
    }
    throw .unavailable("too many damaged keychain items are set aside")
  }

  /// Removes everything that was set aside, as part of a sign-out.
  private func erase(alsoVault: Bool) throws(VaultError) {
    for number in 1...KeychainVault.asideLimit {
      let status = keychain.delete(asideKey(number), group: nil)
      if status == .itemNotFound { break }
      if let trouble = status.trouble { throw trouble }
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
