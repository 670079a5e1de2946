/// A vault as one program uses it: a session that is not to be remembered lives in memory, in front of the vault, and leaves
/// there only what tells the server of its end.
///
/// Edits come one at a time: the controller queues them.
final class ProcessVault: Vault {
  private let vault: any Vault
  private let session = Locked<StoredSession?>(nil)

  init(_ vault: any Vault) { self.vault = vault }

  @concurrent func read() async -> VaultReading {
    guard let session = session.withLock({ $0 }) else { return await vault.read() }
    return .value(VaultEntry(session: session, tombstones: await tombstones()))
  }

  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome {
    // What an edit notes besides is added behind this vault.
    let edit = edit.plain
    if case .begin(let new, let steps) = edit { return await begin(new, steps: steps) }
    guard let held = session.withLock({ $0 }) else { return await vault.edit(edit) }
    switch edit {
    case .begin, .bury, .delivered, .cleaned, .noting: return combined(await vault.edit(edit))
    case .prepare, .advance, .touch, .end, .endWhatever: break
    }
    switch edit.applied(to: VaultEntry(session: held)) {
    case .unchanged: return .done(VaultEntry(session: held, tombstones: await tombstones()))
    case .conflict: return .conflict(VaultEntry(session: held, tombstones: await tombstones()))
    case .write(let new):
      session.withLock { $0 = new.session }
      guard let tombstone = new.tombstones.last else {
        return .done(VaultEntry(session: new.session, tombstones: await tombstones()))
      }
      let buried = await vault.edit(.bury(tombstone))
      guard case .endWhatever = edit, case .done = buried else { return buried }
      // Whoever signs out means what another program may have stored meanwhile, too.
      return await vault.edit(edit)
    }
  }

  private func begin(_ new: StoredSession, steps: [String]) async -> VaultOutcome {
    if let former = session.withLock({ $0 }), former.id != new.id {
      let isAnother = former.profile.id != new.profile.id
      let buried = await vault.edit(
        .bury(
          Tombstone(
            session: former.id, reason: .replaced, endedAt: new.startedAt, revocation: former.revocation,
            account: former.profile.id, steps: isAnother ? steps : [])))
      guard case .done = buried else { return buried }
    }
    guard !new.isRemembered else {
      let outcome = await vault.edit(.begin(new, steps: steps))
      if case .done = outcome { session.withLock { $0 = nil } }
      return outcome
    }
    // Or the next launch would bring the former one back.
    let outcome = await vault.edit(.endWhatever(.replaced, at: new.startedAt, steps: steps))
    guard case .done(let entry) = outcome else { return outcome }
    session.withLock { $0 = new }
    return .done(VaultEntry(revision: entry.revision, session: new, tombstones: entry.tombstones))
  }

  private func combined(_ outcome: VaultOutcome) -> VaultOutcome {
    guard let session = session.withLock({ $0 }) else { return outcome }
    func with(_ entry: VaultEntry) -> VaultEntry {
      VaultEntry(revision: entry.revision, session: session, tombstones: entry.tombstones)
    }
    switch outcome {
    case .done(let entry): return .done(with(entry))
    case .conflict(let entry): return .conflict(with(entry))
    case .failed: return outcome
    }
  }

  private func tombstones() async -> [Tombstone] {
    if case .value(let entry) = await vault.read() { entry.tombstones } else { [] }
  }

  @concurrent func lock(within limit: Duration) async -> (any FlightLock)? { await vault.lock(within: limit) }

  func changes() -> AsyncStream<Void> { vault.changes() }
}
