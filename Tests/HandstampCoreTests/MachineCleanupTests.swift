import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The clean-up after a session` {
  static let steps = [
    Cleanup("memory", .always), Cleanup("jar", .cookies), Cleanup("settings", .preferences),
    Cleanup("store", .database),
  ]

  func signedIn(policy: SessionPolicy = SessionPolicy()) -> Bench {
    var bench = Bench(policy: policy, cleanups: Self.steps)
    bench.run(.start)
    bench.signIn()
    return bench
  }

  @Test(arguments: [
    (SignOutPlan(), ["memory"]), (.expiry, ["memory", "jar"]), (.standard, ["memory", "jar", "settings"]),
    (.standard.erasing(.database).keeping(.cookies), ["memory", "settings", "store"]),
    (.everything, ["memory", "jar", "settings", "store"]),
    (.everything.keeping(.always), ["memory", "jar", "settings", "store"]),
  ])
  func `follows the plan`(_ plan: SignOutPlan, _ names: [String]) {
    var bench = signedIn()
    bench.signOut(.signedOut, plan)
    #expect(bench.cleaning.map(\.step) == names)
    #expect(bench.vault?.tombstones.last?.steps == names)
  }

  @Test(arguments: [
    (EndReason.revoked, ["memory", "jar", "settings"]), (.accountClosed, ["memory", "jar", "settings", "store"]),
    (.tokenReuseDetected, ["memory", "jar"]), (.expired, ["memory", "jar"]),
  ])
  func `follows the reason if no plan was given`(_ reason: EndReason, _ names: [String]) {
    var bench = signedIn()
    bench.run(.ended(SessionID("s1"), reason))
    #expect(bench.cleaning.map(\.step) == names)
  }

  @Test func `begins after the sign-out is published, and before it finishes`() throws {
    var bench = signedIn()
    bench.effects = []
    let command = bench.signOut()
    let order = bench.effects.map { effect in
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
    var bench = signedIn()
    bench.signOut()
    #expect(
      bench.cleaning.first?.ended
        == EndedSession(session: SessionID("s1"), account: AccountID("ada"), reason: .signedOut))
  }

  @Test func `resumes step by step at the next launch after a crash`() {
    var bench = signedIn()
    bench.signOut()
    for left in [["memory", "jar", "settings"], ["jar", "settings"], ["settings"]] {
      #expect(bench.vault?.tombstones.last?.steps == left)
      var relaunched = Bench(vault: bench.vault, cleanups: Self.steps)
      relaunched.run(.start)
      #expect(relaunched.cleaning.map(\.step) == left)
      bench.clean()
    }
    var relaunched = Bench(vault: bench.vault, cleanups: Self.steps)
    relaunched.run(.start)
    #expect(relaunched.cleaning.isEmpty)
  }

  @Test func `leaves another program's steps to that program`() {
    var bench = signedIn()
    bench.signOut()
    var other = Bench(vault: bench.vault, cleanups: [Cleanup("jar", .cookies)])
    other.run(.start)
    #expect(other.cleaning.map(\.step) == ["jar"])
    other.clean()
    #expect(other.vault?.tombstones.last?.steps == ["memory", "settings"])
  }

  @Test func `runs in every program that showed the session`() {
    let bench = signedIn()
    var other = Bench(vault: bench.vault, cleanups: [Cleanup("images", .cookies)])
    other.run(.start)
    var first = bench
    first.signOut()
    other.vault = first.vault
    other.run(.vaultChanged)
    #expect(other.cleaning.map(\.step) == ["images"])
  }

  @Test func `is retried a bounded number of times, and again when the network is back`() {
    var bench = signedIn(policy: SessionPolicy(retry: RetryPolicy(attempts: 3)))
    bench.signOut(.signedOut, SignOutPlan())
    for _ in 0..<2 {
      bench.clean(succeeding: false)
      #expect(bench.cleaning.isEmpty)
      #expect(bench.timers[.clean].map { $0.after >= .seconds(1) } == true)
      bench.fire(.clean)
      #expect(bench.cleaning.map(\.step) == ["memory"])
    }
    bench.timers[.clean] = nil
    bench.clean(succeeding: false)
    #expect(bench.timers[.clean] == nil)
    #expect(bench.vault?.tombstones.last?.steps == ["memory"])
    bench.run(.conditionsChanged)
    bench.clean()
    #expect(bench.vault?.tombstones.last?.steps == [])
    #expect(bench.machine.cleanups.pending.isEmpty)
  }

  @Test func `runs even if the tombstone could not be written`() {
    var bench = signedIn()
    bench.vaultTrouble = .unavailable("full")
    bench.signOut()
    #expect(bench.cleaning.map(\.step) == ["memory", "jar", "settings"])
    bench.vaultTrouble = nil
    bench.fire(.bury)
    // Pending steps are not requested twice.
    #expect(bench.cleaning.count == 3)
    #expect(bench.vault?.tombstones.last?.steps == ["memory", "jar", "settings"])
  }

  @Test func `spares data of the same account's next session, but not another account's`() {
    var bench = signedIn()
    bench.signIn(.sample(0, session: "s2"))
    #expect(bench.cleaning.isEmpty)
    var grant = TokenResponse.sample(0, session: "s3")
    grant.profile = Profile(id: AccountID("bob"), name: "Bob")
    bench.signIn(grant)
    #expect(bench.cleaning.map(\.step) == ["memory", "jar"])
    #expect(bench.cleaning.first?.ended.account == AccountID("ada"))
    // And it finishes before that session begins.
    #expect(bench.machine.access == nil)
    bench.clean()
    #expect(bench.machine.access == nil)
    bench.clean()
    #expect(bench.machine.access?.token == AccessToken("access-s3-0"))
    #expect(bench.vault?.session?.id == SessionID("s3"))
  }

  @Test func `delays a sign-in for at most ten seconds`() {
    var bench = signedIn()
    bench.signOut()
    bench.signIn(.sample(0, session: "s2"))
    #expect(bench.machine.access == nil)
    #expect(bench.timers[.hold]?.after == .seconds(10))
    bench.fire(.hold)
    #expect(bench.machine.access?.token == AccessToken("access-s2-0"))
    // Unfinished steps belong to the same user, and failed ones are not retried.
    bench.clean(succeeding: false)
    bench.run(.conditionsChanged)
    #expect(bench.cleaning.count == 2)
    #expect(bench.vault?.tombstones.allSatisfy { $0.steps.isEmpty } == true)
  }

  @Test func `never begins while a user is signed in`() {
    var bench = signedIn()
    _ = bench.apply(
      .bury(
        Tombstone(
          session: SessionID("old"), reason: .signedOut, endedAt: noon, revocation: nil, account: AccountID("bob"),
          steps: ["jar"])))
    bench.run(.vaultChanged)
    bench.run(.conditionsChanged)
    #expect(bench.cleaning.isEmpty)
    bench.signOut(.signedOut, SignOutPlan())
    #expect(Set(bench.cleaning.map(\.step)) == ["jar", "memory"])
  }

  @Test func `yields to a sign-out while it delays a sign-in`() {
    var bench = signedIn()
    bench.signOut()
    let attempt = bench.waiter()
    bench.run(.signIn(attempt))
    bench.run(.signInAnswered(attempt, .success(.sample(0, session: "s2")), fallback: SessionID("f")))
    bench.signOut()
    #expect(bench.outcomes[attempt] == .failure(.cancelled))
    // No process holds the session: the server ends it.
    #expect(bench.effects.contains(.revoke(SessionID("s2"), RevocationHandle("handle-s2"))))
    while !bench.cleaning.isEmpty { bench.clean() }
    #expect(bench.machine.access == nil)
    #expect(bench.vault?.session == nil)
  }

  @Test func `can also be requested after the end`() {
    var bench = signedIn(policy: SessionPolicy(absoluteLimit: .seconds(60)))
    bench.fire(.limit)
    while !bench.cleaning.isEmpty { bench.clean() }
    bench.signOut(.signedOut, .everything)
    #expect(bench.cleaning.map(\.step) == ["memory", "jar", "settings", "store"])
    #expect(bench.vault?.tombstones.count == 1)
    #expect(bench.states.last == .signedOut(.signedOut))
  }

  @Test func `keeps the tombstone until both the steps and the revocation are done`() {
    var bench = signedIn()
    bench.signOut(.signedOut, SignOutPlan())
    bench.run(.revoked(SessionID("s1"), .ended))
    #expect(bench.vault?.tombstones.last?.isFinished == false)
    bench.clean()
    bench.signIn(.sample(0, session: "s2"))
    bench.signOut(.signedOut, SignOutPlan())
    bench.clean()
    #expect(bench.vault?.tombstones.map(\.session) == [SessionID("s1"), SessionID("s2")])
    bench.run(.revoked(SessionID("s2"), .ended))
    #expect(bench.vault?.tombstones.map(\.session) == [SessionID("s2")])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An idle limit` {
  @Test func `counts activity in another program`() {
    let policy = SessionPolicy(idleLimit: .seconds(900))
    var bench = Bench(policy: policy)
    bench.run(.start)
    bench.signIn()
    // No signal reports it.
    _ = bench.apply(.touch(SessionID("s1"), at: noon.advanced(by: .seconds(600))))
    bench.fire(.limit)
    #expect(bench.machine.access != nil)
    #expect(bench.timers[.limit]?.after == .seconds(600))
    bench.fire(.limit)
    #expect(bench.states.last == .signedOut(.idle))
  }

  @Test func `also applies while the vault cannot be read`() {
    var bench = Bench(policy: SessionPolicy(idleLimit: .seconds(900)))
    bench.run(.start)
    bench.signIn()
    bench.vaultTrouble = .locked
    bench.fire(.limit)
    #expect(bench.states.last == .signedOut(.idle))
  }
}
