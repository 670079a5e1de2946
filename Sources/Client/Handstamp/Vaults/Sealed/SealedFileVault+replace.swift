public import HandstampCore
import HandstampSupport

/// Writes, while holding the store lock.
extension SealedFileVault {
  /// The stored file, as found while holding the lock.
  private struct Found {
    var revision: UInt64
    /// `nil` if there is no file.
    var file: [UInt8]?
    var key: SealingKey?
    /// Whether there is a file that is not a valid vault.
    var isBroken = false
  }

  /// Replaces the file, waiting at most ten seconds for other writers.
  @concurrent public func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    guard let folder = try place.open(making: !entry.isEmpty) else { return .done }
    // Before the lock, so that a slow key store does not hold up other writers.
    try await key.find()
    let lock = try await VaultFolder.lock(in: folder, within: patience, isFirst: hasLost.take())
    defer { lock.unlock() }
    reached(.locked)
    if !entry.isEmpty { try await key.make(for: folder) }
    let found = try find(for: write, in: folder)
    guard found.revision == revision else {
      hasLost.withLock { $0 = true }
      guard let file = found.file, !found.isBroken else { return .lost(VaultEntry(revision: found.revision)) }
      return .lost(try open(file, key: found.key))
    }
    if entry.revision != revision {
      try self.write(entry, over: found, as: write, in: folder)
      if !entry.isEmpty { try place.confirm(folder) }
      if write == .signOut { try erase(in: folder) }
    } else if write == .signOut {
      try erase(alsoVault: found.isBroken, in: folder)
    } else {
      try confirm(revision, in: folder)
    }
    return .done
  }

  /// Looks at the header alone, which was authenticated when its entry was loaded, unless a broken file may be replaced.
  private func find(for write: VaultWrite, in folder: PosixFile) throws(VaultError) -> Found {
    guard let file = try load(in: folder) else { return Found(revision: notedRevision(in: folder)) }
    let key = try sealingKey(in: folder)
    do throws(VaultError) {
      if write.replacesCorruptContent { _ = try open(file, key: key) }
      let header = try SealedFormat.Header(file)
      return Found(revision: header.revision, file: file, key: try header.matching(key))
    } catch {
      guard error == .corrupt, write.replacesCorruptContent else { throw error }
      let stated = (try? SealedFormat.Header(file).revision) ?? 0
      let revision = max(notedRevision(in: folder), SealedFileVault.isPlausible(stated) ? stated : 0)
      return Found(revision: revision, file: file, key: key, isBroken: true)
    }
  }

  /// Replaces the file atomically and durably.
  private func write(
    _ new: VaultEntry, over found: Found, as write: VaultWrite, in folder: PosixFile
  ) throws(VaultError) {
    let names = try folder.names()
    // Such files are created only under the lock held here, so these were left behind by processes that died.
    for name in names where name.hasSuffix(VaultFiles.partialEnding) { try folder.remove(name) }
    // A sender that died has left it.
    if new.session == nil { try? folder.remove(files.attempt) }
    if new.isEmpty { return try removeVault(noting: new.revision, in: folder) }
    place.excludeFromBackups(folder, names: names)
    let key =
      if let key = found.key { key } else { try key.settle(for: folder, isNeeded: VaultFiles.needKey(names)) }
    let sealed = try SealedFormat.seal(new, account: account, key: key)
    if write == .attempt { try keepRoom(beside: sealed.count, in: folder) }
    do throws(VaultError) {
      // A second name for the broken file rather than a rename: there is no instant without a vault file.
      let aside = found.isBroken ? files.freeAside(among: names) : nil
      try put(sealed, aside: aside, mayUseRoom: write == .response || write.endsSession, in: folder)
    } catch {
      guard write.endsSession else { throw error }
      // The secrets must go in any case. That frees space for the tombstone.
      try removeVault(noting: new.revision, in: folder)
      do throws(VaultError) {
        try put(sealed, in: folder)
      } catch {
        throw error.adding("nothing is stored any more, not even the session's end")
      }
    }
    reached(.replaced)
    if new.session == nil {
      try? folder.remove(files.room)
    } else if write != .attempt {
      try? keepRoom(beside: sealed.count, in: folder)
    }
    try sync(folder, at: new.revision)
    reached(.durable)
  }

  /// Writes a new file in the vault's place, falling back to the reserve.
  private func put(
    _ sealed: [UInt8], aside: String? = nil, mayUseRoom: Bool = false, in folder: PosixFile
  ) throws(VaultError) {
    let partial = VaultFiles.newPartial()
    do throws(VaultError) {
      try write(sealed, to: folder.create(partial))
      try replace(by: partial, aside: aside, in: folder)
    } catch {
      try? folder.remove(partial)
      guard mayUseRoom, let room = try? folder.open(files.room, flags: O_WRONLY), let status = try? room.status(),
        status.isRegular, status.size >= sealed.count
      else { throw error }
      try write(sealed, to: room)
      try replace(by: files.room, aside: aside, in: folder)
    }
  }

  private func replace(by written: String, aside: String?, in folder: PosixFile) throws(VaultError) {
    if let aside, try !folder.link(files.vault, as: aside) {
      throw .unavailable("the damaged vault could not be set aside")
    }
    try folder.rename(written, to: files.vault)
  }

  private func write(_ sealed: [UInt8], to file: PosixFile) throws(VaultError) {
    try file.write(sealed, attempt: "writing the vault")
    if try file.status().size > sealed.count { try file.truncate(to: sealed.count, attempt: "writing the vault") }
    reached(.written)
    try file.sync(attempt: "syncing the vault")
    reached(.synced)
  }

  /// Reserves space to replace a file of `count` bytes: twice as many, and at least 16 KiB.
  private func keepRoom(beside count: Int, in folder: PosixFile) throws(VaultError) {
    let needed = max(16 << 10, 2 * count)
    if let status = try folder.open(files.room, flags: O_RDONLY)?.status(), status.isRegular, status.size >= needed {
      return
    }
    try folder.replace(
      files.room, with: VaultFiles.filling(needed), partial: VaultFiles.newPartial(), content: "the reserve for tokens")
  }

  /// Removes the reserve. A folder in its place holds no session data, and does not keep a session from ending.
  private func removeRoom(in folder: PosixFile) throws(VaultError) {
    do throws(VaultError) { try folder.remove(files.room) } catch {
      guard let status = try? folder.open(files.room, flags: O_RDONLY)?.status(), !status.isRegular else { throw error }
    }
  }

  private func removeVault(noting revision: UInt64, in folder: PosixFile) throws(VaultError) {
    let isNoted = note(revision, in: folder)
    try removeRoom(in: folder)
    try folder.remove(files.vault)
    // On a full disk, removing the file frees space for the note.
    if !isNoted { _ = note(revision, in: folder) }
    try sync(folder)
  }

  /// Removes everything that was set aside, and unfinished files of processes that died, as part of a sign-out.
  private func erase(alsoVault: Bool = false, in folder: PosixFile) throws(VaultError) {
    for name in try folder.names() {
      if name == files.room { try removeRoom(in: folder) }
      let isLeftOver = files.isAside(name) || name.hasSuffix(VaultFiles.partialEnding)
      if isLeftOver || alsoVault && name == files.vault { try folder.remove(name) }
    }
    try sync(folder)
  }
}

/// The last revision of an account without a file, so that its next one is higher. Failures are ignored.
extension SealedFileVault {
  private func note(_ revision: UInt64, in folder: PosixFile) -> Bool {
    do throws(VaultError) {
      let file = try folder.openOrCreate(files.flightLock)
      try file.write(revision.octets, attempt: "noting a revision")
      try file.sync(attempt: "noting a revision")
      return true
    } catch {
      return false
    }
  }

  func notedRevision(in folder: PosixFile) -> UInt64 {
    let bytes = try? folder.open(files.flightLock, flags: O_RDONLY)?.readAll(limit: 8)
    let revision = bytes.flatMap { UInt64(octets: $0) } ?? 0
    return SealedFileVault.isPlausible(revision) ? revision : 0
  }

  /// No vault is written this often: such a number is damage, and the next one must not overflow.
  private static func isPlausible(_ revision: UInt64) -> Bool { revision < 1 << 62 }
}
