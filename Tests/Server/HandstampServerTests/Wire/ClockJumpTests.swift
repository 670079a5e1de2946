#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A server whose clock jumps` {
  let day = Duration.seconds(86_400)

  func run(
    _ limits: RegistryLimits = RegistryLimits(), clients: [ConfiguredClient] = [],
    body: (TestServer) async throws -> Void
  ) async throws {
    try await TestServer.run(limits: limits) {
      $0.clients = clients
    } body: { test in
      try await body(test)
    }
  }

  /// A server on a store that others may share, with a clock of its own or a shared one; on a machine of its own, whose boot
  /// clock says nothing of the others' notes.
  func server(
    on store: FaultyStore, _ mint: TokenMint, _ clock: TestClock, limits: RegistryLimits = RegistryLimits()
  ) async throws -> SessionServer {
    try await SessionServer(
      configuration: ServerConfiguration(issuer: "https://id.example.org") {
        $0.now = { clock.now }
        $0.uptime = { clock.uptime }
        $0.boot = 0
      },
      registry: Registry(store: store, mint: mint, limits: limits), keys: SigningKeys())
  }

  func freshMint() throws -> TokenMint {
    var random = SystemRandomNumberGenerator()
    return TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random))
  }

  @Test(arguments: [100, -100]) func `ends no session, and refuses none`(days: Int) async throws {
    try await run(RegistryLimits(absoluteLimit: .seconds(86_400), idleLimit: .seconds(3600))) { test in
      let phone = try await test.signUp(device: "phone")
      let before = try #require(try await test.store.session(SessionID(phone.id)))
      test.clock.jump(by: day * days)
      await Sweeper(server: test.server).sweep()
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 200)
      let laptop = try await test.signIn(device: "laptop")
      let refreshed = try await test.refresh(phone.refresh, key: .fresh)
      #expect(refreshed.status == 200)
      test.clock.advance(by: .seconds(60))
      await Sweeper(server: test.server).sweep()
      test.clock.jump(by: .zero - day * days)
      await Sweeper(server: test.server).sweep()
      for id in [phone.id, laptop.id] {
        let row = try #require(try await test.store.session(SessionID(id)))
        #expect(row.end == nil)
        // No time was recorded by the clock after the jump.
        #expect(row.createdAt.since(before.createdAt) < .seconds(120))
        #expect(row.lastSeenAt.since(before.createdAt) < .seconds(120))
        #expect(row.expiry.map { $0.since(before.createdAt) < .seconds(7200) } == true)
      }
      let token: String = try #require(refreshed.json["access_token"])
      #expect(try await test.client.get("/v1/me", token: token).status == 200)
      #expect(test.logs.lines.count { $0.contains("The clock jumped") } == 1)
      #expect(test.logs.lines.count { $0.contains("The clock is back") } == 1)
    }
  }

  @Test func `keeps to its own time for codes and pages as well`() async throws {
    let television = try ConfiguredClient(id: "tv", flows: [.device])
    try await run(clients: [television]) { test in
      _ = try await test.signUp()
      let codes = try await test.client.post("/oauth/device_authorization", form: "client_id=tv")
      let code: String = try #require(codes.json["device_code"])
      test.clock.jump(by: day * 100)
      let asked = try await test.client.post(
        "/oauth/token",
        form: "grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=tv&device_code=\(code)")
      #expect(asked.json["error"] == "authorization_pending")
    }
  }

  @Test func `after two days asleep ends expired sessions ten minutes later, and none used since`()
    async throws
  {
    try await run(RegistryLimits(absoluteLimit: day, idleLimit: .seconds(7200))) { test in
      let phone = try await test.signUp(device: "phone")
      test.clock.advance(by: .seconds(1))
      test.clock.jump(by: day * 2)
      await Sweeper(server: test.server).sweep()
      let laptop = try await test.signIn(device: "laptop")
      let tablet = try await test.signIn(device: "tablet")
      test.clock.advance(by: .seconds(599))
      await Sweeper(server: test.server).sweep()
      #expect(try await test.store.session(SessionID(phone.id))?.end == nil)
      #expect(try await test.refresh(tablet.refresh, key: .fresh).status == 200)
      test.clock.advance(by: .seconds(1))
      // The first sweep finds the clock right, and the next one ends the sessions that have expired.
      await Sweeper(server: test.server).sweep()
      #expect(try await test.store.session(SessionID(phone.id))?.end == nil)
      await Sweeper(server: test.server).sweep()
      #expect(try await test.store.session(SessionID(phone.id))?.end?.reason == .expired)
      #expect(try await test.refresh(phone.refresh, key: .fresh).json["reason"] == "expired")
      for session in [laptop, tablet] {
        let row = try #require(try await test.store.session(SessionID(session.id)))
        #expect(row.endReason(at: test.clock.now) == nil)
        #expect(test.clock.now.since(row.lastSeenAt) <= .seconds(600))
      }
      #expect(try await test.refresh(laptop.refresh, key: .fresh).status == 200)
      #expect(test.logs.text.contains("using it again"))
    }
  }

  @Test(arguments: [2 * 86_400, 200]) func `agrees with other servers on its store once the clock is right again`(
    seconds: Int64
  ) async throws {
    let (store, clock) = (FaultyStore(), TestClock())
    let mint = try freshMint()
    let limits = RegistryLimits(absoluteLimit: nil, idleLimit: .seconds(86_400))
    func server() async throws -> SessionServer { try await self.server(on: store, mint, clock, limits: limits) }
    let (first, second) = (try await server(), try await server())
    let registry = first.registry
    for server in [first, second] { _ = try await server.checkClock() }
    let account = try await registry.openAccount(email: nil, username: "Ada", passwordHash: nil, now: first.now())
    clock.advance(by: .seconds(1))
    clock.jump(by: .seconds(seconds))
    #expect(try await !first.checkClock())
    clock.advance(by: .seconds(300))
    #expect(try await !second.checkClock())
    #expect(try await !second.followClock())
    let device = DeviceInfo(id: DeviceID("d"), name: "d", platform: "d")
    let session = try await registry.createSession(
      by: .password(of: account), SessionStart(device: device), now: second.now())
    // A third server starts in doubt.
    let third = try await server()
    clock.advance(by: .seconds(300))
    #expect(try await first.checkClock())
    #expect(first.now() == clock.now)
    for server in [second, third] {
      #expect(server.now() < clock.now)
      #expect(try await server.followClock())
      #expect(server.now() == clock.now)
      #expect(try await !server.checkClock())
    }
    let row = try #require(try await registry.session(session.row.id, now: clock.now))
    #expect(clock.now.since(row.lastSeenAt) == .seconds(300))
    #expect(try await store.clockNote()?.doubtedSince == nil)
  }

  @Test func `does not adopt its own clock until another server has confirmed it`() async throws {
    let (store, first) = (FaultyStore(), TestClock())
    let second = TestClock(first.now)
    let mint = try freshMint()
    // Two machines: one machine's clock jumps.
    let (one, other) = (try await server(on: store, mint, first), try await server(on: store, mint, second))
    for server in [one, other] { _ = try await server.checkClock() }
    for clock in [first, second] { clock.advance(by: .seconds(1)) }
    first.jump(by: day * 100)
    #expect(try await !one.checkClock())
    #expect(try await !other.checkClock())
    #expect(try await store.clockNote()?.doubtedSince == nil)
    #expect(try await !one.followClock())
    #expect(one.now() == second.now)
    for _ in 0..<20 {
      for clock in [first, second] { clock.advance(by: .seconds(60)) }
      #expect(try await !other.checkClock())
      #expect(try await !one.followClock())
      #expect(try await !one.checkClock())
    }
    #expect(one.now() == second.now)
    second.jump(by: day * 100)
    #expect(try await !other.checkClock())
    for clock in [first, second] { clock.advance(by: .seconds(600)) }
    #expect(try await other.checkClock())
    #expect(try await one.followClock())
    #expect(one.now() == first.now)
  }

  @Test func `corrects what it wrote after a pause, during which another server went on`() async throws {
    let (store, first) = (FaultyStore(), TestClock())
    let second = TestClock(first.now)
    let mint = try freshMint()
    let (one, other) = (try await server(on: store, mint, first), try await server(on: store, mint, second))
    for server in [one, other] { _ = try await server.checkClock() }
    let account = try await one.registry.openAccount(email: nil, username: "Ada", passwordHash: nil, now: one.now())
    second.advance(by: day * 2)
    _ = try await other.checkClock()
    // As a virtual machine that was paused: its wall clock is right again, its monotonic clock stood still.
    first.jump(by: day * 2)
    let device = DeviceInfo(id: DeviceID("d"), name: "d", platform: "d")
    let session = try await one.registry.createSession(
      by: .password(of: account), SessionStart(device: device), now: one.now())
    #expect(try await one.followClock())
    #expect(one.now() == second.now)
    let row = try #require(try await store.session(session.row.id))
    #expect(row.lastSeenAt == second.now)
  }

  @Test func `shares one time with other servers in doubt`() async throws {
    let (store, clock) = (FaultyStore(), TestClock())
    let mint = try freshMint()
    let registry = Registry(store: store, mint: mint)
    let past = ClockNote(at: clock.now.advanced(by: .zero - day))
    #expect(try await registry.note(past))
    let first = try await server(on: store, mint, clock)
    #expect(try await !first.checkClock())
    clock.advance(by: .seconds(47))
    let second = try await server(on: store, mint, clock)
    #expect(first.now().since(second.now()) == .seconds(47))
    #expect(try await !first.checkClock())
    #expect(try await !second.followClock())
    #expect(first.now() == second.now())
    clock.advance(by: .seconds(600))
    #expect(try await first.checkClock())
    #expect(try await second.followClock())
    #expect(second.now() == clock.now)
  }

  @Test func `compares its clock at start with the last time in the registry`() async throws {
    let store = FaultyStore()
    let clock = TestClock()
    let mint = try freshMint()
    let keys = SigningKeys()

    func run(_ body: (SessionServer, WireClient) async throws -> Void) async throws {
      let server = try await SessionServer(
        configuration: ServerConfiguration(issuer: "https://id.example.org") {
          $0.passwords.hashing = .forTests
          $0.now = { clock.now }
          $0.uptime = { clock.uptime }
        },
        registry: Registry(store: store, mint: mint), keys: keys)
      let running = try await server.start()
      do {
        try await body(server, WireClient(base: running.url))
        try await running.stop()
      } catch {
        try await running.stop()
        throw error
      }
    }
    func isLive(_ session: TestServer.Session) async throws -> Bool {
      try await store.session(SessionID(session.id))?.end == nil
    }

    let sessions = Locked<[TestServer.Session]>([])
    try await run { _, client in
      let answer = try await client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
      let session = try TestServer.Session(answer)
      sessions.withLock { $0 = [session] }
    }
    let ada = try #require(sessions.withLock { $0.first })
    clock.jump(by: day * 100)
    try await run { server, client in
      await Sweeper(server: server).sweep()
      let lasts = try await isLive(ada)
      #expect(lasts)
      let form = "grant_type=refresh_token&refresh_token=\(ada.refresh)&rotation_key="
      let answer = try await client.post("/oauth/token", form: form + RotationKey.fresh.wireText.withExposed { $0 })
      #expect(answer.status == 200)
    }
    // It goes down in doubt and restarts: still ten minutes, then the time of the use is corrected.
    try await run { server, _ in
      clock.advance(by: .seconds(599))
      await Sweeper(server: server).sweep()
      let waits = try await isLive(ada)
      #expect(waits)
      clock.advance(by: .seconds(1))
      for _ in 0..<2 { await Sweeper(server: server).sweep() }
      // Used in doubt, so it counts by the clock that turned out right.
      let lasts = try await isLive(ada)
      #expect(lasts)
      let row = try #require(try await store.session(SessionID(ada.id)))
      #expect(clock.now.since(row.lastSeenAt) < .seconds(1000))
    }
  }

  @Test func `asks for no code of an authenticator app twice, whichever clock the app agrees with`() async throws {
    for ahead in [Duration.seconds(600), .seconds(-600)] {
      try await run { test in
        let app = try await test.addApp(to: try await test.signUp())
        // Longer than the jump: older codes than that of the set-up never count.
        test.clock.advance(by: .seconds(700))
        test.clock.jump(by: ahead)
        for time in [test.clock.now, test.server.now()].sorted() {
          #expect(try await test.signIn(code: app.code(at: time)).status == 200, "\(ahead)")
          #expect(try await test.signIn(code: app.code(at: time)).code == "second_factor_wrong")
        }
      }
    }
  }

  /// A verifier's clock may agree with either.
  @Test(arguments: [8 * 3600, -8 * 3600, 900, -900, 100 * 86_400]) func `issues tokens that are valid by both clocks`(
    seconds: Int64
  ) async throws {
    let app = try ConfiguredClient(
      id: "job", secretHash: ConfiguredClient.hash(of: Secret(TestServer.secret)),
      flows: [.credentials], scopes: ["read"], audiences: ["https://a.example.org"])
    try await run(clients: [app]) { test in
      _ = try await test.signUp()
      test.clock.jump(by: .seconds(seconds))
      let machine = try await test.oauth(
        "/oauth/token", [("grant_type", "client_credentials")], headers: TestServer.basic("job", TestServer.secret))
      for access in [try await test.signIn().access, try #require(machine.json["access_token"] as String?)] {
        guard
          case .success(let claims) = test.server.authenticator.tokens.verify(
            Substring(access), at: test.server.now(), audience: nil)
        else {
          Issue.record("the token is not valid here")
          continue
        }
        let times = [test.server.now(), test.clock.now]
        #expect(times.allSatisfy { claims.issuedAt <= $0 })
        // But it must not be valid for 100 days.
        let latest = seconds > 7 * 86_400 ? times[0] : max(times[0], times[1])
        let left = claims.expiresAt.since(latest)
        #expect(left > .seconds(590) && left <= .seconds(601), "\(left)")
      }
    }
  }
}
#endif
