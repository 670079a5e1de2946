#if Exploration
package import HandstampCore
import HandstampTesting

/// A driver that does everything at random times, sometimes wrongly, and records the effects it gets.
package struct RandomEvents {
  private typealias Machine = SessionMachine
  private var random: SplitMix64
  package private(set) var machine: SessionMachine
  private var now = Moment(boot: 7, uptime: .seconds(10_000), wall: UnixTime(seconds: 1_800_000_000))
  private var vault = VaultEntry()
  /// A promise to a driver that was broken.
  package private(set) var faults: [String] = []

  private var vaultQueue: [Machine.Effect] = []
  private var locksAsked: [Machine.Operation] = []
  private var locksHeld: Set<Machine.Operation> = []
  private var asked: [(operation: Machine.Operation, token: RefreshToken)] = []
  private var revoking: [SessionID] = []
  private var cleaning: [(session: SessionID, step: String)] = []
  /// In some runs, clean-up steps never finish.
  private let hangs: Bool
  /// In some runs, other processes and restored copies interfere all the time.
  private let isCrowded: Bool
  /// Where the machine's transitions are collected.
  package var log: TransitionLog?
  /// A copy of the vault that may be put back later.
  private var copy: VaultEntry?
  private var timers: [Machine.Timer: UInt64] = [:]
  private var callers: Set<Machine.Waiter> = []
  private var signingIn: Set<Machine.Waiter> = []
  private var commands: Set<Machine.Waiter> = []
  private var numbers: UInt64 = 0
  private var grants = 0

  package init(seed: UInt64) {
    random = SplitMix64(state: seed)
    hangs = seed % 7 == 0
    isCrowded = seed % 5 == 1
    let policy = SessionPolicy(
      refresh: RefreshPolicy(
        usesTimer: seed % 3 != 0, reuse: [nil, .overlap(.seconds(30)), .notRotated, .never][Int(seed / 2 % 4)]),
      retry: RetryPolicy(attempts: 2),
      idleLimit: seed % 4 == 0 ? .seconds(2000) : nil, absoluteLimit: seed % 5 == 0 ? .seconds(9000) : nil)
    machine = SessionMachine(
      policy: policy, supportsRotationKeys: seed % 2 == 0,
      cleanups: seed % 3 == 0
        ? []
        : [
          Cleanup("always", .always), Cleanup("cookies", .cookies), Cleanup("store", .database),
        ], sender: ProcessIdentity(id: 1, startedAt: 1, namespace: 0))
  }

  private mutating func roll(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
  private mutating func number() -> UInt64 {
    numbers += 1
    return numbers
  }

  private mutating func grant(session: SessionID?) -> TokenResponse {
    grants += 1
    let lives: [Duration?] = [nil, .zero, .seconds(60), .seconds(600), .seconds(3600)]
    return TokenResponse(
      tokens: TokenSet(
        access: AccessToken("a\(grants)"), expiresIn: lives[roll(5)],
        refresh: roll(9) == 0 ? nil : RefreshToken("r\(grants)")),
      sessionID: session, profile: roll(12) == 0 ? nil : person(),
      revocation: roll(5) == 0 ? nil : RevocationHandle("h\(grants)"))
  }

  private mutating func person() -> Profile {
    let name = ["ada", "ada", "bob"][roll(3)]
    return Profile(id: AccountID(name), name: name)
  }

  private mutating func key() -> RotationKey { RotationKey(from: &random) }

  // MARK: Events

  /// Does one thing.
  package mutating func step() {
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
      let target = roll(6) == 0 ? TokenTarget(scopes: ["s\(roll(2))"]) : nil
      handle(.demand(caller, .init(validity: .seconds(roll(900)), refused: refused, target: target)))
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
    case 13: if isCrowded || roll(4) == 0 { anotherProcess() }
    case 14: nonsense()
    case 15, 16: fire()
    case 17, 18: answerLock()
    case 19, 20: answerRefresh()
    case 21: answerRevocation()
    case 22: answerCleaning()
    default: answerVault()
    }
    if isCrowded { interfere() }
    check()
  }

  private mutating func answerSignIn() {
    guard let command = signingIn.sorted().first else { return }
    signingIn.remove(command)
    let session = roll(6) == 0 ? machine.session ?? SessionID("s1") : SessionID("s\(number())")
    let result: Result<TokenResponse, SessionError> =
      roll(4) == 0
      ? .failure(.requestFailed(.network(.timedOut))) : .success(grant(session: roll(5) == 0 ? nil : session))
    handle(.signInAnswered(command, result, by: .init(.password), fallback: session, remember: roll(4) != 0))
    if !machine.isSigningIn(command) { commands.remove(command) }
  }

  private mutating func anotherProcess() {
    let session = StoredSession(
      id: SessionID("o\(number())"), profile: person(),
      refresh: RefreshToken("r\(number())o"), revocation: RevocationHandle("h"),
      access: nil, startedAt: now, activeAt: now)
    switch roll(8) {
    case 0: apply(.begin(session))
    case 1: apply(.signOut(.signedOut, at: now))
    case 2, 3: presentElsewhere()
    case 4:
      // An older copy of the vault is put back.
      if let copy { vault = copy }
      copy = roll(2) == 0 ? vault : nil
    default:
      guard let stored = vault.session, let sent = stored.refresh else { return }
      let next = RefreshToken("r\(number())o")
      let tokens = TokenSet(access: AccessToken("a\(number())o"), expiresIn: .seconds(600), refresh: next)
      apply(.advance(stored.id, RefreshedTokens(TokenResponse(tokens: tokens), sent: sent, since: now)))
    }
  }

  /// Other processes come in between most often where the machine depends on what the vault holds next.
  private mutating func interfere() {
    switch machine.stateName {
    case .notingReading, .checkingSender, .sending, .saving, .rejecting, .checkingRollback, .pausing:
      guard roll(3) == 0 else { return }
      anotherProcess()
      if roll(2) == 0 { presentElsewhere() }
    case .dormant, .restoring, .signedOut, .idle, .locking, .checkingHolder, .preparing, .withdrawing, .ending,
      .unavailable:
      if roll(8) == 0 { anotherProcess() }
    }
  }

  /// Another process presents the refresh token, under this boot or before it.
  private mutating func presentElsewhere() {
    guard !machine.supportsRotationKeys, let stored = vault.session, let token = stored.refresh else { return }
    var since = now
    if roll(2) == 0 { since.boot = now.boot &- 1 }
    let attempt = RefreshAttempt(
      since: since, sender: ProcessIdentity(id: 77, startedAt: 5, namespace: roll(2) == 0 ? 0 : nil),
      limit: machine.policy.refresh.responseTimeout)
    apply(.prepare(stored.id, holding: token, key: key(), attempt: attempt, over: stored.attempt))
  }

  private mutating func nonsense() {
    let operation = Machine.Operation(UInt64(roll(200)))
    guard !locksHeld.contains(operation), !locksAsked.contains(operation),
      !asked.contains(where: { $0.operation == operation }), !vaultQueue.contains(where: { $0.names(operation) })
    else { return }
    switch roll(6) {
    case 0:
      locksHeld.insert(operation)
      handle(.locked(operation, key()))
    case 1: handle(.locked(operation, key(), failing: .unavailable("the refresh lock is held elsewhere")))
    case 2: handle(.refreshCompleted(operation, .rejected(.rejected)))
    case 3: handle(.read(operation, .absent))
    case 4: handle(.edited(operation, .done(vault), asOf: now))
    default: handle(.timer(.limit, ticket: UInt64(roll(1000))))
    }
  }

  private mutating func fire() {
    guard let timer = timers.keys.sorted().randomElement(using: &random), let ticket = timers.removeValue(forKey: timer)
    else { return }
    handle(.timer(timer, ticket: ticket))
  }

  private mutating func answerLock(surely: Bool = false) {
    guard !locksAsked.isEmpty else { return }
    let operation = locksAsked.removeFirst()
    guard surely || roll(4) != 0 else {
      return handle(.locked(operation, key(), failing: .unavailable("the refresh lock is held elsewhere")))
    }
    locksHeld.insert(operation)
    handle(.locked(operation, key()))
  }

  private mutating func answerRefresh(surely: Bool = false) {
    guard !asked.isEmpty else { return }
    let (operation, _) = asked.remove(at: roll(asked.count))
    switch surely ? 0 : roll(8) {
    case 0...3: handle(.refreshCompleted(operation, .granted(grant(session: nil))))
    case 4: handle(.refreshCompleted(operation, .rejected(.tokenReuseDetected)))
    case 5: handle(.refreshCompleted(operation, .superseded))
    case 6: handle(.refreshCompleted(operation, .granted(grant(session: SessionID("foreign")))))
    default:
      handle(
        .refreshCompleted(
          operation, .noDecision(.network(roll(2) == 0 ? .timedOut : .connectionLost("reset"))), entropy: random.next())
      )
    }
  }

  private mutating func answerRevocation(surely: Bool = false) {
    guard !revoking.isEmpty else { return }
    let result = surely || roll(3) == 0 ? RevocationResult.ended : .noDecision(.network(.timedOut))
    handle(.revoked(revoking.removeFirst(), result, entropy: random.next()))
  }

  private mutating func answerCleaning(surely: Bool = false) {
    guard !cleaning.isEmpty, !hangs else { return }
    let (session, step) = cleaning.removeFirst()
    handle(.cleaned(session, step: step, succeeded: surely || roll(3) != 0, entropy: random.next()))
  }

  private mutating func answerVault(surely: Bool = false) {
    guard !vaultQueue.isEmpty else { return }
    let troubles: [VaultError] = [.locked, .unavailable("full"), .corrupt]
    let trouble = surely || roll(6) != 0 ? nil : troubles[roll(3)]
    switch vaultQueue.removeFirst() {
    case .read(let operation):
      var reading: VaultReading = vault.isEmpty ? .absent : .value(vault)
      if let trouble { reading = .trouble(trouble) }
      if !surely, roll(8) == 0, let session = vault.session, session.access != nil {
        reading = .accessOnly(session.withAccessOnly)
      }
      handle(.read(operation, reading))
    case .edit(let operation, let edit):
      let outcome = trouble.map { VaultOutcome.failed($0) } ?? apply(edit)
      handle(.edited(operation, outcome, asOf: now))
    case .checkSender(let operation, _): handle(.senderChecked(operation, hasEnded: roll(2) == 0))
    default: faults.append("not a vault effect")
    }
  }

  @discardableResult
  private mutating func apply(_ edit: VaultEdit) -> VaultOutcome {
    switch edit.applied(to: vault) {
    case .write(let new):
      vault = new
      return .done(new)
    case .unchanged: return .done(vault)
    case .conflict: return .conflict(vault)
    }
  }

  // MARK: Invariants

  private mutating func handle(_ event: Machine.Event) {
    let previous = machine.stateName
    let effects = machine.handle(event, at: now)
    log?.note(previous, machine.stateName)
    for effect in effects {
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
      case .askRefresh(let operation, let request):
        let token = request.token
        if asked.contains(where: { $0.token == token }) && machine.session == nil {
          faults.append("sent a request while signed out")
        }
        asked.append((operation, token))
        if !machine.supportsRotationKeys, locksHeld.isEmpty { faults.append("sent a request without the lock") }
      case .abandon(let operation): asked.removeAll { $0.operation == operation }
      case .read, .edit, .checkSender: vaultQueue.append(effect)
      case .revoke(let session, _):
        if session == machine.session { faults.append("ended the session in use: \(event)") }
        revoking.append(session)
      case .clean(let ended, let step):
        if machine.session != nil { faults.append("cleaned up after the session in use") }
        if case .unavailable = machine.state { faults.append("cleaned up while a user may be signed in") }
        cleaning.append((ended.id, step))
      case .publish, .audit, .refreshed, .adopted, .cancelRequests, .ignored: break
      }
    }
  }

  private mutating func check() {
    if case .signedOut = machine.state, machine.access != nil { faults.append("a token while signed out") }
    if machine.session == nil, machine.access != nil { faults.append("a token without a session") }
  }

  /// From now on everything works and is answered. Then no caller may be left waiting, and the state matches the vault.
  package mutating func calm() {
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
      for timer in [Machine.Timer.save, .renew, .bury, .reload, .hold, .clean] {
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
    case .read(let own), .edit(let own, _), .lock(let own, _), .askRefresh(let own, _), .checkSender(let own, _),
      .unlock(let own),
      .abandon(let own):
      own == operation
    case .publish, .audit, .refreshed, .adopted, .startTimer, .resume, .finish, .cancelRequests, .ignored, .revoke,
      .clean:
      false
    }
  }
}
#endif
