package import HandstampCore

extension World {
  package enum Move: Sendable, Hashable {
    case demand(Int)
    case vault(Int)
    case grantLock(Int)
    case refuseLock(Int)
    /// The server answers, and the answer arrives, if anybody still waits for it.
    case deliver(Int, keepsCopy: Bool)
    /// The server answers, and the answer is lost.
    case deliverInVain(Int)
    case timeOut(Int)
    case crash(Int)
    case timer(Int, SessionMachine.Timer)
    case loseCommit
    case steal
    case thiefRefresh
    case notice(Int)
    case signIn(Int)
    case signOut(Int)
    /// The server hears of an end; or does not, this time.
    case revoke(Int, SessionID, arrives: Bool)
    case vaultFails(VaultState)
    case vaultRecovers

    // At servers of others.
    /// The server says no, or nothing was sent: the token is what it was.
    case refuse(Int)
    case suspend(Int)
    case resume(Int)
    /// A process that goes on reads an answer that has come meanwhile.
    case readSocket(Int)
    /// The connection of a suspended process is gone.
    case freezeOut(Int)
    case leave(Int)
    case callerLeaves(Int)
    /// As much time passes as an answer is waited for.
    case limitPasses
    /// An older vault is put back.
    case goBack
    /// A portal answers a revocation.
    case portal(Int, SessionID)
    /// A process is killed that has tokens which no vault took.
    case endUnsaved(Int)

    // Only in simulations.
    /// The answer to a sign-in comes; or does not, and there is a session at the server that nobody knows of.
    case signInAnswered(Int, arrives: Bool)
    /// Calls the API with the access token at hand.
    case call(Int)
    case activity(Int)
    case clean(Int, succeeds: Bool)
    /// Dies after its edit was written and before it heard so.
    case crashAfterWrite(Int)
    case pass(Duration)
    case setClock(Duration)
    case reboot
    /// Ends the newest session at the server, from another device.
    case revokeElsewhere
    /// The server's feed tells a process of an end.
    case hearOfEnd(Int)
    /// An answer that is none: somebody else's tokens, or a page of HTML.
    case answerGarbage(Int, Garbage)
    /// A forged token comes to the server.
    case forge
    /// An event that makes no sense here.
    case nonsense(Int, UInt64)
  }

  package enum Garbage: String, Sendable, Hashable, CaseIterable {
    case html, otherSession, otherAccount
  }

  /// Everything that may happen next.
  package func moves() -> [Move] {
    guard verdict == nil else { return [] }
    var moves: [Move] = []
    for (index, process) in processes.enumerated() where process.suspendedAt == nil {
      if !process.waits, process.machine.access != nil, process.queue.isEmpty, requestsLeft > 0 {
        moves.append(.demand(index))
      }
      if !process.queue.isEmpty { moves.append(.vault(index)) }
      if let request = process.lockWanted {
        let isLate = request.until.map { $0 <= clock.uptime } ?? false
        if !limits.lockWorks || isLate {
          moves.append(.refuseLock(index))
        } else if holder == nil || limits.faults.contains(.lockIsGivenTwice) || copy != nil {
          moves.append(.grantLock(index))
        }
      }
      if !process.asking.isEmpty, troublesLeft > 0, limits.kinds.contains(.lost) { moves.append(.timeOut(index)) }
      if !process.asking.isEmpty || !process.queue.isEmpty, troublesLeft > 0, limits.kinds.contains(.killed) {
        moves.append(.crash(index))
      }
      if requestsLeft > 0 {
        for (timer, ticking) in process.timers.sorted(by: { $0.key < $1.key })
        where ticking.due.map({ $0 <= clock.uptime }) ?? true || timer == .answer && life == nil && mayBeLate {
          if timer == .answer, life == nil, !mayBeLate, !limits.faults.contains(.deadlineRunsWhileSuspended) {
            continue
          }
          moves.append(.timer(index, timer))
        }
      }
    }
    for index in network.indices {
      moves.append(.deliver(index, keepsCopy: false))
      if duplicatesLeft > 0 { moves.append(.deliver(index, keepsCopy: true)) }
      if network[index].operation != nil, troublesLeft > 0, limits.kinds.contains(.lost) {
        moves.append(.deliverInVain(index))
      }
    }
    if lostCommitsLeft > 0, network.isEmpty, sessions.last?.canLoseCommit == true { moves.append(.loseCommit) }
    if limits.thief != nil {
      if let thief {
        if thief.tries < limits.thiefRequests { moves.append(.thiefRefresh) }
      } else if vault.session != nil {
        moves.append(.steal)
      }
    }
    if limits.signals || limits.signOuts > 0 || limits.vaultTroubles > 0 { usersMoves(&moves) }
    if life != nil { livesMoves(&moves) }
    if limits.server != nil { othersMoves(&moves) }
    return moves
  }

  /// Lets it happen. A move that is not possible changes nothing.
  package mutating func make(_ move: Move) {
    if ledger.trace != nil { tell("\(clockText) \(move)") }
    switch move {
    case .demand(let index):
      guard let access = processes[index].machine.access else { return }
      processes[index].waits = true
      processes[index].refused = access.token
      perform(.demand(World.waiter, life == nil ? .init(refused: access.token) : .init()), by: index)
    case .vault(let index): workVault(index)
    case .grantLock(let index): answerLock(index, granted: true)
    case .refuseLock(let index): answerLock(index, granted: false)
    case .deliver(let index, let keepsCopy): deliver(index, keepsCopy: keepsCopy, answerArrives: true)
    case .deliverInVain(let index):
      troublesLeft -= 1
      deliver(index, keepsCopy: false, answerArrives: false)
    case .timeOut(let index):
      troublesLeft -= 1
      giveUp(index)
    case .crash(let index):
      troublesLeft -= 1
      crash(index)
    case .timer(let index, let timer):
      guard let ticking = processes[index].timers.removeValue(forKey: timer) else { return }
      if timer == .answer { limitPasses(for: index) }
      perform(.timer(timer, ticket: ticking.ticket), by: index)
    case .loseCommit:
      lostCommitsLeft -= 1
      sessions[sessions.count - 1].loseCommit()
    case .steal: steal()
    case .thiefRefresh: thiefRefresh()
    case .notice(let index):
      processes[index].isBehind = false
      perform(.vaultChanged, by: index)
    case .signIn(let index): signIn(index)
    case .signOut(let index): signOut(index)
    case .revoke(let index, let session, let arrives):
      let handle = processes[index].revoking.removeValue(forKey: session)
      if arrives { end(session, with: handle) }
      perform(.revoked(session, delivered: arrives, entropy: entropy()), by: index)
    case .vaultFails(let state):
      vaultTroublesLeft -= 1
      vaultState = state
    case .vaultRecovers: vaultState = .works
    case .signInAnswered, .call, .activity, .clean, .crashAfterWrite, .pass, .setClock, .reboot, .revokeElsewhere,
      .hearOfEnd, .answerGarbage, .forge, .nonsense:
      live(move)
    case .refuse, .suspend, .resume, .readSocket, .freezeOut, .leave, .callerLeaves, .limitPasses, .goBack, .portal,
      .endUnsaved:
      makeOthers(move)
    }
    if verdict == nil { judge() }
  }

  /// As random as the seed; nothing where time stands still.
  mutating func entropy() -> UInt64 { life == nil ? 0 : ledger.nextEntropy() }
}
