import HandstampCore
import HandstampTesting

/// The instant that tests count from.
let noon = Moment(boot: 7, uptime: .seconds(10_000), wall: UnixTime(seconds: 1_800_000_000))

extension RotationKey {
  static func sample(_ number: UInt8) -> RotationKey? { RotationKey(bytes: [UInt8](repeating: number, count: 16)) }
}

/// A machine with a vault, a lock and a clock, driven by hand: effects that a test does not answer stay in
/// `pending`.
struct MachineFixture {
  typealias Machine = SessionMachine
  var machine: SessionMachine
  var now = noon
  var vault: VaultEntry?
  /// The results of the next vault operations, in place of the real ones.
  var vaultTrouble: VaultError?
  var effects: [Machine.Effect] = []
  var asked: [(operation: Machine.Operation, token: RefreshToken, key: RotationKey)] = []
  var results: [Machine.Waiter: Result<StoredAccess, SessionError>] = [:]
  var outcomes: [Machine.Waiter: Result<Machine.CommandOutcome, SessionError>] = [:]
  var states: [SessionState] = []
  var timers: [Machine.Timer: (ticket: UInt64, after: Duration, due: Moment)] = [:]
  var lockIsFree = true
  /// Whether each refresh so far carried its key whatever the metadata says, and what it was for.
  var sendsKey: [Bool] = []
  var targets: [TokenTarget?] = []
  /// The processes that have ended.
  var ended: Set<ProcessIdentity> = []
  var keys: UInt8 = 0
  private var waiters: UInt64 = 0
  private var queue: [Machine.Effect] = []

  /// Clean-up steps that were requested and not yet answered.
  var cleaning: [(ended: EndedSession, step: String)] = []

  init(
    policy: SessionPolicy = SessionPolicy(), vault: VaultEntry? = nil, supportsRotationKeys: Bool = true,
    cleanups: [Cleanup] = [], sender: ProcessIdentity = ProcessIdentity(id: 0)
  ) {
    machine = SessionMachine(
      policy: policy, supportsRotationKeys: supportsRotationKeys, cleanups: cleanups, sender: sender)
    self.vault = vault
  }

  mutating func waiter() -> Machine.Waiter {
    waiters += 1
    return Machine.Waiter(waiters)
  }

  /// Handles `event` without performing its effects.
  @discardableResult
  mutating func handle(_ event: Machine.Event) -> [Machine.Effect] {
    let new = machine.handle(event, at: now)
    effects += new
    for effect in new {
      switch effect {
      case .publish(let state): states.append(state)
      case .startTimer(let timer, let ticket, let delay): timers[timer] = (ticket, delay, now.advanced(by: delay))
      case .resume(let waiters, let result): for waiter in waiters { results[waiter] = result }
      case .finish(let waiter, let result): outcomes[waiter] = result
      case .askRefresh(let operation, let request):
        asked.append((operation, request.token, request.key))
        sendsKey.append(request.alwaysSendsKey)
        targets.append(request.target)
      case .read, .edit, .lock, .checkSender: queue.append(effect)
      case .clean(let ended, let step): cleaning.append((ended, step))
      case .abandon(let operation): asked.removeAll { $0.operation == operation }
      case .audit, .refreshed, .adopted, .cancelRequests, .unlock, .ignored, .revoke: break
      }
    }
    return new
  }

  /// The test answers the vault operations itself.
  mutating func takeWork() -> Machine.Effect? { queue.isEmpty ? nil : queue.removeFirst() }

  /// Handles `event` and performs all effects on vault and lock.
  mutating func run(_ event: Machine.Event) {
    handle(event)
    work()
  }

  mutating func work() {
    while !queue.isEmpty {
      switch queue.removeFirst() {
      case .read(let operation):
        let reading: VaultReading =
          if let vaultTrouble { .trouble(vaultTrouble) } else { vault.map { .value($0) } ?? .absent }
        handle(.read(operation, reading))
      case .edit(let operation, let edit): handle(.edited(operation, apply(edit), asOf: now))
      case .lock(let operation, _):
        keys += 1
        guard let key = RotationKey.sample(keys) else { continue }
        handle(.locked(operation, key, failing: lockIsFree ? nil : .unavailable("the refresh lock is held elsewhere")))
      case .checkSender(let operation, let attempt):
        handle(.senderChecked(operation, hasEnded: ended.contains(attempt.sender)))
      case .publish, .audit, .refreshed, .adopted, .startTimer, .resume, .finish, .cancelRequests, .unlock, .abandon,
        .ignored,
        .askRefresh,
        .revoke,
        .clean:
        continue
      }
    }
  }

  mutating func apply(_ edit: VaultEdit) -> VaultOutcome {
    if let vaultTrouble { return .failed(vaultTrouble) }
    let entry = vault ?? VaultEntry()
    switch edit.applied(to: entry) {
    case .write(let new):
      vault = new
      return .done(new)
    case .unchanged: return .done(entry)
    case .conflict: return .conflict(entry)
    }
  }

  mutating func signIn(_ grant: TokenResponse = .sample(0)) {
    let waiter = waiter()
    handle(.signIn(waiter))
    run(.signInAnswered(waiter, .success(grant), by: .init(.password), fallback: SessionID("fallback")))
  }

  @discardableResult
  mutating func demand(_ need: Machine.Need = Machine.Need()) -> Machine.Waiter {
    let waiter = waiter()
    run(.demand(waiter, need))
    return waiter
  }

  @discardableResult
  mutating func signOut(_ reason: EndReason = .signedOut, _ plan: SignOutPlan = .standard) -> Machine.Waiter {
    let waiter = waiter()
    run(.signOut(waiter, reason, plan))
    return waiter
  }

  /// Answers the oldest pending clean-up step.
  mutating func clean(succeeding: Bool = true) {
    guard !cleaning.isEmpty else { return }
    let (ended, step) = cleaning.removeFirst()
    run(.cleaned(ended.id, step: step, succeeded: succeeding, entropy: 0))
  }

  mutating func answer(_ answer: RefreshResult, entropy: UInt64 = 0) {
    guard !asked.isEmpty else { return }
    run(.refreshCompleted(asked.removeFirst().operation, answer, entropy: entropy))
  }

  /// Moves the clock forward to the timer, if it is in the future, and fires it.
  mutating func fire(_ timer: Machine.Timer) {
    guard let (ticket, _, due) = timers.removeValue(forKey: timer) else { return }
    if due.uptime > now.uptime { now = due }
    run(.timer(timer, ticket: ticket))
  }

  func token(_ waiter: Machine.Waiter) -> String? {
    guard case .success(let access)? = results[waiter] else { return nil }
    return access.credential.secret.withExposed { $0 }
  }

  func failure(_ waiter: Machine.Waiter) -> SessionError? {
    guard case .failure(let error)? = results[waiter] else { return nil }
    return error
  }
}
