import HandstampCore
import HandstampTesting
import Testing

@Suite struct `A session machine at a server without rotation keys` {
  private func signedIn(keepsRotationKeys: Bool = false) -> Bench {
    var bench = Bench(keepsRotationKeys: keepsRotationKeys)
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    return bench
  }

  /// Another process has refreshed, and the server has issued no new refresh token.
  private func refreshElsewhere(_ bench: inout Bench) {
    bench.vault?.session?.access = StoredAccess(
      token: AccessToken("access-elsewhere"), lifetime: Lifetime(start: bench.now, duration: .seconds(600)))
  }

  @Test(arguments: [false, true])
  func `adopts the access token of another process although the refresh token is the same`(keys: Bool) {
    var bench = signedIn(keepsRotationKeys: keys)
    refreshElsewhere(&bench)
    let caller = bench.demand()
    #expect(bench.asked.isEmpty)
    #expect(bench.token(caller) == "access-elsewhere")
    #expect(bench.vault?.session?.pendingKey == nil)
  }

  @Test func `refreshes the adopted token when that is the one an API refused`() {
    var bench = signedIn()
    refreshElsewhere(&bench)
    bench.demand(.init(refused: AccessToken("access-elsewhere")))
    #expect(bench.asked.count == 1)
  }

  @Test(arguments: [(false, 0), (true, 1)])
  func `keeps the flight lock until the tokens it got are stored`(keys: Bool, unlocks: Int) {
    var bench = signedIn(keepsRotationKeys: keys)
    let caller = bench.demand()
    bench.effects = []
    bench.vaultTrouble = .unavailable("no space left")
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(caller) == "access-s1-1")
    #expect(bench.unlocks == unlocks)
    #expect(bench.machine.isRefreshUnsettled)
    bench.fire(.save)
    #expect(bench.unlocks == unlocks)
    bench.vaultTrouble = nil
    bench.fire(.save)
    #expect(bench.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
    #expect(bench.unlocks == 1)
    #expect(!bench.machine.isRefreshUnsettled)
  }

  @Test func `refreshes anew when its tokens were stored by a save that came first`() throws {
    var bench = signedIn()
    bench.demand()
    bench.vaultTrouble = .unavailable("no space left")
    bench.answer(.granted(.sample(1)))
    bench.vaultTrouble = nil
    bench.now = bench.now.advanced(by: .seconds(600))
    let ticket = try #require(bench.timers[.save]?.ticket)
    bench.handle(.timer(.save, ticket: ticket))
    let caller = bench.waiter()
    bench.handle(.demand(caller, .init()))
    bench.work()
    #expect(bench.failure(caller) == nil)
    #expect(bench.asked.map(\.token) == [RefreshToken("refresh-s1-1")])
  }

  @Test func `gives the kept lock back when a sign-out makes the tokens useless`() {
    var bench = signedIn()
    bench.demand()
    bench.vaultTrouble = .unavailable("no space left")
    bench.answer(.granted(.sample(1)))
    bench.effects = []
    bench.vaultTrouble = nil
    bench.signOut()
    #expect(bench.unlocks == 1)
  }
}

extension Bench {
  fileprivate var unlocks: Int { effects.count { if case .unlock = $0 { true } else { false } } }
}
