import HandstampCore
import HandstampTesting
import Testing

/// Defects found by the simulation, each isolated.
@Suite(.timeLimit(.minutes(10))) struct `A machine in histories that once broke it` {
  @Test func `sees use of another process even after the wall clock was set back`() {
    let limit = Duration.seconds(900)
    var bench = Bench(policy: SessionPolicy(idleLimit: limit))
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.now = Moment(
      boot: bench.now.boot, uptime: bench.now.uptime, wall: bench.now.wall.advanced(by: .seconds(-86_400)))
    _ = bench.apply(.touch(SessionID("s1"), at: bench.now))
    bench.now = bench.now.advanced(by: .seconds(400))
    bench.fire(.limit)
    #expect(bench.states.last != .signedOut(.idle))
    #expect(bench.machine.access != nil)
  }

  @Test func `ranks a use since the last boot above any earlier one, whatever the wall clock shows`() {
    var bench = Bench(policy: SessionPolicy(idleLimit: .seconds(900)))
    bench.run(.start)
    bench.signIn()
    let before = bench.now
    // The device restarts, its clock a month behind; this program and another come back.
    bench.now = Moment(boot: 8, uptime: .seconds(10), wall: before.wall.advanced(by: .seconds(-2_592_000)))
    bench = Bench(policy: SessionPolicy(idleLimit: .seconds(900)), vault: bench.vault).at(bench.now)
    bench.run(.start)
    _ = bench.apply(.touch(SessionID("s1"), at: bench.now))
    // Then the clock is set right, and beyond.
    bench.now = Moment(boot: 8, uptime: .seconds(20), wall: before.wall.advanced(by: .seconds(86_400)))
    bench.run(.activity)
    #expect(bench.states.last != .signedOut(.idle))
    #expect(bench.machine.access != nil)
  }

  @Test func `adopts no session whose sign-in it reported as failed`() {
    var bench = Bench()
    bench.run(.start)
    bench.signIn()
    // A second sign-in is written, but its vault reports that it was not.
    let attempt = bench.waiter()
    bench.handle(.signIn(attempt))
    let effects = bench.handle(
      .signInAnswered(attempt, .success(.sample(0, session: "s2")), fallback: SessionID("fallback")))
    for case .edit(let operation, let edit) in effects {
      _ = bench.apply(edit)
      bench.handle(.edited(operation, .failed(.unavailable("not synced")), asOf: bench.now))
    }
    #expect(bench.outcomes[attempt] == .failure(.storage(.unavailable("not synced"))))
    // Then the server ends the first one, which the vault no longer holds.
    bench.handle(.ended(SessionID("s1"), .revoked))
    bench.vaultTrouble = nil
    bench.work()
    for state in bench.states {
      if case .signedIn(let facts) = state { #expect(facts.session == SessionID("s1")) }
    }
    #expect(bench.machine.access == nil)
  }
}

extension Bench {
  fileprivate func at(_ moment: Moment) -> Bench {
    var bench = self
    bench.now = moment
    return bench
  }
}
