import Handstamp
import HandstampTesting
import Observation
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A session manager` {
  typealias Session = SessionManager<String>
  private let clock = ManualClock()
  private let vault = MemoryVault()

  private func manager(
    _ backend: ScriptedBackend = .rotating(),
    load: @escaping @Sendable (APIClient) async throws -> String = { _ in "content" }
  ) -> Session {
    Session(
      backend: backend, vault: vault, baseURL: base, transport: StubTransport { _ in .init(status: 200) },
      policy: quiet, clock: clock, load: load)
  }

  @Test func `shows the new session as soon as the sign-in returns`() async throws {
    for round in 0..<50 {
      let session = manager()
      try await session.signIn { .sample(0, session: "s\(round)") }
      #expect(session.currentUser?.name == "Ada")
      #expect(session.isAuthenticated && !session.isAnonymous && !session.snapshot.isWorking)
      await session.signOut()
      #expect(session.currentUser == nil)
      #expect(session.snapshot.endReason == .signedOut)
    }
  }

  @Test func `keeps the reason of an end at a second sign-out`() async throws {
    let session = manager()
    try await session.signIn { .sample(0) }
    await session.signOut(reason: .accountClosed)
    var states = session.states.makeAsyncIterator()
    await session.signOut()
    #expect(session.snapshot.endReason == .accountClosed)
    await session.retryPendingWork()
    try await session.signIn { .sample(0, session: "s2") }
    #expect(await states.next() == .signedOut(.accountClosed))
    #expect(await states.next()?.isSignedIn == true)
  }

  @Test func `changes session and content in one step`() async throws {
    let session = manager()
    await observed { session.snapshot.session == .success(nil) }
    let changes = Changes()
    changes.observe(session)
    try await session.signIn { .sample(0) }
    await observed { session.snapshot.content == .success("content") }
    await session.signOut()
    #expect(changes.contentWithoutSession == 0)
    #expect(changes.sessionWithoutContent == 0)
    #expect(changes.count >= 3)
  }

  @Test func `restores the stored session at launch, without a network`() async throws {
    try await manager().signIn { .sample(0) }
    let relaunched = manager(ScriptedBackend { _, _, _ in .noDecision(.network(.timedOut)) }) { _ in
      throw APIError.network(.timedOut)
    }
    #expect(relaunched.snapshot.session == .notInitiated || relaunched.snapshot.session == .loading)
    await observed { relaunched.snapshot.content == .failure(.requestFailed(.network(.timedOut))) }
    #expect(relaunched.currentUser?.id == AccountID("ada"))
  }

  @Test func `shows a locked vault as a failure with its recovery, and recovers by itself`() async throws {
    try await manager().signIn { .sample(0) }
    let faulty = FaultyVault(vault)
    await faulty.set { $0.reading = .trouble(.locked) }
    let relaunched = Session(
      backend: ScriptedBackend.rotating(), vault: faulty, baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: clock
    ) { _ in "content" }
    await observed { relaunched.snapshot.session == .failure(.storage(.locked)) }
    #expect(!relaunched.isAuthenticated)
    await faulty.set { $0.reading = nil }
    await relaunched.controller.retryPendingWork()
    await observed { relaunched.isAuthenticated }
  }

  @Test func `never stays in progress`() async throws {
    let session = manager()
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) {
      try await session.signIn { throw SessionError.refused(code: "wrong_credentials", detail: nil) }
    }
    #expect(!session.snapshot.isWorking)
  }

  @Test func `shows why the content could not be loaded`() async throws {
    struct Broken: Error {}
    let failures: [(any Error, SessionError)] = [
      (Broken(), .contentFailed("Broken")), (APIError.session(.storage(.locked)), .storage(.locked)),
      (APIError.unreadable("id"), .invalidResponse("id")),
      (APIError.status(503, nil), .requestFailed(.server(.init(status: 503)))),
    ]
    for (thrown, shown) in failures {
      let session = manager(load: { _ in throw thrown })
      try await session.signIn { .sample(0) }
      await observed { if case .failure = session.snapshot.content { true } else { false } }
      #expect(session.snapshot.content == .failure(shown))
      await session.signOut()
    }
  }

  @Test func `signs out without waiting for content to load`() async throws {
    let gate = Gate()
    let session = manager { _ in
      await gate.wait()
      return "late"
    }
    try await session.signIn { .sample(0) }
    await gate.arrivals(1)
    await session.signOut()
    #expect(session.snapshot.content == .notInitiated)
    gate.open()
    try await session.signIn { .sample(0, session: "s2") }
    await observed { session.snapshot.content == .success("late") }
  }
}

@MainActor private final class Changes {
  var count = 0
  var contentWithoutSession = 0
  var sessionWithoutContent = 0

  /// Observes every change in the next turn, as a view does.
  func observe(_ session: SessionManager<String>) {
    let snapshot = withObservationTracking {
      session.snapshot
    } onChange: {
      Task { @MainActor in self.observe(session) }
    }
    count += 1
    let isSignedIn = session.isAuthenticated
    if !isSignedIn, snapshot.content != .notInitiated { contentWithoutSession += 1 }
    if isSignedIn, snapshot.content == .notInitiated { sessionWithoutContent += 1 }
  }
}
