import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine at a server without rotation keys` {
  private func signedIn(supportsRotationKeys: Bool = false) -> MachineFixture {
    var fixture = MachineFixture(supportsRotationKeys: supportsRotationKeys)
    fixture.run(.start)
    fixture.signIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    return fixture
  }

  /// Another process refreshed, and the server issued no new refresh token.
  private func refreshElsewhere(_ fixture: inout MachineFixture) {
    fixture.vault?.session?.access = StoredAccess(
      token: AccessToken("access-elsewhere"), lifetime: Lifetime(start: fixture.now, duration: .seconds(600)))
  }

  @Test(arguments: [false, true])
  func `adopts another process's access token even if the refresh token is the same`(keys: Bool) {
    var fixture = signedIn(supportsRotationKeys: keys)
    refreshElsewhere(&fixture)
    let caller = fixture.demand()
    #expect(fixture.asked.isEmpty)
    #expect(fixture.token(caller) == "access-elsewhere")
    #expect(fixture.vault?.session?.pendingKey == nil)
  }

  @Test func `refreshes the adopted token if the API refused that one`() {
    var fixture = signedIn()
    refreshElsewhere(&fixture)
    fixture.demand(.init(refused: .accessToken(AccessToken("access-elsewhere"))))
    #expect(fixture.asked.count == 1)
  }

  @Test(arguments: [(false, 0), (true, 1)])
  func `keeps the refresh lock until its new tokens are stored`(keys: Bool, unlocks: Int) {
    var fixture = signedIn(supportsRotationKeys: keys)
    let caller = fixture.demand()
    fixture.effects = []
    fixture.vaultTrouble = .unavailable("no space left")
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(caller) == "access-s1-1")
    #expect(fixture.unlocks == unlocks)
    #expect(fixture.machine.isRefreshUnstored)
    fixture.fire(.save)
    #expect(fixture.unlocks == unlocks)
    fixture.vaultTrouble = nil
    fixture.fire(.save)
    #expect(fixture.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
    #expect(fixture.unlocks == 1)
    #expect(!fixture.machine.isRefreshUnstored)
  }

  @Test func `refreshes again after another save stored its tokens first`() throws {
    var fixture = signedIn()
    fixture.demand()
    fixture.vaultTrouble = .unavailable("no space left")
    fixture.answer(.granted(.sample(1)))
    fixture.vaultTrouble = nil
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let ticket = try #require(fixture.timers[.save]?.ticket)
    fixture.handle(.timer(.save, ticket: ticket))
    let caller = fixture.waiter()
    fixture.handle(.demand(caller, .init()))
    fixture.work()
    #expect(fixture.failure(caller) == nil)
    #expect(fixture.asked.map(\.token) == [RefreshToken("refresh-s1-1")])
  }

  @Test func `releases the held lock when a sign-out makes the tokens useless`() {
    var fixture = signedIn()
    fixture.demand()
    fixture.vaultTrouble = .unavailable("no space left")
    fixture.answer(.granted(.sample(1)))
    fixture.effects = []
    fixture.vaultTrouble = nil
    fixture.signOut()
    #expect(fixture.unlocks == 1)
  }
}

/// The first attempt is settled, or its time limit has passed, before a second begins.
@Suite(.timeLimit(.minutes(10))) struct `An attempt at a server without rotation keys` {
  private func asking(_ policy: SessionPolicy = SessionPolicy()) -> (MachineFixture, SessionMachine.Waiter) {
    var fixture = MachineFixture(policy: policy, supportsRotationKeys: false)
    fixture.run(.start)
    fixture.signIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    return (fixture, caller)
  }

  /// Another process with the same vault.
  private func other(_ fixture: MachineFixture) -> MachineFixture {
    var other = MachineFixture(vault: fixture.vault, supportsRotationKeys: false)
    other.now = fixture.now
    other.run(.start)
    return other
  }

  @Test func `is recorded before it is sent, and removed with its successor`() {
    var (fixture, caller) = asking()
    #expect(fixture.asked.count == 1)
    #expect(fixture.vault?.session?.attempt?.since == fixture.now)
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(caller) == "access-s1-1")
    #expect(fixture.vault?.session?.attempt == nil)
  }

  @Test func `is repeated once after its limit, then reported with the remaining time`() {
    var (fixture, caller) = asking()
    fixture.now = fixture.now.advanced(by: .seconds(1))
    fixture.answer(.noDecision(.network(.timedOut)))
    #expect(fixture.asked.isEmpty && fixture.failure(caller) == nil)
    #expect(fixture.timers[.retry]?.after == .seconds(59))
    fixture.fire(.retry)
    #expect(fixture.asked.count == 1)
    fixture.now = fixture.now.advanced(by: .seconds(2))
    fixture.answer(.noDecision(.network(.timedOut)))
    #expect(fixture.failure(caller) == .requestFailed(.network(.timedOut), retryAfter: .seconds(58)))
    // A caller that comes now causes no request either.
    let next = fixture.demand()
    #expect(fixture.asked.isEmpty)
    #expect(fixture.failure(next) == .requestFailed(.network(.timedOut), retryAfter: .seconds(58)))
  }

  @Test func `makes another process wait, which repeats it after the limit`() {
    let (fixture, _) = asking()
    var other = other(fixture)
    other.now = other.now.advanced(by: .seconds(20))
    let caller = other.demand()
    #expect(other.asked.isEmpty && other.failure(caller) == nil)
    #expect(other.timers[.retry]?.after == .seconds(40))
    other.fire(.retry)
    #expect(other.asked.map(\.token) == [RefreshToken("refresh-s1-0")])
  }

  @Test func `answered for another process serves the callers waiting here`() {
    let (fixture, _) = asking()
    var other = other(fixture)
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
    let (fixture, _) = asking()
    var other = other(fixture)
    other.now = Moment(boot: 9, uptime: .seconds(5), wall: other.now.wall)
    other.demand()
    #expect(other.asked.isEmpty)
    #expect(other.vault?.session?.attempt?.readings == [other.now])
    #expect(other.timers[.retry]?.after == .seconds(60))
    other.fire(.retry)
    #expect(other.asked.count == 1)
  }

  @Test func `that had no effect is withdrawn, and keeps no process waiting`() {
    var (fixture, caller) = asking(SessionPolicy(retry: RetryPolicy(attempts: 1)))
    fixture.answer(.noDecision(.network(.notConnected("")), retryAfter: .seconds(7)))
    #expect(fixture.failure(caller) == .requestFailed(.network(.notConnected("")), retryAfter: .seconds(7)))
    #expect(fixture.vault?.session?.attempt == nil)
    var other = other(fixture)
    other.demand()
    #expect(other.asked.count == 1)
  }

  @Test func `ends at the limit while the program runs, and a late answer is ignored`() {
    var (fixture, caller) = asking()
    let late = fixture.asked[0].operation
    fixture.fire(.answer)
    // The second attempt starts at once: the limit has passed.
    #expect(fixture.asked.count == 1 && fixture.asked[0].operation != late)
    #expect(fixture.handle(.refreshCompleted(late, .granted(.sample(9)))) == [.ignored])
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(caller) == "access-s1-1")
  }

  @Test func `is recorded again if the vault took too long to write it`() throws {
    var fixture = MachineFixture(supportsRotationKeys: false)
    fixture.run(.start)
    fixture.signIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.waiter()
    fixture.handle(.demand(caller, .init()))
    let operation = try #require(
      fixture.effects.compactMap { if case .lock(let operation, _) = $0 { operation } else { nil } }.last)
    let key = try #require(RotationKey.sample(1))
    fixture.handle(.locked(operation, key))
    // For example, suspended between the decision and the write.
    fixture.now = fixture.now.advanced(by: .seconds(45))
    fixture.work()
    #expect(fixture.asked.count == 1)
    #expect(fixture.vault?.session?.attempt?.since == fixture.now)
  }

  @Test func `with an unusable access token keeps its successor`() {
    var (fixture, caller) = asking()
    fixture.answer(.noDecision(.unusableTokens("unknown token_type", successor: RefreshToken("r9"))))
    #expect(fixture.failure(caller) == .requestFailed(.unusableTokens("unknown token_type", successor: nil)))
    #expect(fixture.vault?.session?.refresh == RefreshToken("r9"))
    #expect(fixture.vault?.session?.attempt == nil)
  }

  @Test func `with an unusable access token has no part in the outcome of the next attempt`() throws {
    var fixture = MachineFixture()
    fixture.run(.start)
    fixture.signIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    let session = try #require(fixture.vault?.session)
    let over = TokenSet(access: AccessToken("a8"), expiresIn: .zero, refresh: RefreshToken("r8"))
    let sent = try #require(session.refresh)
    // Another process was faster; its access token has expired by now.
    _ = fixture.apply(
      .advance(session.id, RefreshedTokens(TokenResponse(tokens: over), sent: sent, since: fixture.now)))
    fixture.answer(.noDecision(.unusableTokens("unknown token_type", successor: RefreshToken("r9"))))
    #expect(fixture.asked.map(\.token) == [RefreshToken("r8")])
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(caller) == "access-s1-1")
    let reported = fixture.effects.filter { if case .refreshed = $0 { true } else { false } }
    #expect(reported == [.refreshed(session.id, nil)])
  }

  @Test func `names the holder of the lock if it could not be acquired`() {
    var fixture = MachineFixture(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)), supportsRotationKeys: false)
    fixture.run(.start)
    fixture.signIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.lockIsFree = false
    let caller = fixture.demand()
    #expect(fixture.failure(caller) == .storage(.unavailable("the refresh lock is held elsewhere")))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An older vault that is restored` {
  private func refreshed() -> (older: VaultEntry?, MachineFixture) {
    var fixture = MachineFixture(supportsRotationKeys: false)
    fixture.run(.start)
    fixture.signIn()
    let older = fixture.vault
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    fixture.answer(.granted(.sample(1)))
    return (older, fixture)
  }

  @Test func `during a refresh gets the new tokens`() {
    var (older, fixture) = refreshed()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    fixture.vault = older
    fixture.answer(.granted(.sample(2)))
    #expect(fixture.token(caller) == "access-s1-2")
    fixture.fire(.save)
    #expect(fixture.vault?.session?.refresh == TokenResponse.sample(2).tokens.refresh)
    #expect(fixture.vault?.session?.attempt == nil)
    #expect(fixture.asked.isEmpty)
  }

  @Test func `is replaced by a running program's session`() {
    var (older, fixture) = refreshed()
    let revision = fixture.vault?.revision ?? 0
    fixture.vault = older
    fixture.run(.vaultChanged)
    #expect(fixture.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
    #expect(fixture.vault?.revision ?? 0 > revision)
  }

  @Test func `is recognized even if an edit gave it the same revision`() {
    var (older, fixture) = refreshed()
    fixture.vault = older
    fixture.vault?.revision = fixture.machine.revision
    fixture.run(.vaultChanged)
    #expect(fixture.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
  }

  @Test func `with an ended session does not restore it`() {
    var (older, fixture) = refreshed()
    fixture.signOut()
    fixture.vault = older
    fixture.run(.vaultChanged)
    #expect(fixture.vault?.session == nil)
    #expect(fixture.vault?.tombstone(of: SessionID("s1")) != nil)
  }

  @Test func `with another session is adopted`() {
    var (older, fixture) = refreshed()
    older?.session?.id = SessionID("other")
    fixture.vault = older
    fixture.run(.vaultChanged)
    #expect(fixture.machine.session == SessionID("other"))
  }
}

/// For a refresh token that was already replaced, the server ends nothing.
@Suite(.timeLimit(.minutes(10))) struct `A refresh that completes after the end` {
  @Test func `revokes at the server with its successor`() {
    var fixture = MachineFixture(supportsRotationKeys: false)
    fixture.run(.start)
    var grant = TokenResponse.sample(0)
    grant.revocation = grant.tokens.refresh.map { RevocationHandle($0.secret) }
    fixture.signIn(grant)
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    fixture.signOut()
    fixture.answer(.granted(.sample(1)))
    let told = fixture.effects.compactMap { if case .revoke(_, let handle) = $0 { handle } else { nil } }
    #expect(told.first == RevocationHandle("refresh-s1-0"))
    // The first revocation is in flight; the second follows its response.
    fixture.run(.revoked(SessionID("s1"), .ended))
    let last = fixture.effects.compactMap { if case .revoke(_, let handle) = $0 { handle } else { nil } }.last
    #expect(last == RevocationHandle("refresh-s1-1"))
    #expect(fixture.vault?.tombstone(of: SessionID("s1"))?.revocation == RevocationHandle("refresh-s1-1"))
  }
}

extension MachineFixture {
  fileprivate var unlocks: Int { effects.count { if case .unlock = $0 { true } else { false } } }
}
