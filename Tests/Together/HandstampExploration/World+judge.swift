import HandstampCore

/// The invariants, checked after every move and every effect. Their numbers refer to docs/testing.md.
extension World {
  /// Checks the promise after a move.
  mutating func judge() {
    let isAlive = sessions.last?.isAlive(at: serverTime) == true
    if limits.hasNodes { judgeEnds() }
    if let thief {
      if sessions.last?.end(at: serverTime) == .tokenReuseDetected || !isAlive {
        verdict = .detected
      } else if thief.successes >= 2, thief.victimSteps >= 2 {
        verdict = .coexist
      } else if life == nil {
        judgeThief()
      }
      return
    }
    if limits.server != nil { judgeOthers() }
    if limits.signOuts > 0 || limits.vaultTroubles > 0 || life != nil { return judgeUser() }
    guard limits.server == nil else { return }
    if !isAlive { verdict = .out("the server ended the session") }
    for process in processes where process.isOut { verdict = .out("a client is \(process.machine.state)") }
  }

  /// Whether the thief has the session while the victim has lost it and not reported it.
  mutating func judgeThief() {
    guard verdict == nil, let thief, thief.successes >= 2, processes.contains(where: \.isOut) else { return }
    verdict = .takeover
  }

  /// The invariants that hold at every instant, whatever the user does.
  private mutating func judgeUser() {
    if let stored = vault.session {
      if buried.contains(stored.id) { fail(5, "an ended session is back in the vault") }
      if !endedRightly.contains(stored.id), !excused.contains(stored.id),
        let server = sessions.first(where: { $0.session == stored.id })
      {
        switch server.end(at: serverTime) {
        case .expired, .idle: break
        case .some: fail(2, "the server ended a session without cause")
        // At a third-party server the successor may still be in flight.
        case nil: if life != nil, presented.isEmpty, !isOlder(stored) { judgeAcceptance(of: stored, by: server) }
        }
      }
    }
    for process in processes where process.signingOut != nil && process.machine.session == process.signingOut {
      if process.machine.access != nil { fail(5, "a token behind the fence") }
    }
  }

  /// Whether an older vault was restored while a process holds a newer one.
  private func isOlder(_ stored: StoredSession) -> Bool {
    // Noticed at the next read.
    if goesBackLeft < limits.goesBack, processes.contains(where: { $0.isBehind || !$0.queue.isEmpty }) { return true }
    return processes.contains {
      ($0.machine.session == stored.id || $0.signingOut == stored.id) && $0.machine.revision > vault.revision
    }
  }

  /// Invariant 2: the server would accept the token in the vault now.
  private mutating func judgeAcceptance(of stored: StoredSession, by server: ModelServer) {
    guard ledger.judged?.stored != stored || ledger.judged?.server != server, let token = stored.refresh else { return }
    ledger.judged = (stored, server)
    var server = server
    let fresh = RotationKey(bytes: [UInt8](repeating: 0xee, count: RotationKey.byteCount))
    guard case .granted = server.present(token, key: stored.pendingKey ?? fresh, at: serverTime) else {
      return fail(2, "the vault contains a token that the server would refuse")
    }
  }

  /// A process has just read the vault.
  mutating func judgeRead(_ reading: VaultReading, by index: Int) {
    guard life != nil, !processes[index].isBehind else { return }
    switch reading {
    case .trouble, .accessOnly: return
    case .value, .absent: break
    }
    let looksAgain = processes[index].queue.contains { if case .read = $0 { true } else { false } }
    guard !looksAgain, let session = processes[index].machine.session, vaultState != .unavailable, vaultState != .locked
    else { return }
    if vault.session?.id != session { fail(5, "p\(index) read the vault and continues with \(session)") }
  }

  /// The server has sent a response, to the thief or an honest process.
  mutating func judgeAnswer(_ answer: RefreshResult, to token: RefreshToken, _ key: RotationKey?) {
    guard life != nil, limits.server == nil, case .granted = answer, let key else { return }
    if let previous = ledger.accepted[token], previous != key, limits.lostCommits == 0 {
      fail(6, "two keys were accepted with one token")
    }
    ledger.accepted[token] = key
  }

  /// A refresh is being sent.
  mutating func judgeSending(_ token: RefreshToken, _ key: RotationKey, by index: Int) {
    guard life != nil else { return }
    if durable.session?.refresh != token || durable.session?.pendingKey != key && limits.server == nil {
      fail(3, "p\(index) sent a pair that a power cut would lose")
    }
    if let previous = ledger.sent[token], previous != key, limits.server == nil {
      fail(1, "one token was sent with two keys")
    }
    ledger.sent[token] = key
    guard limits.lockWorks, !limits.suspensionGivesUpLock, !ledger.lockWasRefused, thief == nil else { return }
    guard let server = sessions.first(where: { $0.issued(token) }), !endedRightly.contains(server.session) else {
      return
    }
    let isSecond = network.contains { $0.operation != nil && $0.process != index && server.issued($0.token) }
    if isSecond { fail(1, "two refreshes are in flight") }
  }

  mutating func judgeEffect(_ effect: SessionMachine.Effect, of index: Int, isDurable: Bool) {
    switch effect {
    case .publish(let state):
      if state == processes[index].shown { fail(10, "a state was shown twice") }
      switch state {
      case .signedIn(let facts):
        if !ledger.stored.contains(facts.id) { fail(3, "\(facts.id) was shown before it was durable") }
      case .signedOut(let reason):
        judgeReason(reason, of: index, isDurable: isDurable)
        guard isDurable, case .signedIn(let previous) = processes[index].shown, vaultState != .unconfirmed,
          vault.session?.id == previous.id, !endedRightly.contains(previous.id)
        else { break }
        let isOut = processes[index].signOutIsOut
        fail(isOut ? 5 : 4, "p\(index) shows \(String(describing: reason)), but the vault still contains the session")
      case .restoring, .unavailable: break
      }
      judgeWords(state)
    case .audit(var entry):
      // The limit was reached, and its tombstone has to wait.
      if !isDurable, let stored = vault.session, ledger.overdue.contains(stored.id) { endedRightly.insert(stored.id) }
      if limits.faults.contains(.auditNamesTokens), let access = processes[index].machine.access {
        entry.outcome = access.credential.secret.withExposed { $0 }
      }
      judgeWords(entry)
    case .finish(_, .success(.signedIn(let facts))):
      if processes[index].shown != .signedIn(facts), !limits.faults.contains(.statesAreLost) {
        fail(10, "a sign-in finished before it was shown")
      }
    case .resume(_, .success(let access)):
      guard let lifetime = access.lifetime, lifetime.remaining(at: now) > .zero else { break }
      let ends = sessions.lazy.compactMap { ModelServer.ends(access.credential, of: $0.session) }.first
      if let ends, serverTime.milliseconds >= ends { fail(0, "an expired token was returned") }
    case .resume(_, .failure(let error)): judgeWords(error)
    case .clean(let ended, _):
      if processes[index].machine.session != nil { fail(5, "a clean-up for \(ended.id) ran in the next session") }
    case .edit(_, .end(let session, holding: nil, let reason, let time, steps: _)):
      // Another process is signing in.
      if reason == .replaced, processes[index].isSigningIn { endedRightly.insert(session) }
      // A process that cannot read the vault relies on its own knowledge, and may not know of a use elsewhere.
      let isBlind = reason == .idle && vaultState != .works && vaultState != .full && vaultState != .unconfirmed
      if isBlind || isOver(reason, session, at: time) { ledger.overdue.insert(session) }
    case .refreshed, .adopted, .askRefresh, .startTimer, .finish, .cancelRequests, .unlock, .abandon, .ignored, .read,
      .edit, .lock, .checkSender,
      .revoke:
      break
    }
  }

  /// A process shows why a user is signed out: another reason than before only because another session has ended.
  private mutating func judgeReason(_ reason: EndReason?, of index: Int, isDurable: Bool) {
    // An older vault knows of older ends.
    guard limits.goesBack == 0 else { return }
    let end = isDurable && vaultState == .works ? vault.tombstones.last?.session : nil
    switch processes[index].shown {
    case .signedOut(let previous?):
      if previous != reason, let end, end == ledger.shownEnds[index] { fail(10, "\(end) ended for two reasons") }
      ledger.shownEnds[index] = end
    // Its end may be missing in the vault.
    case .signedIn(let previous): ledger.shownEnds[index] = vault.tombstone(of: previous.id) == nil ? nil : end
    case .signedOut(nil), .restoring, .unavailable: ledger.shownEnds[index] = end
    }
  }

  /// A machine has handled an event, and all effects were performed.
  mutating func judgeProcess(_ index: Int) {
    let process = processes[index]
    if process.shown != process.machine.state { fail(10, "p\(index) was not shown \(process.machine.state)") }
    guard case .signedIn(let facts) = process.machine.state else {
      if process.machine.access != nil { fail(10, "a token is available, but no user is shown as signed in") }
      return
    }
    if let session = process.machine.session, session != facts.id { fail(10, "an inconsistent state was shown") }
  }

  /// Invariant 9: no secret appears in output or logs.
  mutating func judgeWords(_ value: some Any) {
    guard life?.looksForSecrets == true else { return }
    if "\(value)".contains(ModelServer.secretWord) || String(reflecting: value).contains(ModelServer.secretWord) {
      fail(9, "a secret was exposed in text")
    }
  }
}

extension World.Process {
  /// Whether this process considers the session ended.
  var isOut: Bool {
    switch machine.state {
    case .restoring, .signedIn: false
    case .signedOut, .unavailable: true
    }
  }
}
