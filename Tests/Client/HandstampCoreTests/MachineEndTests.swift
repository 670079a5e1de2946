import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine when a session begins or ends` {
  private func signedIn(policy: SessionPolicy = SessionPolicy()) -> MachineFixture {
    var fixture = MachineFixture(policy: policy)
    fixture.run(.start)
    fixture.signIn()
    return fixture
  }

  @Test func `signs in in the order vault, state, audit, timer, answer`() {
    var fixture = MachineFixture(policy: SessionPolicy(idleLimit: .seconds(900)))
    fixture.run(.start)
    fixture.effects = []
    fixture.signIn()
    let order = fixture.effects.compactMap { effect -> String? in
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
    var fixture = MachineFixture()
    fixture.run(.start)
    fixture.vaultTrouble = .unavailable("disk full")
    fixture.effects = []
    fixture.signIn()
    #expect(fixture.states == [.signedOut(nil)])
    #expect(fixture.outcomes.values.contains(.failure(.storage(.unavailable("disk full")))))
    #expect(fixture.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }

  @Test func `hands out no token once a sign-out has begun`() {
    var fixture = signedIn()
    let waiter = fixture.waiter()
    fixture.handle(.signOut(waiter, .signedOut))
    #expect(fixture.machine.access == nil)
    let caller = fixture.waiter()
    fixture.handle(.demand(caller, .init()))
    #expect(fixture.failure(caller) == .signedOut(.signedOut))
    // No caller hears "done" before the tombstone is written.
    #expect(fixture.outcomes[waiter] == nil)
    fixture.work()
    #expect(fixture.outcomes[waiter] == .success(.signedOut(SessionID("s1"))))
    #expect(fixture.vault?.session == nil)
    #expect(fixture.states.last == .signedOut(.signedOut))
  }

  @Test func `writes the tombstone, answers callers, cancels requests, unlocks, then notifies the server`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    fixture.effects = []
    fixture.signOut()
    let order = fixture.effects.compactMap { effect -> String? in
      switch effect {
      case .edit(_, .signOut): "tombstone"
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
    #expect(fixture.failure(caller) == .signedOut(.signedOut))
  }

  @Test func `stays signed out when a refresh completes late`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    let late = fixture.asked[0]
    fixture.signOut()
    #expect(fixture.handle(.refreshCompleted(late.operation, .granted(.sample(1)))) == [.ignored])
    #expect(fixture.vault?.session == nil)
    #expect(fixture.machine.access == nil)
  }

  @Test func `revokes a sign-in that completes after a sign-out`() {
    var fixture = MachineFixture()
    fixture.run(.start)
    let waiter = fixture.waiter()
    fixture.handle(.signIn(waiter))
    fixture.signOut()
    #expect(fixture.outcomes[waiter] == .failure(.cancelled))
    let effects = fixture.handle(
      .signInAnswered(waiter, .success(.sample(0)), by: .init(.password), fallback: SessionID("x")))
    #expect(effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
    #expect(fixture.vault?.session == nil)
  }

  @Test func `ends a session that was being written during the sign-out`() {
    var fixture = MachineFixture()
    fixture.run(.start)
    let waiter = fixture.waiter()
    fixture.handle(.signIn(waiter))
    fixture.handle(.signInAnswered(waiter, .success(.sample(0)), by: .init(.password), fallback: SessionID("x")))
    fixture.signOut()
    #expect(fixture.outcomes[waiter] == .failure(.cancelled))
    #expect(fixture.vault?.session == nil)
    #expect(fixture.vault?.tombstones.map(\.session) == [SessionID("s1")])
    #expect(fixture.states.last == .signedOut(.signedOut))
  }

  @Test func `signs out locally if the vault cannot be written, reports it, and retries`() {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("read-only")
    let waiter = fixture.signOut()
    #expect(fixture.outcomes[waiter] == .success(.signedOut(SessionID("s1"), storageError: .unavailable("read-only"))))
    #expect(fixture.machine.access == nil)
    // The session that is still in the vault is not restored.
    fixture.vaultTrouble = nil
    fixture.run(.vaultChanged)
    #expect(fixture.states.last == .signedOut(.signedOut))
    fixture.fire(.bury)
    #expect(fixture.vault?.session == nil)
  }

  @Test func `ends on a definitive rejection of the stored token, with the server's reason`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    fixture.answer(.rejected(.tokenReuseDetected))
    #expect(fixture.failure(caller) == .sessionEnded(.tokenReuseDetected))
    #expect(fixture.states.last == .signedOut(.tokenReuseDetected))
    #expect(fixture.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }

  @Test func `carries on if the vault already held a newer token than the rejected one`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    fixture.vault?.session?.refresh = RefreshToken("theirs")
    fixture.vault?.revision += 1
    fixture.vault?.session?.access = StoredAccess(
      token: AccessToken("their access"), lifetime: Lifetime(start: fixture.now, duration: .seconds(600)))
    fixture.answer(.rejected(.rejected))
    #expect(fixture.token(caller) == "their access")
    #expect(fixture.vault?.session != nil)
  }

  @Test func `keeps everything if the vault was rolled back, and asks for sign-in`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    fixture.answer(.superseded)
    #expect(fixture.failure(caller) == .storageOutdated)
    #expect(fixture.states.last == .unavailable(.storageOutdated))
    #expect(fixture.vault?.session != nil)
    // It does not loop.
    fixture.run(.vaultChanged)
    fixture.demand()
    #expect(fixture.asked.isEmpty)
    // The newer vault comes back, and so does the session.
    fixture.vault?.session?.refresh = RefreshToken("newer")
    fixture.vault?.revision += 1
    fixture.run(.vaultChanged)
    guard case .signedIn = fixture.states.last else {
      Issue.record("not restored: \(fixture.states)")
      return
    }
  }

  @Test func `never ends because of a vault error`() {
    for trouble in [VaultError.locked, .unavailable("gone"), .corrupt] {
      var fixture = signedIn()
      fixture.vaultTrouble = trouble
      fixture.run(.vaultChanged)
      #expect(fixture.machine.access != nil)
      var launched = MachineFixture(vault: fixture.vault)
      launched.vaultTrouble = trouble
      launched.run(.start)
      #expect(launched.states == [.unavailable(.storage(trouble))])
      launched.vaultTrouble = nil
      launched.run(.vaultChanged)
      #expect(launched.machine.access != nil)
    }
  }

  @Test func `follows another process's sign-out, with its reason, and its next sign-in`() {
    var fixture = signedIn()
    _ = fixture.apply(.signOut(.revoked, at: fixture.now))
    fixture.run(.vaultChanged)
    #expect(fixture.states.last == .signedOut(.revoked))
    #expect(fixture.machine.access == nil)
    var other = MachineFixture(vault: fixture.vault)
    other.run(.start)
    other.signIn(.sample(0, session: "s2"))
    fixture.vault = other.vault
    fixture.run(.vaultChanged)
    #expect(fixture.machine.access?.token == AccessToken("access-s2-0"))
  }

  @Test func `still knows the reason if the server was notified before it read the vault`() {
    var fixture = signedIn()
    _ = fixture.apply(.signOut(.idle, at: fixture.now))
    _ = fixture.apply(.delivered(SessionID("s1")))
    #expect(fixture.vault?.tombstones.first?.revocation == nil)
    fixture.run(.vaultChanged)
    #expect(fixture.states.last == .signedOut(.idle))
  }

  @Test func `retries a revocation until the server accepts it, also after a restart`() {
    var fixture = signedIn()
    fixture.signOut()
    fixture.run(.revoked(SessionID("s1"), .noDecision(.network(.timedOut)), entropy: .max))
    var relaunched = MachineFixture(vault: fixture.vault)
    relaunched.run(.start)
    #expect(relaunched.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
    relaunched.run(.revoked(SessionID("s1"), .ended))
    #expect(relaunched.vault?.tombstones.allSatisfy { $0.revocation == nil } == true)
    #expect(relaunched.machine.revocations.pending.isEmpty)
  }

  @Test func `waits for an unresponsive vault until its timeout, and reports it`() {
    var fixture = signedIn()
    let waiter = fixture.waiter()
    fixture.handle(.signOut(waiter, .signedOut))
    #expect(fixture.outcomes[waiter] == nil)
    fixture.fire(.end)
    guard case .success(.signedOut(_, .some)) = fixture.outcomes[waiter] else {
      Issue.record("\(String(describing: fixture.outcomes[waiter]))")
      return
    }
    #expect(fixture.states.last == .signedOut(.signedOut))
    // The edit was in progress all the same.
    fixture.work()
    #expect(fixture.vault?.session == nil)
    #expect(fixture.vault?.tombstones.map(\.session) == [SessionID("s1")])
  }

  @Test func `rewrites a tombstone lost by a vault that could only remove the session`() {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("full")
    let waiter = fixture.signOut()
    #expect(fixture.outcomes[waiter] == .success(.signedOut(SessionID("s1"), storageError: .unavailable("full"))))
    fixture.vaultTrouble = nil
    fixture.vault = VaultEntry(revision: 7)
    fixture.fire(.bury)
    fixture.work()
    #expect(fixture.vault?.tombstones.map(\.revocation) == [RevocationHandle("handle-s1")])
    #expect(fixture.machine.state == .signedOut(.signedOut))
  }

  @Test func `keeps a tombstone whose handle is not the one sent to the server`() {
    var fixture = signedIn()
    fixture.signOut()
    let newer = RevocationHandle("newer")
    _ = fixture.apply(.replaceRevocation(SessionID("s1"), with: newer, insteadOf: RevocationHandle("handle-s1")))
    fixture.effects = []
    fixture.run(.revoked(SessionID("s1"), .ended))
    #expect(fixture.vault?.tombstones.map(\.revocation) == [newer])
    #expect(fixture.effects.contains(.revoke(SessionID("s1"), newer)))
    fixture.run(.revoked(SessionID("s1"), .ended))
    #expect(fixture.vault?.tombstones.map(\.revocation) == [nil])
  }

  @Test func `retries an undecided revocation after one minute, then two, across restarts`() {
    var fixture = signedIn()
    fixture.signOut()
    let told = MachineFixture.Machine.Effect.revoke(SessionID("s1"), RevocationHandle("handle-s1"))
    for minutes: Int64 in [1, 2, 4] {
      fixture.run(.revoked(SessionID("s1"), .noDecision(.server(.init(status: 401)))))
      var relaunched = MachineFixture(vault: fixture.vault)
      relaunched.now = fixture.now.advanced(by: .seconds(60 * minutes - 1))
      relaunched.run(.start)
      relaunched.run(.conditionsChanged)
      #expect(!relaunched.effects.contains(told))
      // It retries by itself when the delay has passed.
      #expect(relaunched.timers[.revoke]?.after == .seconds(1))
      fixture = MachineFixture(vault: fixture.vault)
      fixture.now = relaunched.now.advanced(by: .seconds(1))
      fixture.run(.start)
      #expect(fixture.effects.contains(told))
    }
    // After a wrong clock, there is no wait.
    fixture.run(.revoked(SessionID("s1"), .noDecision(.server(.init(status: 401)))))
    var set = MachineFixture(vault: fixture.vault)
    set.now = Moment(boot: 99, uptime: .seconds(1), wall: UnixTime(seconds: 1))
    set.run(.start)
    #expect(set.effects.contains(told))
  }

  @Test func `retries revocations by itself after the delay`() {
    var fixture = signedIn()
    fixture.signOut()
    fixture.run(.revoked(SessionID("s1"), .noDecision(.server(.init(status: 401)))))
    fixture.effects = []
    #expect(fixture.timers[.revoke]?.after == .seconds(60))
    fixture.fire(.revoke)
    #expect(fixture.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }

  private struct Unanswered: Error {}

  @Test func `does not adopt another program's session that it skipped`() throws {
    var fixture = signedIn()
    let theirs = StoredSession(
      id: SessionID("s2"), profile: Profile(id: AccountID("bob"), name: "bob"), refresh: nil, revocation: nil,
      access: StoredAccess(token: AccessToken("theirs"), lifetime: nil), startedAt: fixture.now, activeAt: fixture.now)
    let waiter = fixture.waiter()
    fixture.handle(.signOut(waiter, .signedOut))
    guard case .edit(let operation, let end)? = fixture.takeWork() else { throw Unanswered() }
    _ = fixture.apply(end)
    fixture.vault?.session = theirs
    fixture.handle(.edited(operation, .done(fixture.vault ?? VaultEntry()), asOf: fixture.now))
    fixture.run(.vaultChanged)
    #expect(fixture.machine.state == .signedOut(.signedOut))
    fixture.vault?.session?.id = SessionID("s3")
    fixture.run(.vaultChanged)
    #expect(fixture.machine.session == SessionID("s3"))
  }

  @Test(arguments: [(Duration.seconds(900) - .milliseconds(1), false), (.seconds(900), true)])
  func `ends by inactivity, also while the program was not running`(idle: Duration, isOver: Bool) {
    let policy = SessionPolicy(idleLimit: .seconds(900))
    let fixture = signedIn(policy: policy)
    var relaunched = MachineFixture(policy: policy, vault: fixture.vault)
    // Another boot: only the wall clock counts.
    relaunched.now = Moment(boot: 8, uptime: .seconds(5), wall: noon.wall.advanced(by: idle))
    relaunched.run(.start)
    #expect((relaunched.states.last == .signedOut(.idle)) == isOver)
  }

  @Test func `counts no time when the wall clock jumps back`() {
    let policy = SessionPolicy(idleLimit: .seconds(900), absoluteLimit: .seconds(9000))
    let fixture = signedIn(policy: policy)
    var relaunched = MachineFixture(policy: policy, vault: fixture.vault)
    relaunched.now = Moment(boot: 8, uptime: .seconds(5), wall: UnixTime(seconds: 0))
    relaunched.run(.start)
    #expect(relaunched.machine.access != nil)
  }

  @Test func `moves the idle limit with activity, and writes it rarely`() {
    var fixture = signedIn(policy: SessionPolicy(idleLimit: .seconds(900)))
    let revision = fixture.vault?.revision ?? 0
    for _ in 0..<100 {
      fixture.now = fixture.now.advanced(by: .seconds(9))
      fixture.run(.activity)
    }
    #expect(fixture.machine.access != nil)
    #expect((fixture.vault?.revision ?? 0) - revision <= 15)
    fixture.fire(.limit)
    #expect(fixture.machine.access != nil)
    // The notice, then the end.
    fixture.fire(.limit)
    #expect(fixture.machine.access != nil)
    fixture.fire(.limit)
    #expect(fixture.states.last == .signedOut(.idle))
  }

  @Test func `ends by age despite activity`() {
    var fixture = signedIn(policy: SessionPolicy(idleLimit: .seconds(3600), absoluteLimit: .seconds(3600)))
    #expect(fixture.timers[.limit]?.after == .seconds(3540))
    fixture.now = fixture.now.advanced(by: .seconds(1800))
    fixture.run(.activity)
    fixture.fire(.limit)
    let end = UpcomingEnd(reason: .expired, at: noon.wall.advanced(by: .seconds(3600)))
    #expect(fixture.states.last?.upcomingEnd == end)
    // Use puts off no end by age.
    fixture.run(.activity)
    #expect(fixture.states.last?.upcomingEnd == end)
    fixture.fire(.limit)
    #expect(fixture.states.last == .signedOut(.expired))
  }

  @Test func `says when it will end for lack of use, and no longer says so once it is used`() {
    var fixture = signedIn(policy: SessionPolicy(idleLimit: .seconds(900)))
    let shown = fixture.states.count
    fixture.fire(.limit)
    #expect(fixture.now == noon.advanced(by: .seconds(840)))
    let end = UpcomingEnd(reason: .idle, at: noon.wall.advanced(by: .seconds(900)))
    #expect(fixture.states.last?.upcomingEnd == end && fixture.states.count == shown + 1)
    #expect(fixture.timers[.limit]?.after == .seconds(60))
    fixture.now = fixture.now.advanced(by: .seconds(59))
    fixture.run(.activity)
    #expect(fixture.states.last?.isSignedIn == true && fixture.states.last?.upcomingEnd == nil)
    #expect(fixture.states.count == shown + 2)
    #expect(fixture.timers[.limit]?.after == .seconds(840))
    // More use changes nothing that an app sees.
    fixture.run(.activity)
    #expect(fixture.states.count == shown + 2)
  }

  @Test func `takes use in another process for its own before it says that it ends soon, and after`() {
    var fixture = signedIn(policy: SessionPolicy(idleLimit: .seconds(900)))
    _ = fixture.apply(.touch(SessionID("s1"), at: noon.advanced(by: .seconds(30))))
    fixture.fire(.limit)
    #expect(fixture.states.last?.upcomingEnd == nil)
    fixture.fire(.limit)
    #expect(fixture.states.last?.upcomingEnd?.at == noon.wall.advanced(by: .seconds(930)))
    _ = fixture.apply(.touch(SessionID("s1"), at: fixture.now))
    fixture.run(.vaultChanged)
    #expect(fixture.states.last?.isSignedIn == true && fixture.states.last?.upcomingEnd == nil)
    #expect(fixture.timers[.limit]?.after == .seconds(840))
  }

  @Test(arguments: [
    (Duration.seconds(900), Duration.seconds(60), Duration.seconds(60)), (.seconds(60), .seconds(60), .seconds(12)),
    (.seconds(900), .zero, .zero), (.seconds(900), .seconds(-1), .zero),
  ])
  func `is near its end for as long as the policy says, and at most a fifth of the limit`(
    limit: Duration, wanted: Duration, notice: Duration
  ) {
    let policy = SessionPolicy(idleLimit: limit, endNotice: wanted)
    #expect(policy.notice(of: limit) == notice)
    let vault = signedIn(policy: policy).vault
    for (wait, isNear) in [(notice + .nanoseconds(1), false), (notice, notice > .zero)] {
      var relaunched = MachineFixture(policy: policy, vault: vault)
      relaunched.now = noon.advanced(by: limit - wait)
      relaunched.run(.start)
      #expect((relaunched.states.last?.upcomingEnd != nil) == (wait > .zero && isNear))
    }
  }

  @Test func `names the nearer of two ends`() {
    var fixture = signedIn(policy: SessionPolicy(idleLimit: .seconds(900), absoluteLimit: .seconds(920)))
    fixture.fire(.limit)
    #expect(fixture.states.last?.upcomingEnd?.reason == .idle)
    fixture.now = fixture.now.advanced(by: .seconds(30))
    fixture.run(.activity)
    #expect(
      fixture.states.last?.upcomingEnd == UpcomingEnd(reason: .expired, at: noon.wall.advanced(by: .seconds(920))))
    fixture.fire(.limit)
    #expect(fixture.states.last == .signedOut(.expired))
  }

  @Test func `ignores unexpected events, and changes nothing`() {
    var fixture = signedIn()
    let before = fixture.machine
    let nonsense: [SessionMachine.Event] = [
      .start, .timer(.retry, ticket: 99), .read(.init(99), .absent), .edited(.init(99), .failed(.corrupt), asOf: noon),
      .signInAnswered(.init(99), .failure(.cancelled), by: .init(.password), fallback: SessionID("x")),
      .ended(SessionID("other"), .revoked),
      .gone(.init(99)), .locked(.init(99), .sample(1)!, failing: .locked),
      .refreshCompleted(.init(99), .rejected(.rejected)),
      .revoked(SessionID("other"), .ended),
    ]
    for event in nonsense {
      #expect(fixture.handle(event) == [.ignored], "\(event)")
      #expect(fixture.machine == before, "\(event)")
    }
  }

  @Test func `replaces the previous session at a new sign-in and revokes it at the server`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    fixture.signIn(.sample(0, session: "s2"))
    #expect(fixture.failure(caller) == .signedOut(.replaced))
    #expect(fixture.machine.access?.token == AccessToken("access-s2-0"))
    #expect(fixture.effects.contains(.revoke(SessionID("s1"), RevocationHandle("handle-s1"))))
  }
}

extension SessionState {
  fileprivate var upcomingEnd: UpcomingEnd? { if case .signedIn(let facts) = self { facts.upcomingEnd } else { nil } }
  fileprivate var isSignedIn: Bool { if case .signedIn = self { true } else { false } }
}
