import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The clean-up after a session` {
  static let steps = [
    Cleanup("memory", .always), Cleanup("jar", .cookies), Cleanup("settings", .preferences),
    Cleanup("store", .database),
  ]

  func signedIn(policy: SessionPolicy = SessionPolicy()) -> MachineFixture {
    var fixture = MachineFixture(policy: policy, cleanups: Self.steps)
    fixture.run(.start)
    fixture.signIn()
    return fixture
  }

  @Test(arguments: [
    (SignOutPlan(), ["memory"]), (.expiry, ["memory", "jar"]), (.standard, ["memory", "jar", "settings"]),
    (.standard.erasing(.database).keeping(.cookies), ["memory", "settings", "store"]),
    (.everything, ["memory", "jar", "settings", "store"]),
    (.everything.keeping(.always), ["memory", "jar", "settings", "store"]),
  ])
  func `follows the plan`(_ plan: SignOutPlan, _ names: [String]) {
    var fixture = signedIn()
    fixture.signOut(.signedOut, plan)
    #expect(fixture.cleaning.map(\.step) == names)
    #expect(fixture.vault?.tombstones.last?.steps == names)
  }

  @Test(arguments: [
    (EndReason.revoked, ["memory", "jar", "settings"]), (.accountClosed, ["memory", "jar", "settings", "store"]),
    (.tokenReuseDetected, ["memory", "jar"]), (.expired, ["memory", "jar"]),
  ])
  func `follows the reason if no plan was given`(_ reason: EndReason, _ names: [String]) {
    var fixture = signedIn()
    fixture.run(.ended(SessionID("s1"), reason))
    #expect(fixture.cleaning.map(\.step) == names)
  }

  @Test func `begins after the sign-out is published, and before it finishes`() throws {
    var fixture = signedIn()
    fixture.effects = []
    let command = fixture.signOut()
    let order = fixture.effects.map { effect in
      switch effect {
      case .publish: "publish"
      case .cancelRequests: "cancel"
      case .clean: "clean"
      case .finish(command, _): "finish"
      case .revoke: "revoke"
      default: ""
      }
    }.filter { !$0.isEmpty }
    #expect(order == ["publish", "cancel", "clean", "clean", "clean", "finish", "revoke"])
  }

  @Test func `names the account`() {
    var fixture = signedIn()
    fixture.signOut()
    #expect(
      fixture.cleaning.first?.ended
        == EndedSession(id: SessionID("s1"), account: AccountID("ada"), reason: .signedOut))
  }

  @Test func `resumes step by step at the next launch after a crash`() {
    var fixture = signedIn()
    fixture.signOut()
    for left in [["memory", "jar", "settings"], ["jar", "settings"], ["settings"]] {
      #expect(fixture.vault?.tombstones.last?.steps == left)
      var relaunched = MachineFixture(vault: fixture.vault, cleanups: Self.steps)
      relaunched.run(.start)
      #expect(relaunched.cleaning.map(\.step) == left)
      fixture.clean()
    }
    var relaunched = MachineFixture(vault: fixture.vault, cleanups: Self.steps)
    relaunched.run(.start)
    #expect(relaunched.cleaning.isEmpty)
  }

  @Test func `leaves another program's steps to that program`() {
    var fixture = signedIn()
    fixture.signOut()
    var other = MachineFixture(vault: fixture.vault, cleanups: [Cleanup("jar", .cookies)])
    other.run(.start)
    #expect(other.cleaning.map(\.step) == ["jar"])
    other.clean()
    #expect(other.vault?.tombstones.last?.steps == ["memory", "settings"])
  }

  @Test func `runs in every program that showed the session`() {
    let fixture = signedIn()
    var other = MachineFixture(vault: fixture.vault, cleanups: [Cleanup("images", .cookies)])
    other.run(.start)
    var first = fixture
    first.signOut()
    other.vault = first.vault
    other.run(.vaultChanged)
    #expect(other.cleaning.map(\.step) == ["images"])
  }

  @Test func `is retried a bounded number of times, and again when the network is back`() {
    var fixture = signedIn(policy: SessionPolicy(retry: RetryPolicy(attempts: 3)))
    fixture.signOut(.signedOut, SignOutPlan())
    for _ in 0..<2 {
      fixture.clean(succeeding: false)
      #expect(fixture.cleaning.isEmpty)
      #expect(fixture.timers[.clean].map { $0.after >= .seconds(1) } == true)
      fixture.fire(.clean)
      #expect(fixture.cleaning.map(\.step) == ["memory"])
    }
    fixture.timers[.clean] = nil
    fixture.clean(succeeding: false)
    #expect(fixture.timers[.clean] == nil)
    #expect(fixture.vault?.tombstones.last?.steps == ["memory"])
    fixture.run(.conditionsChanged)
    fixture.clean()
    #expect(fixture.vault?.tombstones.last?.steps == [])
    #expect(fixture.machine.cleanups.pending.isEmpty)
  }

  @Test func `runs even if the tombstone could not be written`() {
    var fixture = signedIn()
    fixture.vaultTrouble = .unavailable("full")
    fixture.signOut()
    #expect(fixture.cleaning.map(\.step) == ["memory", "jar", "settings"])
    fixture.vaultTrouble = nil
    fixture.fire(.bury)
    // Pending steps are not requested twice.
    #expect(fixture.cleaning.count == 3)
    #expect(fixture.vault?.tombstones.last?.steps == ["memory", "jar", "settings"])
  }

  @Test func `spares data of the same account's next session, but not another account's`() {
    var fixture = signedIn()
    fixture.signIn(.sample(0, session: "s2"))
    #expect(fixture.cleaning.isEmpty)
    var grant = TokenResponse.sample(0, session: "s3")
    grant.profile = Profile(id: AccountID("bob"), name: "Bob")
    fixture.signIn(grant)
    #expect(fixture.cleaning.map(\.step) == ["memory", "jar"])
    #expect(fixture.cleaning.first?.ended.account == AccountID("ada"))
    // And it finishes before that session begins.
    #expect(fixture.machine.access == nil)
    fixture.clean()
    #expect(fixture.machine.access == nil)
    fixture.clean()
    #expect(fixture.machine.access?.token == AccessToken("access-s3-0"))
    #expect(fixture.vault?.session?.id == SessionID("s3"))
  }

  @Test func `delays a sign-in for at most ten seconds`() {
    var fixture = signedIn()
    fixture.signOut()
    fixture.signIn(.sample(0, session: "s2"))
    #expect(fixture.machine.access == nil)
    #expect(fixture.timers[.hold]?.after == .seconds(10))
    fixture.fire(.hold)
    #expect(fixture.machine.access?.token == AccessToken("access-s2-0"))
    // Unfinished steps belong to the same user, and failed ones are not retried.
    fixture.clean(succeeding: false)
    fixture.run(.conditionsChanged)
    #expect(fixture.cleaning.count == 2)
    #expect(fixture.vault?.tombstones.allSatisfy { $0.steps.isEmpty } == true)
  }

  @Test func `never begins while a user is signed in`() {
    var fixture = signedIn()
    _ = fixture.apply(
      .bury(
        Tombstone(
          session: SessionID("old"), reason: .signedOut, endedAt: noon, revocation: nil, account: AccountID("bob"),
          steps: ["jar"])))
    fixture.run(.vaultChanged)
    fixture.run(.conditionsChanged)
    #expect(fixture.cleaning.isEmpty)
    fixture.signOut(.signedOut, SignOutPlan())
    #expect(Set(fixture.cleaning.map(\.step)) == ["jar", "memory"])
  }

  @Test func `yields to a sign-out while it delays a sign-in`() {
    var fixture = signedIn()
    fixture.signOut()
    let attempt = fixture.waiter()
    fixture.run(.signIn(attempt))
    fixture.run(
      .signInAnswered(attempt, .success(.sample(0, session: "s2")), by: .init(.password), fallback: SessionID("f")))
    fixture.signOut()
    #expect(fixture.outcomes[attempt] == .failure(.cancelled))
    // No process holds the session: the server ends it.
    #expect(fixture.effects.contains(.revoke(SessionID("s2"), RevocationHandle("handle-s2"))))
    while !fixture.cleaning.isEmpty { fixture.clean() }
    #expect(fixture.machine.access == nil)
    #expect(fixture.vault?.session == nil)
  }

  @Test func `can also be requested after the end`() {
    var fixture = signedIn(policy: SessionPolicy(absoluteLimit: .seconds(60), endNotice: .zero))
    fixture.fire(.limit)
    while !fixture.cleaning.isEmpty { fixture.clean() }
    fixture.signOut(.signedOut, .everything)
    #expect(fixture.cleaning.map(\.step) == ["memory", "jar", "settings", "store"])
    #expect(fixture.vault?.tombstones.count == 1)
    #expect(fixture.states.last == .signedOut(.expired))
  }

  @Test func `keeps the tombstone until both the steps and the revocation are done`() {
    var fixture = signedIn()
    fixture.signOut(.signedOut, SignOutPlan())
    fixture.run(.revoked(SessionID("s1"), .ended))
    #expect(fixture.vault?.tombstones.last?.isFinished == false)
    fixture.clean()
    fixture.signIn(.sample(0, session: "s2"))
    fixture.signOut(.signedOut, SignOutPlan())
    fixture.clean()
    #expect(fixture.vault?.tombstones.map(\.session) == [SessionID("s1"), SessionID("s2")])
    fixture.run(.revoked(SessionID("s2"), .ended))
    #expect(fixture.vault?.tombstones.map(\.session) == [SessionID("s2")])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An idle limit` {
  @Test func `counts activity in another program`() {
    let policy = SessionPolicy(idleLimit: .seconds(900), endNotice: .zero)
    var fixture = MachineFixture(policy: policy)
    fixture.run(.start)
    fixture.signIn()
    // No signal reports it.
    _ = fixture.apply(.touch(SessionID("s1"), at: noon.advanced(by: .seconds(600))))
    fixture.fire(.limit)
    #expect(fixture.machine.access != nil)
    #expect(fixture.timers[.limit]?.after == .seconds(600))
    fixture.fire(.limit)
    #expect(fixture.states.last == .signedOut(.idle))
  }

  @Test func `also applies while the vault cannot be read`() {
    var fixture = MachineFixture(policy: SessionPolicy(idleLimit: .seconds(900)))
    fixture.run(.start)
    fixture.signIn()
    fixture.vaultTrouble = .locked
    // The notice, then the end.
    fixture.fire(.limit)
    #expect(fixture.machine.access != nil)
    fixture.fire(.limit)
    #expect(fixture.states.last == .signedOut(.idle))
  }
}
