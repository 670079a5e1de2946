import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// Known ways to lose a session, found by running other clients against a rotating server. The titles name the failure, the
/// comments our solution. The ones about storage, sign-out and leftovers are in ScenarioTests+ends.swift.
@Suite(.timeLimit(.minutes(10))) struct `Where other clients lose a session` {
  /// One refresh serves all callers; a late caller gets the refreshed token.
  @Test func `01 many callers ask at once for a token that has expired`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    test.clock.advance(by: .seconds(601))
    let callers = (0..<500).map { _ in Task { try await test.token() } }
    var tokens: Set<AccessToken> = []
    for caller in callers { tokens.insert(try await caller.value) }
    #expect(tokens.count == 1)
    #expect(await test.server.rotations == 1)
    #expect(await test.server.repeats == 0)
  }

  /// The refused token is named, so that a second caller finds the newer one: one refresh, and every call is sent again.
  @Test func `02 many calls are answered 401 at once`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    let old = try await test.token()
    test.clock.advance(by: .seconds(60))
    let refused = old.secret.withExposed { "Bearer " + $0 }
    let transport = StubTransport { request in
      .init(status: request.headers.first(named: "Authorization") == refused ? 401 : 200, body: Array("{}".utf8))
    }
    let api = APIClient(baseURL: base, controller: test.session, transport: transport)
    let calls = (0..<20).map { _ in Task { _ = try await api.send(Anything()) } }
    for call in calls { try await call.value }
    #expect(await test.server.rotations == 1)
  }

  /// The refresh belongs to no caller's task: cancelling the first caller ends only that wait.
  @Test func `03 the first caller is cancelled during the refresh`() async throws {
    let gate = Gate()
    let backend = ScriptedBackend.held(by: gate)
    let clock = ManualClock()
    let session = SessionController(backend: backend, vault: MemoryVault(), policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let leader = Task { try await session.token() }
    await gate.arrivals(1)
    let follower = Task { try await session.token() }
    leader.cancel()
    await #expect(throws: SessionError.cancelled) { try await leader.value }
    gate.open()
    #expect(try await follower.value.text == "access-s1-1")
    #expect(backend.calls.count == 1)
  }

  /// Only `invalid_grant` in JSON with 400 or 401 from the token endpoint decides anything. Any other response keeps the
  /// session, and the same pair is sent again later.
  @Test(arguments: Garbage.responses.map(\.name) + ["a 403 that says invalid_grant"])
  func `04 a refresh is answered by a proxy, a portal or a broken server`(name: String) async throws {
    // Third-party servers may say so with a 403, Handstamp's own does not.
    let forbidden = TransportResponse(
      status: 403, headers: [HeaderField("Content-Type", "application/json")],
      body: Array(#"{"error":"invalid_grant"}"#.utf8))
    let answer = Garbage.responses.first { $0.name == name }?.response ?? forbidden
    let clock = ManualClock()
    let network = LossyTransport(StubTransport { _ in answer })
    let server = ServerBackend(
      baseURL: base, device: ServerBackend.Device(id: DeviceID("d"), name: "d"), transport: network)
    let session = SessionController(backend: server, vault: MemoryVault(), policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    await #expect(throws: SessionError.self) { try await session.token() }
    #expect(session.state.isSignedIn)
    #expect(!network.fates.isEmpty)
  }

  /// The lock makes one wait for the other, and the vault shows it that the refresh is done: one rotation. Without the lock,
  /// both would send the same pair.
  @Test func `09 an app and its extension refresh at once`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    let other = test.secondProcess()
    await first(other.states) { $0.isSignedIn }
    test.clock.advance(by: .seconds(601))
    async let one = test.token()
    async let two = other.token()
    _ = try await (one, two)
    #expect(await test.server.rotations == 1)
    #expect(test.session.state.isSignedIn)
    #expect(other.state.isSignedIn)
  }

  /// The pair is stored before it is sent, so the request can be repeated, also after a restart; the server knows the key and
  /// returns the same successor.
  @Test func `10 the answer is lost after the server has rotated`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    test.clock.advance(by: .seconds(601))
    for _ in 0..<5 { await test.server.loseNextResponse() }
    await #expect(throws: SessionError.self) { try await test.token() }
    _ = try await test.relaunch().token()
    #expect(await test.server.rotations == 1)
    #expect(await test.server.repeats >= 1)
    #expect(test.session.state.isSignedIn)
  }

  /// Rounds of four attempts, which back off, and pauses of 5 s to 30 s between rounds: on average 780 attempts in an hour, all
  /// with one key. The session stays.
  @Test func `12 a refresh ahead of expiry meets no network for an hour`() async throws {
    let clock = ManualClock()
    let asked = Locked<[Duration]>([])
    let backend = ScriptedBackend { _, _, _ in
      asked.withLock { $0.append(clock.uptime()) }
      return .noDecision(.network(.timedOut))
    }
    let policy = SessionPolicy()
    let session = SessionController(backend: backend, vault: MemoryVault(), policy: policy, clock: clock)
    try await session.signIn { .sample(0, life: .seconds(600)) }
    let start = clock.uptime()
    while clock.uptime() < start + .seconds(3600) {
      await clock.sleepers(1)
      clock.advance(by: try #require(clock.untilNextWake))
    }
    let times = asked.withLock { $0 }
    #expect(times.first == start + .seconds(480))
    for (number, (earlier, later)) in zip(times, times.dropFirst()).enumerated() {
      let attempt = number % policy.retry.attempts + 1
      let isPause = attempt == policy.retry.attempts
      let least: Duration = isPause ? .seconds(5) : .zero
      let most = isPause ? policy.retry.cap : policy.retry.base * (1 << (attempt - 1))
      #expect(later - earlier >= least && later - earlier <= most, "after attempt \(number + 1)")
    }
    #expect(Set(backend.calls.map(\.key)).count == 1)
    #expect(session.state.isSignedIn)
  }

  /// The margin shrinks with the token's lifetime: a token of a minute is replaced twelve seconds before it expires.
  @Test(arguments: [60, 5, 1, 0])
  func `13 tokens last a minute, or less`(seconds: Int) async throws {
    let clock = ManualClock()
    let backend = ScriptedBackend.rotating(life: .seconds(seconds))
    let session = SessionController(backend: backend, vault: MemoryVault(), policy: SessionPolicy(), clock: clock)
    try await session.signIn { .sample(0, life: .seconds(seconds)) }
    for round in 1...5 {
      await clock.sleepers(1)
      clock.advance(by: .seconds(60))
      _ = try await session.token()
      #expect(backend.calls.count >= round)
    }
    #expect(session.state.isSignedIn)
  }

  /// A token issued for the caller satisfies the caller; a validity above the token's lifetime is clamped. The successor is
  /// stored whatever validity was requested.
  @Test func `14 a caller asks for more than a token's lifetime`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    let first = try await test.token()
    test.clock.advance(by: .seconds(300))
    let second = try await test.session.token(minimumValidity: .seconds(86_400))
    #expect(second != first)
    #expect(try await test.session.token(minimumValidity: .seconds(86_400)) == second)
    test.clock.advance(by: .seconds(601))
    _ = try await test.relaunch().token()
    #expect(await test.server.rotations == 2)
  }

  /// The header comes from a snapshot behind a lock held for nanoseconds: no actor, queue or semaphore to wait for.
  @Test func `15 a token is read synchronously while the session is busy`() async throws {
    actor Busy {
      let session: SessionController
      init(_ session: SessionController) { self.session = session }
      func read() -> String? { session.authorizationHeader }
    }
    let gate = Gate()
    let clock = ManualClock()
    let backend = ScriptedBackend.held(by: gate)
    let session = SessionController(backend: backend, vault: MemoryVault(), policy: quiet, clock: clock)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(601))
    let waiting = Task { try await session.token() }
    await gate.arrivals(1)
    let readers = (0..<200).map { _ in Task { await Busy(session).read() } }
    for reader in readers { #expect(await reader.value == "Bearer access-s1-0") }
    gate.open()
    _ = try await waiting.value
    #expect(session.authorizationHeader == "Bearer access-s1-1")
  }
}
