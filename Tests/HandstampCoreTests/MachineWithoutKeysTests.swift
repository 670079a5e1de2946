import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine at a server without rotation keys` {
  private func signedIn(supportsRotationKeys: Bool = false) -> Bench {
    var bench = Bench(supportsRotationKeys: supportsRotationKeys)
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    return bench
  }

  /// Another process refreshed, and the server issued no new refresh token.
  private func refreshElsewhere(_ bench: inout Bench) {
    bench.vault?.session?.access = StoredAccess(
      token: AccessToken("access-elsewhere"), lifetime: Lifetime(start: bench.now, duration: .seconds(600)))
  }

  @Test(arguments: [false, true])
  func `adopts another process's access token even if the refresh token is the same`(keys: Bool) {
    var bench = signedIn(supportsRotationKeys: keys)
    refreshElsewhere(&bench)
    let caller = bench.demand()
    #expect(bench.asked.isEmpty)
    #expect(bench.token(caller) == "access-elsewhere")
    #expect(bench.vault?.session?.pendingKey == nil)
  }

  @Test func `refreshes the adopted token if the API refused that one`() {
    var bench = signedIn()
    refreshElsewhere(&bench)
    bench.demand(.init(refused: .accessToken(AccessToken("access-elsewhere"))))
    #expect(bench.asked.count == 1)
  }

  @Test(arguments: [(false, 0), (true, 1)])
  func `keeps the refresh lock until its new tokens are stored`(keys: Bool, unlocks: Int) {
    var bench = signedIn(supportsRotationKeys: keys)
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

  @Test func `refreshes again after another save stored its tokens first`() throws {
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

  @Test func `releases the held lock when a sign-out makes the tokens useless`() {
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

/// The first attempt is settled, or its time limit has passed, before a second begins.
@Suite(.timeLimit(.minutes(10))) struct `An attempt at a server without rotation keys` {
  private func asking(_ policy: SessionPolicy = SessionPolicy()) -> (Bench, SessionMachine.Waiter) {
    var bench = Bench(policy: policy, supportsRotationKeys: false)
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    return (bench, caller)
  }

  /// Another process with the same vault.
  private func other(_ bench: Bench) -> Bench {
    var other = Bench(vault: bench.vault, supportsRotationKeys: false)
    other.now = bench.now
    other.run(.start)
    return other
  }

  @Test func `is recorded before it is sent, and removed with its successor`() {
    var (bench, caller) = asking()
    #expect(bench.asked.count == 1)
    #expect(bench.vault?.session?.attempt?.since == bench.now)
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(caller) == "access-s1-1")
    #expect(bench.vault?.session?.attempt == nil)
  }

  @Test func `is repeated once after its limit, then reported with the remaining time`() {
    var (bench, caller) = asking()
    bench.now = bench.now.advanced(by: .seconds(1))
    bench.answer(.noDecision(.network(.timedOut)))
    #expect(bench.asked.isEmpty && bench.failure(caller) == nil)
    #expect(bench.timers[.retry]?.after == .seconds(59))
    bench.fire(.retry)
    #expect(bench.asked.count == 1)
    bench.now = bench.now.advanced(by: .seconds(2))
    bench.answer(.noDecision(.network(.timedOut)))
    #expect(bench.failure(caller) == .requestFailed(.network(.timedOut), retryAfter: .seconds(58)))
    // A caller that comes now causes no request either.
    let next = bench.demand()
    #expect(bench.asked.isEmpty)
    #expect(bench.failure(next) == .requestFailed(.network(.timedOut), retryAfter: .seconds(58)))
  }

  @Test func `makes another process wait, which repeats it after the limit`() {
    let (bench, _) = asking()
    var other = other(bench)
    other.now = other.now.advanced(by: .seconds(20))
    let caller = other.demand()
    #expect(other.asked.isEmpty && other.failure(caller) == nil)
    #expect(other.timers[.retry]?.after == .seconds(40))
    other.fire(.retry)
    #expect(other.asked.map(\.token) == [RefreshToken("refresh-s1-0")])
  }

  @Test func `answered for another process serves the callers waiting here`() {
    let (bench, _) = asking()
    var other = other(bench)
    let caller = other.demand()
    other.vault?.session?.attempt = nil
    other.vault?.session?.refresh = RefreshToken("theirs")
    other.vault?.session?.access = StoredAccess(
      token: AccessToken("their access"), lifetime: Lifetime(start: other.now, duration: .seconds(600)))
    other.vault?.revision += 1
    other.run(.vaultChanged)
    #expect(other.token(caller) == "their access")
    #expect(other.asked.isEmpty)
  }

  @Test func `from another boot restarts its limit at the first read, which is recorded`() {
    let (bench, _) = asking()
    var other = other(bench)
    other.now = Moment(boot: 9, uptime: .seconds(5), wall: other.now.wall)
    other.demand()
    #expect(other.asked.isEmpty)
    #expect(other.vault?.session?.attempt?.readings == [other.now])
    #expect(other.timers[.retry]?.after == .seconds(60))
    other.fire(.retry)
    #expect(other.asked.count == 1)
  }

  @Test func `that had no effect is withdrawn, and keeps no process waiting`() {
    var (bench, caller) = asking(SessionPolicy(retry: RetryPolicy(attempts: 1)))
    bench.answer(.noDecision(.network(.notConnected("")), retryAfter: .seconds(7)))
    #expect(bench.failure(caller) == .requestFailed(.network(.notConnected("")), retryAfter: .seconds(7)))
    #expect(bench.vault?.session?.attempt == nil)
    var other = other(bench)
    other.demand()
    #expect(other.asked.count == 1)
  }

  @Test func `ends at the limit while the program runs, and a late answer is ignored`() {
    var (bench, caller) = asking()
    let late = bench.asked[0].operation
    bench.fire(.answer)
    // The second attempt starts at once: the limit has passed.
    #expect(bench.asked.count == 1 && bench.asked[0].operation != late)
    #expect(bench.handle(.answered(late, .granted(.sample(9)))) == [.ignored])
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(caller) == "access-s1-1")
  }

  @Test func `is recorded again if the vault took too long to write it`() throws {
    var bench = Bench(supportsRotationKeys: false)
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.waiter()
    bench.handle(.demand(caller, .init()))
    let operation = try #require(
      bench.effects.compactMap { if case .lock(let operation, _) = $0 { operation } else { nil } }.last)
    let key = try #require(RotationKey.sample(1))
    bench.handle(.locked(operation, key))
    // For example, suspended between the decision and the write.
    bench.now = bench.now.advanced(by: .seconds(45))
    bench.work()
    #expect(bench.asked.count == 1)
    #expect(bench.vault?.session?.attempt?.since == bench.now)
  }

  @Test func `with an unusable access token keeps its successor`() {
    var (bench, caller) = asking()
    bench.answer(.noDecision(.unusableTokens("unknown token_type", successor: RefreshToken("r9"))))
    #expect(bench.failure(caller) == .requestFailed(.unusableTokens("unknown token_type", successor: nil)))
    #expect(bench.vault?.session?.refresh == RefreshToken("r9"))
    #expect(bench.vault?.session?.attempt == nil)
  }

  @Test func `with an unusable access token has no part in the outcome of the next attempt`() throws {
    var bench = Bench()
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    let session = try #require(bench.vault?.session)
    let over = StoredAccess(token: AccessToken("a8"), lifetime: Lifetime(start: bench.now, duration: .zero))
    let sent = try #require(session.refresh)
    // Another process was faster; its access token has expired by now.
    _ = bench.apply(.advance(session.id, sent: sent, to: RefreshToken("r8"), access: over, profile: nil))
    bench.answer(.noDecision(.unusableTokens("unknown token_type", successor: RefreshToken("r9"))))
    #expect(bench.asked.map(\.token) == [RefreshToken("r8")])
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(caller) == "access-s1-1")
    let reported = bench.effects.filter { if case .refreshed = $0 { true } else { false } }
    #expect(reported == [.refreshed(session.id, nil)])
  }

  @Test func `names the holder of the lock if it could not be acquired`() {
    var bench = Bench(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)), supportsRotationKeys: false)
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.lockIsFree = false
    let caller = bench.demand()
    #expect(bench.failure(caller) == .storage(.unavailable("the refresh lock is held elsewhere")))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An older vault that is restored` {
  private func refreshed() -> (older: VaultEntry?, Bench) {
    var bench = Bench(supportsRotationKeys: false)
    bench.run(.start)
    bench.signIn()
    let older = bench.vault
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    bench.answer(.granted(.sample(1)))
    return (older, bench)
  }

  @Test func `during a refresh gets the new tokens`() {
    var (older, bench) = refreshed()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    bench.vault = older
    bench.answer(.granted(.sample(2)))
    #expect(bench.token(caller) == "access-s1-2")
    bench.fire(.save)
    #expect(bench.vault?.session?.refresh == TokenResponse.sample(2).tokens.refresh)
    #expect(bench.vault?.session?.attempt == nil)
    #expect(bench.asked.isEmpty)
  }

  @Test func `is replaced by a running program's session`() {
    var (older, bench) = refreshed()
    let revision = bench.vault?.revision ?? 0
    bench.vault = older
    bench.run(.vaultChanged)
    #expect(bench.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
    #expect(bench.vault?.revision ?? 0 > revision)
  }

  @Test func `is recognized even if an edit gave it the same revision`() {
    var (older, bench) = refreshed()
    bench.vault = older
    bench.vault?.revision = bench.machine.revision
    bench.run(.vaultChanged)
    #expect(bench.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
  }

  @Test func `with an ended session does not restore it`() {
    var (older, bench) = refreshed()
    bench.signOut()
    bench.vault = older
    bench.run(.vaultChanged)
    #expect(bench.vault?.session == nil)
    #expect(bench.vault?.tombstone(of: SessionID("s1")) != nil)
  }

  @Test func `with another session is adopted`() {
    var (older, bench) = refreshed()
    older?.session?.id = SessionID("other")
    bench.vault = older
    bench.run(.vaultChanged)
    #expect(bench.machine.session == SessionID("other"))
  }
}

/// For a refresh token that was already replaced, the server ends nothing.
@Suite(.timeLimit(.minutes(10))) struct `A refresh that completes after the end` {
  @Test func `revokes at the server with its successor`() {
    var bench = Bench(supportsRotationKeys: false)
    bench.run(.start)
    var grant = TokenResponse.sample(0)
    grant.revocation = grant.tokens.refresh.map { RevocationHandle($0.secret) }
    bench.signIn(grant)
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    bench.signOut()
    bench.answer(.granted(.sample(1)))
    let told = bench.effects.compactMap { if case .revoke(_, let handle) = $0 { handle } else { nil } }
    #expect(told.first == RevocationHandle("refresh-s1-0"))
    // The first revocation is in flight; the second follows its response.
    bench.run(.revoked(SessionID("s1"), .ended))
    let last = bench.effects.compactMap { if case .revoke(_, let handle) = $0 { handle } else { nil } }.last
    #expect(last == RevocationHandle("refresh-s1-1"))
    #expect(bench.vault?.tombstone(of: SessionID("s1"))?.revocation == RevocationHandle("refresh-s1-1"))
  }
}

extension Bench {
  fileprivate var unlocks: Int { effects.count { if case .unlock = $0 { true } else { false } } }
}
