#if Exploration
import HandstampCore
import HandstampExploration
import Testing

@Suite(.longComputation, .timeLimit(.minutes(10))) struct `Client and server, explored exhaustively` {
  /// With limits that take seconds; `scripts/dev explore` goes further, in a release build.
  @Test(arguments: Scenario.all.map(\.small))
  func `keep their promises, and reveal every planted fault`(_ scenario: Scenario) throws {
    let log = TransitionLog()
    let found = scenario.explored(log: log)
    #expect(scenario.isKept(found), "\(found.states) states: \(found.findings.map { "\($0.verdict): \($0.path)" })")
    guard scenario.hasNoFault else { return }
    let documented = try DocumentedTransitions.read()
    for (state, next) in log.transitions {
      #expect(next.isSubset(of: documented[state] ?? []), "\(state): \(next) is not in the diagram")
    }
  }

  @Test func `break invariant 11 with a repeat while a response may arrive`() throws {
    let scenario = try #require(Scenario.all.first { $0.limits.faults == [.repeatsAtOnce] })
    let found = scenario.small.explored().findings.map(\.verdict)
    #expect(found.contains { if case .broken(11, _) = $0 { true } else { false } }, "\(found)")
  }

  @Test func `reach the same states every time`() {
    let scenario = Scenario.promises[0].small
    #expect(Exploration(scenario.world).states == Exploration(scenario.world).states)
  }
}

extension Scenario: CustomTestStringConvertible {
  package var testDescription: String { "\(name): \(expectation.rawValue)" }
}
#endif
