import HandstampCore

extension World {
  /// Completes everything in progress without further faults, then requests a token for every process. Each process
  /// must get one exactly if it is entitled to it, and the server must know of every end.
  package mutating func settle() {
    guard verdict == nil else { return }
    if ledger.trace != nil { tell("\(clockText) no more faults from here on") }
    vaultState = .works
    requestsLeft = max(requestsLeft, 1000)
    troublesLeft = 0
    signOutsLeft = 0
    for index in processes.indices where processes[index].suspendedAt != nil { make(.resume(index)) }
    for index in processes.indices {
      perform(.conditionsChanged, by: index)
      processes[index].isBehind = true
    }
    drain()
    let hadSession = usable != nil
    guard verdict == nil else { return }
    for index in processes.indices where !processes[index].waits {
      processes[index].waits = true
      processes[index].answer = nil
      let access = processes[index].machine.access
      processes[index].refused = access?.credential
      perform(.demand(World.waiter, .init(refused: access?.credential)), by: index)
    }
    drain()
    guard thief == nil else { return judgeThief() }
    for (index, process) in processes.enumerated() where verdict == nil {
      if process.waits { fail(0, "p\(index) waits forever") }
      // A sign-in reported as failed may have been revoked at a third-party server with a token that was replaced.
      if let session = vault.session?.id,
        excused.contains(session) || limits.server != nil && endedRightly.contains(session)
      {
        continue
      }
      if let stored = usable {
        // Without a refresh token there is no guarantee of a new access token, and without a lock none is sent to a
        // third-party server.
        let mayRefresh = limits.server == nil || limits.server != KeylessServer.Kind.none && limits.lockWorks
        if process.answer != true, mayRefresh {
          fail(0, "p\(index) is signed in, but has no token: \(process.machine.state)")
        }
        if process.machine.access == nil { fail(0, "p\(index) was not notified of \(stored.id)") }
      } else if limits.server == KeylessServer.Kind.none || limits.server != nil && !limits.lockWorks {
        // No refresh reveals the end.
      } else if process.machine.access != nil || process.answer == true && !hadSession {
        fail(5, "p\(index) is signed out, but has a token")
      }
    }
    for server in sessions where buried.contains(server.session) && server.isAlive(at: serverTime) {
      // Revoking at a third-party server takes the newest token, which is unknown.
      if limits.server != nil, excused.contains(server.session) || goesBackLeft < limits.goesBack { continue }
      fail(5, "an end was not reported to the server")
    }
    if life != nil { judgeEnd() }
  }

  /// The stored session, except one whose sign-in was reported as failed and then revoked at the server.
  private var usable: StoredSession? {
    if let session = vault.session?.id, excused.contains(session) { return nil }
    guard let stored = vault.session, let server = sessions.first(where: { $0.session == stored.id }) else {
      return nil
    }
    return endedRightly.contains(stored.id) && !server.isAlive(at: serverTime) ? nil : stored
  }

  /// Checks what remains at the end.
  private mutating func judgeEnd() {
    for (session, steps) in ledger.ordered.sorted(by: { $0.key < $1.key }) {
      let account = sessions.first { $0.session == session }?.profile.id
      // The same user signed in again, so the data stays.
      let cameBack = sessions.contains {
        $0.profile.id == account && $0.session != session && ledger.stored.contains($0.session)
      }
      let left = steps.subtracting(ledger.cleaned[session] ?? [])
      // Clean-up waits while a user is signed in, whose data it might delete; it must then be noted in the vault.
      let noted = vault.session == nil ? [] : Set(vault.tombstone(of: session)?.steps ?? [])
      if !cameBack, !left.isSubset(of: noted) { fail(5, "clean-up is incomplete after \(session)") }
    }
    guard life?.looksForSecrets == true else { return }
    judgeWords(vault)
    for process in processes { judgeWords(process.machine) }
  }

  private mutating func drain() {
    // Bounded: a run that does not settle within this many moves never does.
    for _ in 0..<10_000 {
      guard let next = moves().first(where: \.isWork) ?? waiting() else { return }
      make(next)
      if verdict != nil { return }
    }
    fail(0, "the run does not settle")
  }

  /// Lets time pass for retries, but not for timers that start new work.
  private func waiting() -> Move? {
    guard life != nil || limits.server != nil else { return nil }
    var dues: [Duration] = []
    for process in processes {
      for (timer, ticking) in process.timers {
        switch timer {
        case .answer: if !process.asking.isEmpty, let due = ticking.due { dues.append(due) }
        case .retry, .save, .renew, .bury, .reload, .revoke, .clean, .hold, .end:
          if let due = ticking.due { dues.append(due) }
        case .refresh, .limit: break
        }
      }
      if let until = process.lockWanted?.until { dues.append(until) }
    }
    guard let due = dues.min() else { return nil }
    return .pass(max(.zero, due - clock.uptime))
  }
}

extension World.Move {
  /// Whether the move completes work in progress.
  fileprivate var isWork: Bool {
    switch self {
    case .vault, .grantLock, .refuseLock, .deliver(_, keepsCopy: false), .nodeReads, .nodeCommits(_, .acknowledged),
      .timer, .notice, .revoke(_, _, arrives: true),
      .resume, .readSocket, .signInAnswered(_, arrives: true), .clean(_, succeeds: true):
      true
    case .nodeCommits, .failOver, .demand, .deliver, .deliverInVain, .swallow, .timeOut, .crash, .loseCommit, .steal,
      .thiefRefresh, .signIn, .signOut,
      .revoke, .vaultFails, .vaultRecovers, .signInAnswered, .call, .activity, .clean, .crashAfterWrite, .pass,
      .setClock, .reboot, .revokeElsewhere, .hearOfEnd, .answerGarbage, .forge, .nonsense, .refuse, .suspend,
      .leaveOpen, .freezeOut,
      .leave, .callerLeaves, .limitPasses, .goBack, .portal, .endUnsaved:
      false
    }
  }
}
