import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session controller` {
  private let clock = ManualClock()
  private let vault = MemoryVault()

  private func signedIn(_ backend: ScriptedBackend, policy: SessionPolicy = quiet) async throws -> SessionController {
    let controller = SessionController(backend: backend, vault: vault, policy: policy, clock: clock)
    try await controller.signIn { .sample(0) }
    return controller
  }

  @Test func `lets a thousand callers share one refresh`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let controller = try await signedIn(backend)
    clock.advance(by: .seconds(600))
    let callers = (0..<1000).map { _ in Task { try await controller.token() } }
    await gate.arrivals(1)
    gate.open()
    for caller in callers { #expect(try await caller.value.text == "access-s1-1") }
    #expect(backend.calls.count == 1)
    #expect(backend.maxInFlight == 1)
  }

  @Test func `lets one caller cancel, even the first, without the others`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let controller = try await signedIn(backend)
    clock.advance(by: .seconds(600))
    let first = Task { try await controller.token() }
    await gate.arrivals(1)
    let second = Task { try await controller.token() }
    first.cancel()
    await #expect(throws: SessionError.cancelled) { try await first.value }
    gate.open()
    #expect(try await second.value.text == "access-s1-1")
  }

  @Test func `answers twenty refused requests with one refresh`() async throws {
    let backend = ScriptedBackend.rotating()
    let controller = try await signedIn(backend)
    clock.advance(by: .seconds(60))
    let old = try await controller.token()
    let callers = (0..<20).map { _ in Task { try await controller.token(replacing: old) } }
    for caller in callers { #expect(try await caller.value.text == "access-s1-1") }
    #expect(backend.calls.count == 1)
  }

  @Test func `returns the header without waiting, and none behind a sign-out's fence`() async throws {
    let controller = try await signedIn(.rotating())
    #expect(controller.authorizationHeader == "Bearer access-s1-0")
    await controller.signOut()
    #expect(controller.authorizationHeader == nil)
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await controller.token() }
  }

  @Test func `is restored after a restart, with the same token and without a network`() async throws {
    _ = try await signedIn(.rotating())
    let offline = ScriptedBackend { _, _, _ in .noDecision(.network(.timedOut)) }
    let relaunched = SessionController(backend: offline, vault: vault, policy: quiet, clock: clock)
    #expect(try await relaunched.token().text == "access-s1-0")
    #expect(offline.calls.isEmpty)
  }

  @Test func `delivers every state to every observer, in order`() async throws {
    let controller = SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: clock)
    await first(controller.states) { $0.isSignedOut }
    let observers = (0..<50).map { _ in
      let states = controller.states
      let iterator = states.makeAsyncIterator()
      return Task { () -> [SessionState] in
        var seen: [SessionState] = []
        var iterator = iterator
        while seen.count < 7, let state = await iterator.next() { seen.append(state) }
        return seen
      }
    }
    for round in 0..<3 {
      try await controller.signIn { .sample(0, session: "s\(round)") }
      await controller.signOut()
    }
    for observer in observers {
      let seen = await observer.value
      #expect(seen.map(\.isSignedIn) == [false, true, false, true, false, true, false])
    }
  }

  @Test func `delivers everything to both of two loops over one stream`() async throws {
    let controller = try await signedIn(.rotating())
    let states = controller.states
    async let one = first(states) { $0.isSignedOut }
    async let two = first(states) { $0.isSignedOut }
    await controller.signOut()
    #expect(await one == .signedOut(.signedOut))
    #expect(await two == .signedOut(.signedOut))
  }

  @Test func `stays signed out despite a refresh in flight at sign-out`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let controller = try await signedIn(backend)
    clock.advance(by: .seconds(600))
    let caller = Task { try await controller.token() }
    await gate.arrivals(1)
    await controller.signOut()
    gate.open()
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await caller.value }
    #expect(await controller.waitForRevocations(timeout: .seconds(60)))
    #expect(backend.revoked == [RevocationHandle("handle-s1")])
    guard case .value(let entry) = await vault.read() else {
      Issue.record("the tombstone is gone")
      return
    }
    #expect(entry.session == nil)
  }

  @Test func `signs out offline and revokes at the server after a restart`() async throws {
    let backend = ScriptedBackend.rotating()
    backend.answerRevocations(with: .noDecision(.network(.timedOut)))
    let controller = try await signedIn(backend)
    let report = await controller.signOut()
    #expect(report.storageError == nil && report.failed.isEmpty && !report.isUnrevoked)
    #expect(backend.revoked.isEmpty)
    backend.answerRevocations(with: .ended)
    let relaunched = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    await first(relaunched.states) { $0.isSignedOut }
    #expect(await relaunched.waitForRevocations(timeout: .seconds(60)))
    #expect(backend.revoked.contains(RevocationHandle("handle-s1")))
  }

  @Test func `counts a revocation as delivered only once the vault has recorded it`() async throws {
    let offline = ScriptedBackend.rotating()
    offline.answerRevocations(with: .noDecision(.network(.timedOut)))
    await (try await signedIn(offline)).signOut()
    let backend = ScriptedBackend.rotating()
    let slow = FaultyVault(vault)
    let (reading, noting) = (Gate(), Gate())
    await slow.set { $0.gate = reading }
    let relaunched = SessionController(backend: backend, vault: slow, policy: quiet, clock: clock)
    await reading.arrivals(1)
    #expect(await !relaunched.waitForRevocations(timeout: .zero), "the pending revocations are not known yet")
    await slow.set { $0.gate = noting }
    reading.open()
    await noting.arrivals(1)
    #expect(backend.revoked.contains(RevocationHandle("handle-s1")))
    #expect(await !relaunched.waitForRevocations(timeout: .zero), "a later process would notify the server again")
    noting.open()
    #expect(await relaunched.waitForRevocations(timeout: .seconds(3600)))
    guard case .value(let entry) = await vault.read() else {
      Issue.record("the tombstone is gone")
      return
    }
    #expect(entry.tombstones.map(\.revocation) == [nil])
  }

  @Test func `waits for a delivery up to each caller's own limit`() async throws {
    let backend = ScriptedBackend.rotating()
    backend.answerRevocations(with: .noDecision(.network(.timedOut)))
    let controller = try await signedIn(backend)
    await controller.signOut()
    let cancelled = Task { await controller.waitForRevocations(timeout: .seconds(3600)) }
    let patient = Task { await controller.waitForRevocations(timeout: .seconds(3600)) }
    // Both limits, and the pause before the next delivery.
    await clock.sleepers(3)
    #expect(await !controller.waitForRevocations(timeout: .zero))
    cancelled.cancel()
    #expect(await !cancelled.value)
    backend.answerRevocations(with: .ended)
    await controller.retryPendingWork()
    #expect(await patient.value, "neither the timeout nor the cancellation of another caller ended this wait")
  }

  @Test func `shares one vault with another process: one refresh, both served, both signed out`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let vault = MemoryVault(clock: PatientClock())
    let one = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    try await one.signIn { .sample(0) }
    let two = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    _ = try await two.token()
    clock.advance(by: .seconds(600))
    let first = Task { try await one.token() }
    await gate.arrivals(1)
    let second = Task { try await two.token() }
    gate.open()
    #expect(try await first.value == second.value)
    #expect(backend.calls.count == 1)
    await one.signOut()
    await HandstampTests.first(two.states) { $0.isSignedOut }
    #expect(two.authorizationHeader == nil)
    #expect(two.state == .signedOut(.signedOut))
  }

  @Test func `cancels the requests of a session that ends`() async throws {
    let controller = try await signedIn(.rotating())
    let gate = Gate()
    let api = APIClient(
      baseURL: base, controller: controller,
      transport: StubTransport { _ in
        await gate.wait()
        return .init(status: 200, body: Array("{}".utf8))
      })
    let call = Task { try await api.send(Anything()) }
    await gate.arrivals(1)
    await controller.signOut()
    gate.open()
    await #expect(throws: APIError.session(.signedOut(.signedOut))) { try await call.value }
  }

  @Test func `is released with its last reference, and ends its streams`() async throws {
    var controller: SessionController? = try await signedIn(.rotating())
    weak let trace = controller
    let states = controller?.states
    controller = nil
    var iterator = states?.makeAsyncIterator()
    while await iterator?.next() != nil {}
    #expect(trace == nil)
  }

  @Test func `reports a sign-in's error, and is ready for the next`() async throws {
    let controller = SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: quiet, clock: clock)
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) {
      try await controller.signIn { throw SessionError.refused(code: "wrong_credentials", detail: nil) }
    }
    await #expect(throws: SessionError.cancelled) { try await controller.signIn { throw CancellationError() } }
    try await controller.signIn { .sample(0) }
    #expect(controller.state.isSignedIn)
  }

  @Test func `revokes a sign-in that a sign-out overtook`() async throws {
    let backend = ScriptedBackend.rotating()
    let controller = SessionController(backend: backend, vault: vault, policy: quiet, clock: clock)
    let gate = Gate()
    let signIn = Task {
      try await controller.signIn {
        await gate.wait()
        return .sample(0)
      }
    }
    await gate.arrivals(1)
    await controller.signOut()
    gate.open()
    await #expect(throws: SessionError.cancelled) { try await signIn.value }
    #expect(await controller.waitForRevocations(timeout: .seconds(60)))
    #expect(backend.revoked == [RevocationHandle("handle-s1")])
    #expect(controller.state.isSignedOut)
  }

  @Test func `refreshes ahead of expiry by itself`() async throws {
    let backend = ScriptedBackend.rotating()
    let controller = try await signedIn(backend, policy: SessionPolicy())
    await othersFirst { clock.sleeperCount > 0 }
    clock.advance(by: .seconds(480))
    await othersFirst { controller.authorizationHeader == "Bearer access-s1-1" }
    #expect(backend.calls.count == 1)
  }

  /// No phone is woken for more.
  @Test(arguments: [nil, Duration.seconds(900)])
  func `waits for one timer, and with an idle limit for a second one`(_ limit: Duration?) async throws {
    var policy = SessionPolicy()
    policy.idleLimit = limit
    let controller = try await signedIn(ScriptedBackend.rotating(), policy: policy)
    let wanted = limit == nil ? 1 : 2
    await clock.sleepers(wanted)
    _ = try await controller.token()
    await othersFirst()
    #expect(clock.sleeperCount == wanted)
  }

  @Test func `has a clock that can sleep forever`() async {
    let sleeping = Task { try await SystemClock().sleep(for: .seconds(Int64.max)) }
    // Falling asleep has no event. A sleep cancelled before it began throws as well, and would prove less.
    for _ in 0..<1000 { await othersFirst() }
    sleeping.cancel()
    await #expect(throws: CancellationError.self) { try await sleeping.value }
  }
}
