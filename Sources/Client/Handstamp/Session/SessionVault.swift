import HandstampCore
import HandstampSupport

/// The vault as the session of one program uses it. A session that is not remembered lives here in memory, in front of the store,
/// and leaves only its tombstone there.
///
/// Between the two lie the rules of places: see `SessionVault+place.swift`. Edits come one at a time: the controller queues them.
final class SessionVault: Sendable {
  let store: any Vault
  let audit: (any AuditLog)?
  /// Adds an entry to the audit log, behind those that wait already.
  let record: @Sendable (AuditEntry) -> Void
  let abilities: BackendAbilities
  let former: [FormerPlace]
  private let locks: RefreshLockManager
  let clock: any SessionClock
  let moves: Moves
  /// Whether work for another server was found here, which waits for a program of that server.
  let hasOthers = Locked(false)
  /// The session that is not remembered.
  private let session = Locked<StoredSession?>(nil)
  /// The lock of this program's attempt.
  private let attempt = Locked<(lock: any VaultLock, identity: FileIdentity)?>(nil)

  init(
    _ store: any Vault, of abilities: BackendAbilities, formerly former: [FormerPlace], locks: RefreshLockManager,
    audit: (any AuditLog)?, clock: any SessionClock, record: @escaping @Sendable (AuditEntry) -> Void
  ) {
    self.store = store
    self.audit = audit
    self.record = record
    self.abilities = abilities
    self.former = former
    self.locks = locks
    self.clock = clock
    moves = Moves(isDone: former.allSatisfy { $0.serverName != nil })
  }

  /// Acquires the lock of sign-ins. It is refused before the user's input is sent if no session could be stored.
  @concurrent func signInLock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    let lock = try await locks.lock(.signIn, of: store, within: limit)
    if case .trouble(.otherServer(let server)) = await readPlace() {
      lock.unlock()
      throw .otherServer(server)
    }
    return lock
  }

  // MARK: The lock of an attempt

  var holdsAttempt: Bool { attempt.withLock { $0 != nil } }

  /// Returns the edit; an attempt that it records is locked before, and names the lock. One that it does not record, because another
  /// one is stored, leaves the lock of that alone.
  func locking(_ edit: VaultEdit) async -> VaultEdit {
    guard case .prepare(let id, holding: let token, replacing: let access, let key, var new?, over: let former) = edit,
      let locks = store as? any AttemptLocks, case .value(let entry) = await store.load(),
      case .write = edit.applied(to: entry)
    else { return edit }
    new.lock = attempt.withLock { held in
      if held == nil { held = locks.lockAttempt() }
      return held?.identity
    }
    return .prepare(id, holding: token, replacing: access, key: key, attempt: new, over: former)
  }

  func unlockAttempt() {
    let held = attempt.withLock { held in
      defer { held = nil }
      return held
    }
    held?.lock.unlock()
  }

  /// Whether the sender of `attempt` has ended. `false` if that cannot be seen from here.
  func hasEnded(_ attempt: RefreshAttempt) -> Bool {
    attempt.sender.hasEnded || attempt.lock.map { (store as? any AttemptLocks)?.isFree($0) ?? false } ?? false
  }

  // MARK: The session in memory

  @concurrent func read() async -> VaultReading {
    guard let session = session.withLock({ $0 }) else { return await readPlace() }
    return .value(await entry(of: session))
  }

  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome {
    if case .begin(let new, let steps) = edit { return await begin(new, steps: steps) }
    guard let held = session.withLock({ $0 }) else { return await editPlace(edit) }
    switch edit {
    case .prepareSignIn, .forgetSignIn, .begin, .bury, .delivered, .replaceRevocation, .postpone, .cleaned:
      return await editPlace(edit).mapEntry { shown($0, with: held) }
    case .claim, .receive, .vacate: return await editPlace(edit)
    case .prepare, .updateAttempt, .advance, .renew, .identify, .putBack, .touch, .end, .signOut: break
    }
    switch edit.applied(to: VaultEntry(session: held)) {
    case .unchanged: return .done(await entry(of: held))
    case .conflict: return .conflict(await entry(of: held))
    case .write(let new):
      if let changed = new.session {
        session.withLock { $0 = changed }
        return .done(await entry(of: changed))
      }
      guard let tombstone = new.tombstones.last else { return .done(await entry(of: held)) }
      // The session stays until its end is stored; otherwise the reason would be lost, and the server never notified.
      let buried = await editPlace(.bury(tombstone))
      guard case .done(let entry) = buried else { return buried }
      session.withLock { $0 = nil }
      // The same user may have signed in with another program meanwhile, and means that session, too: unless it began after a
      // sign-out that is written late. Another user's session stays.
      guard case .signOut(let reason, let time, let steps, let isLate) = edit, let stored = entry.session,
        !stored.isOfAnotherAccount(than: held, ifUnknown: false),
        !isLate || stored.startedAt.elapsed(since: time) ?? .zero <= .zero
      else { return buried }
      let ended = await editPlace(.end(stored.id, holding: nil, reason: reason, at: time, steps: steps))
      guard case .conflict(let found) = ended else { return ended }
      return .done(found)
    }
  }

  /// Stores the new session first: while that fails the former one continues, and the server must not be notified of its end.
  private func begin(_ new: StoredSession, steps: [String]) async -> VaultOutcome {
    // The stored session ends; otherwise the next launch would restore it.
    let edit: VaultEdit =
      new.isRemembered ? .begin(new, steps: steps) : .signOut(.replaced, at: new.startedAt, steps: steps)
    let outcome = await editPlace(edit)
    guard case .done(var entry) = outcome else { return outcome }
    let former = session.withLock { session in
      defer { session = new.isRemembered ? nil : new }
      return session
    }
    if let former, former.id != new.id {
      let tombstone = Tombstone(
        of: former, reason: .replaced, at: new.startedAt, steps: new.isOfAnotherAccount(than: former) ? steps : [])
      if case .done(let later) = await editPlace(.bury(tombstone)) {
        entry = later
      } else {
        // The revocation is pending nevertheless, for as long as the program runs.
        entry.tombstones.append(tombstone)
      }
    }
    guard !new.isRemembered else { return .done(entry) }
    await spare(new, among: entry.tombstones)
    return .done(shown(entry, with: new))
  }

  /// As in ``VaultEdit/begin(_:steps:)``: the same user is back, so their data stays, and a session that was signed in to again
  /// has not ended, unless it has another handle.
  private func spare(_ new: StoredSession, among tombstones: [Tombstone]) async {
    for tombstone in tombstones {
      if tombstone.session == new.id, let handle = new.revocation {
        _ = await editPlace(.delivered(new.id, with: handle))
      }
      if let account = new.profile?.id, tombstone.account == account, !tombstone.steps.isEmpty {
        _ = await editPlace(.cleaned(tombstone.session, steps: tombstone.steps))
      }
    }
  }

  private func entry(of session: StoredSession) async -> VaultEntry {
    if case .value(let entry) = await readPlace() { return shown(entry, with: session) }
    return VaultEntry(session: session)
  }

  private func shown(_ entry: VaultEntry, with session: StoredSession) -> VaultEntry {
    var entry = entry
    entry.session = session
    entry.tombstones.removeAll { $0.session == session.id }
    return entry
  }
}
