import HandstampCore

/// The messages between processes and server, and the thief.
extension World {
  mutating func deliver(_ index: Int, keepsCopy: Bool, answerArrives: Bool) {
    guard network.indices.contains(index) else { return }
    let message = network[index]
    if keepsCopy {
      duplicatesLeft -= 1
      excuse(message.token)
      network[index].operation = nil
    } else {
      network.remove(at: index)
    }
    if !answerArrives { excuse(message.token) }
    let answer = present(message.token, key: limits.sendsKeys ? message.key : nil)
    guard let operation = message.operation else { return }
    ledger.garbageTo.remove(message.process)
    switch answer {
    case .rejected, .superseded: presented[message.token] = nil
    case .granted, .noDecision: if !answerArrives { presented[message.token] = nil }
    }
    let heard = answerArrives ? answer : brokenConnection
    guard processes[message.process].suspendedAt == nil else {
      processes[message.process].socket.append(Answer(operation: operation, answer: heard))
      return
    }
    answered(operation, of: message.process, by: heard)
  }

  /// The result of a broken connection for a client.
  var brokenConnection: RefreshResult {
    limits.faults.contains(.waitsAfterTheEnd)
      ? .noDecision(.network(.timedOut)) : .noDecision(.network(.connectionLost("reset")))
  }

  mutating func send(
    _ token: RefreshToken, _ key: RotationKey, for operation: SessionMachine.Operation?, by index: Int
  ) {
    judgeSending(token, key, by: index)
    if limits.server != nil { judgePresenting(token, by: index) }
    network.append(Message(process: index, operation: operation, token: token, key: key))
  }

  /// Delivers a response if its sender still waits for it.
  mutating func answered(
    _ operation: SessionMachine.Operation, of index: Int, by answer: RefreshResult
  ) {
    guard let place = processes[index].asking.firstIndex(of: operation) else { return }
    processes[index].asking.remove(at: place)
    perform(.refreshCompleted(operation, answer, entropy: entropy()), by: index)
  }

  mutating func giveUp(_ index: Int) {
    guard let operation = processes[index].asking.first else { return }
    // Also if the response has arrived unread, and if the session has ended in the meantime.
    if let session = processes[index].machine.session { excused.insert(session) }
    excused.formUnion(processes[index].machine.sessionsWithLateSuccessors)
    processes[index].socket.removeAll { $0.operation == operation }
    abandon(operation, of: index)
    presented = presented.filter { $0.value.process != index }
    answered(operation, of: index, by: brokenConnection)
  }

  mutating func abandon(_ operation: SessionMachine.Operation, of index: Int) {
    guard let sent = network.firstIndex(where: { $0.process == index && $0.operation == operation }) else { return }
    if limits.delays { network[sent].operation = nil } else { network.remove(at: sent) }
  }

  mutating func crash(_ index: Int) {
    let isUnsettled = processes[index].machine.isRefreshUnstored || !processes[index].asking.isEmpty
    if isUnsettled, let session = processes[index].machine.session { excused.insert(session) }
    // Only this process held the newer vault.
    for session in [processes[index].machine.session, processes[index].signingOut].compactMap({ $0 })
    where goesBackLeft < limits.goesBack { excused.insert(session) }
    excused.formUnion(processes[index].machine.sessionsWithLateSuccessors)
    for operation in processes[index].asking { abandon(operation, of: index) }
    if exchanging == index { exchanging = nil }
    if holder?.process == index { holder = nil }
    attempts.die(index, leaving: limits.childrenLive ? limits.processes : nil)
    if limits.faults.contains(.keyIsNotDurable) { vault = durable }
    // The user saw the program die, and does not rely on an unanswered sign-in.
    if let session = processes[index].signingInTo { endedRightly.insert(session) }
    let (drawn, starts) = (processes[index].keysDrawn, processes[index].starts)
    processes[index] = newProcess(index, starts: starts + 1)
    processes[index].keysDrawn = drawn
    // Its copy of the vault is another machine's, which cannot see that.
    if copy == nil { presented = presented.filter { $0.value.process != index } }
    perform(.start, by: index)
  }

  mutating func end(_ session: SessionID, with handle: RevocationHandle? = nil, reason: EndReason = .revoked) {
    for index in sessions.indices where sessions[index].session == session {
      sessions[index].revoke(with: handle, reason, at: serverTime)
      if limits.hasNodes { endedThere.insert(session) }
    }
  }

  mutating func present(_ token: RefreshToken, key: RotationKey?) -> RefreshResult {
    for index in sessions.indices where sessions[index].issued(token) {
      let tokenLife = life?.tokenLife ?? limits.target.map { _ in .seconds(3600) }
      let answer = sessions[index].present(token, key: key, life: tokenLife, at: serverTime)
      judgeAnswer(answer, to: token, key)
      return answer
    }
    return .rejected(.rejected)
  }

  mutating func steal() {
    guard let session = vault.session, let token = session.refresh else { return }
    let key: RotationKey? =
      switch limits.thief {
      case .tokenAndKey: session.pendingKey
      case .token, .tokenWithoutSendingKeys, nil: nil
      }
    thief = Thief(token: token, key: key)
  }

  mutating func thiefRefresh() {
    guard var thief else { return }
    let bytes = [0xff, UInt8(thief.tries)] + [UInt8](repeating: 0, count: 14)
    let key = limits.thief == .tokenWithoutSendingKeys ? nil : thief.key ?? RotationKey(bytes: bytes)
    thief.tries += 1
    if case .granted(let grant) = present(thief.token, key: key), let token = grant.tokens.refresh {
      thief.token = token
      thief.key = nil
      thief.successes += 1
    }
    self.thief = thief
  }
}
