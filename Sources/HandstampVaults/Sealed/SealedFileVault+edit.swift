import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What happens under the store lock.
extension SealedFileVault {
  /// What was found under the lock.
  private struct Found {
    var entry: VaultEntry
    var key: SealingKey?
    /// Whether there is a file that is no vault.
    var isBroken = false
  }

  func apply(_ edit: VaultEdit, in folder: PosixFile) throws(VaultTrouble) -> VaultOutcome {
    let found = try find(for: edit, in: folder)
    switch edit.applied(to: found.entry) {
    case .conflict: return .conflict(found.entry)
    case .unchanged:
      if case .endWhatever = edit.plain {
        try erase(alsoVault: found.isBroken, in: folder)
      } else {
        // What holds already was perhaps written by a process that died before it could sync.
        try sync(folder)
      }
      return .done(found.entry)
    case .write(let new):
      try write(new, over: found, ending: edit.endsSession, in: folder)
      if case .endWhatever = edit.plain { try erase(in: folder) }
      return .done(new)
    }
  }

  private func find(for edit: VaultEdit, in folder: PosixFile) throws(VaultTrouble) -> Found {
    guard let file = try load(in: folder) else {
      return Found(entry: VaultEntry(revision: notedRevision(in: folder)))
    }
    let key = try key.load(for: folder)
    do throws(VaultTrouble) {
      return Found(entry: try open(file, key: key), key: key)
    } catch {
      guard error == .corrupt, edit.replacesCorruptContent else { throw error }
      let revision = max(notedRevision(in: folder), (try? SealedFormat.Header(file).revision) ?? 0)
      return Found(entry: VaultEntry(revision: revision), key: key, isBroken: true)
    }
  }

  /// Replaces the file in one step, durably.
  private func write(
    _ new: VaultEntry, over found: Found, ending: Bool, in folder: PosixFile
  ) throws(VaultTrouble) {
    let names = try folder.names()
    // Such files are only ever made under the lock that is held now: these are of processes that died.
    for name in names where name.hasSuffix(VaultFiles.partialEnding) { try folder.remove(name) }
    if new.isEmpty { return try removeVault(noting: new.revision, in: folder) }
    excludeFromBackups(folder, names: names)
    let isAnyVault = names.contains { $0.hasSuffix(VaultFiles.vaultEnding) }
    let key = if let key = found.key { key } else { try key.settle(for: folder, isNeeded: isAnyVault) }
    let sealed = try SealedFormat.seal(new, account: account, key: key)
    let partial = "\(UInt64.random(in: 0 ... .max))\(VaultFiles.partialEnding)"
    do throws(VaultTrouble) {
      let file = try folder.create(partial)
      try file.write(sealed, attempt: "writing the vault")
      reached(.written)
      try file.sync(attempt: "syncing the vault")
      reached(.synced)
      // A second name for the broken file, not another one: there is no instant without a vault.
      if found.isBroken, try !folder.link(files.vault, as: files.freeAside(among: names)) {
        throw .unavailable("the broken vault could not be set aside")
      }
      try folder.rename(partial, to: files.vault)
      reached(.replaced)
    } catch {
      try? folder.remove(partial)
      // The end of a session needs room for a tombstone. Where there is none, the secrets go all the same.
      guard ending, (try? removeVault(noting: new.revision, in: folder)) != nil else { throw error }
      return
    }
    try sync(folder)
    reached(.durable)
  }

  private func removeVault(noting revision: UInt64, in folder: PosixFile) throws(VaultTrouble) {
    let isNoted = note(revision, in: folder)
    try folder.remove(files.vault)
    // On a full disk the file's removal makes room for the note.
    if !isNoted { _ = note(revision, in: folder) }
    try sync(folder)
  }

  /// A sign-out leaves nothing that was set aside either, nor what a process that died had begun to write.
  private func erase(alsoVault: Bool = false, in folder: PosixFile) throws(VaultTrouble) {
    for name in try folder.names() {
      let isLeftOver = files.isAside(name) || name.hasSuffix(VaultFiles.partialEnding)
      if isLeftOver || alsoVault && name == files.vault { try folder.remove(name) }
    }
    try sync(folder)
  }
}

/// The last revision of an account that has no file, so that its next one is higher. Worth trying, not worth failing for.
extension SealedFileVault {
  private func note(_ revision: UInt64, in folder: PosixFile) -> Bool {
    let bytes = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: revision >> $0) }
    do throws(VaultTrouble) {
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
    return bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
