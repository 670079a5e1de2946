import HandstampCore

/// A user who signs out and in, a vault that fails for a while, and processes that are notified of each other's writes.
extension World {
  func usersMoves(_ moves: inout [Move]) {
    for (index, process) in processes.enumerated() where process.suspendedAt == nil {
      if process.isBehind { moves.append(.notice(index)) }
      for session in process.revoking.keys.sorted() {
        moves.append(.revoke(index, session, arrives: true))
        if troublesLeft > 0, limits.kinds.contains(.lost) || life != nil {
          moves.append(.revoke(index, session, arrives: false))
        }
      }
      guard limits.signOuts > 0 else { continue }
      if signOutsLeft > 0, !process.signOutIsOut, life != nil || process.machine.access != nil {
        moves.append(.signOut(index))
      }
      guard !process.isSigningIn, sessions.count <= limits.signOuts, canExchange else { continue }
      if case .signedOut = process.machine.state {
        moves.append(.signIn(index))
      } else if life != nil, thief == nil {
        moves.append(.signIn(index))
      }
    }
    if vaultState != .works {
      moves.append(.vaultRecovers)
    } else if vaultTroublesLeft > 0 {
      moves.append(.vaultFails(.unavailable))
      if life == nil, limits.server != nil { moves += [.vaultFails(.full), .vaultFails(.vanished)] }
      if life != nil {
        for state in VaultState.allCases.dropFirst(2) { moves.append(.vaultFails(state)) }
      }
    }
  }

  mutating func signIn(_ index: Int) {
    perform(.signIn(World.signingIn), by: index)
    guard life == nil else {
      processes[index].signInIsOut = true
      return
    }
    exchanging = index
    let server = newSession()
    perform(
      .signInAnswered(
        World.signingIn, .success(server.firstGrant()), by: .init(.password), fallback: SessionID("none")), by: index)
  }

  /// The server's response to a sign-in, or its loss.
  mutating func answerSignIn(_ index: Int, arrives: Bool) {
    guard processes[index].signInIsOut else { return }
    processes[index].signInIsOut = false
    let server = newSession()
    guard arrives else {
      troublesLeft -= 1
      let failure = SessionMachine.Event.signInAnswered(
        World.signingIn, .failure(.requestFailed(.network(.timedOut))), by: .init(.password),
        fallback: SessionID("none"))
      return perform(failure, by: index)
    }
    processes[index].signingInTo = server.session
    let grant = server.firstGrant(life: life?.tokenLife, at: serverTime)
    perform(
      .signInAnswered(World.signingIn, .success(grant), by: .init(.password), fallback: SessionID("none")), by: index)
  }

  private mutating func newSession() -> ModelServer {
    let person = life != nil && entropy() >> 40 % 3 == 0 ? "bob" : "ada"
    let server = World.newServer(limits, rules, number: sessions.count, person: person, at: serverTime)
    if limits.oneSessionEach {
      for previous in sessions where previous.profile.id == server.profile.id {
        end(previous.session, reason: .replaced)
        endedRightly.insert(previous.session)
      }
    }
    sessions.append(server)
    return server
  }

  mutating func signOut(_ index: Int) {
    signOutsLeft -= 1
    processes[index].signOutIsOut = true
    processes[index].signingOut = processes[index].machine.session
    perform(.signOut(World.command, .signedOut), by: index)
  }
}
