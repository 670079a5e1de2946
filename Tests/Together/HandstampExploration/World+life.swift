import HandstampCore

/// Moves for simulations only: time, users, power cuts, garbage.
extension World {
  func livesMoves(_ moves: inout [Move]) {
    guard let life else { return }
    for (index, process) in processes.enumerated() where process.suspendedAt == nil {
      if process.signInIsOut {
        moves.append(.signInAnswered(index, arrives: true))
        if troublesLeft > 0 { moves.append(.signInAnswered(index, arrives: false)) }
      }
      if process.machine.access != nil {
        if !process.waits { moves.append(.call(index)) }
        if life.idleLimit != nil { moves.append(.activity(index)) }
      }
      if !process.cleaning.isEmpty {
        moves.append(.clean(index, succeeds: true))
        if life.cleanupTroubles > 0 { moves.append(.clean(index, succeeds: false)) }
      }
      if troublesLeft > 0, case .edit? = process.queue.first { moves.append(.crashAfterWrite(index)) }
      if let session = process.machine.session, endedAtServer(session) { moves.append(.hearOfEnd(index)) }
      if life.garbage > 0 { moves.append(.nonsense(index, ledger.entropy >> 33 % 9)) }
    }
    if life.garbage > 0 {
      moves.append(.forge)
      for index in network.indices where network[index].operation != nil {
        for kind in Garbage.allCases { moves.append(.answerGarbage(index, kind)) }
      }
    }
    if let due = nextTimer, mayPass(due) { moves.append(.pass(due)) }
    for seconds in [1, 7, 150, 700, 5000] where mayPass(.seconds(seconds)) { moves.append(.pass(.seconds(seconds))) }
    if life.clockJumps > 0 {
      for hours in [-24 * 30, -1, 2, 24 * 400] { moves.append(.setClock(.seconds(hours * 3600))) }
    }
    if life.reboots > 0 { moves.append(.reboot) }
    if life.revocations > 0, sessions.last?.isAlive(at: serverTime) == true { moves.append(.revokeElsewhere) }
  }

  /// The time until the next timer or the next refusal of the refresh lock.
  private var nextTimer: Duration? {
    var dues: [Duration] = []
    for process in processes where process.suspendedAt == nil {
      dues += process.timers.values.compactMap(\.due)
      if let until = process.lockWanted?.until { dues.append(until) }
    }
    guard let due = dues.min(), due > clock.uptime else { return nil }
    return due - clock.uptime
  }

  private func endedAtServer(_ session: SessionID) -> Bool {
    sessions.contains { $0.session == session && $0.end(at: serverTime) == .revoked }
  }

  mutating func live(_ move: Move) {
    switch move {
    case .signInAnswered(let index, let arrives): answerSignIn(index, arrives: arrives)
    case .call(let index): call(index)
    case .activity(let index): perform(.activity, by: index)
    case .clean(let index, let succeeds): clean(index, succeeds: succeeds)
    case .crashAfterWrite(let index):
      troublesLeft -= 1
      if case .edit(_, let edit)? = processes[index].queue.first { _ = write(edit, by: index) }
      crash(index)
    case .pass(let duration):
      clock = clock.advanced(by: duration)
      serverTime = serverTime.advanced(by: duration)
    case .setClock(let duration):
      life?.clockJumps -= 1
      clock.wall = clock.wall.advanced(by: duration)
    case .reboot:
      life?.reboots -= 1
      reboot()
    case .revokeElsewhere:
      life?.revocations -= 1
      guard let session = sessions.last?.session else { return }
      end(session)
      endedRightly.insert(session)
    case .hearOfEnd(let index):
      guard let session = processes[index].machine.session else { return }
      perform(.ended(session, .revoked), by: index)
    case .answerGarbage(let index, let kind): answerGarbage(index, kind)
    case .forge: forge()
    case .nonsense(let index, let kind):
      life?.garbage -= 1
      let before = processes[index].machine
      perform(nonsense(kind), by: index)
      if processes[index].machine != before { fail(7, "a nonsensical event changed something") }
    case .demand, .vault, .grantLock, .refuseLock, .deliver, .deliverInVain, .swallow, .timeOut, .crash, .timer,
      .loseCommit,
      .nodeReads, .nodeCommits, .failOver,
      .steal, .thiefRefresh, .notice, .signIn, .signOut, .revoke, .vaultFails, .vaultRecovers, .refuse, .suspend,
      .leaveOpen, .resume, .readSocket, .freezeOut, .leave, .callerLeaves, .limitPasses, .goBack, .portal, .endUnsaved:
      break
    }
  }

  /// A power cut: everything that was not durable is lost.
  private mutating func reboot() {
    vault = durable
    ledger.usedAt = [:]
    clock = Moment(boot: clock.boot + 1, uptime: .seconds(1), wall: clock.wall.advanced(by: .seconds(30)))
    serverTime = serverTime.advanced(by: .seconds(30))
    holder = nil
    attempts.holders = [:]
    for token in presented.keys { presented[token]?.since = clock.uptime }
    for index in processes.indices {
      crash(index)
      processes[index].isBehind = false
    }
  }

  /// Calls the API like an app: with a token that is still valid, and with another if that one is refused.
  private mutating func call(_ index: Int) {
    guard let access = processes[index].machine.access, !processes[index].waits else { return }
    var need = SessionMachine.Need()
    if SessionMachine.serves(access.lifetime, for: .zero, at: now) {
      let byTokenAlone = limits.faults.contains(.apiTrustsTokens)
      let server = sessions.first { $0.accepts(access.credential, goingByTokenAlone: byTokenAlone, at: serverTime) }
      if let server {
        if !server.isAlive(at: serverTime) { fail(8, "an API served \(server.session), which had ended") }
        return
      }
      need.refused = access.credential
    }
    processes[index].waits = true
    perform(.demand(World.waiter, need), by: index)
  }

  private mutating func clean(_ index: Int, succeeds: Bool) {
    guard !processes[index].cleaning.isEmpty else { return }
    let chore = processes[index].cleaning.removeFirst()
    if succeeds {
      ledger.cleaned[chore.ended.id, default: []].insert(chore.step)
    } else {
      life?.cleanupTroubles -= 1
    }
    perform(
      .cleaned(chore.ended.id, step: chore.step, succeeded: succeeds, entropy: entropy()), by: index)
  }

  private mutating func answerGarbage(_ index: Int, _ kind: Garbage) {
    guard network.indices.contains(index), let operation = network[index].operation else { return }
    life?.garbage -= 1
    let message = network.remove(at: index)
    let answer: RefreshResult
    switch kind {
    case .html: answer = .noDecision(.server(.init(status: 502)), retryAfter: .seconds(7))
    case .otherSession:
      answer = .granted(foreignGrant(session: SessionID("another"), profile: nil))
    case .otherAccount:
      answer = .granted(foreignGrant(session: nil, profile: Profile(id: AccountID("eve"), name: "eve")))
    }
    ledger.garbageTo.insert(message.process)
    presented[message.token] = nil
    let isBelieved = limits.faults.contains(.garbageIsBelieved)
    answered(operation, of: message.process, by: isBelieved ? .rejected(.rejected) : answer)
  }

  private func foreignGrant(session: SessionID?, profile: Profile?) -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(
        access: AccessToken("\(ModelServer.secretWord) foreign"), expiresIn: nil,
        refresh: RefreshToken("\(ModelServer.secretWord) foreign")),
      sessionID: session, profile: profile, revocation: nil)
  }

  private mutating func forge() {
    life?.garbage -= 1
    let before = sessions
    let session = vault.session?.id ?? SessionID("nobody")
    _ = present(RefreshToken("forged \(session.rawValue) 0 0 0"), key: nil)
    if limits.faults.contains(.garbageEndsSessions) { end(session) }
    if sessions != before { fail(7, "a forged token changed the server's state") }
  }

  private func nonsense(_ kind: UInt64) -> SessionMachine.Event {
    let operation = SessionMachine.Operation(.max)
    let nobody = SessionID("nobody")
    switch kind {
    case 0: return .refreshCompleted(operation, .rejected(.rejected))
    case 1: return .edited(operation, .done(VaultEntry()), asOf: now)
    case 2: return .read(operation, .absent)
    case 3: return .timer(.limit, ticket: .max)
    case 4: return .ended(nobody, .revoked)
    case 5: return .revoked(nobody, .ended)
    case 6: return .cleaned(nobody, step: "jar", succeeded: true, entropy: 0)
    case 7: return .refreshCompleted(operation, .granted(foreignGrant(session: nobody, profile: nil)))
    default: return .gone(.init(.max))
    }
  }
}
