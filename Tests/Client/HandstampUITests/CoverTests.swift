import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampUI

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The cover of an app` {
  let clock = ManualClock()

  private func lock(_ policy: PresencePolicy = .untilExit, _ person: ScriptedPresence = .init()) -> PresenceLock {
    PresenceLock(person, policy: policy, reason: "to read", clock: clock)
  }

  @Test func `is there from the first moment on, and goes once the user has confirmed their presence`() async {
    let person = ScriptedPresence()
    let model = CoverModel(lock(.untilExit, person))
    #expect(model.cover == .away && !model.asksByItself)
    model.enter(.active)
    #expect(model.cover == .locked && model.asksByItself)
    await model.unlock()
    #expect(model.cover == nil && !model.asksByItself)
    #expect(person.reasons == ["to read"])
  }

  @Test(arguments: [CoverModel.Phase.inactive, .background])
  func `hides the content of an open lock while the app is not in front`(phase: CoverModel.Phase) async {
    let model = CoverModel(lock())
    model.enter(.active)
    await model.unlock()
    model.enter(phase)
    #expect(model.cover == .away)
    model.enter(.active)
    #expect(model.cover == nil)
  }

  @Test func `is there as soon as the app is in front, if the lock has closed meanwhile`() async {
    let lock = lock()
    let model = CoverModel(lock)
    model.enter(.active)
    await model.unlock()
    model.enter(.background)
    lock.lock()
    // No stream has told so yet.
    model.enter(.active)
    #expect(model.cover == .locked && model.asksByItself)
  }

  @Test func `comes when the lock's time has passed, and does not ask in the middle of a sentence`() async {
    let model = CoverModel(lock(.window(.seconds(60))))
    let following = Task { await model.follow() }
    defer { following.cancel() }
    model.enter(.active)
    await model.unlock()
    #expect(model.cover == nil)
    await clock.sleepers(1)
    clock.advance(by: .seconds(60))
    await observed { model.cover == .locked }
    #expect(!model.asksByItself)
  }

  @Test func `asks once by itself, although the system's question takes the app out of the front`() async {
    let model = CoverModel(lock(.untilExit, ScriptedPresence { _ in .declined }))
    model.enter(.active)
    await model.unlock()
    #expect(model.cover == .locked && model.failure?.word == .errorPresence && !model.isStuck)
    model.enter(.inactive)
    model.enter(.active)
    #expect(!model.asksByItself)
    model.enter(.background)
    model.enter(.active)
    #expect(model.asksByItself && model.failure == nil)
  }

  @Test func `does not ask after a request has asked, and the user has declined`() async {
    let gate = Gate()
    let lock = lock(
      .untilExit,
      ScriptedPresence { _ in
        await gate.wait()
        return .declined
      })
    let model = CoverModel(lock)
    let following = Task { await model.follow() }
    defer { following.cancel() }
    model.enter(.active)
    #expect(model.asksByItself)
    let request = Task { try? await lock.unlock() }
    await observed { model.cover == .confirming }
    gate.open()
    await request.value
    await observed { model.cover == .locked }
    #expect(!model.asksByItself)
  }

  @Test func `shows that the user is being asked, also behind the system's question`() async {
    let gate = Gate()
    let model = CoverModel(
      lock(
        .untilExit,
        ScriptedPresence { _ in
          await gate.wait()
          return nil
        }))
    let following = Task { await model.follow() }
    defer { following.cancel() }
    model.enter(.active)
    let asking = Task { await model.unlock() }
    await observed { model.cover == .confirming }
    model.enter(.inactive)
    #expect(model.cover == .confirming)
    gate.open()
    await asking.value
    #expect(model.cover == .away)
    model.enter(.active)
    #expect(model.cover == nil)
  }

  @Test func `of a lock that asks for every use is gone until the app was in the background`() async {
    let model = CoverModel(lock(.perUse))
    model.enter(.active)
    #expect(model.cover == .locked)
    await model.unlock()
    model.enter(.inactive)
    model.enter(.active)
    #expect(model.cover == nil)
    model.enter(.background)
    model.enter(.active)
    #expect(model.cover == .locked)
  }

  @Test(arguments: [
    (PresenceError.declined, false), (.cancelled, false), (.lockedOut(retryAfter: .seconds(30)), false),
    (.unavailable("no passcode"), true), (.noSecret, true),
  ])
  func `leads to a sign-out where the device cannot ask`(error: PresenceError, isStuck: Bool) async {
    let model = CoverModel(lock(.untilExit, ScriptedPresence { _ in error }))
    model.enter(.active)
    await model.unlock()
    #expect(model.isStuck == isStuck && model.cover == .locked)
  }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A guard with a lock and limits` {
  typealias Session = SessionManager<String>
  let clock = ManualClock()
  let lock: PresenceLock

  init() {
    lock = PresenceLock(ScriptedPresence(), policy: .untilExit, reason: "to read", clock: clock)
  }

  private func session(
    load: @escaping @Sendable (APIClient) async throws -> String = { _ in "content" }
  ) -> Session {
    let policy = SessionPolicy(refresh: RefreshPolicy(usesTimer: false), idleLimit: .seconds(900))
    return Session(
      backend: NoAccounts(), vault: MemoryVault(), baseURL: base, policy: policy, clock: clock, presence: lock,
      load: load)
  }

  private func grant() -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(access: AccessToken("a"), expiresIn: nil, refresh: RefreshToken("r")), sessionID: "s",
      profile: Profile(id: "ada", name: "Ada"))
  }

  /// Lets time pass until `isOver`, at most 1200 steps. The session hears of each step, however busy the machine is.
  private func pass(
    of session: Session, by step: Duration = .seconds(10), until isOver: () -> Bool, each: () -> Void = {}
  ) async {
    for _ in 0..<1200 where !isOver() {
      await othersFirst()
      _ = await session.controller.cleanupCount
      clock.advance(by: step)
      each()
    }
  }

  /// Lets time pass from timer to timer until the session says that its end is near, and no further.
  private func untilNotice(of session: SessionManager<String>) async {
    for _ in 0..<100 {
      await clock.sleepers(1)
      if case .signedIn(let facts) = session.controller.state, facts.upcomingEnd == nil {
        clock.advance(by: clock.untilNextWake ?? .zero)
      } else {
        return
      }
    }
  }

  @Test func `covers content while the lock is closed, and loses none`() async throws {
    let session = session()
    let model = AuthGuardModel(session, lock: lock)
    model.enter(.active)
    await session.restoreSession()
    // There is nothing to cover, and no one to ask.
    #expect(model.cover == nil && !model.asksByItself)
    try await session.signIn { grant() }
    await observed { model.state.name == "signedIn content" }
    #expect(model.cover == .locked && model.asksByItself)
    await model.unlock()
    #expect(model.cover == nil)
    lock.lock()
    model.enter(.background)
    #expect(model.cover == .away)
    model.enter(.active)
    #expect(model.cover == .locked && model.state.name == "signedIn content")
    await session.signOut()
    #expect(model.cover == nil)
  }

  @Test func `covers nothing without a lock`() async throws {
    let session = session()
    let model = AuthGuardModel(session)
    try await session.signIn { grant() }
    #expect(model.cover == nil && model.covering == nil)
    model.enter(.background)
    #expect(model.cover == nil)
  }

  @Test func `loads content that was refused without the user's presence, once they have unlocked it`() async throws {
    let error = Locked<SessionError?>(.presence(.declined))
    let session = session { _ in
      if let error = error.withLock({ $0 }) { throw error }
      return "content"
    }
    let model = AuthGuardModel(session, lock: lock)
    model.enter(.active)
    try await session.signIn { grant() }
    await observed { model.state.name == "failed" }
    #expect(model.cover == .locked)
    error.withLock { $0 = nil }
    await model.unlock()
    await observed { model.state.name == "signedIn content" }
    #expect(model.cover == nil)
  }

  @Test func `keeps the session of a user who uses the app, and says when it ends without use`() async throws {
    let session = session()
    let model = AuthGuardModel(session)
    model.enter(.active)
    try await session.signIn { grant() }
    var touches = 0
    await pass(of: session) {
      touches == 360
    } each: {
      model.reportActivity()
      touches += 1
    }
    // An hour, with a limit of 15 min.
    #expect(session.isAuthenticated && model.upcomingEnd == nil)
    await untilNotice(of: session)
    await observed { model.upcomingEnd != nil }
    let end = try #require(model.upcomingEnd)
    #expect(end.reason == .idle && end.at.since(clock.now().wall) <= .seconds(60))
    // The button of the notice, or a touch.
    model.reportActivity()
    await observed { model.upcomingEnd == nil }
    #expect(session.isAuthenticated)
    await pass(of: session) { !session.isAuthenticated }
    #expect(session.state == .signedOut(.idle) && model.upcomingEnd == nil)
  }

  @Test func `counts the app's becoming active, and no touch on the cover`() async throws {
    let session = session()
    let open = AuthGuardModel(session)
    try await session.signIn { grant() }
    var returns = 0
    await pass(of: session) {
      returns == 360
    } each: {
      open.enter(.inactive)
      open.enter(.active)
      returns += 1
    }
    #expect(session.isAuthenticated)
    let covered = AuthGuardModel(session, lock: lock)
    await pass(of: session) {
      !session.isAuthenticated
    } each: {
      covered.enter(.inactive)
      covered.enter(.active)
      covered.reportActivity()
    }
    #expect(session.state == .signedOut(.idle))
  }
}
