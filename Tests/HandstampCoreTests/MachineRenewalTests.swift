import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session whose server replaces the credential` {
  private let old = AccessToken("jar-0")
  private let new = AccessToken("jar-1")
  private let session = SessionID("s1")

  private func signedIn(refresh: RefreshToken? = nil) -> Bench {
    var bench = Bench()
    bench.run(.start)
    bench.signIn(
      TokenResponse(
        tokens: TokenSet(access: old, expiresIn: nil, refresh: refresh), session: session,
        profile: Profile(id: AccountID("ada"), name: "Ada"), revocation: RevocationHandle(old.secret)))
    return bench
  }

  @Test func `keeps the new one, and its handle`() {
    var bench = signedIn()
    let waiter = bench.waiter()
    bench.handle(.renewed(waiter, session, from: old, to: new))
    #expect(bench.outcomes[waiter] == nil)
    #expect(bench.machine.access?.token == old)
    bench.work()
    #expect(bench.outcomes[waiter] == .success(.renewed))
    #expect(bench.machine.access?.token == new)
    #expect(bench.vault?.session?.access?.token == new)
    #expect(bench.vault?.session?.revocation?.secret == new.secret)
    #expect(bench.states == [.signedOut(nil), bench.states.last])
  }

  @Test func `rejects the second replacement and uses the first`() {
    var bench = signedIn()
    let other = AccessToken("jar-of-another-program")
    _ = bench.apply(.renew(session, holding: old, with: StoredAccess(token: other, lifetime: nil)))
    let waiter = bench.waiter()
    bench.run(.renewed(waiter, session, from: old, to: new))
    #expect(bench.outcomes[waiter] == .success(.renewedElsewhere))
    #expect(bench.machine.access?.token == other)
    let again = bench.waiter()
    bench.handle(.renewed(again, session, from: old, to: new))
    #expect(bench.outcomes[again] == .success(.renewedElsewhere))
  }

  @Test func `uses a credential it could not store, and stores it later`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("disk full")
    let newest = AccessToken("jar-2")
    for (from, to) in [(old, new), (new, newest)] {
      let waiter = bench.waiter()
      bench.run(.renewed(waiter, session, from: from, to: to))
      #expect(bench.outcomes[waiter] == .success(.renewed))
      #expect(bench.machine.access?.token == to)
    }
    bench.fire(.renew)
    bench.work()
    #expect(bench.vault?.session?.access?.token == old)
    bench.vaultTrouble = nil
    // Another read shows the old one, which is not adopted.
    bench.run(.vaultChanged)
    #expect(bench.machine.access?.token == newest)
    bench.fire(.renew)
    bench.work()
    #expect(bench.vault?.session?.access?.token == newest)
    #expect(bench.vault?.session?.revocation?.secret == newest.secret)
    #expect(bench.machine.access?.token == newest)
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
    #expect(bench.vault?.session?.access?.token == old)
  }
}
