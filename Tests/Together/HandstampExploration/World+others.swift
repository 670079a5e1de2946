import HandstampCore

/// Moves and invariants at third-party servers, which have no rotation keys.
extension World {
  static let responseTimeout = RefreshPolicy().responseTimeout

  func othersMoves(_ moves: inout [Move]) {
    func has(_ kind: Trouble) -> Bool { limits.kinds.contains(kind) && troublesLeft > 0 }
    for (index, process) in processes.enumerated() {
      if process.suspendedAt != nil {
        moves.append(.resume(index))
        if has(.frozenOut), !process.asking.isEmpty { moves.append(.freezeOut(index)) }
        continue
      }
      if !process.socket.isEmpty { moves.append(.readSocket(index)) }
      let isBusy = !process.asking.isEmpty || !process.queue.isEmpty
      if has(.suspended), isBusy { moves.append(.suspend(index)) }
      let mayLeave = limits.faults.contains(.leavingLosesTheAnswer) || !process.machine.isRefreshUnstored
      if has(.leaves), mayLeave, isBusy || process.lockWanted != nil || process.waits { moves.append(.leave(index)) }
      if has(.cancelled), process.waits { moves.append(.callerLeaves(index)) }
      if has(.endsUnsaved), process.machine.hasUnsavedTokens { moves.append(.endUnsaved(index)) }
      if limits.faults.contains(.anyAnswerRevokes) {
        for session in process.revoking.keys.sorted() { moves.append(.portal(index, session)) }
      }
    }
    if has(.leftOpen) {
      for index in network.indices where network[index].operation != nil { moves.append(.leaveOpen(index)) }
    }
    if has(.refused) {
      for index in network.indices where network[index].operation != nil { moves.append(.refuse(index)) }
    }
    if life == nil, passesLeft > 0, !limits.isPrompt || isIdle, mayPass(nextWait) { moves.append(.limitPasses) }
    if goesBackLeft > 0, older != nil, older?.session?.id == vault.session?.id,
      allHoldTheNewest || limits.kinds.contains(.goesBackUnseen)
    {
      moves.append(.goBack)
    }
  }

  /// Whether every process knows the newest token.
  private var allHoldTheNewest: Bool {
    processes.allSatisfy { process in
      process.machine.session == vault.session?.id
        && (process.machine.revision == vault.revision || limits.faults.contains(.olderVaultIsAdopted))
        && process.queue.isEmpty && process.asking.isEmpty && process.lockWanted == nil && process.suspendedAt == nil
        && !process.isBehind
    }
  }

  mutating func makeOthers(_ move: Move) {
    switch move {
    case .refuse(let index):
      troublesLeft -= 1
      let message = network.remove(at: index)
      guard let operation = message.operation else { return }
      let answer = RefreshResult.noDecision(.network(.notConnected("refused")))
      presented[message.token] = nil
      guard processes[message.process].suspendedAt == nil else {
        processes[message.process].socket.append(Answer(operation: operation, answer: answer))
        return
      }
      answered(operation, of: message.process, by: answer)
    case .leaveOpen(let index):
      troublesLeft -= 1
      let message = network.remove(at: index)
      guard let operation = message.operation else { return }
      let answer = RefreshResult.noDecision(.network(.timedOut))
      guard processes[message.process].suspendedAt == nil else {
        processes[message.process].socket.append(Answer(operation: operation, answer: answer))
        return
      }
      answered(operation, of: message.process, by: answer)
    case .suspend(let index):
      troublesLeft -= 1
      processes[index].suspendedAt = clock.uptime
      if limits.suspensionGivesUpLock, holder?.process == index { holder = nil }
    case .resume(let index): resume(index)
    case .readSocket(let index):
      guard !processes[index].socket.isEmpty else { return }
      let answer = processes[index].socket.removeFirst()
      answered(answer.operation, of: index, by: answer.answer)
    case .freezeOut(let index):
      troublesLeft -= 1
      if let session = processes[index].machine.session { excused.insert(session) }
      processes[index].socket = processes[index].asking.map {
        Answer(operation: $0, answer: brokenConnection)
      }
      presented = presented.filter { $0.value.process != index }
      for operation in processes[index].asking { abandon(operation, of: index) }
    case .leave(let index):
      troublesLeft -= 1
      crash(index)
    case .endUnsaved(let index):
      troublesLeft -= 1
      crash(index)
    case .callerLeaves(let index):
      troublesLeft -= 1
      processes[index].waits = false
      perform(.gone(World.waiter), by: index)
    case .limitPasses:
      passesLeft -= 1
      let wait = nextWait
      clock = clock.advanced(by: wait)
      serverTime = serverTime.advanced(by: wait)
    case .goBack:
      goesBackLeft -= 1
      guard let older else { return }
      if !allHoldTheNewest, let session = vault.session?.id { excused.insert(session) }
      vault = older
      durable = older
      self.older = nil
      for index in processes.indices { processes[index].isBehind = true }
    case .portal(let index, let session):
      processes[index].revoking[session] = nil
      perform(.revoked(session, .ended), by: index)
    default: break
    }
  }

  /// Resumes a process. The time of the suspension does not count towards its deadline.
  private mutating func resume(_ index: Int) {
    guard let since = processes[index].suspendedAt else { return }
    processes[index].suspendedAt = nil
    guard !limits.faults.contains(.deadlineRunsWhileSuspended) else { return }
    if let due = processes[index].timers[.answer]?.due {
      processes[index].timers[.answer]?.due = due + (clock.uptime - since)
    }
  }

  /// The time until the next wait of a process ends; the longest one if there is none.
  private var nextWait: Duration {
    var dues: [Duration] = []
    for process in processes where process.suspendedAt == nil {
      for timer in [SessionMachine.Timer.answer, .retry] {
        if let due = process.timers[timer]?.due, due > clock.uptime { dues.append(due) }
      }
    }
    return dues.min().map { $0 - clock.uptime } ?? World.responseTimeout
  }

  /// Whether every process only waits for time to pass.
  private var isIdle: Bool {
    let isWaiting = processes.contains { $0.timers[.answer] != nil || $0.timers[.retry] != nil }
    return isWaiting
      && processes.indices.allSatisfy { index in
        let process = processes[index]
        return process.queue.isEmpty && process.socket.isEmpty && (process.lockWanted == nil || holder != nil)
          && (process.asking.isEmpty || isUnheard(index))
          // A wait that is over is work.
          && ![SessionMachine.Timer.answer, .retry].contains { timer in
            process.timers[timer]?.due.map { $0 <= clock.uptime } ?? false
          }
      }
  }

  /// Whether a process awaits a response that will never arrive.
  func isUnheard(_ index: Int) -> Bool {
    processes[index].asking.contains { operation in
      !network.contains { $0.process == index && $0.operation == operation }
        && !processes[index].socket.contains { $0.operation == operation }
    }
  }

  /// Whether a response may arrive after the deadline.
  var mayBeLate: Bool { limits.server != nil && limits.kinds.contains(.late) && (life != nil || troublesLeft > 0) }

  /// Whether this much time may pass: not while a running process waits for a response, unless that may be late.
  func mayPass(_ duration: Duration) -> Bool {
    guard limits.server != nil else { return true }
    if life != nil, limits.kinds.contains(.late) { return true }
    return processes.allSatisfy { process in
      guard process.suspendedAt == nil, !process.asking.isEmpty, let due = process.timers[.answer]?.due else {
        return true
      }
      let isUnheard = !network.contains { process.asking.contains($0.operation ?? .init(0)) } && process.socket.isEmpty
      return isUnheard || clock.uptime + duration < due
    }
  }

  /// The sender's deadline has passed.
  mutating func limitPasses(for index: Int) {
    guard let operation = processes[index].asking.first else { return }
    if life == nil { troublesLeft -= 1 }
    guard let sent = network.first(where: { $0.process == index && $0.operation == operation })?.token else {
      if !limits.faults.contains(.deadlineRunsWhileSuspended) { presented = [:] }
      if let session = processes[index].machine.session { excused.insert(session) }
      return
    }
    // With the planted fault only the sender believes so.
    if !limits.faults.contains(.deadlineRunsWhileSuspended) { presented[sent] = nil }
    excuse(sent)
  }

  /// Records that the session of `token` may be lost from now on.
  mutating func excuse(_ token: RefreshToken) {
    guard let session = sessions.first(where: { $0.issued(token) })?.session else { return }
    excused.insert(session)
  }

  /// Whether a sign-in may be exchanged for tokens now.
  var canExchange: Bool { exchanging == nil || limits.faults.contains(.signInsAreNotExclusive) }
}

extension World {
  /// No session is lost, except by faults that no client can make good.
  mutating func judgeOthers() {
    for server in sessions where !endedRightly.contains(server.session) {
      // Other ends are judged by the vault's entry.
      guard let reason = server.end(at: serverTime), reason == .tokenReuseDetected else { continue }
      let isExcused = life != nil && excused.contains(server.session)
      if isExcused {
        endedRightly.insert(server.session)
      } else {
        verdict = .out("the server ended a session: \(reason)")
      }
    }
  }

  /// A token is sent at most once until its attempt is settled or its deadline has passed, and only when needed.
  mutating func judgePresenting(_ token: RefreshToken, by index: Int) {
    // If suspension releases the lock, the sender may still wait, or store its response, after others consider its
    // deadline passed.
    let isOvertaken = processes.indices.contains { $0 != index && processes[$0].machine.isRefreshUnstored }
    if isOvertaken, limits.suspensionGivesUpLock { excuse(token) }
    if let previous = presented[token], clock.uptime - previous.since < previous.limit, copy == nil,
      !excused.contains(where: { session in sessions.contains { $0.session == session && $0.issued(token) } })
        || life == nil
    {
      fail(11, "p\(index) sends a token again before the first attempt is settled or its deadline has passed")
    }
    let attempt = vault.session?.attempt
    presented[token] = Presentation(
      process: index, since: attempt?.since.uptime ?? clock.uptime, limit: attempt?.limit ?? World.responseTimeout)
    guard life == nil, let stored = vault.session?.access?.credential, let refused = processes[index].refused,
      let session = vault.session?.id, copy == nil, processes[index].waits
    else { return }
    if let had = KeylessServer.number(of: refused, of: session),
      let has = KeylessServer.number(of: stored, of: session),
      has > had
    {
      fail(12, "p\(index) refreshes although a newer access token is stored")
    }
  }

  /// No caller receives a token that a refresh has replaced.
  mutating func judgeServing(_ access: StoredAccess, by index: Int) {
    if access.credential == processes[index].refused { fail(12, "p\(index) receives the token that was refused") }
    guard vaultState == .works, copy == nil, let session = vault.session?.id,
      let stored = vault.session?.access?.credential,
      let has = KeylessServer.number(of: stored, of: session),
      let got = KeylessServer.number(of: access.credential, of: session)
    else { return }
    if got < has, goesBackLeft == limits.goesBack { fail(12, "p\(index) receives a token that was replaced") }
  }

  /// A running program does not show a session as ended without cause.
  mutating func judgeShowing(_ state: SessionState, by index: Int) {
    guard case .signedOut = state, case .signedIn(let previous) = processes[index].shown,
      !endedRightly.contains(previous.id), !excused.contains(previous.id) || life == nil,
      processes[index].signingOut != previous.id, processes[index].signOutIsOut == false,
      let server = sessions.first(where: { $0.session == previous.id }), server.isAlive(at: serverTime), life == nil
    else { return }
    verdict = verdict ?? .out("p\(index) shows a live session as ended: \(state)")
  }

  /// A sign-in is stored: the server must not have replaced it in the meantime.
  mutating func judgeBeginning(_ session: StoredSession) {
    guard let server = sessions.first(where: { $0.session == session.id }), !server.isAlive(at: serverTime),
      server.end(at: serverTime) == .replaced
    else { return }
    verdict = verdict ?? .out("the vault stores a sign-in that the server has replaced")
  }
}
