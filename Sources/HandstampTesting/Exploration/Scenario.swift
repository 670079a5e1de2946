import HandstampCore
import HandstampRegistry

/// One question to an exploration, and the answer it must give: what `rotation_model.py` found for this protocol, asked
/// again of the machine and the rules that ship.
package struct Scenario: Sendable {
  package enum Expectation: String, Sendable {
    /// No honest client is ever signed out.
    case nobodyOut = "nobody is signed out"
    /// No thief goes on unseen.
    case noThief = "no thief goes on unseen"
    /// A planted fault signs people out.
    case findsOut = "planted fault found: signs people out"
    /// A planted fault lets a thief go on unseen.
    case findsThief = "planted fault found: a thief goes on unseen"
  }

  package var name: String
  package var expectation: Expectation
  package var limits = World.Limits()
  var rules = ModelServer.Rules()

  package var world: World { World(limits, rules: rules) }

  package func isKept(_ found: Exploration) -> Bool {
    switch expectation {
    case .nobodyOut: found.findings.isEmpty && !found.isCut
    case .noThief: !found.coexists && !found.isTakenOver && !found.isCut
    case .findsOut: found.signsOut
    case .findsThief: found.coexists || found.isTakenOver
    }
  }

  private init(
    _ name: String, _ expectation: Expectation, _ change: (inout World.Limits, inout ModelServer.Rules) -> Void
  ) {
    self.name = name
    self.expectation = expectation
    change(&limits, &rules)
  }

  package static let all: [Scenario] = promises + thieves + faults

  /// The same question within narrower limits, for a test that should take seconds without optimisation.
  package var small: Scenario {
    var small = self
    switch expectation {
    case .nobodyOut, .noThief:
      small.limits.requests = min(limits.requests, 3)
      small.limits.troubles = min(limits.troubles, 1)
      if limits.thief != nil { small.limits.processes = 1 }
    case .findsOut, .findsThief: break
    }
    return small
  }

  package static let promises = [
    Scenario("lost answers and crashes, with the lock", .nobodyOut) { limits, _ in limits.requests = 4 },
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
    Scenario("a copied token and pending key", .noThief) { limits, _ in
      limits.thief = .tokenAndKey
      limits.troubles = 1
    },
    Scenario("a thief who leaves the key out", .noThief) { limits, _ in
      limits.thief = .tokenWithoutSendingKeys
      limits.troubles = 1
    },
  ]

  package static let faults = [
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
    Scenario("a client that keeps a refusal to itself", .findsThief) { limits, _ in
      limits.faults = [.noDeadEndRule]
      limits.thief = .tokenAndKey
      limits.processes = 1
    },
  ]
}
