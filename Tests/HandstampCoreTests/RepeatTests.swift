import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The repeat of a refresh at a server without rotation keys` {
  private static let reset = RefreshResult.noDecision(.network(.connectionLost("reset")))

  private func asking(
    _ reuse: RefreshTokenReuse? = nil, sender: ProcessIdentity = ProcessIdentity(id: 0)
  ) -> (Bench, SessionMachine.Waiter) {
    var bench = Bench(
      policy: SessionPolicy(refresh: RefreshPolicy(reuse: reuse)), supportsRotationKeys: false, sender: sender)
    bench.run(.start)
    bench.signIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let caller = bench.demand()
    return (bench, caller)
  }

  @Test(arguments: [
    reset, .noDecision(.server(.init(status: 503)), retryAfter: .seconds(60)), .noDecision(.server(.init(status: 404))),
    .noDecision(.server(.init(status: 200, detail: "not a token response"))),
  ])
  func `follows within two seconds of an exchange that is over`(answer: RefreshResult) {
    for entropy in [0, UInt64.max] {
      var (bench, caller) = asking()
      bench.answer(answer, entropy: entropy)
      #expect(bench.failure(caller) == nil)
      let pause = bench.timers[.retry]?.after ?? .zero
      #expect(pause >= .seconds(1) && pause <= .seconds(2))
      bench.fire(.retry)
      #expect(bench.asked.map(\.token) == [RefreshToken("refresh-s1-0")])
      #expect(bench.vault?.session?.attempt?.first != nil)
      bench.answer(.granted(.sample(1)))
      #expect(bench.token(caller) == "access-s1-1")
      #expect(bench.vault?.session?.attempt == nil)
    }
  }

  @Test func `is given up after the policy's attempts, and keeps no other process waiting`() {
    var (bench, caller) = asking()
    for _ in 0..<3 {
      bench.answer(Self.reset)
      bench.fire(.retry)
    }
    bench.answer(Self.reset)
    #expect(bench.asked.isEmpty && bench.failure(caller) != nil)
    #expect(bench.vault?.session?.attempt?.isOver == true)
    var other = Bench(vault: bench.vault, supportsRotationKeys: false)
    other.now = bench.now
    other.run(.start)
    other.demand()
    #expect(other.asked.count == 1)
  }

  @Test(arguments: [
    (RefreshTokenReuse.overlap(.seconds(5)), Duration.milliseconds(1667)), (.overlap(.seconds(30)), .seconds(10)),
    (.overlap(.seconds(120)), .seconds(20)), (.overlap(.seconds(86_400)), .seconds(20)), (.predecessor, .seconds(20)),
    (.notRotated, .seconds(10)), (.never, .seconds(60)),
  ])
  func `follows silence after a third of a known overlap`(reuse: RefreshTokenReuse, wait: Duration) {
    let (bench, _) = asking(reuse)
    let after = bench.timers[.answer]?.after ?? .zero
    #expect(abs((after - wait) / .milliseconds(1)) < 1)
    #expect(bench.vault?.session?.attempt?.limit == after)
  }

  @Test(arguments: [RefreshTokenReuse.overlap(.seconds(5)), .overlap(.seconds(30)), .overlap(.seconds(60))])
  func `fits into a known overlap after two lost responses`(reuse: RefreshTokenReuse) {
    guard case .overlap(let overlap) = reuse else { return }
    for isSilent in [[true, true], [true, false], [false, true], [false, false]] {
      var (bench, caller) = asking(reuse)
      let begun = bench.now
      for silent in isSilent {
        if silent {
          bench.fire(.answer)
        } else {
          bench.answer(Self.reset, entropy: .max)
          bench.fire(.retry)
        }
      }
      #expect(bench.asked.count == 1)
      #expect((bench.now.elapsed(since: begun) ?? overlap) < overlap)
      bench.answer(.granted(.sample(1)))
      #expect(bench.token(caller) == "access-s1-1")
    }
  }

  @Test func `comes under the rule for strict servers once the known overlap has passed`() {
    var (bench, caller) = asking(.overlap(.seconds(30)))
    for _ in 0..<3 { bench.fire(.answer) }
    #expect(bench.asked.isEmpty && bench.failure(caller) != nil)
    bench.now = bench.now.advanced(by: .seconds(30))
    bench.demand()
    #expect(bench.asked.count == 1)
    #expect(bench.timers[.answer]?.after == .seconds(60))
  }

  @Test func `is at once where tokens were seen not to change, until one does`() {
    var (bench, _) = asking()
    var kept = TokenResponse.sample(1)
    kept.tokens.refresh = nil
    bench.answer(.granted(kept))
    #expect(bench.vault?.session?.isRotated == false)
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    #expect(bench.timers[.answer]?.after == .seconds(10))
    bench.answer(.granted(.sample(2)))
    #expect(bench.vault?.session?.isRotated == true)
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    #expect(bench.timers[.answer]?.after == .seconds(60))
  }

  @Test func `that is refused is said as that`() {
    var (bench, caller) = asking()
    bench.answer(Self.reset)
    bench.fire(.retry)
    bench.answer(.rejected(.rejected))
    #expect(bench.failure(caller) == .sessionEnded(.repeatRefused))
    #expect(bench.vault?.tombstones.last?.reason == .repeatRefused)
    var (other, first) = asking()
    other.answer(.rejected(.rejected))
    #expect(other.failure(first) == .sessionEnded(.rejected))
  }

  @Test func `follows a sender that has ended, but not one that cannot be seen or is suspended`() {
    let sender = ProcessIdentity(id: 8, startedAt: 5, namespace: 1)
    let (bench, _) = asking(sender: sender)
    for (own, ended, isSent) in [
      (ProcessIdentity(id: 9, startedAt: 6, namespace: 1), true, true),
      (ProcessIdentity(id: 9, startedAt: 6, namespace: 1), false, false),
      (ProcessIdentity(id: 9, startedAt: 6, namespace: 2), true, false), (ProcessIdentity(id: 9), true, false),
    ] {
      var other = Bench(vault: bench.vault, supportsRotationKeys: false, sender: own)
      other.now = bench.now.advanced(by: .seconds(1))
      if ended { other.ended = [sender] }
      other.run(.start)
      other.demand()
      #expect((other.asked.count == 1) == isSent, "\(own)")
    }
  }

  @Test func `of an earlier version's request carries no key`() {
    var (bench, _) = asking()
    bench.vault?.session?.attempt?.carriesKey = false
    bench.vault?.session?.attempt?.limit = nil
    var other = Bench(vault: bench.vault, supportsRotationKeys: false)
    other.now = bench.now.advanced(by: .seconds(61))
    other.run(.start)
    other.demand()
    #expect(other.uses == [.never])
    #expect(other.vault?.session?.attempt?.carriesKey == false)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A session whose server accepts rotation keys` {
  private func keyed() -> Bench {
    var bench = Bench(supportsRotationKeys: false)
    bench.run(.start)
    var grant = TokenResponse.sample(0)
    grant.acceptsRotationKey = true
    bench.signIn(grant)
    bench.now = bench.now.advanced(by: .seconds(600))
    return bench
  }

  @Test func `repeats the same pair freely, and records no attempt`() {
    var bench = keyed()
    let caller = bench.demand()
    let first = bench.asked.map(\.key)
    #expect(bench.vault?.session?.attempt == nil && bench.uses == [.always])
    bench.answer(.noDecision(.network(.timedOut)))
    bench.fire(.retry)
    #expect(bench.asked.map(\.key) == first && bench.failure(caller) == nil)
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(caller) == "access-s1-1")
  }

  @Test func `sends the key for good, but repeats freely only while the last response has used one`() {
    var bench = keyed()
    bench.demand()
    bench.answer(.granted(.sample(1)))
    #expect(bench.vault?.session?.rotationKeys == .ignored)
    bench.now = bench.now.advanced(by: .seconds(600))
    bench.demand()
    #expect(bench.uses == [.always, .always])
    #expect(bench.vault?.session?.attempt != nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A token for another target` {
  private let mail = TokenTarget(scopes: ["mail"])

  private func signedIn() -> Bench {
    var bench = Bench(supportsRotationKeys: false)
    bench.run(.start)
    bench.signIn()
    return bench
  }

  @Test func `comes from the session's one refresh, is remembered, and leaves the session's own token`() {
    var bench = signedIn()
    let caller = bench.demand(.init(target: mail))
    #expect(bench.targets == [mail])
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(caller) == "access-s1-1")
    #expect(bench.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
    #expect(bench.machine.access?.token == AccessToken("access-s1-0"))
    let again = bench.demand(.init(target: mail))
    #expect(bench.token(again) == "access-s1-1" && bench.targets == [mail])
  }

  @Test func `waits for a refresh in flight, and follows it`() {
    var bench = signedIn()
    bench.now = bench.now.advanced(by: .seconds(600))
    let own = bench.demand()
    let other = bench.demand(.init(target: mail))
    #expect(bench.targets == [nil])
    bench.answer(.granted(.sample(1)))
    #expect(bench.token(own) == "access-s1-1" && bench.failure(other) == nil)
    #expect(bench.targets == [nil, mail])
    bench.answer(.granted(.sample(2)))
    #expect(bench.token(other) == "access-s1-2")
    #expect(bench.machine.access?.token == AccessToken("access-s1-1"))
  }

  @Test func `that is refused fails its callers alone`() {
    for answer in [
      RefreshResult.rejected(.rejected), .superseded,
      .noDecision(.configuration(.init(status: 400, error: "invalid_scope"))),
    ] {
      var bench = signedIn()
      let caller = bench.demand(.init(target: mail))
      bench.answer(answer)
      #expect(bench.failure(caller) != nil)
      #expect(bench.machine.session == SessionID("s1") && bench.vault?.session?.attempt == nil)
    }
  }
}
