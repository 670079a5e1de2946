/// An older copy of the vault was restored: found by its revision, or by a server that knows the token as replaced.
extension SessionMachine {
  /// Whether an older vault was restored. It has a lower revision; or the same one, after an edit, and another refresh token.
  func wentBack(_ entry: VaultEntry) -> Bool {
    guard entry.revision == revision, revision > 0, case .live(let live) = phase, let session = entry.session else {
      return entry.revision < revision
    }
    return session.id == live.stored.id && session.refresh != live.stored.refresh && !live.hasOnlyAccess
  }

  /// An older vault was restored under this program, with a session whose newer state, or whose end, is known here: the newer
  /// state is written again. `nil` for anything else.
  mutating func restoreEntry(over entry: VaultEntry, at now: Moment) -> [Effect]? {
    guard let older = entry.session else { return nil }
    // Already in progress.
    if work.values.contains(.restoreEntry) { return [] }
    if case .live(let live) = phase, live.stored.id == older.id, live.stored.isRemembered, !live.hasOnlyAccess {
      let trouble = audit(.trouble, live.stored, "went_back", at: now)
      return [trouble, edit(.putBack(live.stored, revision: revision), for: .restoreEntry)]
    }
    guard phase == .signedOut, ended.contains(older.id), unwrittenEnd == nil else { return nil }
    let reason = lastEndReason ?? .signedOut
    return [
      audit(.trouble, older, "went_back", at: now),
      edit(.end(older.id, holding: nil, reason: reason, at: now, steps: []), for: .restoreEntry),
    ]
  }

  mutating func entryRestored(_ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    switch outcome {
    case .done(let entry), .conflict(let entry):
      revision = min(revision, entry.revision)
      return absorb(entry, at: now)
    case .failed: return [startTimer(.reload, after: .seconds(5))]
    }
  }

  /// Records the revision of an edit, and detects one that was applied to an older vault.
  mutating func noteRevision(of outcome: VaultOutcome) -> [Effect] {
    guard case .done(let entry) = outcome else { return [] }
    if wentBack(entry) { return entry.session != nil && isRemembered ? reload() : [] }
    // An entry that was not adopted does not count: the revision belongs to the refresh token in use here.
    if case .live(let live) = phase, entry.session?.refresh != live.stored.refresh { return [] }
    revision = max(revision, entry.revision)
    return []
  }

  /// The server has replaced the token that was sent, and the vault has been read: does it still hold that token?
  mutating func rollbackChecked(_ sent: RefreshToken, _ reading: VaultReading, at now: Moment) -> [Effect] {
    guard let live else { return [.ignored] }
    switch reading {
    case .value(let entry):
      guard entry.session?.id == live.stored.id, entry.session?.refresh == sent else {
        return continueRefresh(from: entry, at: now)
      }
      // An older store was restored: nothing is deleted, and nothing is sent again. Or an attacker who had copied token and
      // pending key went on from there: the session, which is unusable here, is revoked.
      dropRefresh()
      if let handle = live.stored.revocation { revocations.add(live.stored.id, handle) }
      supersededToken = sent
      phase = .unavailable(.storageOutdated)
      var effects = publish(.unavailable(.storageOutdated)) + [audit(.trouble, live.stored, "rolled_back", at: now)]
      effects += resumeAll(.failure(.storageOutdated))
      if let lock = live.lock { effects.append(.unlock(lock)) }
      return effects + sendRevocations(at: now)
    case .absent: return continueRefresh(from: VaultEntry(), at: now)
    case .accessOnly: return endRefresh(failing: .storage(.locked), at: now)
    case .trouble(let trouble): return endRefresh(failing: .storage(trouble), at: now)
    }
  }
}
