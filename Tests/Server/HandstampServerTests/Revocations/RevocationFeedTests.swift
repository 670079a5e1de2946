#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The revocation feed` {
  private static func run(
    _ configure: (inout ServerConfiguration) -> Void = { _ in }, store: FaultyStore = FaultyStore(),
    clock: TestClock = TestClock(), body: (TestServer) async throws -> Void
  ) async throws {
    let clients = try TestServer.clients()
    try await TestServer.run(clock: clock, store: store) {
      $0.clients = clients
      $0.heartbeat = .milliseconds(20)
      configure(&$0)
    } body: {
      try await body($0)
    }
  }

  private func signOut(_ session: TestServer.Session, _ test: TestServer) async throws {
    #expect(try await test.client.post("/v1/sign-out", token: session.access, json: "{}").status == 204)
  }

  @Test func `has every session that has ended, until its tokens have expired`() async throws {
    try await Self.run { test async throws in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let ended = test.clock.now
      try await signOut(phone, test)
      let feed = try await FeedStream(test)
      let first = try #require(try await feed.complete())
      #expect(Set(first.sessions.keys) == [phone.id])
      // The token's life of ten minutes, and a minute for a refresh in flight.
      #expect(first.sessions[phone.id] == Int(ended.seconds) + 661)
      #expect(test.metrics.openFeeds == 1)
      try await signOut(laptop, test)
      var next = try #require(try await feed.complete())
      while next.sessions.isEmpty { next = try #require(try await feed.complete()) }
      #expect(Set(next.sessions.keys) == [laptop.id])
      #expect(test.metrics.revocationsSent == 2)
      // Over, and the clocks of servers may differ by five minutes.
      test.clock.advance(by: .seconds(900))
      let late = try await FeedStream(test)
      #expect(try await late.complete()?.sessions.count == 2)
      test.clock.advance(by: .seconds(61))
      let later = try await FeedStream(test)
      #expect(try await later.complete()?.sessions == [:])
    }
  }

  @Test func `continues after the last event, and begins again at an ID that it does not know`() async throws {
    try await Self.run { test async throws in
      var sessions = [try await test.signUp(device: "d0")]
      for number in 1..<4 { sessions.append(try await test.signIn(device: "d\(number)")) }
      try await signOut(sessions[0], test)
      let feed = try await FeedStream(test)
      let first = try #require(try await feed.complete())
      #expect(Set(first.sessions.keys) == [sessions[0].id])
      feed.close()
      try await signOut(sessions[1], test)
      let id = try #require(first.id)
      let resumed = try await FeedStream(test, after: id)
      #expect(Set(try #require(try await resumed.complete()).sessions.keys) == [sessions[1].id])
      let number = id.split(separator: "-")[0]
      for unknown in [
        "", "x", "-1", "0", "\(number)", "\(number)-", "\(number)-AAAAAAAAAAAAAAAA", "999999-AAAA", "\(Int64.max)-x",
        "\(Int64.min)-x",
      ] {
        let feed = try await FeedStream(test, after: unknown)
        let all = try #require(try await feed.complete())
        #expect(Set(all.sessions.keys) == [sessions[0].id, sessions[1].id], "\(unknown)")
      }
    }
  }

  @Test func `begins again at a database that was restored, although it has an event of that number`() async throws {
    var cursor = ""
    let clock = TestClock()
    try await Self.run(clock: clock) { test async throws in
      try await signOut(try await test.signUp(device: "phone"), test)
      let feed = try await FeedStream(test)
      cursor = try #require(try await feed.complete()?.id)
    }
    // The same numbers, for other sessions.
    try await Self.run(clock: clock) { test async throws in
      let phone = try await test.signUp(device: "phone")
      try await signOut(phone, test)
      let feed = try await FeedStream(test, after: cursor)
      let all = try #require(try await feed.complete())
      #expect(all.id?.split(separator: "-").first == cursor.split(separator: "-").first)
      #expect(Set(all.sessions.keys) == [phone.id])
    }
  }

  /// More events than are read at once, most of them of other kinds, and some too old.
  @Test func `has thousands of sessions, in blocks`() async throws {
    let (store, clock) = (FaultyStore(), TestClock())
    let account = AccountID("a")
    func write(_ count: Int, _ prefix: String, at time: UnixTime) async throws {
      try await store.write(
        [],
        events: (0..<count).flatMap { number in
          [
            RegistryEvent(
              kind: .sessionRevoked, account: account, session: SessionID("\(prefix)\(number)"), reason: .revoked,
              at: time),
            RegistryEvent(kind: .sessionEstablished, account: account, session: SessionID("new"), at: time),
          ]
        })
    }
    try await write(1000, "old", at: clock.now.advanced(by: .seconds(-3600)))
    try await write(3000, "s", at: clock.now.advanced(by: .seconds(-300)))
    try await Self.run(store: store, clock: clock) { test async throws in
      let feed = try await FeedStream(test)
      let all = try #require(try await feed.complete())
      #expect(Set(all.sessions.keys) == Set((0..<3000).map { "s\($0)" }))
    }
  }

  @Test func `remembers that tokens used to live longer`() async throws {
    let (store, clock) = (FaultyStore(), TestClock())
    try await Self.run({ $0.accessTokenLife = .seconds(3600) }, store: store, clock: clock) { test async throws in
      let phone = try await test.signUp(device: "phone")
      _ = try await test.signIn(device: "laptop")
      try await signOut(phone, test)
    }
    try await Self.run({ $0.accessTokenLife = .seconds(60) }, store: store, clock: clock) { test async throws in
      test.clock.advance(by: .seconds(3500))
      let feed = try await FeedStream(test)
      let ended = try #require(try await feed.complete()).sessions
      #expect(ended.count == 1)
      #expect(ended.values.first == Int(test.clock.now.seconds) - 3500 + 3661)
      // No token of that time is valid any more.
      test.clock.advance(by: .seconds(800))
      try await test.server.noteTokenLife()
      #expect(try await test.server.registry.longestTokenLife(now: test.clock.now) == .seconds(60))
    }
  }

  @Test func `keeps the events that it needs, whatever the retention`() async throws {
    try await TestServer.run(limits: RegistryLimits(retention: .zero)) { test async throws in
      let phone = try await test.signUp(device: "phone")
      try await signOut(phone, test)
      test.clock.advance(by: .seconds(959))
      _ = try await test.server.registry.prune(now: test.clock.now)
      #expect(try await test.server.registry.events(after: .zero).contains { $0.event.kind == .sessionRevoked })
      test.clock.advance(by: .seconds(2))
      _ = try await test.server.registry.prune(now: test.clock.now)
      #expect(try await test.server.registry.events(after: .zero).isEmpty)
    }
  }

  @Test func `does not look fresh while the store cannot be read`() async throws {
    try await Self.run { test async throws in
      _ = try await test.signUp()
      let feed = try await FeedStream(test)
      _ = try await feed.complete()
      test.store.fail(.all)
      // It ends, instead of confirming what it does not know.
      while try await feed.complete() != nil {}
      #expect(await eventually { test.metrics.openFeeds == 0 })
      let refused = try await test.client.get(
        "/v1/revocations", headers: TestServer.basic("api", TestServer.secret))
      #expect(refused.status == 503)
      test.store.fail(.none)
      let again = try await FeedStream(test)
      #expect(try await again.complete() != nil)
    }
  }

  @Test func `is for clients that may introspect every token`() async throws {
    try await Self.run { test async throws in
      for (headers, status, code) in [
        ([:], 401, "invalid_client"), (["Authorization": "Bearer x"], 401, "invalid_client"),
        (["Authorization": "Basic ?"], 401, "invalid_client"),
        (TestServer.basic("api", "wrong"), 401, "invalid_client"),
        (TestServer.basic("unknown", "x"), 401, "invalid_client"),
        (TestServer.basic("app", ""), 401, "invalid_client"),
        (TestServer.basic("site", TestServer.secret), 403, "not_offered"),
      ] {
        let answer = try await test.client.get("/v1/revocations", headers: headers)
        #expect(answer.status == status)
        #expect(answer.code == code)
        #expect(answer.isProblem)
        #expect((answer.headers["www-authenticate"] != nil) == (status == 401))
      }
    }
  }

  @Test func `has a limit for verifiers, and makes room when one leaves`() async throws {
    try await Self.run({ $0.eventStreams.verifiers = 2 }) { test async throws in
      let one = try await FeedStream(test)
      let two = try await FeedStream(test)
      _ = try await one.next()
      _ = try await two.next()
      let refused = try await test.client.get("/v1/revocations", headers: TestServer.basic("api", TestServer.secret))
      #expect(refused.status == 429)
      #expect(refused.code == "too_many_streams")
      #expect(test.metrics.refusedFeeds == 1)
      two.close()
      #expect(await eventually { test.metrics.openFeeds == 1 })
      let three = try await FeedStream(test)
      #expect(try await three.next()?.name == "verification")
    }
  }

  @Test func `ends when another copy of the store has taken its place`() async throws {
    try await Self.run { test async throws in
      let phone = try await test.signUp(device: "phone")
      let feed = try await FeedStream(test)
      #expect(try await feed.complete()?.sessions == [:])
      test.store.replace()
      while let event = try await feed.next() { #expect(event.name == "verification") }
      try await signOut(phone, test)
      let next = try await FeedStream(test)
      #expect(try await next.complete()?.sessions.count == 1)
    }
  }

  @Test func `ends when the server stops`() async throws {
    let feed = try await TestServer.run {
      $0.clients = (try? TestServer.clients()) ?? []
    } body: { test async throws in
      let feed = try await FeedStream(test)
      _ = try await feed.next()
      return Unchecked(feed)
    }
    var last = try await feed.value.next()
    while last != nil { last = try await feed.value.next() }
    #expect(last == nil)
  }
}
#endif
