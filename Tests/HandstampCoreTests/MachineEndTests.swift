import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine when a session begins or ends` {
  private func signedIn(policy: SessionPolicy = SessionPolicy()) -> Bench {
    var bench = Bench(policy: policy)
    bench.run(.start)
    bench.signIn()
    return bench
  }

  @Test func `signs in in the order vault, state, audit, timer, answer`() {
    var bench = Bench(policy: SessionPolicy(idleLimit: .seconds(900)))
    bench.run(.start)
    bench.effects = []
    bench.signIn()
    let order = bench.effects.compactMap { effect -> String? in
      switch effect {
      case .edit(_, .begin): "vault"
      case .publish(.signedIn): "state"
      case .audit: "audit"
      case .startTimer(.limit, _, _): "timer"
      case .finish: "answer"
      default: nil
      }
    }
    #expect(order == ["vault", "state", "audit", "timer", "answer"])
  }

  @Test func `publishes no sign-in that could not be stored, and revokes it at the server`() {
    var bench = Bench()
    bench.run(.start)
    bench.vaultTrouble = .unavailable("disk full")
    bench.effects = []
    bench.signIn()
    #expect(bench.states == [.signedOut(nil)])
    #expect(bench.outcomes.values.contains(.failure(.storage(.unavailable("disk full")))))
    #expect(bench.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }

  @Test func `hands out no token once a sign-out has begun`() {
    var bench = signedIn()
    let waiter = bench.waiter()
    bench.handle(.signOut(waiter, .signedOut))
    #expect(bench.machine.access == nil)
    let caller = bench.waiter()
    bench.handle(.demand(caller, .init()))
    #expect(bench.failure(caller) == .signedOut(.signedOut))
    // No caller hears "done" before the tombstone is written.
    #expect(bench.outcomes[waiter] == nil)
    bench.work()
    #expect(bench.outcomes[waiter] == .success(.signedOut(SessionID("s1"))))
    #expect(bench.vault?.session == nil)
    #expect(bench.states.last == .signedOut(.signedOut))
  }

  @Test func `writes the tombstone, answers callers, cancels requests, unlocks, then notifies the server`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    bench.effects = []
    bench.signOut()
    let order = bench.effects.compactMap { effect -> String? in
      switch effect {
      case .edit(_, .endWhatever): "tombstone"
      case .publish: "state"
      case .resume: "callers"
      case .cancelRequests: "requests"
      case .unlock: "unlock"
      case .finish: "answer"
      case .revoke: "server"
      default: nil
      }
    }
    #expect(order == ["tombstone", "state", "callers", "requests", "unlock", "answer", "server"])
    #expect(bench.failure(caller) == .signedOut(.signedOut))
  }

  @Test func `stays signed out when a refresh completes late`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    let late = bench.asked[0]
    bench.signOut()
    #expect(bench.handle(.answered(late.operation, .granted(.sample(1)))) == [.ignored])
    #expect(bench.vault?.session == nil)
    #expect(bench.machine.access == nil)
  }

  @Test func `revokes a sign-in that completes after a sign-out`() {
    var bench = Bench()
    bench.run(.start)
    let waiter = bench.waiter()
    bench.handle(.signIn(waiter))
    bench.signOut()
    #expect(bench.outcomes[waiter] == .failure(.cancelled))
    let effects = bench.handle(.signInAnswered(waiter, .success(.sample(0)), fallback: SessionID("x")))
    #expect(effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
    #expect(bench.vault?.session == nil)
  }

  @Test func `ends a session that was being written during the sign-out`() {
    var bench = Bench()
    bench.run(.start)
    let waiter = bench.waiter()
    bench.handle(.signIn(waiter))
    bench.handle(.signInAnswered(waiter, .success(.sample(0)), fallback: SessionID("x")))
    bench.signOut()
    #expect(bench.outcomes[waiter] == .failure(.cancelled))
    #expect(bench.vault?.session == nil)
    #expect(bench.vault?.tombstones.map(\.session) == [SessionID("s1")])
    #expect(bench.states.last == .signedOut(.signedOut))
  }

  @Test func `signs out locally if the vault cannot be written, reports it, and retries`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("read-only")
    let waiter = bench.signOut()
    #expect(bench.outcomes[waiter] == .success(.signedOutNotDurably(SessionID("s1"), .unavailable("read-only"))))
    #expect(bench.machine.access == nil)
    // The session that is still in the vault is not restored.
    bench.vaultTrouble = nil
    bench.run(.vaultChanged)
    #expect(bench.states.last == .signedOut(.signedOut))
    bench.fire(.bury)
    #expect(bench.vault?.session == nil)
  }

  @Test func `ends on a definitive rejection of the stored token, with the server's reason`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    bench.answer(.rejected(.tokenReuseDetected))
    #expect(bench.failure(caller) == .sessionEnded(.tokenReuseDetected))
    #expect(bench.states.last == .signedOut(.tokenReuseDetected))
    #expect(bench.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }

  @Test func `carries on if the vault already held a newer token than the rejected one`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    bench.vault?.session?.refresh = RefreshToken("theirs")
    bench.vault?.revision += 1
    bench.vault?.session?.access = StoredAccess(
      token: AccessToken("their access"), lifetime: Lifetime(start: bench.now, duration: .seconds(600)))
    bench.answer(.rejected(.rejected))
    #expect(bench.token(caller) == "their access")
    #expect(bench.vault?.session != nil)
  }

  @Test func `keeps everything if the vault was rolled back, and asks for sign-in`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    bench.answer(.superseded)
    #expect(bench.failure(caller) == .storageOutdated)
    #expect(bench.states.last == .unavailable(.storageOutdated))
    #expect(bench.vault?.session != nil)
    // It does not loop.
    bench.run(.vaultChanged)
    bench.demand()
    #expect(bench.asked.isEmpty)
    // The newer vault comes back, and so does the session.
    bench.vault?.session?.refresh = RefreshToken("newer")
    bench.vault?.revision += 1
    bench.run(.vaultChanged)
    guard case .signedIn = bench.states.last else {
      Issue.record("not restored: \(bench.states)")
      return
    }
  }

  @Test func `never ends because of a vault error`() {
    for trouble in [VaultError.locked, .unavailable("gone"), .corrupt] {
      var bench = signedIn()
      bench.vaultTrouble = trouble
      bench.run(.vaultChanged)
      #expect(bench.machine.access != nil)
      var launched = Bench(vault: bench.vault)
      launched.vaultTrouble = trouble
      launched.run(.start)
      #expect(launched.states == [.unavailable(.storage(trouble))])
      launched.vaultTrouble = nil
      launched.run(.vaultChanged)
      #expect(launched.machine.access != nil)
    }
  }

  @Test func `follows another process's sign-out, with its reason, and its next sign-in`() {
    var bench = signedIn()
    _ = bench.apply(.endWhatever(.revoked, at: bench.now))
    bench.run(.vaultChanged)
    #expect(bench.states.last == .signedOut(.revoked))
    #expect(bench.machine.access == nil)
    var other = Bench(vault: bench.vault)
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    bench.vault = other.vault
    bench.run(.vaultChanged)
    #expect(bench.machine.access?.token == AccessToken("access-s2-0"))
  }

  @Test func `still knows the reason if the server was notified before it read the vault`() {
    var bench = signedIn()
    _ = bench.apply(.endWhatever(.idle, at: bench.now))
    _ = bench.apply(.delivered(SessionID("s1")))
    #expect(bench.vault?.tombstones.first?.revocation == nil)
    bench.run(.vaultChanged)
    #expect(bench.states.last == .signedOut(.idle))
  }

  @Test func `retries a revocation until the server accepts it, also after a restart`() {
    var bench = signedIn()
    bench.signOut()
    bench.run(.revoked(SessionID("s1"), .noDecision(.network(.timedOut)), entropy: .max))
    var relaunched = Bench(vault: bench.vault)
    relaunched.run(.start)
    #expect(relaunched.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
    relaunched.run(.revoked(SessionID("s1"), .ended))
    #expect(relaunched.vault?.tombstones.allSatisfy { $0.revocation == nil } == true)
    #expect(relaunched.machine.revocations.pending.isEmpty)
  }

  @Test func `waits for an unresponsive vault until its timeout, and reports it`() {
    var bench = signedIn()
    let waiter = bench.waiter()
    bench.handle(.signOut(waiter, .signedOut))
    #expect(bench.outcomes[waiter] == nil)
    bench.fire(.end)
    guard case .success(.signedOutNotDurably) = bench.outcomes[waiter] else {
      Issue.record("\(String(describing: bench.outcomes[waiter]))")
      return
    }
    #expect(bench.states.last == .signedOut(.signedOut))
    // The edit was in progress all the same.
    bench.work()
    #expect(bench.vault?.session == nil)
    #expect(bench.vault?.tombstones.map(\.session) == [SessionID("s1")])
  }

  @Test func `rewrites a tombstone lost by a vault that could only remove the session`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("full")
    let waiter = bench.signOut()
    #expect(bench.outcomes[waiter] == .success(.signedOutNotDurably(SessionID("s1"), .unavailable("full"))))
    bench.vaultTrouble = nil
    bench.vault = VaultEntry(revision: 7)
    bench.fire(.bury)
    bench.work()
    #expect(bench.vault?.tombstones.map(\.revocation) == [RevocationHandle("handle-s1")])
    #expect(bench.machine.state == .signedOut(.signedOut))
  }

  @Test func `keeps a tombstone whose handle is not the one sent to the server`() {
    var bench = signedIn()
    bench.signOut()
    let newer = RevocationHandle("newer")
    _ = bench.apply(.tell(SessionID("s1"), with: newer, insteadOf: RevocationHandle("handle-s1")))
    bench.effects = []
    bench.run(.revoked(SessionID("s1"), .ended))
    #expect(bench.vault?.tombstones.map(\.revocation) == [newer])
    #expect(bench.effects.contains(.revoke(SessionID("s1"), newer)))
    bench.run(.revoked(SessionID("s1"), .ended))
    #expect(bench.vault?.tombstones.map(\.revocation) == [nil])
  }

  @Test func `retries an undecided revocation after one minute, then two, across restarts`() {
    var bench = signedIn()
    bench.signOut()
    let told = Bench.Machine.Effect.revoke(SessionID("s1"), RevocationHandle("handle-s1"))
    for minutes: Int64 in [1, 2, 4] {
      bench.run(.revoked(SessionID("s1"), .noDecision(.server(.init(status: 401)))))
      var relaunched = Bench(vault: bench.vault)
      relaunched.now = bench.now.advanced(by: .seconds(60 * minutes - 1))
      relaunched.run(.start)
      relaunched.run(.conditionsChanged)
      #expect(!relaunched.effects.contains(told))
      // It retries by itself when the delay has passed.
      #expect(relaunched.timers[.deliver]?.after == .seconds(1))
      bench = Bench(vault: bench.vault)
      bench.now = relaunched.now.advanced(by: .seconds(1))
      bench.run(.start)
      #expect(bench.effects.contains(told))
    }
    // After a wrong clock, there is no wait.
    bench.run(.revoked(SessionID("s1"), .noDecision(.server(.init(status: 401)))))
    var set = Bench(vault: bench.vault)
    set.now = Moment(boot: 99, uptime: .seconds(1), wall: UnixTime(seconds: 1))
    set.run(.start)
    #expect(set.effects.contains(told))
  }

  @Test func `retries revocations by itself after the delay`() {
    var bench = signedIn()
    bench.signOut()
    bench.run(.revoked(SessionID("s1"), .noDecision(.server(.init(status: 401)))))
    bench.effects = []
    #expect(bench.timers[.deliver]?.after == .seconds(60))
    bench.fire(.deliver)
    #expect(bench.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }

  private struct Unanswered: Error {}

  @Test func `does not adopt another program's session that it skipped`() throws {
    var bench = signedIn()
    let theirs = StoredSession(
      id: SessionID("s2"), profile: Profile(id: AccountID("bob"), name: "bob"), refresh: nil, revocation: nil,
      access: StoredAccess(token: AccessToken("theirs"), lifetime: nil), startedAt: bench.now, activeAt: bench.now)
    let waiter = bench.waiter()
    bench.handle(.signOut(waiter, .signedOut))
    guard case .edit(let operation, let end)? = bench.takeWork() else { throw Unanswered() }
    _ = bench.apply(end)
    bench.vault?.session = theirs
    bench.handle(.edited(operation, .done(bench.vault ?? VaultEntry()), asOf: bench.now))
    bench.run(.vaultChanged)
    #expect(bench.machine.state == .signedOut(.signedOut))
    bench.vault?.session?.id = SessionID("s3")
    bench.run(.vaultChanged)
    #expect(bench.machine.session == SessionID("s3"))
  }

  @Test(arguments: [(Duration.seconds(900) - .milliseconds(1), false), (.seconds(900), true)])
  func `ends by inactivity, also while the program was not running`(idle: Duration, isOver: Bool) {
    let policy = SessionPolicy(idleLimit: .seconds(900))
    let bench = signedIn(policy: policy)
    var relaunched = Bench(policy: policy, vault: bench.vault)
    // Another boot: only the wall clock counts.
    relaunched.now = Moment(boot: 8, uptime: .seconds(5), wall: noon.wall.advanced(by: idle))
    relaunched.run(.start)
    #expect((relaunched.states.last == .signedOut(.idle)) == isOver)
  }

  @Test func `counts no time when the wall clock jumps back`() {
    let policy = SessionPolicy(idleLimit: .seconds(900), absoluteLimit: .seconds(9000))
    let bench = signedIn(policy: policy)
    var relaunched = Bench(policy: policy, vault: bench.vault)
    relaunched.now = Moment(boot: 8, uptime: .seconds(5), wall: UnixTime(seconds: 0))
    relaunched.run(.start)
    #expect(relaunched.machine.access != nil)
  }

  @Test func `moves the idle limit with activity, and writes it rarely`() {
    var bench = signedIn(policy: SessionPolicy(idleLimit: .seconds(900)))
    let revision = bench.vault?.revision ?? 0
    for _ in 0..<100 {
      bench.now = bench.now.advanced(by: .seconds(9))
      bench.run(.activity)
    }
    #expect(bench.machine.access != nil)
    #expect((bench.vault?.revision ?? 0) - revision <= 15)
    bench.fire(.limit)
    #expect(bench.machine.access != nil)
    bench.fire(.limit)
    #expect(bench.states.last == .signedOut(.idle))
  }

  @Test func `ends by age despite activity`() {
    var bench = signedIn(policy: SessionPolicy(absoluteLimit: .seconds(3600)))
    #expect(bench.timers[.limit]?.after == .seconds(3600))
    bench.fire(.limit)
    #expect(bench.states.last == .signedOut(.expired))
  }

  @Test func `ignores unexpected events, and changes nothing`() {
    var bench = signedIn()
    let before = bench.machine
    let nonsense: [SessionMachine.Event] = [
      .start, .timer(.retry, ticket: 99), .read(.init(99), .absent), .edited(.init(99), .failed(.corrupt), asOf: noon),
      .signInAnswered(.init(99), .failure(.cancelled), fallback: SessionID("x")), .ended(SessionID("other"), .revoked),
      .gone(.init(99)), .lockFailed(.init(99), .sample(1)!), .answered(.init(99), .rejected(.rejected)),
      .revoked(SessionID("other"), .ended),
    ]
    for event in nonsense {
      #expect(bench.handle(event) == [.ignored], "\(event)")
      #expect(bench.machine == before, "\(event)")
    }
  }

  @Test func `replaces the former session at a new sign-in and revokes it at the server`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    bench.signIn(.sample(0, session: "s2"))
    #expect(bench.failure(caller) == .signedOut(.replaced))
    #expect(bench.machine.access?.token == AccessToken("access-s2-0"))
    #expect(bench.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }
}
