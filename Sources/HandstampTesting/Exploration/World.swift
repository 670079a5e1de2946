package import HandstampCore
import HandstampRegistry

/// A small world around the real ``SessionMachine`` and the server's real rules: processes that share a vault, a flight
/// lock, a network, a user, and perhaps a thief. A value: it can be compared, copied, replayed.
///
/// Whoever drives it, an exhaustive exploration or a seeded simulation, picks one of the ``moves()`` and ``make(_:)``s it.
package struct World: Sendable, Hashable {
  package struct Process: Sendable, Hashable {
    package var machine: SessionMachine
    /// The vault's queue of this process: first in, first out.
    package var queue: [Job] = []
    /// The answers it waits for.
    package var asking: SessionMachine.Operation?
    package var lockWanted: SessionMachine.Operation?
    package var timers: [SessionMachine.Timer: UInt64] = [:]
    package var waits = false
    /// Whether the last demand was served.
    package var answer: Bool?
    package var isSigningIn: Bool { machine.isSigningIn(World.signingIn) }
    /// Another process wrote to the vault, and this one has not heard of it.
    package var isBehind = false
    /// A sign-out that is not finished.
    package var signingOut: SessionID?
    package var keysDrawn: UInt8 = 0
    package var revoking: [SessionID: RevocationHandle] = [:]
  }

  package enum Job: Sendable, Hashable {
    case read(SessionMachine.Operation)
    case edit(SessionMachine.Operation, VaultEdit)
  }

  package struct Message: Sendable, Hashable {
    var process: Int
    /// What the sender waits for; nothing once it has given up.
    var operation: SessionMachine.Operation?
    var token: RefreshToken
    var key: RotationKey
  }

  package struct Holder: Sendable, Hashable {
    var process: Int
    var operation: SessionMachine.Operation
  }

  package struct Thief: Sendable, Hashable {
    var token: RefreshToken
    var key: RotationKey?
    var tries = 0
    var successes = 0
    /// How often the victim stored a newer token after the thief had one.
    var victimSteps = 0
  }

  package enum Move: Sendable, Hashable {
    case demand(Int)
    case vault(Int)
    case grantLock(Int)
    case refuseLock(Int)
    /// The server answers, and the answer arrives, if anybody still waits for it.
    case deliver(Int, keepsCopy: Bool)
    /// The server answers, and the answer is lost.
    case deliverInVain(Int)
    case timeOut(Int)
    case crash(Int)
    case timer(Int, SessionMachine.Timer)
    case loseCommit
    case steal
    case thiefRefresh
    case notice(Int)
    case signIn(Int)
    case signOut(Int)
    /// The server hears of an end; or does not, this time.
    case revoke(Int, SessionID, arrives: Bool)
    case vaultFails
    case vaultRecovers
  }

  /// What may happen in a world, and how often.
  package struct Limits: Sendable, Hashable {
    package var processes = 2
    /// Refresh requests of honest processes.
    package var requests = 4
    /// Crashes, time-outs and lost answers.
    package var troubles = 2
    package var duplicates = 0
    package var lostCommits = 0
    package var lockWorks = true
    /// Whether a request may arrive after its sender gave up.
    package var delays = false
    package var thief: Stealing?
    package var thiefRequests = 4
    package var faults: Set<Fault> = []
    /// How often a user signs out, and as often in again.
    package var signOuts = 0
    /// How often the vault is out of order for a while.
    package var vaultTroubles = 0
    /// Whether processes hear of each other's writes.
    package var signals = false

    package init() {}
  }

  package enum Stealing: Sendable, Hashable {
    case token, tokenAndKey, tokenWithoutSendingKeys
  }

  /// What can be planted to see that it is found.
  package enum Fault: String, Sendable, Hashable, CaseIterable {
    /// A crash loses a rotation key that was written.
    case keyIsNotDurable
    /// A client that was refused tells the server nothing.
    case noDeadEndRule
    /// A rejected client deletes without comparing what is stored with what it had sent.
    case endsWithoutComparing
    /// A client stores what a refresh brought home whatever the vault holds by then.
    case advancesWithoutComparing
  }

  package let limits: Limits
  package var processes: [Process]
  package var vault: VaultEntry
  /// What a power cut would leave of the vault.
  package var durable: VaultEntry
  package var holder: Holder?
  /// The server's sessions, in the order of their sign-ins.
  package var sessions: [ModelServer]
  /// The sessions that the user ended, and those among them whose tombstone was written.
  package var endedByUser: Set<SessionID> = []
  package var buried: Set<SessionID> = []
  package var vaultIsOutOfOrder = false
  package var signOutsLeft: Int
  package var vaultTroublesLeft: Int
  let rules: ModelServer.Rules
  package var network: [Message] = []
  package var requestsLeft: Int
  package var troublesLeft: Int
  package var duplicatesLeft: Int
  package var lostCommitsLeft: Int
  package var thief: Thief?
  /// What the last refresh of anybody brought to an end.
  package var verdict: Verdict?

  package enum Verdict: Sendable, Hashable {
    /// An honest client was signed out.
    case out(String)
    /// Thief and victim both go on, and nobody knows.
    case coexist
    /// The thief has the session, the victim has none, and the server does not know.
    case takeover
    /// The server ended the session because of the thief.
    case detected
  }

  package init(_ limits: Limits, rules: ModelServer.Rules = ModelServer.Rules()) {
    self.limits = limits
    self.rules = rules
    let server = ModelServer(rules: rules)
    sessions = [server]
    let first = server.firstGrant
    let session = StoredSession(
      id: server.session, profile: World.profile, refresh: first.tokens.refresh, revocation: first.revocation,
      access: StoredAccess(token: first.tokens.access, lifetime: nil), startedAt: World.start, activeAt: World.start)
    vault = VaultEntry(session: session)
    durable = vault
    requestsLeft = limits.requests
    troublesLeft = limits.troubles
    duplicatesLeft = limits.duplicates
    lostCommitsLeft = limits.lostCommits
    signOutsLeft = limits.signOuts
    vaultTroublesLeft = limits.vaultTroubles
    processes = []
    for _ in 0..<limits.processes { processes.append(World.newProcess()) }
    for process in processes.indices { perform(.start, by: process) }
  }

  static let profile = Profile(id: AccountID("ada"), name: "Ada")
  static let start = Moment(boot: 1, uptime: .seconds(1000), wall: UnixTime(seconds: 1_800_000_000))
  static let waiter = SessionMachine.Waiter(1)
  static let command = SessionMachine.Waiter(2)
  static let signingIn = SessionMachine.Waiter(3)

  /// Time stands still: what it would bring about, a time-out or a timer, is a move of its own.
  var now: Moment { World.start }

  static func newProcess() -> Process {
    let policy = SessionPolicy(
      refresh: RefreshPolicy(aheadOfExpiry: false, minimumAge: .zero), retry: RetryPolicy(attempts: 1000, base: .zero))
    return Process(machine: SessionMachine(policy: policy))
  }
}

// MARK: - Moves

extension World {
  /// Everything that may happen next.
  package func moves() -> [Move] {
    guard verdict == nil else { return [] }
    var moves: [Move] = []
    for (index, process) in processes.enumerated() {
      if !process.waits, process.machine.access != nil, process.queue.isEmpty, requestsLeft > 0 {
        moves.append(.demand(index))
      }
      if !process.queue.isEmpty { moves.append(.vault(index)) }
      if process.lockWanted != nil {
        if !limits.lockWorks {
          moves.append(.refuseLock(index))
        } else if holder == nil {
          moves.append(.grantLock(index))
        }
      }
      if process.asking != nil, troublesLeft > 0 { moves.append(.timeOut(index)) }
      if process.asking != nil || !process.queue.isEmpty, troublesLeft > 0 { moves.append(.crash(index)) }
      if requestsLeft > 0 {
        for timer in process.timers.keys.sorted() { moves.append(.timer(index, timer)) }
      }
    }
    for index in network.indices {
      moves.append(.deliver(index, keepsCopy: false))
      if duplicatesLeft > 0 { moves.append(.deliver(index, keepsCopy: true)) }
      if network[index].operation != nil, troublesLeft > 0 { moves.append(.deliverInVain(index)) }
    }
    if lostCommitsLeft > 0, network.isEmpty, sessions.last?.canLoseCommit == true { moves.append(.loseCommit) }
    if limits.thief != nil {
      if let thief {
        if thief.tries < limits.thiefRequests { moves.append(.thiefRefresh) }
      } else if vault.session != nil {
        moves.append(.steal)
      }
    }
    if limits.signals || limits.signOuts > 0 || limits.vaultTroubles > 0 { moves += usersMoves() }
    return moves
  }

  /// Lets it happen. A move that is not possible changes nothing.
  package mutating func make(_ move: Move) {
    switch move {
    case .demand(let index):
      guard let access = processes[index].machine.access else { return }
      processes[index].waits = true
      perform(.demand(World.waiter, .init(refused: access.token)), by: index)
    case .vault(let index): workVault(index)
    case .grantLock(let index): answerLock(index, granted: true)
    case .refuseLock(let index): answerLock(index, granted: false)
    case .deliver(let index, let keepsCopy): deliver(index, keepsCopy: keepsCopy, answerArrives: true)
    case .deliverInVain(let index):
      troublesLeft -= 1
      deliver(index, keepsCopy: false, answerArrives: false)
    case .timeOut(let index):
      troublesLeft -= 1
      giveUp(index)
    case .crash(let index): crash(index)
    case .timer(let index, let timer):
      guard let ticket = processes[index].timers.removeValue(forKey: timer) else { return }
      perform(.timer(timer, ticket: ticket), by: index)
    case .loseCommit:
      lostCommitsLeft -= 1
      sessions[sessions.count - 1].loseCommit()
    case .steal:
      guard let session = vault.session, let token = session.refresh else { return }
      let key: RotationKey? =
        switch limits.thief {
        case .tokenAndKey: session.pendingKey
        case .token, .tokenWithoutSendingKeys, nil: nil
        }
      thief = Thief(token: token, key: key)
    case .thiefRefresh: thiefRefresh()
    case .notice(let index):
      processes[index].isBehind = false
      perform(.vaultChanged, by: index)
    case .signIn(let index): signIn(index)
    case .signOut(let index):
      signOutsLeft -= 1
      processes[index].signingOut = processes[index].machine.session
      perform(.signOut(World.command, .signedOut), by: index)
    case .revoke(let index, let session, let arrives):
      processes[index].revoking[session] = nil
      if arrives { end(session) }
      perform(.revoked(session, delivered: arrives, entropy: 0), by: index)
    case .vaultFails:
      vaultTroublesLeft -= 1
      vaultIsOutOfOrder = true
    case .vaultRecovers: vaultIsOutOfOrder = false
    }
    if verdict == nil { judge() }
  }

  private mutating func workVault(_ index: Int) {
    guard !processes[index].queue.isEmpty else { return }
    switch processes[index].queue.removeFirst() {
    case .read(let operation):
      let found: VaultReading = vault.isEmpty ? .absent : .value(vault)
      perform(.read(operation, vaultIsOutOfOrder ? .trouble(.unavailable("out of order")) : found), by: index)
    case .edit(let operation, let edit):
      let outcome: VaultOutcome
      guard !vaultIsOutOfOrder else {
        perform(.edited(operation, .failed(.unavailable("out of order")), asOf: now), by: index)
        return
      }
      switch faulty(edit).applied(to: vault) {
      case .write(var new):
        new.revision = 0  // Two histories that end alike are one state.
        if case .advance = edit, thief.map({ $0.successes > 0 }) ?? false { thief?.victimSteps += 1 }
        bury(by: faulty(edit))
        vault = new
        for other in processes.indices where other != index && limits.signals { processes[other].isBehind = true }
        if case .prepare = edit, limits.faults.contains(.keyIsNotDurable) {} else { durable = new }
        outcome = .done(new)
      case .unchanged: outcome = .done(vault)
      case .conflict: outcome = .conflict(vault)
      }
      perform(.edited(operation, outcome, asOf: now), by: index)
    }
  }

  private mutating func answerLock(_ index: Int, granted: Bool) {
    guard let operation = processes[index].lockWanted else { return }
    processes[index].lockWanted = nil
    processes[index].keysDrawn += 1
    let bytes = [UInt8(index), processes[index].keysDrawn] + [UInt8](repeating: 0, count: 14)
    guard let key = RotationKey(bytes: bytes) else { return }
    if granted { holder = Holder(process: index, operation: operation) }
    perform(granted ? .locked(operation, key) : .lockFailed(operation, key), by: index)
  }

  private mutating func deliver(_ index: Int, keepsCopy: Bool, answerArrives: Bool) {
    guard network.indices.contains(index) else { return }
    let message = network[index]
    if keepsCopy {
      duplicatesLeft -= 1
      network[index].operation = nil
    } else {
      network.remove(at: index)
    }
    let answer = present(message.token, key: message.key)
    guard let operation = message.operation, processes[message.process].asking == operation else { return }
    processes[message.process].asking = nil
    perform(.answered(operation, answerArrives ? answer : .none(retryAfter: nil, entropy: 0)), by: message.process)
  }

  private mutating func giveUp(_ index: Int) {
    guard let operation = processes[index].asking else { return }
    processes[index].asking = nil
    abandon(operation, of: index)
    perform(.answered(operation, .none(retryAfter: nil, entropy: 0)), by: index)
  }

  private mutating func abandon(_ operation: SessionMachine.Operation, of index: Int) {
    guard let sent = network.firstIndex(where: { $0.process == index && $0.operation == operation }) else { return }
    if limits.delays { network[sent].operation = nil } else { network.remove(at: sent) }
  }

  private mutating func crash(_ index: Int) {
    troublesLeft -= 1
    if let operation = processes[index].asking { abandon(operation, of: index) }
    if holder?.process == index { holder = nil }
    if limits.faults.contains(.keyIsNotDurable) { vault = durable }
    let drawn = processes[index].keysDrawn
    processes[index] = World.newProcess()
    processes[index].keysDrawn = drawn
    perform(.start, by: index)
  }

  private mutating func thiefRefresh() {
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

  /// Feeds a machine and performs what it decides.
  mutating func perform(_ event: SessionMachine.Event, by index: Int) {
    for effect in processes[index].machine.handle(event, at: now) {
      switch effect {
      case .publish, .audit, .cancelRequests, .ignored: break
      case .finish(World.command, _):
        if let session = processes[index].signingOut { endedByUser.insert(session) }
        processes[index].signingOut = nil
      case .finish: break
      case .startTimer(let timer, let ticket, _): processes[index].timers[timer] = ticket
      case .resume(_, let result):
        processes[index].waits = false
        if case .success = result { processes[index].answer = true } else { processes[index].answer = false }
      case .unlock(let operation): if holder == Holder(process: index, operation: operation) { holder = nil }
      case .read(let operation): processes[index].queue.append(.read(operation))
      case .edit(let operation, let edit): processes[index].queue.append(.edit(operation, edit))
      case .lock(let operation, _): processes[index].lockWanted = operation
      case .askRefresh(let operation, let token, let key):
        requestsLeft -= 1
        processes[index].asking = operation
        network.append(Message(process: index, operation: operation, token: token, key: key))
      // The processes of this world register no steps.
      case .clean: break
      case .revoke(let session, let handle):
        if limits.faults.contains(.noDeadEndRule) { continue }
        // Without a user the only ends are those of a refusal, and the server hears of them at once.
        if limits.signOuts > 0 { processes[index].revoking[session] = handle } else { end(session) }
      }
    }
    canonicalize(index)
  }

  /// Renumbers a machine's operations, so that its history does not tell two equal states apart.
  private mutating func canonicalize(_ index: Int) {
    let (machine, renamed) = processes[index].machine.canonical()
    processes[index].machine = machine
    func new(_ operation: SessionMachine.Operation) -> SessionMachine.Operation { renamed[operation] ?? .init(0) }
    processes[index].queue = processes[index].queue.map { job in
      switch job {
      case .read(let operation): .read(new(operation))
      case .edit(let operation, let edit): .edit(new(operation), edit)
      }
    }
    for position in network.indices where network[position].process == index {
      network[position].operation = network[position].operation.map(new)
    }
    processes[index].asking = processes[index].asking.map(new)
    processes[index].lockWanted = processes[index].lockWanted.map(new)
    for (timer, ticket) in processes[index].timers {
      processes[index].timers[timer] = renamed[.init(ticket)]?.number
    }
    if let held = holder, held.process == index { holder?.operation = new(held.operation) }
  }

  /// What has become of the promise.
  private mutating func judge() {
    let isAlive = sessions.last?.isAlive == true
    if let thief {
      if !isAlive {
        verdict = .detected
      } else if thief.successes >= 2, thief.victimSteps >= 2 {
        verdict = .coexist
      } else if thief.successes >= 2, processes.contains(where: \.isOut) {
        verdict = .takeover
      }
      return
    }
    if limits.signOuts > 0 || limits.vaultTroubles > 0 { return judgeUser() }
    if !isAlive { verdict = .out("the server ended the session") }
    for process in processes where process.isOut { verdict = .out("a client is \(process.machine.state)") }
  }
}

extension World.Process {
  /// Whether this process took the session for over.
  var isOut: Bool {
    switch machine.state {
    case .restoring, .signedIn: false
    case .signedOut, .unavailable: true
    }
  }
}
