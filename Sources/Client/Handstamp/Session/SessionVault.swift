import HandstampCore
import HandstampSupport

/// The vault as the session of one program uses it. A session that is not remembered lives here in memory, in front of the store,
/// and leaves only its tombstone there. After its end the program adopts no session that another program has stored: a user
/// who signed out here wants to be signed out.
///
/// Between the two lie the rules of places: see `SessionVault+place.swift`. Edits come one at a time: the controller queues them.
/// Each function of an edit adds one rule: ``edit(_:)`` the session in memory, ``writePlace(_:)`` the places, `Vault.edit(_:noting:)`
/// the repeat after another writer.
final class SessionVault: Sendable {
  let store: any Vault
  let audit: (any AuditLog)?
  /// Adds an entry to the audit log, behind those that wait already.
  let record: @Sendable (AuditEntry) -> Void
  let abilities: BackendAbilities
  let earlier: [EarlierPlace]
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
    _ store: any Vault, of abilities: BackendAbilities, earlier: [EarlierPlace], locks: RefreshLockManager,
    audit: (any AuditLog)?, clock: any SessionClock, record: @escaping @Sendable (AuditEntry) -> Void
  ) {
    self.store = store
    self.audit = audit
    self.record = record
    self.abilities = abilities
    self.earlier = earlier
    self.locks = locks
    self.clock = clock
    moves = Moves(isDone: earlier.allSatisfy { $0.serverName != nil })
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
    guard
      case .prepare(let id, holding: let token, replacing: let access, let key, var new?, over: let previous) = edit,
      let locks = store as? any AttemptLocks, case .value(let entry) = await store.load(),
      case .write = edit.applied(to: entry)
    else { return edit }
    new.lock = attempt.withLock { held in
      if held == nil { held = locks.lockAttempt() }
      return held?.identity
    }
    return .prepare(id, holding: token, replacing: access, key: key, attempt: new, over: previous)
  }

  func unlockAttempt() { attempt.withLock { $0.take() }?.lock.unlock() }

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
    guard let held = session.withLock({ $0 }) else { return await writePlace(edit) }
    switch edit {
    case .prepareSignIn, .forgetSignIn, .begin, .bury, .delivered, .replaceRevocation, .postpone, .cleaned:
      return await writePlace(edit).mapEntry { shown($0, with: held) }
    case .claim, .receive, .vacate: return await writePlace(edit)
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
      let buried = await writePlace(.bury(tombstone))
      guard case .done(let entry) = buried else { return buried }
      session.withLock { $0 = nil }
      // The same user may have signed in with another program meanwhile, and means that session, too: unless it began after a
      // sign-out that is written late. Another user's session stays.
      guard case .signOut(let reason, let time, let steps, let isLate) = edit, let stored = entry.session,
        !stored.isOfAnotherAccount(than: held, ifUnknown: false),
        !isLate || stored.startedAt.elapsed(since: time) ?? .zero <= .zero
      else { return buried }
      let ended = await writePlace(.end(stored.id, holding: nil, reason: reason, at: time, steps: steps))
      guard case .conflict(let found) = ended else { return ended }
      return .done(found)
    }
  }

  /// Stores the new session first: while that fails the previous one continues, and the server must not be notified of its end.
  private func begin(_ new: StoredSession, steps: [String]) async -> VaultOutcome {
    // The stored session ends; otherwise the next launch would restore it.
    let edit: VaultEdit =
      new.isRemembered ? .begin(new, steps: steps) : .signOut(.replaced, at: new.startedAt, steps: steps)
    let outcome = await writePlace(edit)
    guard case .done(var entry) = outcome else { return outcome }
    let previous = session.withLock { exchange(&$0, with: new.isRemembered ? nil : new) }
    if let previous, previous.id != new.id {
      let tombstone = Tombstone(
        of: previous, reason: .replaced, at: new.startedAt, steps: new.isOfAnotherAccount(than: previous) ? steps : [])
      if case .done(let later) = await writePlace(.bury(tombstone)) {
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
        _ = await writePlace(.delivered(new.id, with: handle))
      }
      if let account = new.profile?.id, tombstone.account == account, !tombstone.steps.isEmpty {
        _ = await writePlace(.cleaned(tombstone.session, steps: tombstone.steps))
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

/// The moves from earlier places.
extension SessionVault {
  /// Moves what is in earlier places, one place after the other. Returns the trouble that keeps it from being complete.
  func settle() async -> VaultError? {
    if moves.isDone { return nil }
    return await moves.run { [self] () async throws(VaultError) in
      for place in earlier {
        switch place.kind {
        case .server: break
        case .vault(let vault): try await move(from: vault)
        case .accounts(let accounts, let vault): try await moveActive(of: accounts, vault)
        case .tokens(let read, let remove): try await takeOver(read, remove)
        }
      }
    }
  }

  /// Ends what lies in earlier places and cannot move. Returns the trouble of the last one that cannot be written either.
  func end(by edit: VaultEdit) async -> VaultError? {
    var trouble: VaultError?
    for place in earlier {
      switch place.kind {
      case .vault(let vault):
        if case .value(let entry) = await vault.read(), stranger(entry.session?.issuer) != nil { continue }
        if case .failed(let error) = await vault.edit(edit) { trouble = error }
      case .tokens(let read, let remove):
        do { if try await read() != nil { try await remove() } } catch {
          trouble = .unavailable("the app's earlier tokens cannot be removed: \(type(of: error))")
        }
      case .server, .accounts: break
      }
    }
    return trouble
  }

  /// First the accounts that end here, so that until the last move the list says which one is in use.
  private func moveActive(
    of accounts: any AccountsStore, _ vault: @Sendable (AccountID) -> any Vault
  ) async throws(VaultError) {
    let list = try await accounts.read().get()
    let only = list.accounts.count == 1 && list.leaving.isEmpty ? list.accounts[0].id : nil
    let active = list.active ?? only
    let others = list.accounts.map(\.id).filter { $0 != active } + list.leaving
    for id in others + (active.map { [$0] } ?? []) {
      try await move(from: vault(id), isInUse: id == active)
      _ = try await accounts.edit(.remove(id)).get()
      _ = try await accounts.edit(.left(id)).get()
    }
  }

  /// - Parameter isInUse: `false` if its session ends here.
  private func move(from vault: any Vault, isInUse: Bool = true) async throws(VaultError) {
    let reading = await vault.read()
    // Its session is lost, which is no reason to refuse a sign-in.
    if reading == .trouble(.corrupt) { return }
    let found = try reading.entry(for: .ordinary)
    // A stranger's stays where a program of its server finds it.
    if found.isEmpty || stranger(found.session?.issuer) != nil { return }
    // No program refreshes with what is about to move.
    let lock = try await vault.lock(.refresh, within: .seconds(2))
    defer { lock.unlock() }
    for _ in 0..<8 {
      let entry = try await vault.read().entry(for: .ordinary)
      if entry.isEmpty || stranger(entry.session?.issuer) != nil { return }
      var moved = entry
      // By whichever name of the server it was begun.
      moved.session?.issuer = abilities.issuer ?? entry.session?.issuer
      if !isInUse { moved.endSession(.replaced, at: clock.now()) }
      moves.copied = moved.session?.id
      try await write(.receive(moved))
      try await confirm()
      switch await vault.edit(.vacate(revision: entry.revision)) {
      case .done:
        moves.copied = nil
        if isInUse, let session = moved.session { note(moved: session) }
        return
      case .conflict: break
      case .failed(let trouble): throw trouble
      }
    }
    throw .unavailable("the earlier place of the session is written to all the time")
  }

  private func takeOver(
    _ read: @Sendable () async throws -> TokenResponse?, _ remove: @Sendable () async throws -> Void
  ) async throws(VaultError) {
    let tokens: TokenResponse?
    do { tokens = try await read() } catch {
      throw (error as? VaultError) ?? .unavailable("the app's earlier tokens cannot be read: \(type(of: error))")
    }
    guard let tokens else { return }
    guard let session = tokens.takenOver(at: clock.now(), by: abilities) else {
      throw .unavailable("the app's earlier tokens cannot be used: no request can carry them")
    }
    var entry = VaultEntry()
    if case .value(let found) = await store.read(noting: audit) { entry = found }
    if let other = stranger(entry.session?.issuer) { throw .otherServer(other) }
    switch entry.session {
    case let own? where own.id == session.id || own.refresh != nil && own.refresh == session.refresh: break
    case let own? where own.id.isLocal && own.isRotated == nil:
      // Taken over and never used: an earlier version of the app has refreshed since.
      guard let sent = own.refresh, session.refresh != nil else { break }
      var response = TokenResponse(tokens: tokens.tokens, profile: session.profile)
      if session.access == nil { response.tokens.expiresIn = .zero }
      try await write(.advance(own.id, RefreshedTokens(response, sent: sent, since: session.startedAt)))
    case _?:
      // The user has signed in since: what the app forgot to remove is revoked.
      guard entry.tombstone(of: session.id) == nil else { break }
      let rest = Tombstone(
        session: session.id, reason: .replaced, endedAt: session.startedAt, revocation: session.revocation,
        issuer: session.issuer)
      try await write(.bury(rest))
    case nil: try await write(.receive(VaultEntry(session: session)))
    }
    try await confirm()
    if entry.session == nil { note(moved: session) }
    do { try await remove() } catch {
      throw .unavailable("the app's earlier tokens cannot be removed: \(type(of: error))")
    }
  }

  /// For the audit log, a session that comes from elsewhere begins here.
  private func note(moved session: StoredSession) {
    let account = session.profile?.id
    record(
      AuditEntry(action: .signIn(.moved), session: session.id, account: account, at: clock.now().wall, outcome: "ok"))
  }

  /// Opens what has been moved, before its earlier place is emptied.
  private func confirm() async throws(VaultError) {
    guard try await !store.read(noting: audit).entry(for: .ordinary).isEmpty else {
      throw .unavailable("the new place of the session does not keep it")
    }
  }

  private func write(_ edit: VaultEdit) async throws(VaultError) {
    switch await begun(edit) {
    case .done: return
    case .conflict(let found): throw .otherServer(found.session?.issuer ?? "")
    case .failed(let trouble): throw trouble
    }
  }
}

/// The moves of one vault: one run at a time, until one is complete.
final class Moves: Sendable {
  private struct State {
    var isDone: Bool
    var hasClaimed = false
    var copied: SessionID?
    var running: Task<VaultError?, Never>?
  }
  private let state: Locked<State>

  init(isDone: Bool) { state = Locked(State(isDone: isDone)) }

  var isDone: Bool { state.withLock { $0.isDone } }

  /// The session that an earlier place still holds as well.
  var copied: SessionID? {
    get { state.withLock { $0.copied } }
    set { state.withLock { $0.copied = newValue } }
  }

  /// Whether a session is marked as this server's now: once.
  func claimsNow() -> Bool { state.withLock { !exchange(&$0.hasClaimed, with: true) } }

  func run(_ work: @escaping @Sendable () async throws(VaultError) -> Void) async -> VaultError? {
    let task = state.withLock { state in
      if let running = state.running { return running }
      let task = Task<VaultError?, Never> { [self] in
        var trouble: VaultError?
        do throws(VaultError) { try await work() } catch { trouble = error }
        self.state.withLock { state in
          state.running = nil
          state.isDone = trouble == nil
        }
        return trouble
      }
      state.running = task
      return task
    }
    return await task.value
  }
}
