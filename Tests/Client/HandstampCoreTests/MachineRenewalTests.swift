import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session whose server replaces the credential` {
  private let old = VaultSamples.cookies("0").credential
  private let new = VaultSamples.cookies("1").credential
  private let session = SessionID("s1")

  private func signedIn(refresh: RefreshToken? = nil) -> MachineFixture {
    var fixture = MachineFixture()
    fixture.run(.start)
    var tokens = TokenSet(access: AccessToken("access"), refresh: refresh)
    tokens.credential = old
    fixture.signIn(
      TokenResponse(
        tokens: tokens, sessionID: session,
        profile: Profile(id: AccountID("ada"), name: "Ada"), revocation: RevocationHandle(old.secret)))
    return fixture
  }

  @Test func `keeps the new one, and its handle`() {
    var fixture = signedIn()
    let waiter = fixture.waiter()
    fixture.handle(.renewed(waiter, session, from: old, to: new))
    #expect(fixture.outcomes[waiter] == nil)
    #expect(fixture.machine.access?.credential == old)
    fixture.work()
    #expect(fixture.outcomes[waiter] == .success(.renewed))
    #expect(fixture.machine.access?.credential == new)
    #expect(fixture.vault?.session?.access?.credential == new)
    #expect(fixture.vault?.session?.revocation?.secret == new.secret)
    #expect(fixture.states == [.signedOut(nil), fixture.states.last])
  }

  @Test func `rejects the second replacement and uses the first`() {
    var fixture = signedIn()
    let other = VaultSamples.cookies("of another program").credential
    _ = fixture.apply(.renew(session, holding: old, with: StoredAccess(other)))
    let waiter = fixture.waiter()
    fixture.run(.renewed(waiter, session, from: old, to: new))
    #expect(fixture.outcomes[waiter] == .success(.renewedElsewhere))
    #expect(fixture.machine.access?.credential == other)
    let again = fixture.waiter()
    fixture.handle(.renewed(again, session, from: old, to: new))
    #expect(fixture.outcomes[again] == .success(.renewedElsewhere))
  }

  @Test func `uses a credential it could not store, and stores it later`() {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("disk full")
    let newest = VaultSamples.cookies("2").credential
    for (from, to) in [(old, new), (new, newest)] {
      let waiter = fixture.waiter()
      fixture.run(.renewed(waiter, session, from: from, to: to))
      #expect(fixture.outcomes[waiter] == .success(.renewed))
      #expect(fixture.machine.access?.credential == to)
    }
    fixture.fire(.renew)
    fixture.work()
    #expect(fixture.vault?.session?.access?.credential == old)
    fixture.vaultTrouble = nil
    // Another read shows the old one, which is not adopted.
    fixture.run(.vaultChanged)
    #expect(fixture.machine.access?.credential == newest)
    fixture.fire(.renew)
    fixture.work()
    #expect(fixture.vault?.session?.access?.credential == newest)
    #expect(fixture.vault?.session?.revocation?.secret == newest.secret)
    #expect(fixture.machine.access?.credential == newest)
  }

  @Test func `stays ended when one arrives late`() {
    var fixture = signedIn()
    fixture.signOut()
    let waiter = fixture.waiter()
    fixture.run(.renewed(waiter, session, from: old, to: new))
    #expect(fixture.outcomes[waiter] == .failure(.cancelled))
    #expect(fixture.vault?.session == nil)
  }

  @Test func `ignores it if tokens come by refreshing`() {
    var fixture = signedIn(refresh: RefreshToken("r"))
    let waiter = fixture.waiter()
    fixture.run(.renewed(waiter, session, from: old, to: new))
    #expect(fixture.outcomes[waiter] == .failure(.cancelled))
    #expect(fixture.vault?.session?.access?.credential == old)
  }
}
