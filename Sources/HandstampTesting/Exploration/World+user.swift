import HandstampCore

/// A user who signs out and in, a vault that is out of order for a while, and processes that hear of each other.
extension World {
  func usersMoves() -> [Move] {
    var moves: [Move] = []
    for (index, process) in processes.enumerated() {
      if process.isBehind { moves.append(.notice(index)) }
      for session in process.revoking.keys.sorted() {
        moves.append(.revoke(index, session, arrives: true))
        if troublesLeft > 0 { moves.append(.revoke(index, session, arrives: false)) }
      }
      guard limits.signOuts > 0 else { continue }
      if signOutsLeft > 0, process.machine.access != nil, process.signingOut == nil { moves.append(.signOut(index)) }
      if case .signedOut = process.machine.state, !process.isSigningIn, sessions.count <= limits.signOuts {
        moves.append(.signIn(index))
      }
    }
    if vaultIsOutOfOrder { moves.append(.vaultRecovers) } else if vaultTroublesLeft > 0 { moves.append(.vaultFails) }
    return moves
  }

  mutating func signIn(_ index: Int) {
    let server = ModelServer(rules: rules, number: sessions.count)
    sessions.append(server)
    perform(.signIn(World.signingIn), by: index)
    perform(
      .signInAnswered(World.signingIn, .success(server.firstGrant), fallback: SessionID("none")), by: index)
  }

  /// Takes down what a sign-out or a new sign-in ends, and sees to it that nothing else ends anything.
  mutating func bury(by edit: VaultEdit) {
    guard let session = vault.session?.id else { return }
    switch edit {
    case .endWhatever:
      endedByUser.insert(session)
      buried.insert(session)
    case .begin(let new, _) where new.id != session:
      endedByUser.insert(session)
      buried.insert(session)
    case .end(let ended, _, _, _, _) where ended == session:
      // The server ends a session like this, or a user whose sign-out could not be written at first.
      if endedByUser.contains(session) { buried.insert(session) }
      for server in sessions where !endedByUser.contains(session) && server.session == session && server.isAlive {
        verdict = .out("a client ended a session that the server accepts")
      }
    case .begin, .prepare, .advance, .end, .bury, .delivered, .cleaned, .touch: break
    case .noting(_, let edit): bury(by: edit)
    }
  }

  mutating func end(_ session: SessionID) {
    for index in sessions.indices where sessions[index].session == session { sessions[index].revoke() }
  }

  mutating func present(_ token: RefreshToken, key: RotationKey?) -> SessionMachine.RefreshAnswer {
    for index in sessions.indices where sessions[index].issued(token) {
      return sessions[index].present(token, key: key)
    }
    return .rejected(.rejected)
  }

  /// The edit, with the fault that was planted in it.
  func faulty(_ edit: VaultEdit) -> VaultEdit {
    switch edit {
    case .end(let session, holding: .some, let reason, let time, _) where limits.faults.contains(.endsWithoutComparing):
      .end(vault.session?.id ?? session, holding: nil, reason: reason, at: time)
    case .advance(let session, _, let successor, let access, _)
    where limits.faults.contains(.advancesWithoutComparing):
      .begin(
        StoredSession(
          id: session, profile: World.profile, refresh: successor,
          revocation: RevocationHandle(session.rawValue), access: access, startedAt: World.start,
          activeAt: World.start))
    case .begin, .prepare, .advance, .end, .endWhatever, .bury, .delivered, .cleaned, .touch, .noting: edit
    }
  }

  /// What must hold at every instant, whatever the user does.
  mutating func judgeUser() {
    if let stored = vault.session {
      if buried.contains(stored.id) { verdict = .out("an ended session is back in the vault") }
      // Invariant 2: what the vault holds, the server accepts, unless the user ended it.
      for server in sessions where server.session == stored.id && !server.isAlive && !endedByUser.contains(stored.id) {
        verdict = .out("the server ended a session that nobody ended")
      }
    }
    for process in processes {
      if process.signingOut != nil, process.machine.access != nil { verdict = .out("a token behind the fence") }
    }
  }

  /// Lets everything that is under way come to its end, without further trouble, and then asks every process for a token.
  /// Whoever should have one gets one; whoever should not, does not; and the server knows of every end.
  package mutating func settle() {
    guard verdict == nil else { return }
    vaultIsOutOfOrder = false
    requestsLeft = max(requestsLeft, 1000)
    troublesLeft = 0
    signOutsLeft = 0
    for index in processes.indices {
      perform(.nudge, by: index)
      processes[index].isBehind = true
    }
    drain()
    guard verdict == nil else { return }
    for index in processes.indices where !processes[index].waits {
      processes[index].waits = true
      processes[index].answer = nil
      let access = processes[index].machine.access
      perform(.demand(World.waiter, .init(refused: access?.token)), by: index)
    }
    drain()
    for process in processes where verdict == nil {
      if process.waits { verdict = .out("somebody waits for ever") }
      if let stored = vault.session {
        if process.answer != true { verdict = .out("signed in, and no token: \(process.machine.state)") }
        if process.machine.access == nil { verdict = .out("a process did not hear of \(stored.id)") }
      } else if process.answer == true || process.machine.access != nil {
        verdict = .out("signed out, and yet a token")
      }
    }
    for server in sessions where verdict == nil && buried.contains(server.session) && server.isAlive {
      verdict = .out("the server was not told of an end")
    }
  }

  private mutating func drain() {
    // Bounded: a run that does not come to rest within so many moves never does.
    for _ in 0..<10_000 {
      let next = moves().first { move in
        switch move {
        case .vault, .grantLock, .refuseLock, .deliver(_, keepsCopy: false), .timer, .notice,
          .revoke(_, _, arrives: true):
          true
        case .demand, .deliver, .deliverInVain, .timeOut, .crash, .loseCommit, .steal, .thiefRefresh, .signIn, .signOut,
          .revoke, .vaultFails, .vaultRecovers:
          false
        }
      }
      guard let next else { return }
      make(next)
      if verdict != nil { return }
    }
    verdict = .out("it does not come to rest")
  }
}
