import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The repeat of a refresh at a server without rotation keys` {
  private static let reset = RefreshResult.noDecision(.network(.connectionLost("reset")))

  private func asking(
    _ reuse: RefreshTokenReuse? = nil, sender: ProcessIdentity = ProcessIdentity(id: 0)
  ) -> (MachineFixture, SessionMachine.Waiter) {
    var fixture = MachineFixture(
      policy: SessionPolicy(refresh: RefreshPolicy(reuse: reuse)), supportsRotationKeys: false, sender: sender)
    fixture.run(.start)
    fixture.signIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let caller = fixture.demand()
    return (fixture, caller)
  }

  @Test(arguments: [
    reset, .noDecision(.server(.init(status: 503)), retryAfter: .seconds(60)), .noDecision(.server(.init(status: 404))),
    .noDecision(.server(.init(status: 200, detail: "not a token response"))),
  ])
  func `follows within two seconds of an exchange that is over`(answer: RefreshResult) {
    for entropy in [0, UInt64.max] {
      var (fixture, caller) = asking()
      fixture.answer(answer, entropy: entropy)
      #expect(fixture.failure(caller) == nil)
      let pause = fixture.timers[.retry]?.after ?? .zero
      #expect(pause >= .seconds(1) && pause <= .seconds(2))
      fixture.fire(.retry)
      #expect(fixture.asked.map(\.token) == [RefreshToken("refresh-s1-0")])
      #expect(fixture.vault?.session?.attempt?.first != nil)
      fixture.answer(.granted(.sample(1)))
      #expect(fixture.token(caller) == "access-s1-1")
      #expect(fixture.vault?.session?.attempt == nil)
    }
  }

  @Test func `is given up after the policy's attempts, and keeps no other process waiting`() {
    var (fixture, caller) = asking()
    for _ in 0..<3 {
      fixture.answer(Self.reset)
      fixture.fire(.retry)
    }
    fixture.answer(Self.reset)
    #expect(fixture.asked.isEmpty && fixture.failure(caller) != nil)
    #expect(fixture.vault?.session?.attempt?.isOver == true)
    var other = MachineFixture(vault: fixture.vault, supportsRotationKeys: false)
    other.now = fixture.now
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
    let (fixture, _) = asking(reuse)
    let after = fixture.timers[.answer]?.after ?? .zero
    #expect(abs((after - wait) / .milliseconds(1)) < 1)
    #expect(fixture.vault?.session?.attempt?.limit == after)
  }

  @Test(arguments: [RefreshTokenReuse.overlap(.seconds(5)), .overlap(.seconds(30)), .overlap(.seconds(60))])
  func `fits into a known overlap after two lost responses`(reuse: RefreshTokenReuse) {
    guard case .overlap(let overlap) = reuse else { return }
    for isSilent in [[true, true], [true, false], [false, true], [false, false]] {
      var (fixture, caller) = asking(reuse)
      let begun = fixture.now
      for silent in isSilent {
        if silent {
          fixture.fire(.answer)
        } else {
          fixture.answer(Self.reset, entropy: .max)
          fixture.fire(.retry)
        }
      }
      #expect(fixture.asked.count == 1)
      #expect((fixture.now.elapsed(since: begun) ?? overlap) < overlap)
      fixture.answer(.granted(.sample(1)))
      #expect(fixture.token(caller) == "access-s1-1")
    }
  }

  @Test func `comes under the rule for strict servers once the known overlap has passed`() {
    var (fixture, caller) = asking(.overlap(.seconds(30)))
    for _ in 0..<3 { fixture.fire(.answer) }
    #expect(fixture.asked.isEmpty && fixture.failure(caller) != nil)
    fixture.now = fixture.now.advanced(by: .seconds(30))
    fixture.demand()
    #expect(fixture.asked.count == 1)
    #expect(fixture.timers[.answer]?.after == .seconds(60))
  }

  @Test func `is at once where tokens were seen not to change, until one does`() {
    var (fixture, _) = asking()
    var kept = TokenResponse.sample(1)
    kept.tokens.refresh = nil
    fixture.answer(.granted(kept))
    #expect(fixture.vault?.session?.isRotated == false)
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    #expect(fixture.timers[.answer]?.after == .seconds(10))
    fixture.answer(.granted(.sample(2)))
    #expect(fixture.vault?.session?.isRotated == true)
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    #expect(fixture.timers[.answer]?.after == .seconds(60))
  }

  @Test func `that is refused is said as that`() {
    var (fixture, caller) = asking()
    fixture.answer(Self.reset)
    fixture.fire(.retry)
    fixture.answer(.rejected(.rejected))
    #expect(fixture.failure(caller) == .sessionEnded(.repeatRefused))
    #expect(fixture.vault?.tombstones.last?.reason == .repeatRefused)
    var (other, first) = asking()
    other.answer(.rejected(.rejected))
    #expect(other.failure(first) == .sessionEnded(.rejected))
  }

  @Test func `follows a sender that has ended, but not one that cannot be seen or is suspended`() {
    let sender = ProcessIdentity(id: 8, startedAt: 5, namespace: 1)
    let (fixture, _) = asking(sender: sender)
    for (own, ended, isSent) in [
      (ProcessIdentity(id: 9, startedAt: 6, namespace: 1), true, true),
      (ProcessIdentity(id: 9, startedAt: 6, namespace: 1), false, false),
      (ProcessIdentity(id: 9, startedAt: 6, namespace: 2), true, false), (ProcessIdentity(id: 9), true, false),
    ] {
      var other = MachineFixture(vault: fixture.vault, supportsRotationKeys: false, sender: own)
      other.now = fixture.now.advanced(by: .seconds(1))
      if ended { other.ended = [sender] }
      other.run(.start)
      other.demand()
      #expect((other.asked.count == 1) == isSent, "\(own)")
    }
  }

  @Test func `follows a sender in another namespace that has ended, by its lock of the same boot`() {
    let sender = ProcessIdentity(id: 8, startedAt: 5, namespace: 1)
    for (lock, boot, ended, isSent) in [
      (FileIdentity(device: 1, number: 2), noon.boot, true, true), (FileIdentity(device: 1, number: 2), 0, true, false),
      (FileIdentity(device: 1, number: 2), noon.boot, false, false), (nil, noon.boot, true, false),
    ] as [(FileIdentity?, UInt64, Bool, Bool)] {
      var (fixture, _) = asking(sender: sender)
      fixture.vault?.session?.attempt?.lock = lock
      fixture.vault?.session?.attempt?.since.boot = boot
      var other = MachineFixture(
        vault: fixture.vault, supportsRotationKeys: false, sender: ProcessIdentity(id: 9, startedAt: 6, namespace: 2))
      other.now = fixture.now.advanced(by: .seconds(1))
      other.now.boot = boot
      if ended { other.ended = [sender] }
      other.run(.start)
      other.demand()
      #expect((other.asked.count == 1) == isSent, "\(String(describing: lock)) \(boot) \(ended)")
    }
  }

  @Test func `is locked until its response is stored, no response can arrive, or its limit has passed`() {
    var (fixture, _) = asking()
    #expect(fixture.machine.holdsAttempt(at: fixture.now))
    // A response may still arrive: others must wait, and the refresh lock is theirs.
    fixture.answer(.noDecision(.network(.timedOut)))
    #expect(fixture.machine.holdsAttempt(at: fixture.now))
    #expect(!fixture.machine.holdsAttempt(at: fixture.now.advanced(by: .seconds(60))))
    fixture.fire(.retry)
    #expect(fixture.asked.count == 1 && fixture.machine.holdsAttempt(at: fixture.now))
    fixture.answer(Self.reset)
    #expect(!fixture.machine.holdsAttempt(at: fixture.now))
    fixture.demand()
    fixture.fire(.retry)
    fixture.answer(.granted(.sample(1)))
    #expect(!fixture.machine.holdsAttempt(at: fixture.now))
  }

  @Test func `is locked while its response cannot be stored`() {
    var (fixture, _) = asking()
    fixture.vaultTrouble = .unavailable("out of order")
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.machine.holdsAttempt(at: fixture.now.advanced(by: .seconds(600))))
    fixture.vaultTrouble = nil
    fixture.fire(.save)
    #expect(!fixture.machine.holdsAttempt(at: fixture.now))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A session whose server accepts rotation keys` {
  private func keyed() -> MachineFixture {
    var fixture = MachineFixture(supportsRotationKeys: false)
    fixture.run(.start)
    var grant = TokenResponse.sample(0)
    grant.acceptsRotationKey = true
    fixture.signIn(grant)
    fixture.now = fixture.now.advanced(by: .seconds(600))
    return fixture
  }

  @Test func `repeats the same pair freely, and records no attempt`() {
    var fixture = keyed()
    let caller = fixture.demand()
    let first = fixture.asked.map(\.key)
    #expect(fixture.vault?.session?.attempt == nil && fixture.sendsKey == [true])
    fixture.answer(.noDecision(.network(.timedOut)))
    fixture.fire(.retry)
    #expect(fixture.asked.map(\.key) == first && fixture.failure(caller) == nil)
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(caller) == "access-s1-1")
  }

  @Test func `sends the key for good, but repeats freely only while the last response has used one`() {
    var fixture = keyed()
    fixture.demand()
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.vault?.session?.rotationKeys == .ignored)
    fixture.now = fixture.now.advanced(by: .seconds(600))
    fixture.demand()
    #expect(fixture.sendsKey == [true, true])
    #expect(fixture.vault?.session?.attempt != nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A token for another target` {
  private let mail = TokenTarget(scopes: ["mail"])

  private func signedIn() -> MachineFixture {
    var fixture = MachineFixture(supportsRotationKeys: false)
    fixture.run(.start)
    fixture.signIn()
    return fixture
  }

  @Test func `comes from the session's one refresh, is remembered, and leaves the session's own token`() {
    var fixture = signedIn()
    let caller = fixture.demand(.init(target: mail))
    #expect(fixture.targets == [mail])
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(caller) == "access-s1-1")
    #expect(fixture.vault?.session?.refresh == RefreshToken("refresh-s1-1"))
    #expect(fixture.machine.access?.token == AccessToken("access-s1-0"))
    let again = fixture.demand(.init(target: mail))
    #expect(fixture.token(again) == "access-s1-1" && fixture.targets == [mail])
  }

  @Test func `leaves the session's own token as another process has stored it`() throws {
    var fixture = signedIn()
    let caller = fixture.demand(.init(target: mail))
    let session = try #require(fixture.vault?.session)
    let sent = try #require(session.refresh)
    let theirs = TokenResponse(tokens: TokenSet(access: AccessToken("theirs"), expiresIn: .seconds(600)))
    _ = fixture.apply(.advance(session.id, RefreshedTokens(theirs, sent: sent, since: fixture.now)))
    fixture.answer(.granted(TokenResponse(tokens: TokenSet(access: AccessToken("mail"), expiresIn: .seconds(600)))))
    #expect(fixture.token(caller) == "mail" && fixture.vault?.session?.targeted[mail]?.token == AccessToken("mail"))
    #expect(fixture.vault?.session?.access?.token == AccessToken("theirs"))
  }

  @Test func `is stored with the session, and so are at most fifteen others`() {
    var fixture = signedIn()
    for number in 1...20 {
      let caller = fixture.demand(.init(target: TokenTarget(scopes: ["s\(number)"])))
      fixture.answer(.granted(.sample(number)))
      #expect(fixture.token(caller) == "access-s1-\(number)")
      #expect(fixture.vault?.session?.targeted.count == (number - 1) % StoredSession.targetLimit + 1)
    }
    // Its tokens in memory are served all the same.
    let first = fixture.demand(.init(target: TokenTarget(scopes: ["s1"])))
    #expect(fixture.token(first) == "access-s1-1")
  }

  /// The second process has not heard of it, and the refresh token has stayed the same.
  @Test(arguments: [false, true])
  func `that another process has stored meanwhile is not asked for again`(isKeyed: Bool) {
    var first = MachineFixture(supportsRotationKeys: isKeyed)
    first.run(.start)
    first.signIn()
    var second = MachineFixture(
      vault: first.vault, supportsRotationKeys: isKeyed, sender: ProcessIdentity(id: 1))
    second.run(.start)
    var kept = TokenResponse.sample(1)
    kept.tokens.refresh = nil
    first.demand(.init(target: mail))
    first.answer(.granted(kept))
    second.vault = first.vault
    let caller = second.demand(.init(target: mail))
    #expect(second.token(caller) == "access-s1-1" && second.targets.isEmpty)
    // No other process waits for an attempt that was not made.
    #expect(second.vault?.session?.attempt == nil && second.vault?.session?.refresh == RefreshToken("refresh-s1-0"))
    let own = second.machine.access?.token
    #expect(own == AccessToken("access-s1-0"))
    // Not one that an API has refused.
    let next = second.demand(
      .init(refused: .accessToken(AccessToken("access-s1-1")), target: mail))
    #expect(second.targets == [mail])
    second.answer(.granted(.sample(2)))
    #expect(second.token(next) == "access-s1-2")
  }

  @Test func `that another process has stored serves its caller before the next target is asked for`() {
    var first = signedIn()
    var second = MachineFixture(vault: first.vault, supportsRotationKeys: false, sender: ProcessIdentity(id: 1))
    second.run(.start)
    var kept = TokenResponse.sample(1)
    kept.tokens.refresh = nil
    first.demand(.init(target: mail))
    first.answer(.granted(kept))
    second.vault = first.vault
    let (caller, other) = (second.waiter(), second.waiter())
    let notes = TokenTarget(scopes: ["notes"])
    second.handle(.demand(caller, .init(target: mail)))
    second.handle(.demand(other, .init(target: notes)))
    second.work()
    #expect(second.token(caller) == "access-s1-1" && second.targets == [notes])
    #expect(second.vault?.session?.attempt != nil)
    second.answer(.granted(.sample(2)))
    #expect(second.token(other) == "access-s1-2")
  }

  @Test func `waits for a refresh in flight, and follows it`() {
    var fixture = signedIn()
    fixture.now = fixture.now.advanced(by: .seconds(600))
    let own = fixture.demand()
    let other = fixture.demand(.init(target: mail))
    #expect(fixture.targets == [nil])
    fixture.answer(.granted(.sample(1)))
    #expect(fixture.token(own) == "access-s1-1" && fixture.failure(other) == nil)
    #expect(fixture.targets == [nil, mail])
    fixture.answer(.granted(.sample(2)))
    #expect(fixture.token(other) == "access-s1-2")
    #expect(fixture.machine.access?.token == AccessToken("access-s1-1"))
  }

  @Test func `that is refused fails its callers alone`() {
    for answer in [
      RefreshResult.rejected(.rejected), .superseded,
      .noDecision(.configuration(.init(status: 400, error: "invalid_scope"))),
    ] {
      var fixture = signedIn()
      let caller = fixture.demand(.init(target: mail))
      fixture.answer(answer)
      #expect(fixture.failure(caller) != nil)
      #expect(fixture.machine.session == SessionID("s1") && fixture.vault?.session?.attempt == nil)
    }
  }
}
