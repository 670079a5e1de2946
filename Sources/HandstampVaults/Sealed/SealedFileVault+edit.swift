import HandstampCore

import HandstampSupport

/// Edits, applied while holding the store lock.
extension SealedFileVault {
  /// The stored entry, as found while holding the lock.
  private struct Found {
    var entry: VaultEntry
    var key: SealingKey?
    /// Whether there is a file that is not a valid vault.
    var isBroken = false
  }

  func apply(_ edit: VaultEdit, in folder: PosixFile) throws(VaultError) -> VaultOutcome {
    let found = try find(for: edit, in: folder)
    switch edit.applied(to: found.entry) {
    case .conflict: return .conflict(found.entry)
    case .unchanged:
      if case .endWhatever = edit.plain {
        try erase(alsoVault: found.isBroken, in: folder)
      } else {
        // The stored entry may come from a process that died before it could sync.
        try sync(folder)
      }
      return .done(found.entry)
    case .write(let new):
      try write(new, over: found, by: edit, in: folder)
      if !new.isEmpty { try place.confirm(folder) }
      if case .endWhatever = edit.plain { try erase(in: folder) }
      return .done(new)
    }
  }

  private func find(for edit: VaultEdit, in folder: PosixFile) throws(VaultError) -> Found {
    guard let file = try load(in: folder) else {
      return Found(entry: VaultEntry(revision: notedRevision(in: folder)))
    }
    let key = try key.load(for: folder)
    do throws(VaultError) {
      return Found(entry: try open(file, key: key), key: key)
    } catch {
      guard error == .corrupt, edit.replacesCorruptContent else { throw error }
      let stated = (try? SealedFormat.Header(file).revision) ?? 0
      let revision = max(notedRevision(in: folder), SealedFileVault.isPlausible(stated) ? stated : 0)
      return Found(entry: VaultEntry(revision: revision), key: key, isBroken: true)
    }
  }

  /// Replaces the file atomically and durably.
  private func write(
    _ new: VaultEntry, over found: Found, by edit: VaultEdit, in folder: PosixFile
  ) throws(VaultError) {
    let names = try folder.names()
    // Such files are created only under the lock held here, so these were left behind by processes that died.
    for name in names where name.hasSuffix(VaultFiles.partialEnding) { try folder.remove(name) }
    if new.isEmpty { return try removeVault(noting: new.revision, in: folder) }
    place.excludeFromBackups(folder, names: names)
    let key =
      if let key = found.key { key } else { try key.settle(for: folder, isNeeded: VaultFiles.needKey(names)) }
    let sealed = try SealedFormat.seal(new, account: account, key: key)
    if edit.announcesAttempt { try keepRoom(beside: sealed.count, in: folder) }
    do throws(VaultError) {
      // A second name for the broken file rather than a rename: there is no instant without a vault file.
      let aside = found.isBroken ? files.freeAside(among: names) : nil
      try put(sealed, aside: aside, mayUseRoom: edit.mayUseRoom, in: folder)
    } catch {
      guard edit.endsSession else { throw error }
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
    } else if !edit.announcesAttempt {
      try? keepRoom(beside: sealed.count, in: folder)
    }
    try sync(folder)
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
    let bytes = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: revision >> $0) }
    do throws(VaultError) {
      let file = try folder.openOrCreate(files.flightLock)
      try file.write(bytes, attempt: "noting a revision")
      try file.sync(attempt: "noting a revision")
      return true
    } catch {
      return false
    }
  }

  private func notedRevision(in folder: PosixFile) -> UInt64 {
    guard let bytes = try? folder.open(files.flightLock, flags: O_RDONLY)?.readAll(limit: 8), bytes.count == 8 else {
      return 0
    }
    let revision = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    return SealedFileVault.isPlausible(revision) ? revision : 0
  }

  /// No vault is written this often: such a number is damage, and the next one must not overflow.
  private static func isPlausible(_ revision: UInt64) -> Bool { revision < 1 << 62 }
}
