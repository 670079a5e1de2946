#if Programs
import HandstampCore
import HandstampJOSE
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `A verifier with a feed` {
  private let issuer = Issuer()

  /// Runs `body` with a verifier whose feed is in the hands of the test.
  private func run(
    _ policy: LostFeedPolicy, _ transport: ScriptedTransport = ScriptedTransport(),
    _ body: (TokenVerifier, ScriptedTransport) async throws -> Void
  ) async throws {
    let verifier = try issuer.verifier(transport) {
      $0.feed = FeedSettings(clientID: "api", clientSecret: Secret("a secret: of/an API"), whenLost: policy)
    }
    let running = Task { await verifier.run() }
    defer { running.cancel() }
    try await body(verifier, transport)
  }

  private func verification(id: String? = nil) -> [UInt8] {
    let id = id.map { "id: \($0)\n" } ?? ""
    return Array("event: verification\n\(id)data: {\"at_ms\":\(issuer.clocks.now.milliseconds)}\n\n".utf8)
  }
  private func ended(_ session: String, id: String) -> [UInt8] {
    let until = issuer.clocks.now.seconds + 600
    return Array("event: revocations\nid: \(id)\ndata: {\"sessions\":{\"\(session)\":\(until)}}\n\n".utf8)
  }
  private func refusal(_ verifier: TokenVerifier, session: String = "s1") async -> AccessError? {
    do throws(AccessError) {
      _ = try await verifier.verify(issuer.token(["sid": #""\#(session)""#]))
      return nil
    } catch { return error }
  }

  @Test func `refuses ended sessions, and admits no token before it knows them all`() async throws {
    try await run(.goOn(for: .seconds(3600))) { verifier, transport async throws in
      #expect(await refusal(verifier) == .unavailable(.revocations(since: nil)))
      let feed = await transport.feed(0)
      feed.yield(ended("s2", id: "1-a"))
      await until { await refusal(verifier, session: "s2") == .sessionEnded }
      #expect(await refusal(verifier) == .unavailable(.revocations(since: nil)))
      feed.yield(verification(id: "1-a"))
      await until { verifier.feedStatus?.isLive == true }
      #expect(try await verifier.verify(issuer.token()).assurance == .live)
      #expect(await refusal(verifier, session: "s2") == .sessionEnded)
      feed.yield(ended("s1", id: "2-b"))
      await until { await refusal(verifier) == .sessionEnded }
      // Its end could not be noticed.
      await #expect(throws: AccessError.tokenInvalid(.claims)) {
        try await verifier.verify(issuer.token(["sid": ""]))
      }
      #expect(verifier.feedStatus?.sessions == 2)
    }
  }

  @Test func `says since when the feed is lost, goes on for a while, and then refuses`() async throws {
    try await run(.goOn(for: .seconds(60))) { verifier, transport async throws in
      let feed = await transport.feed(0)
      feed.yield(ended("s2", id: "1-a") + verification())
      await until { verifier.feedStatus?.isLive == true }
      let lost = issuer.clocks.now
      issuer.clocks.advance(by: .seconds(10))
      #expect(try await verifier.verify(issuer.token()).assurance == .live)
      issuer.clocks.advance(by: .milliseconds(1))
      #expect(try await verifier.verify(issuer.token()).assurance == .stale(since: lost))
      #expect(verifier.feedStatus?.isLive == false)
      #expect(verifier.feedStatus?.completeUntil == lost)
      issuer.clocks.advance(by: .milliseconds(49_999))
      #expect(await refusal(verifier) == nil)
      #expect(await refusal(verifier, session: "s2") == .sessionEnded)
      issuer.clocks.advance(by: .milliseconds(1))
      #expect(await refusal(verifier) == .unavailable(.revocations(since: lost)))
      // An ended session stays one.
      #expect(await refusal(verifier, session: "s2") == .sessionEnded)
      // After a second of silence it may have opened another one.
      await until {
        transport.newestFeed?.yield(verification())
        return await refusal(verifier) == nil
      }
    }
  }

  @Test func `goes on for a while also if the first token comes when the server is gone`() async throws {
    let keys = issuer.keys
    let transport = ScriptedTransport()
    let verifier = try issuer.verifier(transport) {
      $0.keys = .url(Issuer.name + "/keys")
      $0.feed = FeedSettings(clientID: "api", clientSecret: Secret("secret"), whenLost: .goOn(for: .seconds(60)))
    }
    let running = Task { await verifier.run() }
    defer { running.cancel() }
    // The server is late: it is asked again, without a token.
    let feed = await transport.feed(0)
    await until { transport.requests.contains { $0.method == "GET" && $0.url.hasSuffix("/keys") } }
    #expect(!verifier.hasKeys)
    transport.answering { _ in TransportResponse(status: 200, body: Array(keys.utf8)) }
    feed.yield(verification())
    await until { verifier.hasKeys && verifier.feedStatus?.isLive == true }
    transport.answering { _ throws(TransportError) in throw .notConnected("no server") }
    feed.finish()
    let lost = issuer.clocks.now
    issuer.clocks.advance(by: .seconds(59))
    #expect(try await verifier.verify(issuer.token()).assurance == .stale(since: lost))
    issuer.clocks.advance(by: .seconds(2))
    #expect(await refusal(verifier) == .unavailable(.revocations(since: lost)))
  }

  @Test(arguments: ["session", "token", "feed"])
  func `ends what was opened with its session, with its token, and when it hears of no end`(cause: String) async throws
  {
    try await run(.goOn(for: .seconds(cause == "feed" ? 60 : 3600))) { verifier, transport async throws in
      let feed = await transport.feed(0)
      feed.yield(verification())
      await until { await refusal(verifier) == nil }
      let identity = try await verifier.verify(issuer.token(["exp": "\(issuer.clocks.now.seconds + 300)"]))
      let lost = issuer.clocks.now
      let end = Locked<AccessError?>(nil)
      let waiting = Task {
        let reason = await verifier.waitForEnd(of: identity)
        end.withLock { $0 = reason }
      }
      feed.yield(ended("s2", id: "1-a"))
      await until { await refusal(verifier, session: "s2") == .sessionEnded }
      #expect(end.withLock { $0 } == nil, "that of another session ends nothing")
      switch cause {
      case "session":
        feed.yield(ended("s1", id: "2-b"))
        await waiting.value
        #expect(end.withLock { $0 } == .sessionEnded)
      case "token":
        issuer.clocks.advance(by: .seconds(310))
        #expect(await verifier.waitForEnd(of: identity) == .tokenExpired(at: identity.expiresAt))
        waiting.cancel()
      default:
        issuer.clocks.advance(by: .milliseconds(60_001))
        await waiting.value
        #expect(end.withLock { $0 } == .unavailable(.revocations(since: lost)))
      }
    }
  }

  @Test func `refuses at once if it is told to`() async throws {
    try await run(.refuse) { verifier, transport async throws in
      let feed = await transport.feed(0)
      feed.yield(verification())
      await until { await refusal(verifier) == nil }
      issuer.clocks.advance(by: .milliseconds(10_001))
      #expect(await refusal(verifier)?.status == 503)
    }
  }

  @Test func `asks the server while the feed is lost, and believes nothing but a clear answer`() async throws {
    let answers = Locked((status: 200, body: #"{"active":true,"sub":"ada"}"#))
    let transport = ScriptedTransport { _ in
      answers.withLock { TransportResponse(status: $0.status, body: Array($0.body.utf8)) }
    }
    try await run(.introspect, transport) { verifier, transport async throws in
      let identity = try await verifier.verify(issuer.token())
      #expect(identity.assurance == .introspected)
      let request = try #require(transport.requests.last { $0.method == "POST" })
      #expect(request.url == Issuer.name + "/oauth/introspect")
      #expect(request.headers.first(named: "Authorization") == "Basic YXBpOmElMjBzZWNyZXQlM0ElMjBvZiUyRmFuJTIwQVBJ")
      for (status, body, refused) in [
        (200, #"{"active":false}"#, AccessError.sessionEnded),
        (200, #"{"active":"true"}"#, .unavailable(.introspection)),
        (200, #"{"active":true,"sub":"eve"}"#, .unavailable(.introspection)),
        (200, "<html>", .unavailable(.introspection)),
        (200, #"{"active":true,"sub":"ada","jti":"another"}"#, .unavailable(.introspection)),
        (401, #"{"active":true,"sub":"ada"}"#, .unavailable(.introspection)), (500, "", .unavailable(.introspection)),
      ] {
        answers.withLock { $0 = (status, body) }
        #expect(await refusal(verifier) == refused, "\(body)")
      }
      transport.answering { _ throws(TransportError) in throw .timedOut }
      #expect(await refusal(verifier) == .unavailable(.introspection))
      // With the feed, it asks no more.
      let feed = await transport.feed(0)
      feed.yield(verification())
      await until { await refusal(verifier) == nil }
    }
  }

  @Test func `continues where it was, and from the beginning after what it could not read`() async throws {
    let transport = ScriptedTransport()
    try await run(.refuse, transport) { verifier, transport async throws in
      let first = await transport.feed(0)
      first.yield(ended("s2", id: "1-a") + verification(id: "4-d"))
      await until { verifier.feedStatus?.isLive == true }
      first.finish()
      let second = await transport.feed(1)
      #expect(transport.requests.last?.headers.first(named: "Last-Event-ID") == "4-d")
      #expect(transport.requests.last?.headers.first(named: "Authorization")?.hasPrefix("Basic ") == true)
      second.yield(Array("event: revocations\nid: 9-z\ndata: {]\n\n".utf8))
      let third = await transport.feed(2)
      #expect(transport.requests.last?.headers.first(named: "Last-Event-ID") == nil)
      #expect(verifier.feedStatus?.lastError == "a block is not valid")
      third.yield(verification(id: "5-e"))
      #expect(await refusal(verifier, session: "s2") == .sessionEnded)
      third.finish(throwing: TransportError.connectionLost("the connection broke"))
      _ = await transport.feed(3)
      #expect(verifier.feedStatus?.lastError == "connection lost: the connection broke")
    }
  }
}
#endif
