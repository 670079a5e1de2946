import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine under random events` {
  /// Whatever the order of events, with unexpected answers among them: every caller is answered once, every lock is
  /// released once, one refresh per session is in flight, and no request is sent while signed out.
  @Test(arguments: 0..<1000 as Range<UInt64>)
  func `keeps its contract with its driver`(seed: UInt64) {
    var storm = Storm(seed: seed)
    for _ in 0..<500 { storm.step() }
    storm.calm()
    #expect(storm.faults.isEmpty, "seed \(seed): \(storm.faults.prefix(3))")
  }
}

/// A driver that does everything at random times, sometimes wrongly, and records the effects it gets.
private struct Storm {
  typealias Machine = SessionMachine
  var random: SplitMix64
  var machine: SessionMachine
  var now = noon
  var vault = VaultEntry()
  var faults: [String] = []

  var vaultQueue: [Machine.Effect] = []
  var locksAsked: [Machine.Operation] = []
  var locksHeld: Set<Machine.Operation> = []
  var asked: [(operation: Machine.Operation, token: RefreshToken)] = []
  var revoking: [SessionID] = []
  var cleaning: [(session: SessionID, step: String)] = []
  /// In some runs, clean-up steps never finish.
  let hangs: Bool
  var timers: [Machine.Timer: UInt64] = [:]
  var callers: Set<Machine.Waiter> = []
  var signingIn: Set<Machine.Waiter> = []
  var commands: Set<Machine.Waiter> = []
  var numbers: UInt64 = 0
  var grants = 0

  init(seed: UInt64) {
    random = SplitMix64(state: seed)
    hangs = seed % 7 == 0
    let policy = SessionPolicy(
      refresh: RefreshPolicy(usesTimer: seed % 3 != 0), retry: RetryPolicy(attempts: 2),
      idleLimit: seed % 4 == 0 ? .seconds(2000) : nil, absoluteLimit: seed % 5 == 0 ? .seconds(9000) : nil)
    machine = SessionMachine(
      policy: policy, supportsRotationKeys: seed % 2 == 0,
      cleanups: seed % 3 == 0
        ? []
        : [
          Cleanup("always", .always), Cleanup("cookies", .cookies), Cleanup("store", .database),
        ])
  }

  mutating func roll(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
  mutating func number() -> UInt64 {
    numbers += 1
    return numbers
  }

  mutating func grant(session: SessionID?) -> TokenResponse {
    grants += 1
    let lives: [Duration?] = [nil, .zero, .seconds(60), .seconds(600), .seconds(3600)]
    return TokenResponse(
      tokens: TokenSet(
        access: AccessToken("a\(grants)"), expiresIn: lives[roll(5)],
        refresh: roll(9) == 0 ? nil : RefreshToken("r\(grants)")),
      session: session, profile: roll(12) == 0 ? nil : person(),
      revocation: roll(5) == 0 ? nil : RevocationHandle("h\(grants)"))
  }

  mutating func person() -> Profile {
    let name = ["ada", "ada", "bob"][roll(3)]
    return Profile(id: AccountID(name), name: name)
  }

  mutating func key() -> RotationKey { RotationKey(from: &random) }

  // MARK: Events

  mutating func step() {
    now = now.advanced(by: .milliseconds(roll(20) == 0 ? roll(900_000) : roll(2000)))
    if roll(400) == 0 { now = Moment(boot: now.boot + 1, uptime: .seconds(roll(100)), wall: now.wall) }
    switch roll(30) {
    case 0: handle(.start)
    case 1: handle(.vaultChanged)
    case 2: handle(.activity)
    case 3: handle(.conditionsChanged)
    case 4, 5, 6:
      let caller = Machine.Waiter(number())
      callers.insert(caller)
      let refused = roll(4) == 0 ? machine.access?.credential : nil
      handle(.demand(caller, .init(validity: .seconds(roll(900)), refused: refused)))
    case 7:
      guard let caller = callers.sorted().first else { return }
      callers.remove(caller)
      handle(.gone(caller))
    case 8:
      let command = Machine.Waiter(number())
      signingIn.insert(command)
      commands.insert(command)
      handle(.signIn(command))
    case 9, 10: answerSignIn()
    case 11:
      guard roll(4) == 0 else { return }
      let command = Machine.Waiter(number())
      commands.insert(command)
      handle(.signOut(command, .signedOut, [.expiry, .standard, .everything][roll(3)]))
    case 12: if roll(5) == 0 { handle(.ended(machine.session ?? SessionID("x"), .revoked)) }
    case 13: if roll(4) == 0 { anotherProcess() }
    case 14: nonsense()
    case 15, 16: fire()
    case 17, 18: answerLock()
    case 19, 20: answerRefresh()
    case 21: answerRevocation()
    case 22: answerCleaning()
    default: answerVault()
    }
    check()
  }

  mutating func answerSignIn() {
    guard let command = signingIn.sorted().first else { return }
    signingIn.remove(command)
    let session = roll(6) == 0 ? machine.session ?? SessionID("s1") : SessionID("s\(number())")
    let result: Result<TokenResponse, SessionError> =
      roll(4) == 0
      ? .failure(.requestFailed(.network(.timedOut))) : .success(grant(session: roll(5) == 0 ? nil : session))
    handle(.signInAnswered(command, result, fallback: session, remember: roll(4) != 0))
    if !machine.isSigningIn(command) { commands.remove(command) }
  }

  mutating func anotherProcess() {
    let session = StoredSession(
      id: SessionID("o\(number())"), profile: person(),
      refresh: RefreshToken("r\(number())o"), revocation: RevocationHandle("h"),
      access: nil, startedAt: now, activeAt: now)
    switch roll(3) {
    case 0: apply(.begin(session))
    case 1: apply(.endWhatever(.signedOut, at: now))
    default:
      guard let stored = vault.session, let sent = stored.refresh else { return }
      let life = Lifetime(start: now, duration: .seconds(600))
      apply(
        .advance(
          stored.id, sent: sent, to: RefreshToken("r\(number())o"),
          access: StoredAccess(token: AccessToken("a\(number())o"), lifetime: life), profile: nil))
    }
  }

  mutating func nonsense() {
    let operation = Machine.Operation(UInt64(roll(200)))
    guard !locksHeld.contains(operation), !locksAsked.contains(operation),
      !asked.contains(where: { $0.operation == operation }), !vaultQueue.contains(where: { $0.names(operation) })
    else { return }
    switch roll(6) {
    case 0:
      locksHeld.insert(operation)
      handle(.locked(operation, key()))
    case 1: handle(.lockFailed(operation, key()))
    case 2: handle(.answered(operation, .rejected(.rejected)))
    case 3: handle(.read(operation, .absent))
    case 4: handle(.edited(operation, .done(vault), asOf: now))
    default: handle(.timer(.limit, ticket: UInt64(roll(1000))))
    }
  }

  mutating func fire() {
    guard let timer = timers.keys.sorted().randomElement(using: &random), let ticket = timers.removeValue(forKey: timer)
    else { return }
    handle(.timer(timer, ticket: ticket))
  }

  mutating func answerLock(surely: Bool = false) {
    guard !locksAsked.isEmpty else { return }
    let operation = locksAsked.removeFirst()
    guard surely || roll(4) != 0 else { return handle(.lockFailed(operation, key())) }
    locksHeld.insert(operation)
    handle(.locked(operation, key()))
  }

  mutating func answerRefresh(surely: Bool = false) {
    guard !asked.isEmpty else { return }
    let (operation, _) = asked.remove(at: roll(asked.count))
    switch surely ? 0 : roll(8) {
    case 0...3: handle(.answered(operation, .granted(grant(session: nil))))
    case 4: handle(.answered(operation, .rejected(.tokenReuseDetected)))
    case 5: handle(.answered(operation, .superseded))
    case 6: handle(.answered(operation, .granted(grant(session: SessionID("foreign")))))
    default: handle(.answered(operation, .noDecision(retryAfter: nil, entropy: random.next())))
    }
  }

  mutating func answerRevocation(surely: Bool = false) {
    guard !revoking.isEmpty else { return }
    let delivered = surely || roll(3) == 0
    handle(.revoked(revoking.removeFirst(), delivered: delivered, entropy: random.next()))
  }

  mutating func answerCleaning(surely: Bool = false) {
    guard !cleaning.isEmpty, !hangs else { return }
    let (session, step) = cleaning.removeFirst()
    handle(.cleaned(session, step: step, succeeded: surely || roll(3) != 0, entropy: random.next()))
  }

  mutating func answerVault(surely: Bool = false) {
    guard !vaultQueue.isEmpty else { return }
    let troubles: [VaultError] = [.locked, .unavailable("full"), .corrupt]
    let trouble = surely || roll(6) != 0 ? nil : troubles[roll(3)]
    switch vaultQueue.removeFirst() {
    case .read(let operation):
      var reading: VaultReading = vault.isEmpty ? .absent : .value(vault)
      if let trouble { reading = .trouble(trouble) }
      if !surely, roll(8) == 0, let session = vault.session, let access = session.access {
        reading = .accessOnly(session.id, session.profile, access)
      }
      handle(.read(operation, reading))
    case .edit(let operation, let edit):
      let outcome = trouble.map { VaultOutcome.failed($0) } ?? apply(edit)
      handle(.edited(operation, outcome, asOf: now))
    default: faults.append("not a vault effect")
    }
  }

  @discardableResult
  mutating func apply(_ edit: VaultEdit) -> VaultOutcome {
    switch edit.applied(to: vault) {
    case .write(let new):
      vault = new
      return .done(new)
    case .unchanged: return .done(vault)
    case .conflict: return .conflict(vault)
    }
  }

  // MARK: Invariants

  mutating func handle(_ event: Machine.Event) {
    for effect in machine.handle(event, at: now) {
      switch effect {
      case .resume(let waiters, _):
        // A caller that has gone may not be answered, nor one that was already answered.
        for waiter in waiters where callers.remove(waiter) == nil { faults.append("resumed twice: \(event)") }
      case .finish(let command, _):
        if commands.remove(command) == nil { faults.append("finished twice: \(event)") }
      case .unlock(let operation):
        if locksHeld.remove(operation) == nil { faults.append("released a lock that is not held: \(event)") }
      case .startTimer(let timer, let ticket, let delay):
        timers[timer] = ticket
        if delay < .zero { faults.append("a timer set in the past") }
      case .lock(let operation, _): locksAsked.append(operation)
      case .askRefresh(let operation, let token, _):
        if asked.contains(where: { $0.token == token }) && machine.session == nil {
          faults.append("sent a request while signed out")
        }
        asked.append((operation, token))
        if !machine.supportsRotationKeys, locksHeld.isEmpty { faults.append("sent a request without the lock") }
      case .abandon(let operation): asked.removeAll { $0.operation == operation }
      case .read, .edit: vaultQueue.append(effect)
      case .revoke(let session, _):
        if session == machine.session { faults.append("ended the session in use: \(event)") }
        revoking.append(session)
      case .clean(let ended, let step):
        if machine.session != nil { faults.append("cleaned up after the session in use") }
        if case .unavailable = machine.state { faults.append("cleaned up while a user may be signed in") }
        cleaning.append((ended.session, step))
      case .publish, .audit, .refreshed, .adopted, .cancelRequests, .ignored: break
      }
    }
  }

  mutating func check() {
    if case .signedOut = machine.state, machine.access != nil { faults.append("a token while signed out") }
    if machine.session == nil, machine.access != nil { faults.append("a token without a session") }
  }

  /// From now on everything works and is answered. Then no caller may be left waiting, and the state matches the vault.
  mutating func calm() {
    handle(.start)
    handle(.vaultChanged)
    handle(.conditionsChanged)
    while !signingIn.isEmpty { answerSignIn() }
    for _ in 0..<40 {
      for _ in 0..<40 {
        answerVault(surely: true)
        answerLock(surely: true)
        answerRefresh(surely: true)
        answerRevocation(surely: true)
        answerCleaning(surely: true)
      }
      if let ticket = timers.removeValue(forKey: .retry) { handle(.timer(.retry, ticket: ticket)) }
      for timer in [Machine.Timer.save, .renew, .bury, .look, .hold, .clean] {
        if let ticket = timers.removeValue(forKey: timer) { handle(.timer(timer, ticket: ticket)) }
      }
      now = now.advanced(by: .seconds(5))
    }
    if !callers.isEmpty { faults.append("\(callers.count) callers wait forever in \(machine.state)") }
    if !commands.isEmpty { faults.append("\(commands.count) commands wait forever in \(machine.state)") }
    if case .signedOut = machine.state, !hangs, !machine.cleanups.pending.isEmpty {
      faults.append("not cleaned up: \(machine.cleanups.pending)")
    }
    if !locksHeld.isEmpty { faults.append("locks are never released: \(locksHeld)") }
    let shown = machine.session
    handle(.vaultChanged)
    for _ in 0..<10 { answerVault(surely: true) }
    if machine.session != shown { faults.append("the machine has \(String(describing: shown)), the vault \(vault)") }
  }
}

extension SessionMachine.Effect {
  fileprivate func names(_ operation: SessionMachine.Operation) -> Bool {
    switch self {
    case .read(let own), .edit(let own, _), .lock(let own, _), .askRefresh(let own, _, _), .unlock(let own),
      .abandon(let own):
      own == operation
    case .publish, .audit, .refreshed, .adopted, .startTimer, .resume, .finish, .cancelRequests, .ignored, .revoke,
      .clean:
      false
    }
  }
}
