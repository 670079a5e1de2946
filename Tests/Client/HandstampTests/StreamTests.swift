import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// A transport whose streams are written by the test.
final class FeedTransport: Transport {
  struct Connection: Sendable {
    var request: TransportRequest
    var body: AsyncThrowingStream<[UInt8], any Error>.Continuation
    /// Opens once the stream has no reader.
    let left = Gate()

    func send(_ text: String) { body.yield(Array(text.utf8)) }
    var token: String? { request.headers.first(named: "Authorization") }
    var after: String? { request.headers.first(named: "Last-Event-ID") }
  }

  private let opened: AsyncStream<Connection>
  private let continuation: AsyncStream<Connection>.Continuation
  private let statuses: Locked<[Int]>
  private let type: String
  /// The number of streams that have lost their reader.
  let closed = Locked(0)

  /// - Parameter statuses: of the first responses; later ones are 200.
  init(statuses: [Int] = [], type: String = "text/event-stream; charset=utf-8") {
    self.statuses = Locked(statuses)
    self.type = type
    (opened, continuation) = AsyncStream.makeStream()
  }

  /// The next requested connection.
  func next() async throws -> Connection {
    for await connection in opened { return connection }
    throw CancellationError()
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    throw .connectionLost("streams alone")
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let status = statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
    let (body, chunks) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    let connection = Connection(request: request, body: chunks)
    chunks.onTermination = { [closed] _ in
      closed.withLock { $0 += 1 }
      connection.left.open()
    }
    continuation.yield(connection)
    return TransportStream(status: status, headers: [HeaderField("Content-Type", type)], body: body)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A stream of events` {
  private let clock = ManualClock()

  private func controller(aheadOfExpiry: Bool = false) async throws -> SessionController {
    let policy = SessionPolicy(
      refresh: RefreshPolicy(usesTimer: aheadOfExpiry), retry: RetryPolicy(attempts: 1, base: .zero))
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: policy, clock: clock)
    try await controller.signIn { .sample(0) }
    return controller
  }

  private func stream(
    _ controller: SessionController, _ feed: FeedTransport, heartbeat: Duration = .seconds(3600)
  ) throws -> AuthenticatedStream {
    let options = StreamOptions(heartbeat: heartbeat, missedHeartbeats: 3, retry: RetryPolicy(base: .zero))
    return try APIClient(baseURL: base, controller: controller, transport: feed).stream("/feed", options: options)
  }

  /// Reads in a task, and returns the events one by one.
  private func reader(_ stream: AuthenticatedStream) -> (events: AsyncStream<String>, end: Task<SessionError?, Never>) {
    let (events, continuation) = AsyncStream.makeStream(of: String.self)
    let end = Task { () -> SessionError? in
      defer { continuation.finish() }
      do throws(SessionError) {
        for try await event in stream { continuation.yield(event.data) }
        return nil
      } catch {
        return error
      }
    }
    return (events, end)
  }

  @Test func `resumes after a break, with the token and after the last event`() async throws {
    let feed = FeedTransport()
    let (events, end) = reader(try stream(try await controller(), feed))
    var iterator = events.makeAsyncIterator()
    let first = try await feed.next()
    #expect(first.request.url == "\(base)/feed")
    #expect(first.request.headers.first(named: "Accept") == "text/event-stream")
    #expect(first.token == "Bearer access-s1-0")
    #expect(first.after == nil)
    first.send("id: 1\ndata: a\n\nid: 2\nda")
    #expect(await iterator.next() == "a")
    first.body.finish(throwing: TransportError.connectionLost("broken"))
    let second = try await feed.next()
    #expect(second.after == "1")
    second.send("id: 2\ndata: b\n\n")
    #expect(await iterator.next() == "b")
    end.cancel()
    await second.left.wait()
    #expect(await end.value == nil)
  }

  @Test func `uses the new token's connection before the old one is dropped`() async throws {
    let feed = FeedTransport()
    let controller = try await controller(aheadOfExpiry: true)
    let (events, end) = reader(try stream(controller, feed))
    var iterator = events.makeAsyncIterator()
    let first = try await feed.next()
    first.send("id: 1\ndata: a\n\n")
    #expect(await iterator.next() == "a")
    // A token of ten minutes is replaced two minutes ahead of expiry. Four timers: the session's refresh, and the stream's
    // renewal, watchdog and open limit.
    await clock.sleepers(4)
    clock.advance(by: .seconds(481))
    let second = try await feed.next()
    #expect(second.token == "Bearer access-s1-1")
    #expect(second.after == "1")
    await first.left.wait()
    second.send("id: 2\ndata: b\n\n")
    #expect(await iterator.next() == "b")
    end.cancel()
    await second.left.wait()
  }

  @Test func `ends with the session, and reports why`() async throws {
    let feed = FeedTransport()
    let controller = try await controller()
    let (_, end) = reader(try stream(controller, feed))
    let first = try await feed.next()
    await controller.signOut(reason: .expired)
    #expect(await end.value == .signedOut(.expired))
    await first.left.wait()
  }

  @Test func `ends when another session follows`() async throws {
    let feed = FeedTransport()
    let controller = try await controller()
    let (_, end) = reader(try stream(controller, feed))
    _ = try await feed.next()
    try await controller.signIn { .sample(0, session: "s2") }
    #expect(await end.value == .signedOut(.replaced))
  }

  @Test func `does not begin without a session`() async throws {
    let controller = try await controller()
    await controller.signOut()
    let (_, end) = reader(try stream(controller, FeedTransport()))
    #expect(await end.value == .signedOut(.signedOut))
  }

  @Test func `drops a connection that is silent`() async throws {
    let feed = FeedTransport()
    let (events, end) = reader(try stream(try await controller(), feed, heartbeat: .seconds(10)))
    let first = try await feed.next()
    await clock.sleepers(3)
    clock.advance(by: .seconds(30))
    let second = try await feed.next()
    await first.left.wait()
    #expect(feed.closed.withLock { $0 } == 1)
    second.send("data: a\n\n")
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == "a")
    end.cancel()
  }

  @Test func `retries with another token if the server refuses the first`() async throws {
    let feed = FeedTransport(statuses: [401])
    let controller = try await controller()
    clock.advance(by: .seconds(60))
    let (_, end) = reader(try stream(controller, feed))
    _ = try await feed.next()
    let second = try await feed.next()
    #expect(second.token == "Bearer access-s1-1")
    end.cancel()
  }

  @Test(arguments: [
    (403, SessionError.refused(code: "status_403", detail: nil)),
    (404, SessionError.refused(code: "status_404", detail: nil)), (204, nil),
  ])
  func `ends if the server has no stream`(status: Int, error: SessionError?) async throws {
    let (_, end) = reader(try stream(try await controller(), FeedTransport(statuses: [status])))
    #expect(await end.value == error)
  }

  @Test(arguments: [302, 429, 500, 503])
  func `continues after an undecided response`(status: Int) async throws {
    let feed = FeedTransport(statuses: [status, status])
    let (events, end) = reader(try stream(try await controller(), feed))
    _ = try await feed.next()
    _ = try await feed.next()
    try await feed.next().send("data: a\n\n")
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == "a")
    end.cancel()
  }

  @Test func `rejects a web page in its place`() async throws {
    let feed = FeedTransport(type: "text/html")
    let (_, end) = reader(try stream(try await controller(), feed))
    _ = try await feed.next()
    _ = try await feed.next()
    end.cancel()
    #expect(await end.value == nil)
  }

  @Test func `closes its connection when it has no reader`() async throws {
    let feed = FeedTransport()
    let stream = try stream(try await controller(), feed)
    let reading = Task {
      for try await _ in stream { break }
    }
    let first = try await feed.next()
    first.send("data: a\n\n")
    try await reading.value
    await first.left.wait()
    #expect(feed.closed.withLock { $0 } == 1)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The server's session feed` {
  private let feed = FeedTransport()
  private let clock = ManualClock()

  private func start() async throws -> (ServerBackend, SessionController) {
    let backend = ServerBackend(baseURL: base, device: .init(id: DeviceID("d"), name: "a device"), transport: feed)
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    return (backend, controller)
  }

  @Test func `ends the session that it reports as ended, with its reason, and no other`() async throws {
    let (backend, controller) = try await start()
    let events = Locked<[String]>([])
    let following = Task {
      await backend.sessionEvents(for: controller).follow { event in events.withLock { $0.append(event.name) } }
    }
    let connection = try await feed.next()
    #expect(connection.request.url == "\(base)/v1/events")
    connection.send("id: 7\nevent: verification\nretry: 1000\ndata: {\"sid\":\"s1\",\"current\":true}\n\n")
    connection.send("id: 8\nevent: session-revoked\ndata: {\"sid\":\"s9\",\"reason\":\"revoked\"}\n\n")
    connection.send("id: 9\nevent: session-revoked\ndata: no json\n\n")
    connection.send(
      "id: 10\nevent: session-revoked\ndata: {\"sid\":\"s1\",\"reason\":\"token_reuse\",\"at_ms\":5,\"current\":true}\n\n"
    )
    await first(controller.states) { $0 == .signedOut(.tokenReuseDetected) }
    await connection.left.wait()
    // The next session is followed as well.
    try await controller.signIn { .sample(0, session: "s2") }
    let second = try await feed.next()
    #expect(second.token == "Bearer access-s2-0")
    second.send("event: session-revoked\ndata: {\"sid\":\"s2\",\"reason\":\"something new\"}\n\n")
    await first(controller.states) { $0 == .signedOut(.revoked) }
    following.cancel()
    await following.value
    #expect(events.withLock { $0.first } == "session-revoked")
  }
}
