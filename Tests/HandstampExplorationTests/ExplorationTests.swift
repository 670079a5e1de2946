import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

/// What `rotation_model.py` found for this protocol, found again with the machine and the rules that ship.
@Suite struct `Client and server, explored exhaustively` {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var limits: World.Limits
    var rules = ModelServer.Rules()
    init(_ name: String, _ change: (inout World.Limits, inout ModelServer.Rules) -> Void) {
      testDescription = name
      var limits = World.Limits()
      change(&limits, &rules)
      self.limits = limits
    }
  }

  @Test(arguments: [
    Case("lost answers and crashes, with the lock") { limits, _ in limits.requests = 4 },
    Case("races without the lock") { limits, _ in
      limits.lockWorks = false
      limits.troubles = 0
    },
    Case("races and losses together") { limits, _ in
      limits.lockWorks = false
      limits.requests = 3
    },
    Case("late requests and a duplicate, with the lock") { limits, _ in
      limits.delays = true
      limits.duplicates = 1
      limits.requests = 3
    },
    Case("late requests and a lost commit") { limits, _ in
      limits.delays = true
      limits.lostCommits = 1
      limits.requests = 3
    },
  ])
  func `sign nobody out`(_ case: Case) {
    let found = Exploration(World(`case`.limits, rules: `case`.rules))
    print("\(`case`.testDescription): \(found.states) states")
    #expect(found.findings.isEmpty, "\(found.findings.map { "\($0.verdict): \($0.path)" })")
    #expect(!found.isCut)
  }

  @Test(arguments: [
    Case("who copied the token") { limits, _ in limits.thief = .token },
    Case("who copied the token, while requests come late and a commit is lost") { limits, _ in
      limits.thief = .token
      limits.delays = true
      limits.lostCommits = 1
      limits.troubles = 1
      limits.requests = 3
    },
    Case("who copied the token and the pending key") { limits, _ in limits.thief = .tokenAndKey },
    Case("who leaves the key out") { limits, _ in limits.thief = .tokenWithoutSendingKeys },
  ])
  func `let no thief go on unseen`(_ case: Case) {
    let found = Exploration(World(`case`.limits, rules: `case`.rules))
    print("\(`case`.testDescription): \(found.states) states")
    #expect(!found.coexists && !found.isTakenOver, "\(found.findings.map { "\($0.verdict): \($0.path)" })")
    #expect(!found.isCut)
    // Where a thief can do anything at all, the server notices in some of the runs.
    #expect(found.detects || `case`.limits.thief == .tokenWithoutSendingKeys)
  }

  @Test(arguments: [
    Case("a ring of two rotations") { limits, rules in
      rules.ringSize = 2
      limits.delays = true
      limits.duplicates = 1
      limits.troubles = 1
      limits.processes = 1
    },
    Case("a rotation key that is not durable before it is sent") { limits, _ in
      limits.faults.keyIsNotDurable = true
      limits.requests = 3
    },
  ])
  func `find the fault that signs people out`(_ case: Case) {
    let found = Exploration(World(`case`.limits, rules: `case`.rules))
    print("\(`case`.testDescription): \(found.states) states")
    #expect(found.signsOut)
  }

  @Test(arguments: [
    Case("keyed sessions served without a key") { limits, rules in
      rules.servesKeyless = true
      limits.thief = .tokenWithoutSendingKeys
      limits.requests = 5
    },
    Case("tokens that do not say which key made them") { limits, rules in
      rules.comparesMark = false
      limits.thief = .token
      limits.lostCommits = 1
      limits.troubles = 1
      limits.delays = true
    },
    Case("a client that keeps a refusal to itself") { limits, _ in
      limits.faults.noDeadEndRule = true
      limits.thief = .tokenAndKey
    },
  ])
  func `find the fault that lets a thief go on`(_ case: Case) {
    let found = Exploration(World(`case`.limits, rules: `case`.rules))
    print("\(`case`.testDescription): \(found.states) states, \(found.findings.map(\.verdict))")
    #expect(found.coexists || found.isTakenOver)
  }
}
