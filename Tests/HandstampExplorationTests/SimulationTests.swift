import HandstampCore
import HandstampTesting
import Testing

@Suite struct `Simulated histories` {
  /// Each argument is a hundred seeds; `make explore` runs more.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `keep every invariant and come to a good end`(hundred: UInt64) {
    for seed in hundred * 100..<hundred * 100 + 100 {
      let run = Simulation(seed: seed)
      if let verdict = run.verdict {
        Issue.record("seed \(seed): \(verdict) after \(run.history)")
        return
      }
    }
  }

  @Test func `are the same for the same seed`() {
    #expect(Simulation(seed: 7).history == Simulation(seed: 7).history)
    #expect(Simulation(seed: 7).history != Simulation(seed: 8).history)
  }

  /// A client that keeps a refusal to itself harms nobody but where there is a thief: the explorations find that one.
  @Test(arguments: Set(World.Fault.allCases).subtracting([.noDeadEndRule]))
  func `show a planted fault`(_ fault: World.Fault) {
    #expect((0..<3000 as Range<UInt64>).contains { Simulation(seed: $0, faults: [fault]).verdict != nil })
  }
}
