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
    var fixture = MachineFixture(
      vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    fixture.handle(.start)
    let attempt = fixture.waiter()
    fixture.handle(.signIn(attempt))
    fixture.run(
      .signInAnswered(attempt, .success(grant("bob", session: "s2")), by: .init(.password), fallback: SessionID("f")))
    #expect(fixture.cleaning.map(\.step) == ["memory"])
    #expect(fixture.machine.access == nil)
    fixture.clean()
    #expect(fixture.machine.session == SessionID("s2"))
    guard case .success(.signedIn)? = fixture.outcomes[attempt] else {
      Issue.record("\(String(describing: fixture.outcomes[attempt]))")
      return
    }
  }

  @Test func `a sign-in before the start runs after it`() {
    var fixture = MachineFixture(
      vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    fixture.signIn(grant("bob", session: "s2"))
    fixture.run(.start)
    fixture.clean()
    #expect(fixture.machine.session == SessionID("s2"))
    #expect(fixture.cleaning.isEmpty)
  }

  @Test func `a sign-in waits at most ten seconds for a clean-up that met another sign-in`() {
    var fixture = MachineFixture(cleanups: Self.steps)
    fixture.run(.start)
    fixture.signIn(grant("ada", session: "s1"))
    fixture.signOut()
    // A step hangs; a second user signs in all the same, and then a third.
    fixture.signIn(grant("bob", session: "s2"))
    fixture.fire(.hold)
    let attempt = fixture.waiter()
    fixture.handle(.signIn(attempt))
    fixture.handle(
      .signInAnswered(attempt, .success(grant("eve", session: "s3")), by: .init(.password), fallback: SessionID("f")))
    _ = fixture.apply(.begin(stored("eve", session: "s4")))
    fixture.work()
    fixture.fire(.hold)
    #expect(fixture.machine.session == SessionID("s3"))
    #expect(fixture.outcomes[attempt] != nil)
  }

  @Test func `data kept for another program's session of the user is not erased at the next end`() {
    var fixture = MachineFixture(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)), cleanups: Self.steps)
    fixture.run(.start)
    fixture.signIn(grant("ada", session: "s1"))
    fixture.signOut(.signedOut, .everything)
    fixture.clean()
    fixture.clean(succeeding: false)
    _ = fixture.apply(.begin(stored("ada", session: "s2")))
    fixture.run(.vaultChanged)
    #expect(fixture.machine.session == SessionID("s2"))
    fixture.run(.ended(SessionID("s2"), .expired))
    #expect(fixture.cleaning.map(\.step) == ["memory"])
  }

  @Test func `the session in use survives signing in to it again when that cannot be stored`() {
    var fixture = MachineFixture()
    fixture.run(.start)
    fixture.signIn()
    fixture.vaultTrouble = .unavailable("full")
    fixture.signIn()
    fixture.vaultTrouble = nil
    fixture.run(.vaultChanged)
    #expect(fixture.machine.session == SessionID("s1"))
    let handle = RevocationHandle("handle-s1")
    #expect(!fixture.effects.contains(.revoke(SessionID("s1"), handle)))
  }

  @Test func `an unwritten sign-out keeps its plan, even if its account is unknown`() {
    var fixture = MachineFixture(
      vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    fixture.vaultTrouble = .locked
    fixture.run(.start)
    fixture.signOut(.signedOut, .everything)
    fixture.vaultTrouble = nil
    fixture.fire(.bury)
    #expect(fixture.vault?.session == nil)
    #expect(fixture.cleaning.map(\.step) == ["memory", "store"])
  }

  @Test func `a sign-out that is written late spares a later sign-in`() {
    var fixture = MachineFixture(
      vault: VaultEntry(revision: 1, session: stored("ada", session: "s1")), cleanups: Self.steps)
    fixture.vaultTrouble = .locked
    fixture.run(.start)
    fixture.signOut()
    fixture.vaultTrouble = nil
    fixture.now = fixture.now.advanced(by: .seconds(1))
    var later = stored("ada", session: "s2")
    later.startedAt = fixture.now
    _ = fixture.apply(.begin(later))
    fixture.fire(.bury)
    #expect(fixture.vault?.session?.id == SessionID("s2"))
  }

  @Test func `a sign-out that is written late ends a session another program stored before it`() {
    var fixture = MachineFixture(cleanups: Self.steps)
    fixture.run(.start)
    fixture.signIn()
    _ = fixture.apply(.begin(stored("ada", session: "s2")))
    fixture.now = fixture.now.advanced(by: .seconds(1))
    fixture.vaultTrouble = .unavailable("full")
    fixture.signOut()
    fixture.vaultTrouble = nil
    fixture.fire(.bury)
    #expect(fixture.vault?.session == nil)
    #expect(fixture.machine.session == nil)
  }

  @Test func `clean-up waits while a superseded session is still stored`() {
    var fixture = MachineFixture(
      vault: VaultEntry(revision: 1, session: stored("bob", session: "s1")), cleanups: Self.steps)
    fixture.run(.start)
    _ = fixture.apply(
      .bury(
        Tombstone(
          session: SessionID("old"), reason: .signedOut, endedAt: noon, revocation: nil, account: AccountID("ada"),
          steps: ["store"])))
    fixture.run(.vaultChanged)
    fixture.demand()
    fixture.answer(.superseded)
    #expect(fixture.machine.state == .unavailable(.storageOutdated))
    fixture.run(.conditionsChanged)
    #expect(fixture.cleaning.isEmpty)
  }
}
