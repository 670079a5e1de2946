import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine serving tokens` {
  /// Signed in, with a token that lasts ten minutes.
  private func signedIn(policy: SessionPolicy = SessionPolicy()) -> Bench {
    var bench = Bench(policy: policy)
    bench.run(.start)
    bench.signIn()
    return bench
  }

  @Test func `serves the token it has without a request`() {
    var bench = signedIn()
    let caller = bench.demand()
    #expect(bench.token(caller) == "access-s1-0")
    #expect(bench.asked.isEmpty)
  }

  @Test func `sends one request for all callers that wait`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let callers = (0..<100).map { _ in bench.demand() }
    #expect(bench.asked.count == 1)
    bench.answer(.granted(.sample(1)))
    #expect(callers.allSatisfy { bench.token($0) == "access-s1-1" })
    #expect(bench.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
  }

  @Test(arguments: [
    (Duration.seconds(600) - .nanoseconds(1), true), (.seconds(600), false), (.seconds(600) + .nanoseconds(1), false),
  ])
  func `serves a token to its last nanosecond and not beyond`(age: Duration, serves: Bool) {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: age)
    let caller = bench.demand()
    #expect((bench.token(caller) != nil) == serves)
  }

  @Test func `clamps a validity above the token's lifetime, and a fresh token satisfies any`() {
    var bench = signedIn()
    let caller = bench.demand(.init(validity: .seconds(86_400)))
    #expect(bench.token(caller) == "access-s1-0")
    bench.now = bench.now.advanced(by: .seconds(121))
    let later = bench.demand(.init(validity: .seconds(86_400)))
    bench.answer(.granted(.sample(1, life: .seconds(2))))
    #expect(bench.token(later) == "access-s1-1")
  }

  @Test func `stores the rotation key before it sends the token`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.effects = []
    bench.demand()
    let order = bench.effects.compactMap { effect -> String? in
      switch effect {
      case .lock: "lock"
      case .edit(_, .prepare): "prepare"
      case .askRefresh: "ask"
      default: nil
      }
    }
    #expect(order == ["lock", "prepare", "ask"])
    #expect(bench.vault?.session?.pendingKey == bench.asked.first?.key)
  }

  @Test func `sends nothing if the key cannot be written`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.vaultTrouble = .unavailable("disk full")
    let caller = bench.demand()
    #expect(bench.asked.isEmpty)
    #expect(bench.failure(caller) == .storage(.unavailable("disk full")))
  }

  @Test func `repeats the same pair after a timeout, and after a restart`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    let first = bench.asked[0]
    bench.answer(.noDecision(.network(.timedOut)), entropy: .max)
    bench.fire(.retry)
    #expect(bench.asked[0].token == first.token)
    #expect(bench.asked[0].key == first.key)

    var relaunched = Bench(vault: bench.vault)
    relaunched.now = bench.now
    relaunched.keys = 100
    relaunched.run(.start)
    relaunched.demand()
    #expect(relaunched.asked[0].token == first.token)
    #expect(relaunched.asked[0].key == first.key)
  }

  @Test func `stops after its policy's attempts, keeps the session, and says when to retry`() {
    var bench = signedIn(policy: SessionPolicy(retry: RetryPolicy(attempts: 3)))
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    for _ in 0..<3 {
      bench.answer(.noDecision(.network(.timedOut), retryAfter: .seconds(7)))
      bench.fire(.retry)
    }
    #expect(bench.asked.isEmpty)
    #expect(bench.failure(caller) == .requestFailed(.network(.timedOut), retryAfter: .seconds(7)))
    #expect(bench.vault?.session != nil)
    // Callers that return at once cause no request.
    let next = bench.demand()
    #expect(bench.failure(next) == .requestFailed(.network(.timedOut), retryAfter: .seconds(7)))
    bench.now = bench.now.advanced(by: .seconds(7))
    bench.demand()
    #expect(bench.asked.count == 1)
  }

  @Test func `keeps serving a valid token while refreshing fails`() {
    var bench = signedIn(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)))
    bench.now = bench.now.advanced(by: .seconds(500))
    let caller = bench.demand(.init(validity: .seconds(300)))
    bench.answer(.noDecision(.network(.timedOut)))
    #expect(bench.token(caller) == "access-s1-0")
  }

  @Test func `serves a newer token in place of a refused one, without a refresh`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(60))
    bench.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    bench.answer(.granted(.sample(1)))
    let late = bench.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    #expect(bench.token(late) == "access-s1-1")
    #expect(bench.asked.isEmpty)
  }

  @Test(arguments: [(Duration.seconds(5) - .nanoseconds(1), true), (.seconds(5), false)])
  func `does not loop at an API that refuses every token`(age: Duration, refuses: Bool) {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: age)
    let caller = bench.demand(.init(refused: .accessToken(AccessToken("access-s1-0"))))
    #expect((bench.failure(caller) == .tokenRejected) == refuses)
    #expect(bench.asked.isEmpty == refuses)
  }

  @Test func `waits longer after each refresh that brought no tokens`() {
    let retry = RetryPolicy(attempts: 1, base: .seconds(1), cap: .seconds(4))
    var bench = signedIn(policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false), retry: retry))
    bench.now = bench.now.advanced(by: .seconds(600))
    // The first comes at once; after each failure, nothing is sent before the whole pause has passed.
    for pause in [0, 1, 2, 4, 4, 4] {
      bench.now = bench.now.advanced(by: .seconds(pause) - (pause == 0 ? .zero : .milliseconds(10)))
      let early = bench.demand()
      #expect(bench.asked.isEmpty == (pause > 0), "after \(pause) s")
      if pause > 0 {
        #expect(bench.failure(early) != nil)
        bench.now = bench.now.advanced(by: .milliseconds(10))
        bench.demand()
      }
      bench.answer(.noDecision(.network(.timedOut)), entropy: .max)
    }
  }

  @Test func `adopts tokens that another process refreshed first`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.vault?.session?.refresh = RefreshToken("theirs")
    bench.vault?.revision += 1
    bench.vault?.session?.access = StoredAccess(
      token: AccessToken("their access"), lifetime: Lifetime(start: bench.now, duration: .seconds(600)))
    let caller = bench.demand()
    #expect(bench.token(caller) == "their access")
    #expect(bench.asked.isEmpty)
  }

  @Test func `does not rotate if new tokens arrived while it waited for the lock`() {
    var bench = signedIn(policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.waiter()
    let effects = bench.handle(.demand(caller, .init()))
    guard case .lock(let operation, _)? = effects.last, let key = RotationKey.sample(1) else {
      Issue.record("no lock was asked for")
      return
    }
    // The signal of the other process's write arrives before the lock does.
    bench.vault?.session?.refresh = RefreshToken("theirs")
    bench.vault?.revision += 1
    bench.vault?.session?.access = StoredAccess(
      token: AccessToken("their access"), lifetime: Lifetime(start: bench.now, duration: .seconds(600)))
    guard case .read(let look)? = bench.handle(.vaultChanged).last, let entry = bench.vault else {
      Issue.record("it did not look")
      return
    }
    bench.handle(.read(look, .value(entry)))
    #expect(bench.token(caller) == "their access")
    #expect(bench.handle(.locked(operation, key)) == [.unlock(operation)])
    #expect(bench.asked.isEmpty)
  }

  @Test func `reads again if over half a minute passed between reading and sending`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let waiter = bench.waiter()
    var prepares = 0
    var next = bench.handle(.demand(waiter, .init()))
    // By hand: the vault answered, then the process was suspended.
    while let effect = next.first(where: { if case .lock = $0 { true } else if case .edit = $0 { true } else { false } }
    ) {
      switch effect {
      case .lock(let operation, _): next = bench.handle(.locked(operation, .sample(1)!))
      case .edit(let operation, let edit):
        prepares += 1
        let asOf = bench.now
        if prepares == 1 { bench.now = bench.now.advanced(by: .seconds(31)) }
        next = bench.handle(.edited(operation, bench.apply(edit), asOf: asOf))
      default: next = []
      }
    }
    #expect(prepares == 2)
    #expect(bench.asked.count == 1)
  }

  @Test func `serves refreshed tokens it could not store, retries the write, and rotates no further`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    bench.vaultTrouble = .unavailable("disk full")
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(caller) == "access-s1-1")
    bench.now = bench.now.advanced(by: .seconds(601))
    let second = bench.demand()
    guard case .storage(.unavailable(let words)) = bench.failure(second) else {
      Issue.record("\(String(describing: bench.failure(second)))")
      return
    }
    #expect(words == "disk full; the new tokens are only in memory until the vault can be written")
    #expect(bench.asked.isEmpty)
    bench.vaultTrouble = nil
    bench.fire(.save)
    #expect(bench.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
  }

  @Test func `refreshes ahead of expiry, by a margin that shrinks with short lifetimes`() {
    let bench = signedIn()
    #expect(bench.timers[.refresh]?.after == .seconds(480))
    var short = Bench()
    short.run(.start)
    short.signIn(.sample(0, life: .seconds(60)))
    #expect(short.timers[.refresh]?.after == .seconds(48))
    short.fire(.refresh)
    #expect(short.asked.count == 1)
  }

  @Test func `reports noRefreshToken when a session without one expires, and erases nothing`() {
    var bench = Bench()
    bench.run(.start)
    var grant = TokenResponse.sample(0)
    grant.tokens.refresh = nil
    bench.signIn(grant)
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    #expect(bench.failure(caller) == .noRefreshToken)
    #expect(bench.failure(caller)?.recovery == .signIn)
    #expect(bench.vault?.session != nil)
  }

  @Test func `treats another account's tokens as no answer`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    bench.answer(.granted(.sample(1, session: "s2")))
    #expect(bench.vault?.session?.refresh == RefreshToken("refresh-s1-0"))
    #expect(bench.timers[.retry] != nil)
    var once = Bench(policy: SessionPolicy(retry: RetryPolicy(attempts: 1)))
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
      var bench = Bench(supportsRotationKeys: keepsKeys)
      bench.run(.start)
      bench.signIn()
      bench.now = bench.now.advanced(by: .seconds(600))
      bench.lockIsFree = false
      bench.demand()
      #expect(bench.asked.isEmpty != keepsKeys)
      bench.lockIsFree = true
      bench.fire(.retry)
      #expect(bench.asked.count == 1)
    }
  }

  @Test func `lets one caller cancel without the others`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let leaver = bench.demand()
    let stayer = bench.demand()
    bench.run(.gone(leaver))
    bench.answer(.granted(.sample(1)))
    #expect(bench.results[leaver] == nil)
    #expect(bench.token(stayer) == "access-s1-1")
  }
}
