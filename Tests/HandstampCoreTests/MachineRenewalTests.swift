import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session whose server replaces the credential` {
  private let old = VaultSamples.cookies("0").credential
  private let new = VaultSamples.cookies("1").credential
  private let session = SessionID("s1")

  private func signedIn(refresh: RefreshToken? = nil) -> Bench {
    var bench = Bench()
    bench.run(.start)
    var tokens = TokenSet(access: AccessToken("access"), refresh: refresh)
    tokens.credential = old
    bench.signIn(
      TokenResponse(
        tokens: tokens, session: session,
        profile: Profile(id: AccountID("ada"), name: "Ada"), revocation: RevocationHandle(old.secret)))
    return bench
  }

  @Test func `keeps the new one, and its handle`() {
    var bench = signedIn()
    let waiter = bench.waiter()
    bench.handle(.renewed(waiter, session, from: old, to: new))
    #expect(bench.outcomes[waiter] == nil)
    #expect(bench.machine.access?.credential == old)
    bench.work()
    #expect(bench.outcomes[waiter] == .success(.renewed))
    #expect(bench.machine.access?.credential == new)
    #expect(bench.vault?.session?.access?.credential == new)
    #expect(bench.vault?.session?.revocation?.secret == new.secret)
    #expect(bench.states == [.signedOut(nil), bench.states.last])
  }

  @Test func `rejects the second replacement and uses the first`() {
    var bench = signedIn()
    let other = VaultSamples.cookies("of another program").credential
    _ = bench.apply(.renew(session, holding: old, with: StoredAccess(other)))
    let waiter = bench.waiter()
    bench.run(.renewed(waiter, session, from: old, to: new))
    #expect(bench.outcomes[waiter] == .success(.renewedElsewhere))
    #expect(bench.machine.access?.credential == other)
    let again = bench.waiter()
    bench.handle(.renewed(again, session, from: old, to: new))
    #expect(bench.outcomes[again] == .success(.renewedElsewhere))
  }

  @Test func `uses a credential it could not store, and stores it later`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("disk full")
    let newest = VaultSamples.cookies("2").credential
    for (from, to) in [(old, new), (new, newest)] {
      let waiter = bench.waiter()
      bench.run(.renewed(waiter, session, from: from, to: to))
      #expect(bench.outcomes[waiter] == .success(.renewed))
      #expect(bench.machine.access?.credential == to)
    }
    bench.fire(.renew)
    bench.work()
    #expect(bench.vault?.session?.access?.credential == old)
    bench.vaultTrouble = nil
    // Another read shows the old one, which is not adopted.
    bench.run(.vaultChanged)
    #expect(bench.machine.access?.credential == newest)
    bench.fire(.renew)
    bench.work()
    #expect(bench.vault?.session?.access?.credential == newest)
    #expect(bench.vault?.session?.revocation?.secret == newest.secret)
    #expect(bench.machine.access?.credential == newest)
  }

  @Test func `stays ended when one arrives late`() {
    var bench = signedIn()
    bench.signOut()
    let waiter = bench.waiter()
    bench.run(.renewed(waiter, session, from: old, to: new))
    #expect(bench.outcomes[waiter] == .failure(.cancelled))
    #expect(bench.vault?.session == nil)
  }

  @Test func `ignores it if tokens come by refreshing`() {
    var bench = signedIn(refresh: RefreshToken("r"))
    let waiter = bench.waiter()
    bench.run(.renewed(waiter, session, from: old, to: new))
    #expect(bench.outcomes[waiter] == .failure(.cancelled))
    #expect(bench.vault?.session?.access?.credential == old)
  }
}
