import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What happens under the store lock.
extension KeychainVault {
  func apply(_ edit: VaultEdit, in folder: PosixFile) throws(VaultTrouble) -> VaultOutcome {
    var isBroken = false
    var found: Found
    do throws(VaultTrouble) {
      found = try find()
    } catch {
      guard error == .corrupt, edit.replacesCorruptContent else { throw error }
      isBroken = true
      found = Found(entry: VaultEntry())
    }
    if found.items.isEmpty { found.entry.revision = notedRevision(in: folder) }
    switch edit.applied(to: found.entry) {
    case .conflict: return .conflict(found.entry)
    case .unchanged:
      if case .endWhatever = edit.plain { try erase(alsoVault: isBroken) }
      return .done(found.entry)
    case .write(let new):
      if isBroken { try setAside() }
      try write(new, over: found, edit)
      if case .endWhatever = edit.plain { try erase(alsoVault: false) }
      signal(new.revision, in: folder)
      return .done(new)
    }
  }

  /// The order matters: at no instant does the access item show a session that the refresh item does not hold, nor is there
  /// an instant without a refresh item.
  private func write(_ new: VaultEntry, over found: Found, _ edit: VaultEdit) throws(VaultTrouble) {
    if found.entry.session?.id != new.session?.id || new.session?.access == nil { try remove(accessKey) }
    do throws(VaultTrouble) {
      let isBeginning = if case .begin = edit.plain { true } else { false }
      let here = found.items.filter { accessGroup == nil || $0.group == accessGroup }
      try write(new, to: refreshKey, class: refreshClass, former: here, begins: isBeginning)
    } catch {
      // The end of a session needs room for a tombstone. Without it the secrets go all the same, and that may make it.
      guard edit.endsSession, error != .locked, (try? remove(refreshKey)) != nil else { throw error }
      do throws(VaultTrouble) {
        try write(new, to: refreshKey, class: refreshClass, former: [], begins: true)
      } catch {
        throw error.adding("nothing is stored any more, not even that the session is over")
      }
    }
    // It has moved: what lies in a former group is of an older revision.
    let former = Set(found.items.compactMap(\.group)).filter { accessGroup != nil && $0 != accessGroup }
    for group in former.sorted() {
      try? remove(accessKey, group: group)
      try? remove(refreshKey, group: group)
    }
    guard let session = new.session, session.access != nil else { return }
    if session.access == found.entry.session?.access, former.isEmpty { return }
    var copy = session
    copy.refresh = nil
    copy.pendingKey = nil
    copy.revocation = nil
    // It may lag: what counts is stored.
    try? write(
      VaultEntry(revision: new.revision, session: copy), to: accessKey, class: .accessToken, former: [], begins: true)
  }

  /// Gives the broken item the first name that is free.
  private func setAside() throws(VaultTrouble) {
    for number in 1...KeychainVault.asideLimit {
      let status = keychain.update(refreshKey, group: nil, with: KeychainChange(account: asideKey(number).account))
      if status == .duplicateItem { continue }
      if status != .itemNotFound, let trouble = status.trouble { throw trouble }
      return
    }
    throw .unavailable("too many broken keychain items are set aside")
  }

  /// A sign-out leaves nothing that was set aside either.
  private func erase(alsoVault: Bool) throws(VaultTrouble) {
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

/// The signal file: replaced after every write, which is what others watch for, and it holds the revision. It is worth trying,
/// not worth failing for: what counts is stored already.
extension KeychainVault {
  private func signal(_ revision: UInt64, in folder: PosixFile) {
    // Only ever made under the store lock.
    let partial = files.signal + VaultFiles.partialEnding
    try? folder.remove(partial)
    do throws(VaultTrouble) {
      try folder.create(partial).write(revision.octets, attempt: "signalling a change")
      try folder.rename(partial, to: files.signal)
    } catch {
      try? folder.remove(partial)
    }
  }

  private func notedRevision(in folder: PosixFile) -> UInt64 {
    let bytes = try? folder.open(files.signal, flags: O_RDONLY)?.readAll(limit: 8)
    return bytes.flatMap { UInt64(octets: $0) } ?? 0
  }
}
