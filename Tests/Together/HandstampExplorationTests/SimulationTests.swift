import Handstamp
import HandstampExploration
import HandstampTesting
import Testing

@Suite(.longComputation, .timeLimit(.minutes(10))) struct `Simulated histories` {
  /// Each argument stands for fifty seeds; `scripts/dev simulate` runs any number.
  @Test(arguments: 0..<16 as Range<UInt64>)
  func `keep every invariant and end well`(fifty: UInt64) {
    for seed in fifty * 50..<fifty * 50 + 50 {
      let run = Simulation(seed: seed)
      if let violation = run.violation {
        Issue.record("seed \(seed): \(violation); scripts/dev simulate --seed \(seed) shows it")
        return
      }
    }
  }

  @Test func `repeat exactly for the same seed`() {
    let seven = Simulation(seed: 7, traced: true)
    #expect(!seven.trace.isEmpty)
    #expect(seven.trace == Simulation(seed: 7, traced: true).trace)
    #expect(seven.trace != Simulation(seed: 8, traced: true).trace)
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `pass with a correct vault`(seed: UInt64) async throws {
    try await Simulation(seed: seed, traced: true).check { MemoryVault() }
  }

  @Test func `detect a vault that loses an edit`() async throws {
    await #expect(throws: ConformanceError.self) {
      for seed in 0..<20 as Range<UInt64> {
        let vault = FaultyVault(MemoryVault())
        await vault.set { $0.loses = { _, write in write != .begin } }
        try await Simulation(seed: seed, traced: true).check {
          vault
        } again: {
          // A second process does not see the first one's unwritten edit.
          await $0.cutPower()
          return $0
        }
        await vault.cutPower()
      }
    }
  }

  /// The invariant that each fault breaks, and that the simulation finds it quickly.
  @Test(arguments: breaks.keys.sorted { $0.rawValue < $1.rawValue })
  func `reveal every planted fault`(_ fault: World.Fault) throws {
    let run = (0..<3000 as Range<UInt64>).lazy.map { Simulation(seed: $0, faults: [fault]) }
      .first { $0.violation != nil }
    let found = try #require(run?.violation, "nothing found in 3000 seeds")
    let expected = try #require(Self.breaks[fault])
    #expect(expected.contains(found.invariant), "seed \(run?.seed ?? 0): \(found)")
  }

  /// Faults that random histories rarely reach are planted in the exploration instead.
  @Test func `cover every fault that can be planted`() {
    let explored = Scenario.all.filter { $0.expectation != .nobodyOut }.map(\.limits.faults)
    #expect(explored.reduce(Set(Self.breaks.keys)) { $0.union($1) } == Set(World.Fault.allCases))
  }

  /// Every invariant is broken by some fault, so every check is known to work; number 11 in an exploration.
  @Test func `have a planted fault for every invariant`() {
    #expect(Self.breaks.values.reduce(into: Set()) { $0.formUnion($1) } == Set(0...10))
  }

  /// The invariants, by their numbers in docs/testing.md, that each fault may break.
  static let breaks: [World.Fault: Set<Int>] = [
    .keyIsNotDurable: [3],
    .noDeadEndRule: [5],
    .endsWithoutComparing: [4],
    .advancesWithoutComparing: [5],
    .successorIsNotStored: [2],
    .preparesWithoutComparing: [0, 1],
    .lockIsGivenTwice: [1],
    .sendsBeforeWriting: [3],
    .signInIsNotDurable: [3],
    .troubleReadsAsAbsence: [4],
    .signOutWritesNothing: [5],
    .staleReads: [5],
    .cleanupIsNotedFirst: [5],
    .garbageIsBelieved: [7],
    .garbageEndsSessions: [7],
    .apiTrustsTokens: [8],
    .keysAreNotCompared: [6],
    .auditNamesTokens: [9],
    .statesAreLost: [10],
    .wallClockDecides: [0],
    .activityIsIgnored: [4],
    .vanishedReadsAsAbsence: [4],
    .anyAnswerRevokes: [5],
    .fullDiskForgetsEnds: [5],
  ]
}

/// Seeds that once found a defect. Their histories change with the simulation; the defects have tests of their own.
@Suite(.longComputation, .timeLimit(.minutes(10))) struct `Seeds that once found a defect` {
  @Test(
    arguments: [
      2184  // A wall clock set back hid another process's use: the session ended as idle.
    ] as [UInt64])
  func `find none now`(seed: UInt64) {
    #expect(Simulation(seed: seed).violation == nil)
  }
}
