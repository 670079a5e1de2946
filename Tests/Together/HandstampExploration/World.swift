package import HandstampCore
import HandstampRegistry

/// A small world around the real ``SessionMachine`` and the server's real rules: processes that share a vault, a
/// refresh lock, a network, a user and possibly a thief. As a value, it can be compared, copied and replayed.
///
/// The driver, an exhaustive exploration or a seeded simulation, picks one of the ``moves()`` and performs it with
/// ``make(_:)``.
package struct World: Sendable, Hashable {
  package struct Process: Sendable, Hashable {
    package var machine: SessionMachine
    /// This process's queue at the vault, first in, first out.
    package var queue: [Job] = []
    /// The requests awaiting a response.
    package var asking: [SessionMachine.Operation] = []
    package var lockWanted: LockRequest?
    package var timers: [SessionMachine.Timer: Ticking] = [:]
    package var waits = false
    /// Whether the last demand was met.
    package var answer: Bool?
    /// A sign-in was started, and its response has not arrived.
    package var signInIsOut = false
    package var isSigningIn: Bool { signInIsOut || machine.isSigningIn(World.signingIn) }
    /// The session that is being signed in to.
    package var signingInTo: SessionID?
    /// Another process wrote to the vault, and this one has not been notified.
    package var isBehind = false
    /// A sign-out is in progress.
    package var signOutIsOut = false
    package var signingOut: SessionID?
    package var keysDrawn = 0
    /// How often it was started.
    package var starts = 0
    package var revoking: [SessionID: RevocationHandle] = [:]
    /// The clean-up steps in progress.
    package var cleaning: [Chore] = []
    /// The uptime at which it was suspended.
    package var suspendedAt: Duration?
    /// Responses that arrived during the suspension.
    package var socket: [Answer] = []
    /// The access token that was refused to its caller.
    package var refused: Credential?
    /// The last state shown to observers.
    package var shown: SessionState = .restoring
  }

  package enum Job: Sendable, Hashable {
    case read(SessionMachine.Operation)
    case edit(SessionMachine.Operation, VaultEdit)
    /// Finds out whether the sender of an attempt has ended.
    case check(SessionMachine.Operation, RefreshAttempt)
  }

  /// A token that was sent to a third-party server, and may not be sent again yet.
  struct Presentation: Sendable, Hashable {
    var process: Int
    var since: Duration
    var limit: Duration
  }

  package struct LockRequest: Sendable, Hashable {
    var operation: SessionMachine.Operation
    /// The end of the wait, by uptime; `nil` while time stands still.
    var until: Duration?
  }

  package struct Ticking: Sendable, Hashable {
    var ticket: UInt64
    /// The uptime at which it fires. `nil` while time stands still, when it may fire at any moment.
    var due: Duration?
  }

  package struct Chore: Sendable, Hashable {
    var ended: EndedSession
    var step: String
  }

  package struct Message: Sendable, Hashable {
    var process: Int
    /// The sender's operation; `nil` once the sender has given up.
    var operation: SessionMachine.Operation?
    var token: RefreshToken
    var key: RotationKey
    /// The row as the node that has the message has read it; `nil` before.
    var attempt: KeyedServer.Attempt?
  }

  package struct Answer: Sendable, Hashable {
    var operation: SessionMachine.Operation
    var answer: RefreshResult
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
    /// The number of newer tokens stored by the victim after the thief's first success.
    var victimSteps = 0
  }

  package let limits: Limits
  /// Notes what its machines do; `nil` for nothing.
  #if Exploration
  package var log: TransitionLog?
  #endif
  package var processes: [Process]
  package var vault: VaultEntry
  /// The vault's entry after a power cut.
  package var durable: VaultEntry
  package var holder: Holder?
  package var attempts = AttemptFiles()
  /// The server's sessions, in order of sign-in.
  package var sessions: [ModelServer]
  /// The sessions that were ended legitimately, and those among them whose tombstone was written.
  package var endedRightly: Set<SessionID> = []
  package var buried: Set<SessionID> = []
  package var vaultState = VaultState.works
  package var signOutsLeft: Int
  package var vaultTroublesLeft: Int
  /// The tokens that were sent, until the attempt is settled, or no response to it can arrive.
  var presented: [RefreshToken: Presentation] = [:]
  var passesLeft: Int
  var goesBackLeft: Int
  /// The vault before its refresh token was replaced.
  var older: VaultEntry?
  /// The second process's own vault, if it has one.
  var copy: VaultEntry?
  /// The process that is signing in, from the exchange with the server until it is stored.
  var exchanging: Int?
  /// Sessions that may be lost, because of a fault that no client can make good.
  var excused: Set<SessionID> = []
  var life: Life?
  let rules: ModelServer.Rules
  package var network: [Message] = []
  package var requestsLeft: Int
  package var troublesLeft: Int
  package var duplicatesLeft: Int
  package var lostCommitsLeft: Int
  var unknownCommitsLeft: Int
  var failoversLeft: Int
  /// The sessions whose end was acknowledged at the server.
  var endedThere: Set<SessionID> = []
  package var thief: Thief?
  /// The device's clocks, followed by the server's time.
  var clock: Moment
  var serverTime = World.start.wall
  var ledger = Ledger()
  /// The outcome, once there is one.
  package var verdict: Verdict?

  package enum Verdict: Sendable, Hashable {
    /// An honest client was signed out.
    case out(String)
    /// An invariant, by its number, was violated; 0 means that not everything came to a good end.
    case broken(Int, String)
    /// Thief and victim both continue undetected.
    case coexist
    /// The thief has the session, the victim has lost it, and the server does not know.
    case takeover
    /// The server ended the session because of the thief.
    case detected
  }

  package init(_ limits: Limits, rules: ModelServer.Rules = ModelServer.Rules(), isTraced: Bool = false) {
    self.limits = limits
    life = limits.life
    self.rules = rules
    let server = World.newServer(limits, rules, number: 0, person: "ada", at: World.start.wall)
    passesLeft = limits.passes
    goesBackLeft = limits.goesBack
    sessions = [server]
    let first = server.firstGrant(life: limits.life?.tokenLife)
    var clock = World.start
    if let skew = limits.life?.skew { clock.wall = clock.wall.advanced(by: skew) }
    self.clock = clock
    let session = StoredSession(
      id: server.session, profile: server.profile, refresh: first.tokens.refresh, revocation: first.revocation,
      access: StoredAccess(
        first.tokens.credential, lifetime: limits.life.map { Lifetime(start: clock, duration: $0.tokenLife) }),
      startedAt: clock, activeAt: clock, rotationKeys: first.acceptsRotationKey ? .accepted : .unknown)
    vault = VaultEntry(session: session)
    if limits.startsSignedOut {
      sessions = []
      vault = VaultEntry()
    }
    durable = vault
    if limits.copiesVault { copy = vault }
    requestsLeft = limits.requests
    troublesLeft = limits.troubles
    duplicatesLeft = limits.duplicates
    lostCommitsLeft = limits.lostCommits
    unknownCommitsLeft = limits.unknownCommits
    failoversLeft = limits.failovers
    signOutsLeft = limits.signOuts
    vaultTroublesLeft = limits.vaultTroubles
    processes = []
    ledger.stored = [server.session]
    if isTraced {
      ledger.trace = []
      ledger.jobs = [VaultRecord(process: 0, edit: .begin(session))]
    }
    for index in 0..<limits.processes { processes.append(newProcess(index)) }
    for process in processes.indices { perform(.start, by: process) }
  }

  static func newServer(
    _ limits: Limits, _ rules: ModelServer.Rules, number: Int, person: String, at time: UnixTime
  ) -> ModelServer {
    if let kind = limits.server, limits.oauth == nil {
      return .keyless(KeylessServer(kind, overlap: limits.overlap, number: number, person: person, at: time))
    }
    let servesAnyKey = limits.faults.contains(.keysAreNotCompared)
    return .keyed(
      KeyedServer(
        rules: rules, number: number, person: person, oauth: limits.oauth, servesAnyKey: servesAnyKey, at: time,
        limit: limits.life?.serverLimit))
  }

  static let start = Moment(boot: 1, uptime: .seconds(1000), wall: UnixTime(seconds: 1_800_000_000))
  static let waiter = SessionMachine.Waiter(1)
  static let command = SessionMachine.Waiter(2)
  static let signingIn = SessionMachine.Waiter(3)

  /// The device's clocks.
  var now: Moment {
    guard limits.faults.contains(.wallClockDecides) else { return clock }
    return Moment(boot: 1, uptime: max(.zero, clock.wall.since(World.start.wall) + .seconds(1000)), wall: clock.wall)
  }

  func newProcess(_ index: Int, starts: Int = 0) -> Process {
    var policy: SessionPolicy
    if let life {
      policy = SessionPolicy(
        refresh: RefreshPolicy(usesTimer: life.refreshesAhead, minimumAge: .zero), retry: RetryPolicy(),
        idleLimit: life.idleLimit, absoluteLimit: life.absoluteLimit)
    } else {
      policy = SessionPolicy(
        refresh: RefreshPolicy(usesTimer: false, minimumAge: .zero),
        retry: RetryPolicy(attempts: limits.server == nil ? 1000 : limits.attempts, base: .zero))
    }
    policy.refresh.reuse = limits.reuse
    return Process(
      machine: SessionMachine(
        policy: policy, supportsRotationKeys: limits.server == nil && limits.oauth == nil,
        cleanups: life?.cleanups ?? [],
        sender: identity(of: index, starts: starts)),
      starts: starts)
  }

  func identity(of index: Int, starts: Int? = nil) -> ProcessIdentity {
    let isApart = limits.copiesVault || limits.hasNamespaces
    return ProcessIdentity(
      id: Int32(index), startedAt: UInt64(starts ?? processes[index].starts), namespace: isApart ? UInt64(index) : 0)
  }

  /// Records the first violation.
  mutating func fail(_ invariant: Int, _ text: String) {
    guard verdict == nil else { return }
    verdict = .broken(invariant, text)
    tell("INVARIANT \(invariant): \(text)")
  }

  mutating func tell(_ line: String) { ledger.trace?.append(line) }
}
