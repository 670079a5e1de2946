import HandstampCore
import HandstampTesting

/// A seeded run: a random history of processes, a server, a user and possibly a thief, with crashes, power cuts, lost
/// and doubled messages, broken vaults and wrong clocks. The invariants are checked after every step, and everything
/// must come to a good end. The session machine and the server's rules are the shipped ones; vault, lock and network
/// are models.
///
///     let run = Simulation(seed: 7)
///     #expect(run.violation == nil, "\(run.violation!)")
package struct Simulation: Sendable {
  /// An invariant that was violated.
  package struct Violation: Sendable, Hashable, CustomStringConvertible {
    /// The number in docs/testing.md; 0 means that everything comes to a good end.
    package var invariant: Int
    package var description: String
  }

  package let seed: UInt64
  /// The violated invariant; `nil` if all held.
  package private(set) var violation: Violation?
  /// The number of steps in the history.
  package private(set) var steps = 0
  /// The history as text, a line for each step and decision; empty unless requested.
  package private(set) var trace: [String] = []
  package private(set) var history: [World.Move] = []
  package private(set) var verdict: World.Verdict?
  let records: [VaultRecord]

  /// Plays the history of `seed`, which is the same on every machine for a given version of this package.
  ///
  /// - Parameters:
  ///   - steps: The maximum number of steps before faults stop and everything must settle.
  ///   - traced: Whether to keep ``trace``, and the records for ``check(_:again:)``.
  package init(seed: UInt64, steps: Int = 120, traced: Bool = false) {
    self.init(seed: seed, steps: steps, traced: traced, faults: []) { _ in }
  }

  package init(
    seed: UInt64, steps: Int = 120, traced: Bool = false, faults: Set<World.Fault>,
    prepare: (inout World) -> Void = { _ in }
  ) {
    self.seed = seed
    var random = SplitMix64(state: seed)
    var limits = World.Limits(drawnFrom: &random)
    limits.faults = faults
    limits.life?.looksForSecrets = seed % 16 == 0
    var world = World(limits, isTraced: traced)
    world.ledger.entropy = random.next()
    prepare(&world)
    for _ in 0..<steps {
      guard let move = world.moves().pick(by: \.weight, with: &random) else { break }
      world.make(move)
      self.steps += 1
      if traced { history.append(move) }
      if world.verdict != nil { break }
    }
    world.settle()
    verdict = world.verdict
    trace = world.ledger.trace ?? []
    records = world.ledger.jobs ?? []
    violation = world.verdict.flatMap { Violation($0) }
  }
}

extension Simulation.Violation {
  init?(_ verdict: World.Verdict) {
    switch verdict {
    case .out(let text): self.init(invariant: 2, description: "invariant 2: \(text)")
    case .broken(let invariant, let text):
      self.init(invariant: invariant, description: "invariant \(invariant): \(text)")
    case .coexist: self.init(invariant: 6, description: "invariant 6: thief and victim both continue")
    case .takeover: self.init(invariant: 6, description: "invariant 6: the thief has the session, undetected")
    case .detected: return nil
    }
  }
}

extension World.Limits {
  /// Limits for a simulation. One in eight has a thief, and no other cause that could end the session.
  fileprivate init(drawnFrom random: inout SplitMix64) {
    func one(in count: UInt64) -> Bool { random.next() % count == 0 }
    func upTo(_ most: UInt64) -> Int { Int(random.next() % (most + 1)) }
    self.init()
    var life = World.Life()
    processes = 1 + upTo(2)
    requests = 10_000
    troubles = upTo(10)
    duplicates = upTo(2)
    lockWorks = !one(in: 4)
    delays = one(in: 2)
    signals = true
    life.refreshesAhead = one(in: 2)
    life.clockJumps = upTo(2)
    life.skew = .seconds([0, -86_400, 3600][upTo(2)])
    life.garbage = upTo(4)
    if one(in: 8) {
      thief = [.token, .tokenAndKey, .tokenWithoutSendingKeys][upTo(2)]
      thiefRequests = 6
    } else {
      lostCommits = one(in: 4) ? 1 : 0
      signOuts = 1 + upTo(2)
      vaultTroubles = upTo(2)
      life.reboots = upTo(1)
      life.revocations = upTo(1)
      if one(in: 3) { life.idleLimit = .seconds(1800) }
      if one(in: 4) { life.absoluteLimit = .seconds(20_000) }
      if one(in: 6) { life.serverLimit = .seconds(30_000) }
      if one(in: 2) {
        life.cleanups = [Cleanup("cache", .always), Cleanup("jar", .cookies), Cleanup("draft", .preferences)]
        life.cleanupTroubles = upTo(3)
      }
    }
    if one(in: 2) { keyless(&life, drawnFrom: &random) }
    self.life = life
  }

  /// Limits for a third-party server. Half of them have only faults that a client can make good.
  private mutating func keyless(_ life: inout World.Life, drawnFrom random: inout SplitMix64) {
    server = KeylessServer.Kind.allCases[Int(random.next() % UInt64(KeylessServer.Kind.allCases.count))]
    thief = nil
    lostCommits = 0
    attempts = 4
    overlap = .seconds([5, 10, 30, 120][Int(random.next() % 4)])
    if random.next() % 2 == 0 {
      switch server {
      case .graceSameSuccessor, .graceNewSuccessor: reuse = .overlap(overlap)
      case .keepsAndAdds, .keepsAndReplaces: reuse = .notRotated
      case .strict: reuse = .never
      case .some(.none), nil: break
      }
    }
    signOuts = max(1, signOuts)
    life.serverLimit = nil
    kinds = [.suspended, .refused, .leaves, .cancelled]
    suspensionGivesUpLock = random.next() % 4 == 0
    hasNamespaces = random.next() % 2 == 0
    childrenLive = random.next() % 4 == 0
    if random.next() % 2 == 0 {
      kinds = Set(World.Trouble.allCases)
      goesBack = Int(random.next() % 2)
    } else {
      duplicates = 0
      delays = false
      life.reboots = 0
      life.garbage = 0
    }
  }
}

extension World.Move {
  /// The weight of a move among the possible ones: work succeeds more often than it fails.
  fileprivate var weight: UInt64 {
    switch self {
    case .vault, .grantLock, .refuseLock: 40
    case .deliver(_, keepsCopy: false), .clean(_, succeeds: true), .signInAnswered(_, arrives: true), .nodeReads,
      .nodeCommits(_, .acknowledged):
      40
    case .demand: 12
    case .timer, .notice, .revoke: 16
    case .signIn, .vaultRecovers: 12
    case .call: 8
    case .pass: 2
    case .deliver(_, keepsCopy: true), .deliverInVain, .swallow, .timeOut, .crash, .crashAfterWrite, .hearOfEnd: 6
    case .signInAnswered(_, arrives: false), .clean(_, succeeds: false): 4
    case .loseCommit, .steal, .activity, .nodeCommits, .failOver: 4
    case .thiefRefresh: 8
    case .signOut, .vaultFails, .reboot, .revokeElsewhere, .answerGarbage: 2
    case .setClock, .forge, .nonsense: 1
    case .resume, .readSocket: 20
    case .refuse, .callerLeaves, .leave: 4
    case .suspend, .leaveOpen, .freezeOut, .goBack, .limitPasses, .portal, .endUnsaved: 3
    }
  }
}

extension [World.Move] {
  fileprivate func pick(by weight: (World.Move) -> UInt64, with random: inout SplitMix64) -> World.Move? {
    let total = reduce(0) { $0 + weight($1) }
    guard total > 0 else { return nil }
    var rest = random.next() % total
    for move in self {
      if rest < weight(move) { return move }
      rest -= weight(move)
    }
    return last
  }
}
