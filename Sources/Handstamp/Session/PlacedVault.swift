import HandstampCore
import HandstampSupport

/// A vault as one server's program may use it: what lies there is that server's, and what lies in former places has moved there.
///
/// A session of another server is neither shown nor sent nor erased, except by a sign-out; nor is what is pending for one.
final class PlacedVault: Vault {
  private let vault: any Vault
  private let abilities: BackendAbilities
  private let former: [FormerPlace]
  private let clock: any SessionClock
  private let moves: Moves
  /// Whether work for another server was found here, which waits for a program of that server.
  private let foundOthers = Locked(false)
  var hasOthers: Bool { foundOthers.withLock { $0 } }

  init(_ vault: any Vault, of abilities: BackendAbilities, formerly former: [FormerPlace], clock: any SessionClock) {
    self.vault = vault
    self.abilities = abilities
    self.former = former
    self.clock = clock
    moves = Moves(isDone: former.allSatisfy { $0.serverName != nil })
  }

  // MARK: Vault

  @concurrent func read() async -> VaultReading {
    let trouble = await settle()
    switch await vault.read() {
    case .value(let entry):
      // The former place may hold the only session, or still the same one, with which an earlier version may go on.
      if let trouble, entry.session == nil || entry.session?.id == moves.copied { return .trouble(trouble) }
      switch await claimed(entry) {
      case .success(let entry): return entry.isEmpty ? .absent : .value(entry)
      case .failure(let trouble): return .trouble(trouble)
      }
    case .accessOnly(let session):
      if let other = stranger(session) { return .trouble(.otherServer(other)) }
      return .accessOnly(session)
    case .absent: return trouble.map { .trouble($0) } ?? .absent
    case .trouble(let trouble): return .trouble(trouble)
    }
  }

  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome {
    // Edits of a session in use belong to what is here already, and may hold its refresh lock.
    var trouble: VaultError?
    switch edit.plain {
    case .begin: _ = await settle()
    case .endWhatever(let reason, _, _, _):
      trouble = await settle()
      // A sign-in that is not remembered ends what it finds; a sign-out ends anything.
      if reason == .replaced, case .trouble(.otherServer(let server)) = await read() {
        return .failed(.otherServer(server))
      }
      if trouble != nil { trouble = await end(by: edit) }
    default: break
    }
    var outcome = await vault.edit(edit)
    if case .begin = edit.plain, case .conflict(let entry) = outcome, case .success(let own) = await claimed(entry),
      own.session?.issuer != entry.session?.issuer
    {
      outcome = await vault.edit(edit)
    }
    if let trouble { return .failed(trouble) }
    do throws(VaultError) {
      switch outcome {
      case .done(let entry): return .done(try await claimed(entry).get())
      case .conflict(let entry): return .conflict(try await claimed(entry).get())
      case .failed: return outcome
      }
    } catch {
      return .failed(error)
    }
  }

  @concurrent func lock(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await vault.lock(within: limit)
  }

  /// Refused before the user's input is sent if no session could be stored.
  @concurrent func lockSignIn(within limit: Duration) async throws(VaultError) -> any VaultLock {
    let lock = try await vault.lockSignIn(within: limit)
    if case .trouble(.otherServer(let server)) = await read() {
      lock.unlock()
      throw .otherServer(server)
    }
    return lock
  }

  func changes() -> AsyncStream<Void> { vault.changes() }

  // MARK: Whose it is

  /// The server of a session that is not this one's; `nil` if it is, or may be.
  private func stranger(_ session: StoredSession) -> String? {
    former.mayBelong(session.issuer, to: abilities) ? nil : session.issuer
  }

  /// The entry as this server's program sees it. A session without a server, or with a former name of it, gets the present one.
  private func claimed(_ entry: VaultEntry) async -> Result<VaultEntry, VaultError> {
    guard let own = abilities.issuer else { return .success(entry) }
    var entry = entry
    if let session = entry.session, session.issuer != own {
      if let other = stranger(session) { return .failure(.otherServer(other)) }
      // Once, because a program that knows the server by the other name may do the same. If it cannot be written now, the next one
      // does.
      if session.issuer.map({ !$0.isSameServer(as: own) }) ?? true, moves.claimsNow(),
        case .done(let written) = await vault.edit(.claim(session.id, issuer: own))
      {
        entry = written
      }
      entry.session?.issuer = own
    }
    for index in entry.tombstones.indices {
      guard !former.mayBelong(entry.tombstones[index].issuer, to: abilities) else { continue }
      if entry.tombstones[index].revocation != nil { foundOthers.withLock { $0 = true } }
      entry.tombstones[index].revocation = nil
      entry.tombstones[index].delay = nil
    }
    return .success(entry)
  }

  // MARK: Moves

  /// Moves what is in former places, one place after the other. Returns the trouble that keeps it from being complete.
  private func settle() async -> VaultError? {
    if moves.isDone { return nil }
    return await moves.run { [self] () async throws(VaultError) in
      for place in former {
        switch place.kind {
        case .server: break
        case .vault(let former): try await move(from: former)
        case .accounts(let index, let vault): try await moveActive(of: index, vault)
        case .tokens(let read, let remove): try await takeOver(read, remove)
        }
      }
    }
  }

  /// Ends what lies in former places and cannot move. Returns the trouble of the last one that cannot be written either.
  private func end(by edit: VaultEdit) async -> VaultError? {
    var trouble: VaultError?
    for place in former {
      switch place.kind {
      case .vault(let former):
        if case .value(let entry) = await former.read(), let session = entry.session, stranger(session) != nil {
          continue
        }
        if case .failed(let error) = await former.edit(edit) { trouble = error }
      case .tokens(let read, let remove):
        do { if try await read() != nil { try await remove() } } catch {
          trouble = .unavailable("the app's former tokens cannot be removed: \(type(of: error))")
        }
      case .server, .accounts: break
      }
    }
    return trouble
  }

  /// First the accounts that end here, so that until the last move the list says which one is in use.
  private func moveActive(
    of index: any AccountsIndex, _ vault: @Sendable (AccountID) -> any Vault
  ) async throws(VaultError) {
    let list = try await index.read().get()
    let only = list.accounts.count == 1 && list.leaving.isEmpty ? list.accounts[0].id : nil
    let active = list.active ?? only
    let others = list.accounts.map(\.id).filter { $0 != active } + list.leaving
    for id in others + (active.map { [$0] } ?? []) {
      try await move(from: vault(id), isInUse: id == active)
      _ = try await index.edit(.remove(id)).get()
      _ = try await index.edit(.left(id)).get()
    }
  }

  /// - Parameter isInUse: `false` if its session ends here.
  private func move(from former: any Vault, isInUse: Bool = true) async throws(VaultError) {
    switch await former.read() {
    case .absent: return
    case .accessOnly: throw .locked
    // Its session is lost, which is no reason to refuse a sign-in.
    case .trouble(.corrupt): return
    case .trouble(let trouble): throw trouble
    case .value(let entry):
      // It stays where a program of its server finds it.
      if let session = entry.session, stranger(session) != nil { return }
    }
    // No program refreshes with what is about to move.
    let lock = try await former.lock(within: .seconds(2))
    defer { lock.unlock() }
    for _ in 0..<8 {
      switch await former.read() {
      case .absent: return
      case .accessOnly: throw .locked
      case .trouble(let trouble): throw trouble
      case .value(let entry):
        if let session = entry.session, stranger(session) != nil { return }
        var moved = entry
        // By whichever name of the server it was begun.
        moved.session?.issuer = abilities.issuer ?? entry.session?.issuer
        if !isInUse { moved.endSession(.replaced, at: clock.now()) }
        moves.copied = moved.session?.id
        try await write(.receive(moved))
        switch await former.edit(.vacate(revision: entry.revision)) {
        case .done:
          moves.copied = nil
          return
        case .conflict: break
        case .failed(let trouble): throw trouble
        }
      }
    }
    throw .unavailable("the former place of the session is written to all the time")
  }

  private func takeOver(
    _ read: @Sendable () async throws -> TokenResponse?, _ remove: @Sendable () async throws -> Void
  ) async throws(VaultError) {
    let tokens: TokenResponse?
    do { tokens = try await read() } catch {
      throw (error as? VaultError) ?? .unavailable("the app's former tokens cannot be read: \(type(of: error))")
    }
    guard let tokens else { return }
    guard let session = tokens.takenOver(at: clock.now(), by: abilities) else {
      throw .unavailable("the app's former tokens cannot be used: no request can carry them")
    }
    var entry = VaultEntry()
    if case .value(let found) = await vault.read() { entry = found }
    if let own = entry.session, let other = stranger(own) { throw .otherServer(other) }
    switch entry.session {
    case let own? where own.id == session.id || own.refresh != nil && own.refresh == session.refresh: break
    case let own? where own.id.isLocal && own.isRotated == nil:
      // Taken over and never used: an earlier version of the app has refreshed since.
      guard let sent = own.refresh, let successor = session.refresh else { break }
      let expired = StoredAccess(tokens.tokens.credential, lifetime: Lifetime(start: clock.now(), duration: .zero))
      try await write(
        .advance(own.id, sent: sent, to: successor, access: session.access ?? expired, profile: session.profile))
    case _?:
      // The user has signed in since: what the app forgot to remove is revoked.
      guard entry.tombstone(of: session.id) == nil else { break }
      let rest = Tombstone(
        session: session.id, reason: .replaced, endedAt: session.startedAt, revocation: session.revocation,
        issuer: session.issuer)
      try await write(.bury(rest))
    case nil: try await write(.receive(VaultEntry(session: session)))
    }
    do { try await remove() } catch {
      throw .unavailable("the app's former tokens cannot be removed: \(type(of: error))")
    }
  }

  private func write(_ edit: VaultEdit) async throws(VaultError) {
    var outcome = await vault.edit(edit)
    if case .conflict(let found) = outcome {
      _ = try await claimed(found).get()
      outcome = await vault.edit(edit)
    }
    switch outcome {
    case .done: return
    case .conflict(let found): throw .otherServer(found.session?.issuer ?? "")
    case .failed(let trouble): throw trouble
    }
  }
}

/// The moves of one vault: one run at a time, until one is complete.
private final class Moves: Sendable {
  private struct State {
    var isDone: Bool
    var hasClaimed = false
    var copied: SessionID?
    var running: Task<VaultError?, Never>?
  }
  private let state: Locked<State>

  init(isDone: Bool) { state = Locked(State(isDone: isDone)) }

  var isDone: Bool { state.withLock { $0.isDone } }

  /// The session that a former place still holds as well.
  var copied: SessionID? {
    get { state.withLock { $0.copied } }
    set { state.withLock { $0.copied = newValue } }
  }

  /// Whether a session is marked as this server's now: once.
  func claimsNow() -> Bool {
    state.withLock { state in
      defer { state.hasClaimed = true }
      return !state.hasClaimed
    }
  }

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
