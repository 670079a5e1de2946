import HandstampCore
import HandstampSupport

/// The moves from former places.
extension SessionVault {
  /// Moves what is in former places, one place after the other. Returns the trouble that keeps it from being complete.
  func settle() async -> VaultError? {
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
  func end(by edit: VaultEdit) async -> VaultError? {
    var trouble: VaultError?
    for place in former {
      switch place.kind {
      case .vault(let former):
        if case .value(let entry) = await former.read(), stranger(entry.session?.issuer) != nil { continue }
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
    let reading = await former.read()
    // Its session is lost, which is no reason to refuse a sign-in.
    if reading == .trouble(.corrupt) { return }
    let found = try reading.entry(for: .ordinary)
    // A stranger's stays where a program of its server finds it.
    if found.isEmpty || stranger(found.session?.issuer) != nil { return }
    // No program refreshes with what is about to move.
    let lock = try await former.lock(.refresh, within: .seconds(2))
    defer { lock.unlock() }
    for _ in 0..<8 {
      let entry = try await former.read().entry(for: .ordinary)
      if entry.isEmpty || stranger(entry.session?.issuer) != nil { return }
      var moved = entry
      // By whichever name of the server it was begun.
      moved.session?.issuer = abilities.issuer ?? entry.session?.issuer
      if !isInUse { moved.endSession(.replaced, at: clock.now()) }
      moves.copied = moved.session?.id
      try await write(.receive(moved))
      try await confirm()
      switch await former.edit(.vacate(revision: entry.revision)) {
      case .done:
        moves.copied = nil
        if isInUse, let session = moved.session { note(moved: session) }
        return
      case .conflict: break
      case .failed(let trouble): throw trouble
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
    if case .value(let found) = await store.read(noting: audit) { entry = found }
    if let other = stranger(entry.session?.issuer) { throw .otherServer(other) }
    switch entry.session {
    case let own? where own.id == session.id || own.refresh != nil && own.refresh == session.refresh: break
    case let own? where own.id.isLocal && own.isRotated == nil:
      // Taken over and never used: an earlier version of the app has refreshed since.
      guard let sent = own.refresh, let successor = session.refresh else { break }
      let expired = StoredAccess(tokens.tokens.credential, lifetime: Lifetime(start: clock.now(), duration: .zero))
      try await write(
        .advance(
          own.id,
          RefreshedTokens(sent: sent, to: successor, access: session.access ?? expired, profile: session.profile)))
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
      throw .unavailable("the app's former tokens cannot be removed: \(type(of: error))")
    }
  }

  /// For the audit log, a session that comes from elsewhere begins here.
  private func note(moved session: StoredSession) {
    let account = session.profile?.id
    record(
      AuditEntry(action: .signIn(.moved), session: session.id, account: account, at: clock.now().wall, outcome: "ok"))
  }

  /// Opens what has been moved, before its former place is emptied.
  private func confirm() async throws(VaultError) {
    guard try await !store.read(noting: audit).entry(for: .ordinary).isEmpty else {
      throw .unavailable("the new place of the session does not keep it")
    }
  }

  private func write(_ edit: VaultEdit) async throws(VaultError) {
    var outcome = await store.edit(edit, noting: audit)
    if case .conflict(let found) = outcome {
      _ = try await claimed(found)
      outcome = await store.edit(edit, noting: audit)
    }
    switch outcome {
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
