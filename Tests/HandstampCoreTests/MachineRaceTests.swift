import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Concurrent operations` {
  typealias Machine = SessionMachine
  static let steps = [Cleanup("memory", .always), Cleanup("store", .database)]

  private func grant(_ account: String, session: String) -> TokenResponse {
    var grant = TokenResponse.sample(0, session: session)
    grant.profile = Profile(id: AccountID(account), name: account)
    return grant
  }

  private func stored(_ account: String, session: String) -> StoredSession {
    StoredSession(
      id: SessionID(session), profile: Profile(id: AccountID(account), name: account),
      refresh: RefreshToken("refresh-\(session)"), revocation: RevocationHandle("handle-\(session)"), access: nil,
      startedAt: noon, activeAt: noon)
  }

  @Test func `a sign-in before the vault answers first clears another user's data`() {
    var bench = Bench(vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    bench.handle(.start)
    let attempt = bench.waiter()
    bench.handle(.signIn(attempt))
    bench.run(.signInAnswered(attempt, .success(grant("bob", session: "s2")), fallback: SessionID("f")))
    #expect(bench.cleaning.map(\.step) == ["memory"])
    #expect(bench.machine.access == nil)
    bench.clean()
    #expect(bench.machine.session == SessionID("s2"))
    guard case .success(.signedIn)? = bench.outcomes[attempt] else {
      Issue.record("\(String(describing: bench.outcomes[attempt]))")
      return
    }
  }

  @Test func `a sign-in before the start runs after it`() {
    var bench = Bench(vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    bench.signIn(grant("bob", session: "s2"))
    bench.run(.start)
    bench.clean()
    #expect(bench.machine.session == SessionID("s2"))
    #expect(bench.cleaning.isEmpty)
  }

  @Test func `a sign-in waits at most ten seconds for a clean-up that met another sign-in`() {
    var bench = Bench(cleanups: Self.steps)
    bench.run(.start)
    bench.signIn(grant("ada", session: "s1"))
    bench.signOut()
    // A step hangs; a second user signs in all the same, and then a third.
    bench.signIn(grant("bob", session: "s2"))
    bench.fire(.hold)
    let attempt = bench.waiter()
    bench.handle(.signIn(attempt))
    bench.handle(.signInAnswered(attempt, .success(grant("eve", session: "s3")), fallback: SessionID("f")))
    _ = bench.apply(.begin(stored("eve", session: "s4")))
    bench.work()
    bench.fire(.hold)
    #expect(bench.machine.session == SessionID("s3"))
    #expect(bench.outcomes[attempt] != nil)
  }

  @Test func `data kept for another program's session of the user is not erased at the next end`() {
    var bench = Bench(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)), cleanups: Self.steps)
    bench.run(.start)
    bench.signIn(grant("ada", session: "s1"))
    bench.signOut(.signedOut, .everything)
    bench.clean()
    bench.clean(succeeding: false)
    _ = bench.apply(.begin(stored("ada", session: "s2")))
    bench.run(.vaultChanged)
    #expect(bench.machine.session == SessionID("s2"))
    bench.run(.ended(SessionID("s2"), .expired))
    #expect(bench.cleaning.map(\.step) == ["memory"])
  }

  @Test func `the session in use survives signing in to it again when that cannot be stored`() {
    var bench = Bench()
    bench.run(.start)
    bench.signIn()
    bench.vaultTrouble = .unavailable("full")
    bench.signIn()
    bench.vaultTrouble = nil
    bench.run(.vaultChanged)
    #expect(bench.machine.session == SessionID("s1"))
    let handle = RevocationHandle("handle-s1")
    #expect(!bench.effects.contains(.revoke(SessionID("s1"), handle)))
  }

  @Test func `an unwritten sign-out keeps its plan, even if its account is unknown`() {
    var bench = Bench(vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    bench.vaultTrouble = .locked
    bench.run(.start)
    bench.signOut(.signedOut, .everything)
    bench.vaultTrouble = nil
    bench.fire(.bury)
    #expect(bench.vault?.session == nil)
    #expect(bench.cleaning.map(\.step) == ["memory", "store"])
  }

  @Test func `a sign-out that is written late spares a later sign-in`() {
    var bench = Bench(vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    bench.vaultTrouble = .locked
    bench.run(.start)
    bench.signOut()
    bench.vaultTrouble = nil
    bench.now = bench.now.advanced(by: .seconds(1))
    var later = stored("ada", session: "s2")
    later.startedAt = bench.now
    _ = bench.apply(.begin(later))
    bench.fire(.bury)
    #expect(bench.vault?.session?.id == SessionID("s2"))
  }

  @Test func `a sign-out that is written late ends a session another program stored before it`() {
    var bench = Bench(cleanups: Self.steps)
    bench.run(.start)
    bench.signIn()
    _ = bench.apply(.begin(stored("ada", session: "s2")))
    bench.now = bench.now.advanced(by: .seconds(1))
    bench.vaultTrouble = .unavailable("full")
    bench.signOut()
    bench.vaultTrouble = nil
    bench.fire(.bury)
    #expect(bench.vault?.session == nil)
    #expect(bench.machine.session == nil)
  }

  @Test func `clean-up waits while a superseded session is still stored`() {
    var bench = Bench(vault: VaultEntry(revision: 1, session: stored("bob", session: "s1")), cleanups: Self.steps)
    bench.run(.start)
    _ = bench.apply(
      .bury(
        Tombstone(
          session: SessionID("old"), reason: .signedOut, endedAt: noon, revocation: nil, account: AccountID("ada"),
          steps: ["store"])))
    bench.run(.vaultChanged)
    bench.demand()
    bench.answer(.superseded)
    #expect(bench.machine.state == .unavailable(.storageOutdated))
    bench.run(.conditionsChanged)
    #expect(bench.cleaning.isEmpty)
  }
}
