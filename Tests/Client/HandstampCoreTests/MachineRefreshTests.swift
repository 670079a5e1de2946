import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine serving tokens` {
  /// Signed in, with a token that lasts ten minutes.
  private func signedIn(policy: SessionPolicy = SessionPolicy()) -> MachineFixture {
    var fixture = MachineFixture(policy: policy)
    fixture.run(.start)
    fixture.signIn()
    return fixture
  }

  @Test func `serves the token it has without a request`() {
    var fixture = signedIn()
    let caller = fixture.demand()
    #expect(fixture.token(caller) == "access-s1-0")
    #expect(fixture.asked.isEmpty)
  }

  @Test func `sends one request for all callers that wait`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let callers = (0..<100).map { _ in fixture.demand() }
    #expect(fixture.asked.count == 1)
    fixture.answer(.granted(.sample(1)))
    #expect(callers.allSatisfy { fixture.token($0) == "access-s1-1" })
    #expect(fixture.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
  }

  @Test(arguments: [
    (Duration.seconds(600) - .nanoseconds(1), true), (.seconds(600), false), (.seconds(600) + .nanoseconds(1), false),
  ])
  func `serves a token to its last nanosecond and not beyond`(age: Duration, serves: Bool) {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: age)
    let caller = fixture.demand()
    #expect((fixture.token(caller) != nil) == serves)
  }

  @Test func `clamps a validity above the token's lifetime, and a fresh token satisfies any`() {
    var fixture = signedIn()
    let caller = fixture.demand(.init(validity: .seconds(86_400)))
    #expect(fixture.token(caller) == "access-s1-0")
    fixture.now = fixture.now.advanced(by: .seconds(121))
    let later = fixture.demand(.init(validity: .seconds(86_400)))
    fixture.answer(.granted(.sample(1, life: .seconds(2))))
    #expect(fixture.token(later) == "access-s1-1")
  }

  @Test func `stores the rotation key before it sends the token`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.effects = []
    fixture.demand()
    let order = fixture.effects.compactMap { effect -> String? in
      switch effect {
      case .lock: "lock"
      case .edit(_, .prepare): "prepare"
      case .askRefresh: "ask"
      default: nil
      }
    }
    #expect(order == ["lock", "prepare", "ask"])
    #expect(fixture.vault?.session?.pendingKey == fixture.asked.first?.key)
  }

  @Test func `sends nothing if the key cannot be written`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.vaultTrouble = .unavailable("disk full")
    let caller = fixture.demand()
    #expect(fixture.asked.isEmpty)
    #expect(fixture.failure(caller) == .storage(.unavailable("disk full")))
  }

  @Test func `repeats the same pair after a timeout, and after a restart`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    let first = fixture.asked[0]
    fixture.answer(.noDecision(.network(.timedOut)), entropy: .max)
    fixture.fire(.retry)
    #expect(fixture.asked[0].token == first.token)
    #expect(fixture.asked[0].key == first.key)

    var relaunched = MachineFixture(vault: fixture.vault)
    relaunched.now = fixture.now
    relaunched.keys = 100
    relaunched.run(.start)
    relaunched.demand()
    #expect(relaunched.asked[0].token == first.token)
    #expect(relaunched.asked[0].key == first.key)
  }

  @Test func `stops after its policy's attempts, keeps the session, and says when to retry`() {
    var fixture = signedIn(policy: SessionPolicy(retry: RetryPolicy(attempts: 3)))
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    for _ in 0..<3 {
      fixture.answer(.noDecision(.network(.timedOut), retryAfter: .seconds(7)))
      fixture.fire(.retry)
    }
    #expect(fixture.asked.isEmpty)
    #expect(fixture.failure(caller) == .requestFailed(.network(.timedOut), retryAfter: .seconds(7)))
    #expect(fixture.vault?.session != nil)
    // Callers that return at once cause no request.
    let next = fixture.demand()
    #expect(fixture.failure(next) == .requestFailed(.network(.timedOut), retryAfter: .seconds(7)))
    fixture.now = fixture.now.advanced(by: .seconds(7))
    fixture.demand()
    #expect(fixture.asked.count == 1)
  }

  @Test func `keeps serving a valid token while refreshing fails`() {
    var fixture = signedIn(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)))
    fixture.now = fixture.now.advanced(by: .seconds(500))
    let caller = fixture.demand(.init(validity: .seconds(300)))
    fixture.answer(.noDecision(.network(.timedOut)))
    #expect(fixture.token(caller) == "access-s1-0")
  }

  @Test func `serves a newer token in place of a refused one, without a refresh`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(60))
    fixture.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    fixture.answer(.granted(.sample(1)))
    let late = fixture.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    #expect(fixture.token(late) == "access-s1-1")
    #expect(fixture.asked.isEmpty)
  }

  @Test(arguments: [(Duration.seconds(5) - .nanoseconds(1), true), (.seconds(5), false)])
  func `does not loop at an API that refuses every token`(age: Duration, refuses: Bool) {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: age)
    let caller = fixture.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    #expect((fixture.failure(caller) == .tokenRejected) == refuses)
    #expect(fixture.asked.isEmpty == refuses)
  }

  @Test func `waits longer after each refresh that brought no tokens`() {
    let retry = RetryPolicy(attempts: 1, base: .seconds(1), cap: .seconds(4))
    var fixture = signedIn(policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false), retry: retry))
    fixture.now = fixture.now.advanced(by: .seconds(600))
    // The first comes at once; after each failure, nothing is sent before the whole pause has passed.
    for pause in [0, 1, 2, 4, 4, 4] {
      fixture.now = fixture.now.advanced(by: .seconds(pause) - (pause == 0 ? .zero : .milliseconds(10)))
      let early = fixture.demand()
      #expect(fixture.asked.isEmpty == (pause > 0), "after \(pause) s")
      if pause > 0 {
        #expect(fixture.failure(early) != nil)
        fixture.now = fixture.now.advanced(by: .milliseconds(10))
        fixture.demand()
      }
      fixture.answer(.noDecision(.network(.timedOut)), entropy: .max)
    }
  }

  @Test func `adopts tokens that another process refreshed first`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.vault?.session?.refresh = RefreshToken("theirs")
    fixture.vault?.revision += 1
    fixture.vault?.session?.access = StoredAccess(
      token: AccessToken("their access"), lifetime: Lifetime(start: fixture.now, duration: .seconds(600)))
    let caller = fixture.demand()
    #expect(fixture.token(caller) == "their access")
    #expect(fixture.asked.isEmpty)
  }

  @Test func `does not rotate if new tokens arrived while it waited for the lock`() {
    var fixture = signedIn(policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.waiter()
    let effects = fixture.handle(.demand(caller, .init()))
    guard case .lock(let operation, _)? = effects.last, let key = RotationKey.sample(1) else {
      Issue.record("no lock was asked for")
      return
    }
    // The signal of the other process's write arrives before the lock does.
    fixture.vault?.session?.refresh = RefreshToken("theirs")
    fixture.vault?.revision += 1
    fixture.vault?.session?.access = StoredAccess(
      token: AccessToken("their access"), lifetime: Lifetime(start: fixture.now, duration: .seconds(600)))
    guard case .read(let look)? = fixture.handle(.vaultChanged).last, let entry = fixture.vault else {
      Issue.record("it did not look")
      return
    }
    fixture.handle(.read(look, .value(entry)))
    #expect(fixture.token(caller) == "their access")
    #expect(fixture.handle(.locked(operation, key)) == [.unlock(operation)])
    #expect(fixture.asked.isEmpty)
  }

  @Test func `reads again if over half a minute passed between reading and sending`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let waiter = fixture.waiter()
    var prepares = 0
    var next = fixture.handle(.demand(waiter, .init()))
    // By hand: the vault answered, then the process was suspended.
    while let effect = next.first(where: { if case .lock = $0 { true } else if case .edit = $0 { true } else { false } }
    ) {
      switch effect {
      case .lock(let operation, _): next = fixture.handle(.locked(operation, .sample(1)!))
      case .edit(let operation, let edit):
        prepares += 1
        let asOf = fixture.now
        if prepares == 1 { fixture.now = fixture.now.advanced(by: .seconds(31)) }
        next = fixture.handle(.edited(operation, fixture.apply(edit), asOf: asOf))
      default: next = []
      }
    }
    #expect(prepares == 2)
    #expect(fixture.asked.count == 1)
  }

  @Test func `serves refreshed tokens it could not store, retries the write, and rotates no further`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    fixture.vaultTrouble = .unavailable("disk full")
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(caller) == "access-s1-1")
    fixture.now = fixture.now.advanced(by: .seconds(601))
    let second = fixture.demand()
    guard case .storage(.unavailable(let words)) = fixture.failure(second) else {
      Issue.record("\(String(describing: fixture.failure(second)))")
      return
    }
    #expect(words == "disk full; the new tokens are only in memory until the vault can be written")
    #expect(fixture.asked.isEmpty)
    fixture.vaultTrouble = nil
    fixture.fire(.save)
    #expect(fixture.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
  }

  @Test func `refreshes ahead of expiry, by a margin that shrinks with short lifetimes`() {
    let fixture = signedIn()
    #expect(fixture.timers[.refresh]?.after == .seconds(480))
    var short = MachineFixture()
    short.run(.start)
    short.signIn(.sample(0, life: .seconds(60)))
    #expect(short.timers[.refresh]?.after == .seconds(48))
    short.fire(.refresh)
    #expect(short.asked.count == 1)
  }

  @Test func `reports noRefreshToken when a session without one expires, and erases nothing`() {
    var fixture = MachineFixture()
    fixture.run(.start)
    var grant = TokenResponse.sample(0)
    grant.tokens.refresh = nil
    fixture.signIn(grant)
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    #expect(fixture.failure(caller) == .noRefreshToken)
    #expect(fixture.failure(caller)?.recovery == .signIn)
    #expect(fixture.vault?.session != nil)
  }

  @Test func `treats another account's tokens as no answer`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    fixture.answer(.granted(.sample(1, session: "s2")))
    #expect(fixture.vault?.session?.refresh == RefreshToken("refresh-s1-0"))
    #expect(fixture.timers[.retry] != nil)
    var once = MachineFixture(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)))
    once.run(.start)
    once.signIn()
    once.now = once.now.advanced(by: .seconds(600))
    let caller = once.demand()
    once.answer(.granted(.sample(1, session: "s2")))
    guard case .requestFailed(.unusableTokens("they belong to another session", nil), _)? = once.failure(caller) else {
      Issue.record("\(String(describing: once.failure(caller)))")
      return
    }
  }

  @Test func `continues without the refresh lock only if the server supports rotation keys`() {
    for keepsKeys in [true, false] {
      var fixture = MachineFixture(supportsRotationKeys: keepsKeys)
      fixture.run(.start)
      fixture.signIn()
      fixture.now = fixture.now.advanced(by: .seconds(600))
      fixture.lockIsFree = false
      fixture.demand()
      #expect(fixture.asked.isEmpty != keepsKeys)
      fixture.lockIsFree = true
      fixture.fire(.retry)
      #expect(fixture.asked.count == 1)
    }
  }

  @Test func `lets one caller cancel without the others`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let leaver = fixture.demand()
    let stayer = fixture.demand()
    fixture.run(.gone(leaver))
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.results[leaver] == nil)
    #expect(fixture.token(stayer) == "access-s1-1")
  }
}
