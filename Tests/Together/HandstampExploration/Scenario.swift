#if Exploration
import HandstampCore
import HandstampRegistry

/// A question to an exploration, and the expected answer: the results of `rotation_model.py` for this protocol, checked
/// again for the shipped machine and rules.
package struct Scenario: Sendable {
  package enum Expectation: String, Sendable {
    /// No honest client is ever signed out.
    case nobodyOut = "no client is signed out"
    /// No thief remains undetected.
    case noThief = "no thief remains undetected"
    /// A planted fault signs users out.
    case findsOut = "planted fault found: signs users out"
    /// A planted fault leaves a thief undetected.
    case findsThief = "planted fault found: a thief remains undetected"
    /// A fault that no client can make good loses a session.
    case loses = "shown: a session is lost"
    /// A planted fault breaks one of the promises.
    case findsBroken = "planted fault found: a promise is broken"
  }

  package var name: String
  package var expectation: Expectation
  package var limits = World.Limits()
  var rules = ModelServer.Rules()

  package var world: World { World(limits, rules: rules) }

  /// Explores the scenario. For a planted fault one finding suffices; proving the absence of faults takes all states.
  ///
  /// - Parameter log: notes the transitions of the machines.
  package func explored(bound: Int = 3_000_000, log: TransitionLog? = nil) -> Exploration {
    var world = world
    world.log = log
    switch expectation {
    case .nobodyOut, .noThief: return Exploration(world, bound: bound)
    case .findsOut, .findsThief, .loses, .findsBroken: return Exploration(world, bound: bound, isEnough: isKept)
    }
  }

  /// Whether nothing is planted that breaks a promise.
  package var hasNoFault: Bool { [.nobodyOut, .noThief].contains(expectation) }

  package func isKept(_ found: Exploration) -> Bool {
    switch expectation {
    case .nobodyOut: found.findings.isEmpty && !found.isCut
    case .noThief: !found.coexists && !found.isTakenOver && !found.isCut
    case .findsOut, .loses: found.signsOut
    case .findsBroken: !found.findings.isEmpty
    case .findsThief: found.coexists || found.isTakenOver
    }
  }

  init(
    _ name: String, _ expectation: Expectation, _ change: (inout World.Limits, inout ModelServer.Rules) -> Void
  ) {
    self.name = name
    self.expectation = expectation
    change(&limits, &rules)
  }

  package static let all: [Scenario] = promises + thieves + faults + others + oauth

  /// The same question within narrower limits, for a test that should take seconds without optimization.
  package var small: Scenario {
    var small = self
    switch expectation {
    case .nobodyOut, .noThief:
      small.limits.requests = min(limits.requests, 3)
      small.limits.troubles = min(limits.troubles, 1)
      if limits.thief != nil { small.limits.processes = 1 }
      if limits.hasNodes {
        small.limits.requests = 2
        small.limits.unknownCommits = 1
        small.limits.troubles = 0
        if limits.signOuts > 0 { small.limits.processes = 1 }
      }
      if limits.server != nil {
        small.limits.requests = min(limits.requests, 1)
        if limits.signOuts > 0 { small.limits.processes = 1 }
        small.limits.passes = min(limits.passes, limits.vaultTroubles > 0 ? 0 : 1)
      }
    case .findsOut, .findsThief, .loses, .findsBroken: break
    }
    return small
  }

  package static let promises = [
    Scenario("lost responses and crashes, with the lock", .nobodyOut) { limits, _ in limits.requests = 4 },
    Scenario("races without the lock", .nobodyOut) { limits, _ in
      limits.lockWorks = false
      limits.troubles = 0
    },
    Scenario("races and losses together", .nobodyOut) { limits, _ in limits.lockWorks = false },
    Scenario("late requests and a duplicate, with the lock", .nobodyOut) { limits, _ in
      limits.delays = true
      limits.duplicates = 1
    },
    Scenario("races, late requests and a lost commit", .nobodyOut) { limits, _ in
      limits.lockWorks = false
      limits.delays = true
      limits.lostCommits = 1
      limits.requests = 3
    },
    Scenario("two nodes, unknown commits and a failover", .nobodyOut) { limits, _ in
      limits.hasNodes = true
      limits.lockWorks = false
      limits.delays = true
      limits.unknownCommits = 2
      limits.failovers = 1
      limits.requests = 2
      limits.troubles = 1
    },
    // An unknown commit is a lost response as well: with one more, and late requests, there are more than 16,000,000 states.
    Scenario("two nodes, unknown commits, a failover and a sign-out", .nobodyOut) { limits, _ in
      limits.hasNodes = true
      limits.lockWorks = false
      limits.delays = true
      limits.unknownCommits = 1
      limits.failovers = 1
      limits.requests = 2
      limits.troubles = 0
      limits.signOuts = 1
      limits.processes = 1
    },
  ]

  package static let thieves = [
    Scenario("a copied token", .noThief) { limits, _ in
      limits.thief = .token
      limits.delays = true
    },
    Scenario("a copied token, and a lost commit", .noThief) { limits, _ in
      limits.thief = .token
      limits.lostCommits = 1
      limits.troubles = 1
    },
    Scenario("a copied token at one node of two, unknown commits and a failover", .noThief) { limits, _ in
      limits.hasNodes = true
      limits.thief = .token
      limits.unknownCommits = 1
      limits.failovers = 1
      limits.troubles = 1
    },
    Scenario("a copied token and pending key", .noThief) { limits, _ in
      limits.thief = .tokenAndKey
      limits.troubles = 1
    },
    Scenario("a thief who omits the key", .noThief) { limits, _ in
      limits.thief = .tokenWithoutSendingKeys
      limits.troubles = 1
    },
  ]

  package static let faults = [
    Scenario("a node that writes what it has decided, whatever the row is by now", .findsBroken) { limits, _ in
      limits.hasNodes = true
      limits.faults = [.nodesWriteBlindly]
      limits.delays = true
      limits.requests = 2
      limits.signOuts = 1
      limits.processes = 1
    },
    Scenario("an unknown commit that is answered as a refusal", .findsOut) { limits, _ in
      limits.hasNodes = true
      limits.faults = [.unknownCommitIsRefused]
      limits.unknownCommits = 1
      limits.requests = 2
      limits.processes = 1
    },
    Scenario("a failover that loses an acknowledged end", .findsBroken) { limits, _ in
      limits.hasNodes = true
      limits.faults = [.failoverLosesEnds]
      limits.unknownCommits = 1
      limits.failovers = 1
      limits.delays = true
      limits.requests = 2
      limits.signOuts = 1
      limits.processes = 1
    },
    Scenario("a ring of two rotations", .findsOut) { limits, rules in
      rules.ringSize = 2
      limits.delays = true
      limits.duplicates = 1
      limits.troubles = 1
      limits.processes = 1
    },
    Scenario("a rotation key that is not durable before it is sent", .findsOut) { limits, _ in
      limits.faults = [.keyIsNotDurable]
      limits.processes = 1
    },
    Scenario("keyed sessions served without a key", .findsThief) { limits, rules in
      rules.servesKeyless = true
      rules.repeatsDrawnWithKey = true
      limits.thief = .tokenWithoutSendingKeys
      limits.troubles = 0
      limits.processes = 1
    },
    Scenario("tokens that do not say which key made them", .findsThief) { limits, rules in
      rules.comparesMark = false
      limits.thief = .tokenAndKey
      limits.lostCommits = 1
      limits.troubles = 0
      limits.processes = 1
    },
    Scenario("a client that does not report a refusal", .findsThief) { limits, _ in
      limits.faults = [.noDeadEndRule]
      limits.thief = .tokenAndKey
      limits.processes = 1
    },
  ]
}
#endif
