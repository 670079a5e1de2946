package import HandstampCore

extension World {
  package enum Move: Sendable, Hashable {
    case demand(Int)
    case vault(Int)
    case grantLock(Int)
    case refuseLock(Int)
    /// The server responds, and the response arrives if its sender still waits.
    case deliver(Int, keepsCopy: Bool)
    /// The server responds, and the response is lost.
    case deliverInVain(Int)
    /// The same, and the sender does not notice.
    case swallow(Int)
    case timeOut(Int)
    case crash(Int)
    case timer(Int, SessionMachine.Timer)
    case loseCommit
    /// A node of the server reads the session that a message is about.
    case nodeReads(Int)
    case nodeCommits(Int, Commit)
    /// The store continues without the commits that were not acknowledged.
    case failOver
    case steal
    case thiefRefresh
    case notice(Int)
    case signIn(Int)
    case signOut(Int)
    /// A revocation is sent to the server, and arrives or not.
    case revoke(Int, SessionID, arrives: Bool)
    case vaultFails(VaultState)
    case vaultRecovers

    // At third-party servers.
    /// The server refuses, or nothing was sent: the token remains valid.
    case refuse(Int)
    case suspend(Int)
    /// The request is lost, and the sender does not know whether a response may arrive.
    case leaveOpen(Int)
    case resume(Int)
    /// A resumed process reads a response that has arrived in the meantime.
    case readSocket(Int)
    /// The connection of a suspended process breaks.
    case freezeOut(Int)
    case leave(Int)
    case callerLeaves(Int)
    /// The response deadline passes.
    case limitPasses
    /// An older vault is restored.
    case goBack
    /// A captive portal answers a revocation.
    case portal(Int, SessionID)
    /// A process is killed while it has tokens that are in no vault.
    case endUnsaved(Int)

    // In simulations only.
    /// The response to a sign-in arrives, or is lost and leaves an unknown session at the server.
    case signInAnswered(Int, arrives: Bool)
    /// Calls the API with the current access token.
    case call(Int)
    case activity(Int)
    case clean(Int, succeeds: Bool)
    /// The process dies after its edit was written, but before it is confirmed.
    case crashAfterWrite(Int)
    case pass(Duration)
    case setClock(Duration)
    case reboot
    /// Ends the newest session at the server, from another device.
    case revokeElsewhere
    /// The server's feed reports an end to a process.
    case hearOfEnd(Int)
    /// An invalid response: tokens of another session, or a page of HTML.
    case answerGarbage(Int, Garbage)
    /// A forged token is sent to the server.
    case forge
    /// A nonsensical event.
    case nonsense(Int, UInt64)
  }

  package enum Garbage: String, Sendable, Hashable, CaseIterable {
    case html, otherSession, otherAccount
  }

  /// Returns all possible next moves.
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
          if timer == .answer, life == nil, !mayBeLate, !isUnheard(index),
            !limits.faults.contains(.deadlineRunsWhileSuspended)
          {
            continue
          }
          moves.append(.timer(index, timer))
        }
      }
    }
    if limits.hasNodes { nodesMoves(&moves) }
    for index in network.indices where !limits.hasNodes {
      moves.append(.deliver(index, keepsCopy: false))
      if duplicatesLeft > 0 { moves.append(.deliver(index, keepsCopy: true)) }
      guard network[index].operation != nil, troublesLeft > 0 else { continue }
      if limits.kinds.contains(.lost) { moves.append(.deliverInVain(index)) }
      if limits.kinds.contains(.silent) { moves.append(.swallow(index)) }
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

  /// Performs the move. An impossible move changes nothing.
  package mutating func make(_ move: Move) {
    if ledger.trace != nil { tell("\(clockText) \(move)") }
    switch move {
    case .demand(let index):
      guard let access = processes[index].machine.access else { return }
      processes[index].waits = true
      processes[index].refused = access.credential
      let refused = life == nil && limits.target == nil ? access.credential : nil
      perform(.demand(World.waiter, .init(refused: refused, target: limits.target)), by: index)
    case .vault(let index): workVault(index)
    case .grantLock(let index): answerLock(index, granted: true)
    case .refuseLock(let index): answerLock(index, granted: false)
    case .deliver(let index, let keepsCopy): deliver(index, keepsCopy: keepsCopy, answerArrives: true)
    case .deliverInVain(let index):
      troublesLeft -= 1
      deliver(index, keepsCopy: false, answerArrives: false)
    case .swallow(let index):
      troublesLeft -= 1
      guard network.indices.contains(index) else { return }
      let message = network.remove(at: index)
      excuse(message.token)
      _ = present(message.token, key: limits.sendsKeys ? message.key : nil)
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
    case .nodeReads, .nodeCommits, .failOver: makeNodes(move)
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
      perform(
        .revoked(session, arrives ? .ended : .noDecision(.network(.timedOut)), entropy: entropy()), by: index)
    case .vaultFails(let state):
      vaultTroublesLeft -= 1
      vaultState = state
    case .vaultRecovers: vaultState = .works
    case .signInAnswered, .call, .activity, .clean, .crashAfterWrite, .pass, .setClock, .reboot, .revokeElsewhere,
      .hearOfEnd, .answerGarbage, .forge, .nonsense:
      live(move)
    case .refuse, .suspend, .leaveOpen, .resume, .readSocket, .freezeOut, .leave, .callerLeaves, .limitPasses, .goBack,
      .portal, .endUnsaved:
      makeOthers(move)
    }
    if verdict == nil { judge() }
  }

  /// As random as the seed; always zero in explorations.
  mutating func entropy() -> UInt64 { life == nil ? 0 : ledger.nextEntropy() }
}
