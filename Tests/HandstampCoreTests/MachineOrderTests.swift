import HandstampCore
import HandstampTesting
import Testing

/// Orders of events that once lost a session, restored one, or left a caller waiting.
@Suite(.timeLimit(.minutes(10))) struct `A session machine in unlucky orderings` {
  typealias Machine = SessionMachine

  private func signedIn(policy: SessionPolicy = SessionPolicy(), supportsRotationKeys: Bool = true) -> Bench {
    var bench = Bench(policy: policy, supportsRotationKeys: supportsRotationKeys)
    bench.run(.start)
    bench.signIn()
    return bench
  }

  // MARK: Sign-in and sign-out

  @Test func `also ends a sign-in that was being written during an earlier sign-out`() {
    var bench = signedIn()
    let first = bench.waiter()
    bench.handle(.signOut(first, .signedOut))
    let attempt = bench.waiter()
    bench.handle(.signIn(attempt))
    bench.handle(.signInAnswered(attempt, .success(.sample(0, session: "s2")), fallback: SessionID("x")))
    let second = bench.waiter()
    bench.handle(.signOut(second, .signedOut))
    bench.work()
    #expect(bench.outcomes[attempt] == .failure(.cancelled))
    #expect(bench.outcomes[first] == .success(.signedOut(SessionID("s1"))))
    #expect(bench.outcomes[second] == .success(.signedOut(SessionID("s1"))))
    #expect(bench.vault?.session == nil)
    bench.run(.vaultChanged)
    #expect(bench.machine.access == nil)
    // Both sessions are revoked at the server.
    for session in ["s1", "s2"] {
      #expect(bench.effects.contains(.revoke(SessionID(session), RevocationHandle("handle-\(session)"))))
    }
  }

  @Test func `signs out while a limit ends a session that another process had replaced`() {
    var bench = signedIn()
    var other = Bench(vault: bench.vault)
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    bench.vault = other.vault
    bench.handle(.ended(SessionID("s1"), .revoked))
    let waiter = bench.waiter()
    bench.handle(.signOut(waiter, .signedOut))
    bench.work()
    #expect(bench.outcomes[waiter] == .success(.signedOut(SessionID("s1"))))
    #expect(bench.vault?.session == nil)
    #expect(bench.machine.access == nil)
  }

  @Test func `keeps two users' sessions apart if a sign-in overtakes the former session's end`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    let attempt = bench.waiter()
    bench.handle(.signIn(attempt))
    bench.handle(.signInAnswered(attempt, .success(.sample(0, session: "s2")), fallback: SessionID("x")))
    bench.handle(.ended(SessionID("s1"), .revoked))
    bench.effects = []
    bench.work()
    #expect(bench.machine.session == SessionID("s2"))
    #expect(bench.failure(caller) == .signedOut(.revoked))
    #expect(bench.effects.contains(.cancelRequests))
    // A lock that is never released keeps every process from refreshing.
    #expect(bench.effects.contains { if case .unlock = $0 { true } else { false } })
  }

  @Test func `keeps a sign-in that follows an unwritten sign-out`() {
    var bench = Bench(vault: signedIn().vault)
    // Before the vault was read, the account is unknown.
    bench.handle(.start)
    bench.vaultTrouble = .unavailable("busy")
    bench.signOut()
    bench.vaultTrouble = nil
    let attempt = bench.waiter()
    bench.handle(.signIn(attempt))
    bench.handle(.signInAnswered(attempt, .success(.sample(0, session: "s2")), fallback: SessionID("x")))
    bench.fire(.bury)
    #expect(bench.vault?.session?.id == SessionID("s2"))
    bench.run(.vaultChanged)
    #expect(bench.machine.session == SessionID("s2"))
  }

  @Test func `stays signed out after an unwritten sign-out and a locked vault`() throws {
    let stored = signedIn().vault?.session
    var bench = Bench(vault: signedIn().vault)
    bench.handle(.start)
    bench.vaultTrouble = .locked
    bench.signOut()
    let read = bench.handle(.vaultChanged)
    guard case .read(let operation)? = read.first, let stored else {
      Issue.record("\(read)")
      return
    }
    bench.handle(.read(operation, .accessOnly(stored.withAccessOnly)))
    #expect(bench.machine.access == nil)
    #expect(bench.states.last?.isSignedOut == true)
  }

  @Test func `adopts another process's sign-in while a tombstone is pending`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("read-only")
    bench.signOut()
    bench.vaultTrouble = nil
    var other = Bench(vault: bench.vault)
    other.now = bench.now.advanced(by: .milliseconds(1))
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    bench.vault = other.vault
    bench.run(.vaultChanged)
    bench.fire(.bury)
    #expect(bench.machine.session == SessionID("s2"))
  }

  @Test func `has no pending tombstone after a second sign-out was written`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("read-only")
    bench.signOut()
    bench.vaultTrouble = nil
    bench.signOut()
    var other = Bench(vault: bench.vault)
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    bench.vault = other.vault
    bench.run(.vaultChanged)
    #expect(bench.machine.session == SessionID("s2"))
  }

  @Test func `keeps a session whose id was used before`() {
    var bench = signedIn()
    bench.signOut()
    bench.signIn(.sample(1))
    bench.run(.vaultChanged)
    #expect(bench.machine.session == SessionID("s1"))
  }

  @Test func `releases the lock when the same session signs in again`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    let late = bench.asked[0]
    bench.effects = []
    bench.signIn(.sample(5))
    #expect(bench.effects.contains { if case .unlock = $0 { true } else { false } })
    #expect(bench.token(caller) == "access-s1-5")
    #expect(bench.handle(.answered(late.operation, .rejected(.rejected))) == [.ignored])
    #expect(bench.machine.session == SessionID("s1"))
  }

  @Test func `answers callers even if a rolled-back vault was unreadable in between`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    bench.answer(.superseded)
    bench.vaultTrouble = .locked
    bench.run(.vaultChanged)
    bench.vaultTrouble = nil
    let caller = bench.demand()
    #expect(bench.failure(caller) == .storageOutdated)
    #expect(bench.states.last == .unavailable(.storageOutdated))
  }

  @Test func `enters no rolled-back session whose refresh item is locked`() throws {
    var bench = signedIn()
    let session = try #require(bench.vault?.session)
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    bench.answer(.superseded)
    bench.handle(.vaultChanged)
    let reading = bench.takeWork()
    guard case .read(let operation)? = reading else {
      Issue.record("\(String(describing: reading))")
      return
    }
    bench.handle(.read(operation, .accessOnly(session.withAccessOnly)))
    #expect(bench.machine.state == .unavailable(.storageOutdated))
    // A caller that came while the vault could not be read at all is answered, too.
    bench.vaultTrouble = .unavailable("unmounted")
    bench.run(.vaultChanged)
    let caller = bench.waiter()
    bench.handle(.demand(caller, .init()))
    guard case .read(let next)? = bench.takeWork() else {
      Issue.record("the vault is not read")
      return
    }
    bench.handle(.read(next, .accessOnly(session.withAccessOnly)))
    #expect(bench.failure(caller) == .storageOutdated)
  }

  // MARK: Refresh

  @Test func `sends no request if another process refreshed while it waited for the lock`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.waiter()
    let effects = bench.handle(.demand(caller, .init()))
    guard case .lock(let operation, _)? = effects.last, let session = bench.vault?.session, let sent = session.refresh,
      let key = RotationKey.sample(9)
    else {
      Issue.record("\(effects)")
      return
    }
    let theirs = StoredAccess(
      token: AccessToken("theirs"), lifetime: Lifetime(start: bench.now, duration: .seconds(600)))
    _ = bench.apply(.advance(session.id, sent: sent, to: RefreshToken("r2"), access: theirs, profile: nil))
    var reads = bench.handle(.vaultChanged)
    guard case .read(let look)? = reads.popLast(), let vault = bench.vault else { return }
    bench.handle(.read(look, .value(vault)))
    #expect(bench.token(caller) == "theirs")
    bench.effects = []
    bench.run(.locked(operation, key))
    #expect(bench.effects.contains(.unlock(operation)))
    #expect(bench.vault?.session?.pendingKey == nil)
    #expect(bench.asked.isEmpty)
  }

  @Test(arguments: [Duration.zero, .milliseconds(1)])
  func `does not loop when tokens are expired on arrival`(life: Duration) {
    var bench = signedIn()
    bench.fire(.refresh)
    bench.answer(.granted(.sample(1, life: life)))
    #expect((bench.timers[.refresh]?.after ?? .zero) >= .seconds(5))
  }

  @Test func `does not loop while the vault cannot be written`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("full")
    bench.fire(.refresh)
    #expect((bench.timers[.refresh]?.after ?? .zero) >= .seconds(5))
    // It recovers by itself.
    bench.vaultTrouble = nil
    bench.fire(.refresh)
    #expect(bench.asked.count == 1)
  }

  @Test func `hands out neither a refused nor an expired token once the vault is writable`() {
    var bench = signedIn(policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    bench.vaultTrouble = .unavailable("full")
    bench.answer(.granted(.sample(1)))
    bench.work()
    bench.vaultTrouble = nil
    bench.now = bench.now.advanced(by: .seconds(30))
    let caller = bench.demand(.init(refused: .accessToken(AccessToken("access-s1-1"))))
    #expect(bench.results[caller] == nil)
    bench.answer(.granted(.sample(2)))
    #expect(bench.token(caller) == "access-s1-2")
  }

  @Test func `reports a server that issues the refused token again`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(100))
    let caller = bench.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    bench.answer(.granted(.sample(0)))
    #expect(bench.failure(caller) == .tokenRejected)
  }

  // MARK: Limits

  @Test(arguments: [SessionPolicy(idleLimit: .seconds(900)), SessionPolicy(absoluteLimit: .seconds(900))])
  func `counts the limits of a session that was locked at launch`(policy: SessionPolicy) throws {
    for late in [Duration.seconds(500), .seconds(900)] {
      var bench = Bench(policy: policy, vault: signedIn(policy: policy).vault)
      let stored = try #require(bench.vault?.session)
      bench.now = noon.advanced(by: late)
      guard case .read(let look)? = bench.handle(.start).first, stored.access != nil else { return }
      bench.handle(.read(look, .accessOnly(stored.withAccessOnly)))
      bench.run(.vaultChanged)
      bench.work()
      if late == .seconds(900) {
        #expect(bench.vault?.session == nil)
        #expect(bench.machine.access == nil)
      } else {
        #expect(bench.timers[.limit]?.after == .seconds(400))
      }
    }
  }
}

extension SessionState {
  fileprivate var isSignedOut: Bool { if case .signedOut = self { true } else { false } }
}
