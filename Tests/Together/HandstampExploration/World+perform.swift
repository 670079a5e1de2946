import HandstampCore

/// Feeds events to a machine, and performs its effects.
extension World {
  mutating func perform(_ event: SessionMachine.Event, by index: Int) {
    #if Exploration
    let previous = log.map { _ in processes[index].machine.stateName }
    #endif
    let effects = processes[index].machine.handle(event, at: now)
    #if Exploration
    if let previous { log?.note(previous, processes[index].machine.stateName) }
    #endif
    let isDurable = !effects.contains {
      if case .audit(let entry) = $0 { entry.outcome == "not_durable" } else { false }
    }
    for effect in effects {
      if ledger.trace != nil, effect != .ignored { tell("        p\(index) " + short(effect)) }
      if life != nil { judgeEffect(effect, of: index, isDurable: isDurable) }
      perform(effect, by: index)
    }
    // A late response to an abandoned sign-in is not followed by `.finish`.
    if case .signInAnswered = event, !processes[index].machine.isSigningIn(World.signingIn) {
      processes[index].signingInTo = nil
    }
    if life != nil { judgeProcess(index) }
    releaseAttempt(of: index)
    #if Exploration
    if life == nil { canonicalize(index) }
    #endif
  }

  private mutating func perform(_ effect: SessionMachine.Effect, by index: Int) {
    switch effect {
    case .publish(let state):
      if limits.server != nil { judgeShowing(state, by: index) }
      if !limits.faults.contains(.statesAreLost) { processes[index].shown = state }
    case .abandon(let operation):
      abandon(operation, of: index)
      processes[index].asking.removeAll { $0 == operation }
    case .audit, .refreshed, .adopted, .cancelRequests, .ignored: break
    case .finish(World.command, _):
      if let session = processes[index].signingOut { endedRightly.insert(session) }
      processes[index].signingOut = nil
      processes[index].signOutIsOut = false
    case .finish(_, let result):
      if case .failure = result, let session = processes[index].signingInTo {
        // The user sees the failure and does not rely on the session.
        endedRightly.insert(session)
      }
      processes[index].signingInTo = nil
      if exchanging == index { exchanging = nil }
    case .startTimer(let timer, let ticket, let delay):
      // A vault answers in time, unless hanging is explored.
      if timer == .end, life == nil, !limits.vaultHangs { break }
      // Time stands still in explorations, except for waits at third-party servers.
      let isTimed = life != nil || limits.server != nil && (timer == .retry || timer == .answer)
      processes[index].timers[timer] = Ticking(ticket: ticket, due: isTimed ? clock.uptime + delay : nil)
    case .resume(_, let result):
      processes[index].waits = false
      if case .success(let access) = result, life == nil, limits.server != nil { judgeServing(access, by: index) }
      if case .success = result { processes[index].answer = true } else { processes[index].answer = false }
    case .unlock(let operation):
      if holder == Holder(process: index, operation: operation) { holder = nil }
      if limits.faults.contains(.attemptIsUnlockedWithTheRefreshLock) { attempts.die(index, leaving: nil) }
    case .read(let operation): processes[index].queue.append(.read(operation))
    case .edit(let operation, let edit):
      processes[index].queue.append(.edit(operation, edit))
      if limits.faults.contains(.sendsBeforeWriting), case .prepare(_, let token, _, let key, _, _) = edit {
        send(token, key, for: nil, by: index)
      }
    case .lock(let operation, let limit):
      processes[index].lockWanted = LockRequest(operation: operation, until: life == nil ? nil : clock.uptime + limit)
    case .askRefresh(let operation, let request):
      requestsLeft -= 1
      processes[index].asking.append(operation)
      if limits.lockWorks, let target = request.target, vault.session?.targeted[target] != nil {
        fail(12, "p\(index) asks for a token that another process has stored")
      }
      send(request.token, request.key, for: operation, by: index)
    case .checkSender(let operation, let attempt): processes[index].queue.append(.check(operation, attempt))
    case .clean(let ended, let step):
      guard life != nil else { return }
      if limits.faults.contains(.cleanupIsNotedFirst) {
        perform(.cleaned(ended.id, step: step, succeeded: true, entropy: entropy()), by: index)
      } else {
        processes[index].cleaning.append(Chore(ended: ended, step: step))
      }
    case .revoke(let session, let handle):
      if limits.faults.contains(.noDeadEndRule) { return }
      // Without a user all ends are refusals, and the server is notified immediately.
      if limits.signOuts > 0 || life != nil {
        processes[index].revoking[session] = handle
      } else {
        end(session, with: handle)
      }
    }
  }

  #if Exploration
  /// Renumbers a machine's operations, so that equal states with different histories compare equal.
  private mutating func canonicalize(_ index: Int) {
    let (machine, renamed) = processes[index].machine.canonical()
    processes[index].machine = machine
    func new(_ operation: SessionMachine.Operation) -> SessionMachine.Operation { renamed[operation] ?? .init(0) }
    processes[index].queue = processes[index].queue.map { job in
      switch job {
      case .read(let operation): .read(new(operation))
      case .edit(let operation, let edit): .edit(new(operation), edit)
      case .check(let operation, let attempt): .check(new(operation), attempt)
      }
    }
    for position in network.indices where network[position].process == index {
      network[position].operation = network[position].operation.map(new)
    }
    processes[index].asking = processes[index].asking.map(new)
    for place in processes[index].socket.indices {
      processes[index].socket[place].operation = new(processes[index].socket[place].operation)
    }
    if let wanted = processes[index].lockWanted { processes[index].lockWanted?.operation = new(wanted.operation) }
    processes[index].timers = processes[index].timers.compactMapValues { ticking in
      renamed[.init(ticking.ticket)].map { Ticking(ticket: $0.number, due: ticking.due) }
    }
    if let held = holder, held.process == index { holder?.operation = new(held.operation) }
  }
  #endif
}
