import HandstampCore

/// One seeded run: a long, random history of a ``World``, whose invariants are checked after every move, and which must come
/// to a good end.
package struct Simulation: Sendable {
  package private(set) var history: [World.Move] = []
  package private(set) var verdict: World.Verdict?

  /// The same seed makes the same history, on every machine.
  package init(seed: UInt64, steps: Int = 200, faults: Set<World.Fault> = []) {
    var random = SplitMix64(state: seed)
    var limits = World.Limits()
    limits.processes = 1 + Int(random.next() % 3)
    limits.requests = 60
    limits.troubles = Int(random.next() % 12)
    limits.duplicates = Int(random.next() % 3)
    limits.lostCommits = Int(random.next() % 2)
    limits.lockWorks = random.next() % 4 != 0
    limits.delays = random.next() % 2 == 0
    limits.signOuts = 1 + Int(random.next() % 3)
    limits.vaultTroubles = Int(random.next() % 3)
    limits.signals = true
    limits.faults = faults
    var world = World(limits)
    for _ in 0..<steps {
      guard let move = world.moves().pick(by: \.weight, with: &random) else { break }
      world.make(move)
      history.append(move)
      if world.verdict != nil { break }
    }
    world.settle()
    verdict = world.verdict
  }
}

extension World.Move {
  /// How likely a move is among those that are possible: work is done more often than it goes wrong.
  fileprivate var weight: UInt64 {
    switch self {
    case .vault, .grantLock, .refuseLock: 20
    case .deliver(_, keepsCopy: false): 20
    case .demand: 10
    case .timer, .notice, .revoke: 8
    case .signIn, .vaultRecovers: 6
    case .deliver(_, keepsCopy: true), .deliverInVain, .timeOut, .crash: 3
    case .loseCommit, .steal, .thiefRefresh: 2
    case .signOut, .vaultFails: 1
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

/// A small generator whose numbers are the same everywhere (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
package struct SplitMix64: RandomNumberGenerator, Sendable {
  var state: UInt64
  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
