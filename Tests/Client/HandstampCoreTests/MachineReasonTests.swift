import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The reason that a session machine shows` {
  private func signedIn(policy: SessionPolicy = SessionPolicy()) -> MachineFixture {
    var fixture = MachineFixture(policy: policy)
    fixture.run(.start)
    fixture.signIn()
    return fixture
  }

  @Test(arguments: [nil, VaultError.unavailable("full")])
  func `keeps the reason of an end at a second sign-out`(trouble: VaultError?) {
    var fixture = signedIn()
    fixture.run(.ended(SessionID("s1"), .accountClosed))
    let shown = fixture.states.count
    #expect(fixture.states.last == .signedOut(.accountClosed))
    fixture.vaultTrouble = trouble
    let waiter = fixture.waiter()
    fixture.handle(.signOut(waiter, .signedOut))
    let caller = fixture.waiter()
    fixture.handle(.demand(caller, .init()))
    #expect(fixture.failure(caller) == .signedOut(.accountClosed))
    fixture.work()
    #expect(fixture.outcomes[waiter] != nil)
    fixture.vaultTrouble = nil
    fixture.fire(.bury)
    fixture.run(.conditionsChanged)
    fixture.run(.vaultChanged)
    #expect(fixture.states.count == shown)
    var relaunched = MachineFixture(vault: fixture.vault)
    relaunched.run(.start)
    #expect(relaunched.states == [.signedOut(.accountClosed)])
  }

  @Test(arguments: [nil, VaultError.unavailable("full")])
  func `keeps the reason of an end that could not be written yet at a second sign-out`(trouble: VaultError?) {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("full")
    fixture.run(.ended(SessionID("s1"), .accountClosed))
    fixture.run(.vaultChanged)
    fixture.vaultTrouble = trouble
    fixture.signOut()
    fixture.vaultTrouble = nil
    fixture.fire(.bury)
    fixture.run(.vaultChanged)
    #expect(fixture.states.dropFirst(2) == [.signedOut(.accountClosed)])
    #expect(fixture.vault?.session == nil)
    #expect(fixture.vault?.tombstones.map(\.reason) == [.accountClosed])
  }

  @Test(arguments: [true, false])
  func `shows the reason of the process that ended its session first`(byUser: Bool) {
    var fixture = signedIn()
    _ = fixture.apply(.signOut(.revoked, at: fixture.now))
    if byUser { fixture.signOut() } else { fixture.run(.ended(SessionID("s1"), .idle)) }
    let shown = fixture.states.count
    #expect(fixture.states.last == .signedOut(.revoked))
    fixture.run(.vaultChanged)
    #expect(fixture.states.count == shown)
  }

  @Test func `shows the reason of the last end, also if it has missed one`() {
    var fixture = signedIn()
    var other = MachineFixture(vault: fixture.vault)
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    other.signOut(.expired)
    fixture.vault = other.vault
    for _ in 0..<2 {
      fixture.run(.vaultChanged)
      #expect(fixture.states.last == .signedOut(.expired))
    }
    // One that this process has not seen is new.
    other.signIn(.sample(0, session: "s3"))
    other.signOut()
    fixture.vault = other.vault
    fixture.run(.vaultChanged)
    #expect(fixture.states.last == .signedOut(.signedOut))
  }
}
