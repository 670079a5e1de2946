import HandstampCore
import HandstampTesting
import Testing

/// Orders of events that once lost a session, restored one, or left a caller waiting.
@Suite(.timeLimit(.minutes(10))) struct `A session machine in unlucky orderings` {
  typealias Machine = SessionMachine

  private func signedIn(policy: SessionPolicy = SessionPolicy(), supportsRotationKeys: Bool = true) -> MachineFixture {
    var fixture = MachineFixture(policy: policy, supportsRotationKeys: supportsRotationKeys)
    fixture.run(.start)
    fixture.signIn()
    return fixture
  }

  // MARK: Sign-in and sign-out

  @Test func `also ends a sign-in that was being written during an earlier sign-out`() {
    var fixture = signedIn()
    let first = fixture.waiter()
    fixture.handle(.signOut(first, .signedOut))
    let attempt = fixture.waiter()
    fixture.handle(.signIn(attempt))
    fixture.handle(
      .signInAnswered(attempt, .success(.sample(0, session: "s2")), by: .init(.password), fallback: SessionID("x")))
    let second = fixture.waiter()
    fixture.handle(.signOut(second, .signedOut))
    fixture.work()
    #expect(fixture.outcomes[attempt] == .failure(.cancelled))
    #expect(fixture.outcomes[first] == .success(.signedOut(SessionID("s1"))))
    #expect(fixture.outcomes[second] == .success(.signedOut(SessionID("s1"))))
    #expect(fixture.vault?.session == nil)
    fixture.run(.vaultChanged)
    #expect(fixture.machine.access == nil)
    // Both sessions are revoked at the server.
    for session in ["s1", "s2"] {
      #expect(fixture.effects.contains(.revoke(SessionID(session), RevocationHandle("handle-\(session)"))))
    }
  }

  @Test func `signs out while a limit ends a session that another process had replaced`() {
    var fixture = signedIn()
    var other = MachineFixture(vault: fixture.vault)
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    fixture.vault = other.vault
    fixture.handle(.ended(SessionID("s1"), .revoked))
    let waiter = fixture.waiter()
    fixture.handle(.signOut(waiter, .signedOut))
    fixture.work()
    #expect(fixture.outcomes[waiter] == .success(.signedOut(SessionID("s1"))))
    #expect(fixture.vault?.session == nil)
    #expect(fixture.machine.access == nil)
  }

  @Test func `keeps two users' sessions apart if a sign-in overtakes the previous session's end`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    let attempt = fixture.waiter()
    fixture.handle(.signIn(attempt))
    fixture.handle(
      .signInAnswered(attempt, .success(.sample(0, session: "s2")), by: .init(.password), fallback: SessionID("x")))
    fixture.handle(.ended(SessionID("s1"), .revoked))
    fixture.effects = []
    fixture.work()
    #expect(fixture.machine.session == SessionID("s2"))
    #expect(fixture.failure(caller) == .signedOut(.revoked))
    #expect(fixture.effects.contains(.cancelRequests))
    // A lock that is never released keeps every process from refreshing.
    #expect(fixture.effects.contains { if case .unlock = $0 { true } else { false } })
  }

  @Test func `keeps a sign-in that follows an unwritten sign-out`() {
    var fixture = MachineFixture(vault: signedIn().vault)
    // Before the vault was read, the account is unknown.
    fixture.handle(.start)
    fixture.vaultTrouble = .unavailable("busy")
    fixture.signOut()
    fixture.vaultTrouble = nil
    let attempt = fixture.waiter()
    fixture.handle(.signIn(attempt))
    fixture.handle(
      .signInAnswered(attempt, .success(.sample(0, session: "s2")), by: .init(.password), fallback: SessionID("x")))
    fixture.fire(.bury)
    #expect(fixture.vault?.session?.id == SessionID("s2"))
    fixture.run(.vaultChanged)
    #expect(fixture.machine.session == SessionID("s2"))
  }

  @Test func `stays signed out after an unwritten sign-out and a locked vault`() throws {
    let stored = signedIn().vault?.session
    var fixture = MachineFixture(vault: signedIn().vault)
    fixture.handle(.start)
    fixture.vaultTrouble = .locked
    fixture.signOut()
    let read = fixture.handle(.vaultChanged)
    guard case .read(let operation)? = read.first, let stored else {
      Issue.record("\(read)")
      return
    }
    fixture.handle(.read(operation, .accessOnly(stored.withAccessOnly)))
    #expect(fixture.machine.access == nil)
    #expect(fixture.states.last?.isSignedOut == true)
  }

  @Test func `adopts another process's sign-in while a tombstone is pending`() {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("read-only")
    fixture.signOut()
    fixture.vaultTrouble = nil
    var other = MachineFixture(vault: fixture.vault)
    other.now = fixture.now.advanced(by: .milliseconds(1))
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    fixture.vault = other.vault
    fixture.run(.vaultChanged)
    fixture.fire(.bury)
    #expect(fixture.machine.session == SessionID("s2"))
  }

  @Test func `has no pending tombstone after a second sign-out was written`() {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("read-only")
    fixture.signOut()
    fixture.vaultTrouble = nil
    fixture.signOut()
    var other = MachineFixture(vault: fixture.vault)
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    fixture.vault = other.vault
    fixture.run(.vaultChanged)
    #expect(fixture.machine.session == SessionID("s2"))
  }

  @Test func `keeps a session whose id was used before`() {
    var fixture = signedIn()
    fixture.signOut()
    fixture.signIn(.sample(1))
    fixture.run(.vaultChanged)
    #expect(fixture.machine.session == SessionID("s1"))
  }

  @Test func `releases the lock when the same session signs in again`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    let late = fixture.asked[0]
    fixture.effects = []
    fixture.signIn(.sample(5))
    #expect(fixture.effects.contains { if case .unlock = $0 { true } else { false } })
    #expect(fixture.token(caller) == "access-s1-5")
    #expect(fixture.handle(.refreshCompleted(late.operation, .rejected(.rejected))) == [.ignored])
    #expect(fixture.machine.session == SessionID("s1"))
  }

  @Test func `answers callers even if a rolled-back vault was unreadable in between`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    fixture.answer(.superseded)
    fixture.vaultTrouble = .locked
    fixture.run(.vaultChanged)
    fixture.vaultTrouble = nil
    let caller = fixture.demand()
    #expect(fixture.failure(caller) == .storageOutdated)
    #expect(fixture.states.last == .unavailable(.storageOutdated))
  }

  @Test func `enters no rolled-back session whose refresh item is locked`() throws {
    var fixture = signedIn()
    let session = try #require(fixture.vault?.session)
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    fixture.answer(.superseded)
    fixture.handle(.vaultChanged)
    let reading = fixture.takeWork()
    guard case .read(let operation)? = reading else {
      Issue.record("\(String(describing: reading))")
      return
    }
    fixture.handle(.read(operation, .accessOnly(session.withAccessOnly)))
    #expect(fixture.machine.state == .unavailable(.storageOutdated))
    // A caller that came while the vault could not be read at all is answered, too.
    fixture.vaultTrouble = .unavailable("unmounted")
    fixture.run(.vaultChanged)
    let caller = fixture.waiter()
    fixture.handle(.demand(caller, .init()))
    guard case .read(let next)? = fixture.takeWork() else {
      Issue.record("the vault is not read")
      return
    }
    fixture.handle(.read(next, .accessOnly(session.withAccessOnly)))
    #expect(fixture.failure(caller) == .storageOutdated)
  }

  // MARK: Refresh

  @Test func `sends no request if another process refreshed while it waited for the lock`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.waiter()
    let effects = fixture.handle(.demand(caller, .init()))
    guard case .lock(let operation, _)? = effects.last, let session = fixture.vault?.session,
      let sent = session.refresh,
      let key = RotationKey.sample(9)
    else {
      Issue.record("\(effects)")
      return
    }
    let theirs = TokenSet(access: AccessToken("theirs"), expiresIn: .seconds(600), refresh: RefreshToken("r2"))
    _ = fixture.apply(
      .advance(session.id, RefreshedTokens(TokenResponse(tokens: theirs), sent: sent, since: fixture.now)))
    var reads = fixture.handle(.vaultChanged)
    guard case .read(let look)? = reads.popLast(), let vault = fixture.vault else { return }
    fixture.handle(.read(look, .value(vault)))
    #expect(fixture.token(caller) == "theirs")
    fixture.effects = []
    fixture.run(.locked(operation, key))
    #expect(fixture.effects.contains(.unlock(operation)))
    #expect(fixture.vault?.session?.pendingKey == nil)
    #expect(fixture.asked.isEmpty)
  }

  @Test(arguments: [Duration.zero, .milliseconds(1)])
  func `does not loop when tokens are expired on arrival`(life: Duration) {
    var fixture = signedIn()
    fixture.fire(.refresh)
    fixture.answer(.granted(.sample(1, life: life)))
    #expect((fixture.timers[.refresh]?.after ?? .zero) >= .seconds(5))
  }

  @Test func `does not loop while the vault cannot be written`() {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("full")
    fixture.fire(.refresh)
    #expect((fixture.timers[.refresh]?.after ?? .zero) >= .seconds(5))
    // It recovers by itself.
    fixture.vaultTrouble = nil
    fixture.fire(.refresh)
    #expect(fixture.asked.count == 1)
  }

  @Test func `hands out neither a refused nor an expired token once the vault is writable`() {
    var fixture = signedIn(policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    fixture.vaultTrouble = .unavailable("full")
    fixture.answer(.granted(.sample(1)))
    fixture.work()
    fixture.vaultTrouble = nil
    fixture.now = fixture.now.advanced(by: .seconds(30))
    let caller = fixture.demand(.init(refused: .accessToken(AccessToken("access-s1-1"))))
    #expect(fixture.results[caller] == nil)
    fixture.answer(.granted(.sample(2)))
    #expect(fixture.token(caller) == "access-s1-2")
  }

  @Test func `reports a server that issues the refused token again`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(100))
    let caller = fixture.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    fixture.answer(.granted(.sample(0)))
    #expect(fixture.failure(caller) == .tokenRejected)
  }

  // MARK: Limits

  @Test(arguments: [SessionPolicy(idleLimit: .seconds(900)), SessionPolicy(absoluteLimit: .seconds(900))])
  func `counts the limits of a session that was locked at launch`(policy: SessionPolicy) throws {
    for late in [Duration.seconds(500), .seconds(900)] {
      var fixture = MachineFixture(policy: policy, vault: signedIn(policy: policy).vault)
      let stored = try #require(fixture.vault?.session)
      fixture.now = noon.advanced(by: late)
      guard case .read(let look)? = fixture.handle(.start).first, stored.access != nil else { return }
      fixture.handle(.read(look, .accessOnly(stored.withAccessOnly)))
      fixture.run(.vaultChanged)
      fixture.work()
      if late == .seconds(900) {
        #expect(fixture.vault?.session == nil)
        #expect(fixture.machine.access == nil)
      } else {
        #expect(fixture.timers[.limit]?.after == .seconds(340))
      }
    }
  }
}

extension SessionState {
  fileprivate var isSignedOut: Bool { if case .signedOut = self { true } else { false } }
}
