import HandstampCore
import HandstampTesting
import Testing

/// Defects found by the simulation, each isolated.
@Suite(.timeLimit(.minutes(10))) struct `A machine in histories that once broke it` {
  @Test func `sees use of another process even after the wall clock was set back`() {
    let limit = Duration.seconds(900)
    var fixture = MachineFixture(policy: SessionPolicy(idleLimit: limit))
    fixture.run(.start)
    fixture.signIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.now = Moment(
      boot: fixture.now.boot, uptime: fixture.now.uptime, wall: fixture.now.wall.advanced(by: .seconds(-86_400)))
    _ = fixture.apply(.touch(SessionID("s1"), at: fixture.now))
    fixture.now = fixture.now.advanced(by: .seconds(400))
    fixture.fire(.limit)
    #expect(fixture.states.last != .signedOut(.idle))
    #expect(fixture.machine.access != nil)
  }

  @Test func `ranks a use since the last boot above any earlier one, whatever the wall clock shows`() {
    var fixture = MachineFixture(policy: SessionPolicy(idleLimit: .seconds(900)))
    fixture.run(.start)
    fixture.signIn()
    let before = fixture.now
    // The device restarts, its clock a month behind; this program and another come back.
    fixture.now = Moment(boot: 8, uptime: .seconds(10), wall: before.wall.advanced(by: .seconds(-2_592_000)))
    fixture = MachineFixture(policy: SessionPolicy(idleLimit: .seconds(900)), vault: fixture.vault).at(fixture.now)
    fixture.run(.start)
    _ = fixture.apply(.touch(SessionID("s1"), at: fixture.now))
    // Then the clock is set right, and beyond.
    fixture.now = Moment(boot: 8, uptime: .seconds(20), wall: before.wall.advanced(by: .seconds(86_400)))
    fixture.run(.activity)
    #expect(fixture.states.last != .signedOut(.idle))
    #expect(fixture.machine.access != nil)
  }

  @Test func `adopts no session whose sign-in it reported as failed`() {
    var fixture = MachineFixture()
    fixture.run(.start)
    fixture.signIn()
    // A second sign-in is written, but its vault reports that it was not.
    let attempt = fixture.waiter()
    fixture.handle(.signIn(attempt))
    let effects = fixture.handle(
      .signInAnswered(
        attempt, .success(.sample(0, session: "s2")), by: .init(.password), fallback: SessionID("fallback")))
    for case .edit(let operation, let edit) in effects {
      _ = fixture.apply(edit)
      fixture.handle(.edited(operation, .failed(.unavailable("not synced")), asOf: fixture.now))
    }
    #expect(fixture.outcomes[attempt] == .failure(.storage(.unavailable("not synced"))))
    // Then the server ends the first one, which the vault no longer holds.
    fixture.handle(.ended(SessionID("s1"), .revoked))
    fixture.vaultTrouble = nil
    fixture.work()
    for state in fixture.states {
      if case .signedIn(let facts) = state { #expect(facts.id == SessionID("s1")) }
    }
    #expect(fixture.machine.access == nil)
  }
}

extension MachineFixture {
  fileprivate func at(_ moment: Moment) -> MachineFixture {
    var fixture = self
    fixture.now = moment
    return fixture
  }
}
