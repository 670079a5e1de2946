#if Programs
import Handstamp
import HandstampCore
import HandstampTesting
import HandstampVaults
import HandstampWebSocket
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Testing

/// A real server of WebSockets: it hands out numbered messages, to whoever shows a token, from the one after that was named.
private final class NumberServer: Sendable {
  struct Visit: Sendable {
    var authorization: String?
    var after: String?
    var channel: any Channel
  }

  private let visits = Locked<[Visit]>([])
  private let refusals = Locked<[HTTPResponseStatus]>([])
  private let (arrivals, arrival) = AsyncStream.makeStream(of: Visit.self)

  /// The answer to the upgrade waits for the first message, and goes out in one piece with it.
  private let isSlow: Bool

  private init(isSlow: Bool) { self.isSlow = isSlow }

  var seen: [Visit] { visits.withLock { $0 } }
  func refuse(_ status: HTTPResponseStatus) { refusals.withLock { $0.append(status) } }

  static func run(isSlow: Bool = false, _ body: (String, NumberServer) async throws -> Void) async throws {
    let server = NumberServer(isSlow: isSlow)
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { server.setUp($0) }
      .bind(host: "127.0.0.1", port: 0).get()
    do { try await body("ws://127.0.0.1:\(channel.localAddress?.port ?? 0)/numbers?x=1", server) } catch {
      try? await channel.close()
      throw error
    }
    for visit in server.seen { visit.channel.close(promise: nil) }
    try await channel.close()
  }

  /// The next one who was let in.
  func next() async -> Visit? {
    for await visit in arrivals { return visit }
    return nil
  }

  private func setUp(_ channel: any Channel) -> EventLoopFuture<Void> {
    let upgrader = NIOWebSocketServerUpgrader(
      shouldUpgrade: { [self] channel, head in
        let refusal = refusals.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        let isKnown = head.headers.first(name: "Authorization")?.hasPrefix("Bearer access-") == true
        return channel.eventLoop.makeSucceededFuture(refusal == nil && isKnown ? HTTPHeaders() : nil)
      },
      upgradePipelineHandler: { [self] channel, head in
        let visit = Visit(
          authorization: head.headers.first(name: "Authorization"), after: head.headers.first(name: "Last-Event-ID"),
          channel: channel)
        visits.withLock { $0.append(visit) }
        return channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.removeHandler(pipeline.handler(type: RefusesTheRest.self), promise: nil)
          try pipeline.addHandler(AnswersPings())
          arrival.yield(visit)
        }
      })
    return channel.eventLoop.makeCompletedFuture { [isSlow] in
      let pipeline = channel.pipeline.syncOperations
      if isSlow { try pipeline.addHandler(ForgetsTheFirstFlush()) }
      try pipeline.configureHTTPServerPipeline(
        withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
      try pipeline.addHandler(RefusesTheRest())
    }
  }
}

extension NumberServer.Visit {
  func send(_ number: Int) { send(.text, ByteBuffer(string: "\(number)")) }

  func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer, fin: Bool = true) {
    channel.writeAndFlush(WebSocketFrame(fin: fin, opcode: opcode, data: data), promise: nil)
  }
}

/// Whoever is not let in is told so.
private final class RefusesTheRest: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .end = unwrapInboundIn(data) else { return }
    let head = HTTPResponseHead(
      version: .http1_1, status: .unauthorized, headers: ["Content-Length": "0", "Retry-After": "7"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }
}

private final class ForgetsTheFirstFlush: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  private var hasForgotten = false

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    context.write(data, promise: nil)
    promise?.succeed()
  }

  func flush(context: ChannelHandlerContext) {
    if hasForgotten { context.flush() }
    hasForgotten = true
  }
}

private final class AnswersPings: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .ping:
      context.writeAndFlush(
        wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)), promise: nil)
    case .text:
      context.writeAndFlush(
        wrapOutboundOut(WebSocketFrame(fin: true, opcode: .text, data: frame.unmaskedData)), promise: nil)
    default: break
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct `Messages over a WebSocket` {
  private let clock = ManualClock()

  private func session() async throws -> SessionController {
    let controller = SessionController(
      vault: MemoryVault(), backend: ScriptedBackend { call, _, _ in .success(.sample(call)) },
      policy: SessionPolicy(refresh: RefreshPolicy(aheadOfExpiry: false)), clock: clock)
    try await controller.signIn { .sample(0) }
    return controller
  }

  private func stream(_ url: String, _ controller: SessionController) -> MessageStream {
    MessageStream(
      url, controller: controller, connector: WebSocketConnector(),
      form: MessageStream.Form(id: { message in if case .text(let text) = message { text } else { nil } }),
      // No pause, so that no clock need be moved.
      options: StreamOptions(retry: RetryPolicy(base: .zero)))
  }

  /// Pulls the messages by a task of its own.
  private func read(_ stream: MessageStream) -> AsyncThrowingStream<WireMessage, any Error>.AsyncIterator {
    let (messages, continuation) = AsyncThrowingStream.makeStream(of: WireMessage.self)
    let reading = Task {
      do {
        for try await message in stream { continuation.yield(message) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in reading.cancel() }
    return messages.makeAsyncIterator()
  }

  @Test func `arrive in order, with the token shown, and answers go back`() async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      let stream = stream(url, controller)
      var messages = read(stream)
      let visit = try #require(await server.next())
      #expect(visit.authorization == "Bearer access-s1-0")
      visit.send(1)
      #expect(try await messages.next() == .text("1"))
      visit.send(.binary, ByteBuffer(bytes: [7, 8]))
      #expect(try await messages.next() == .bytes([7, 8]))
      try await stream.send(.text("back"))
      #expect(try await messages.next() == .text("back"))
    }
  }

  @Test func `are not lost when they come in one piece with the answer to the upgrade`() async throws {
    let controller = try await session()
    try await NumberServer.run(isSlow: true) { url, server in
      var messages = read(stream(url, controller))
      let visit = try #require(await server.next())
      visit.send(1)
      #expect(try await messages.next() == .text("1"))
    }
  }

  @Test func `go on after a broken connection, after the message that came last`() async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      var messages = read(stream(url, controller))
      var visit = try #require(await server.next())
      visit.send(1)
      #expect(try await messages.next() == .text("1"))
      for number in 2...6 {
        try? await visit.channel.close()
        visit = try #require(await server.next())
        #expect(visit.after == "\(number - 1)")
        visit.send(number)
        #expect(try await messages.next() == .text("\(number)"))
      }
    }
  }

  @Test func `go on with a new token when the old one is refused`() async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      clock.advance(by: .seconds(60))
      server.refuse(.unauthorized)
      var messages = read(stream(url, controller))
      let visit = try #require(await server.next())
      #expect(visit.authorization == "Bearer access-s1-1")
      visit.send(1)
      #expect(try await messages.next() == .text("1"))
    }
  }

  @Test func `end with the session`() async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      var messages = read(stream(url, controller))
      let visit = try #require(await server.next())
      visit.send(1)
      _ = try await messages.next()
      async let closed: Void = visit.channel.closeFuture.get()
      await controller.signOut()
      do {
        while try await messages.next() != nil {}
        Issue.record("the stream ended as if nothing had happened")
      } catch {
        #expect(error as? SessionError == .signedOut(.signedOut))
      }
      try await closed
    }
  }

  @Test func `may come in parts, and are not longer than allowed`() async throws {
    try await NumberServer.run { url, server in
      let request = TransportRequest(
        method: "GET", url: url, headers: [HeaderField("Authorization", "Bearer access-x")])
      let connection = try await WebSocketConnector(messageLimit: 100).open(request)
      let visit = try #require(await server.next())
      visit.send(.text, ByteBuffer(string: "ha"), fin: false)
      visit.send(.continuation, ByteBuffer(string: "lf"))
      try await connection.ping()
      visit.send(.text, ByteBuffer(repeating: 97, count: 101))
      var texts: [IncomingMessage] = []
      do {
        for try await message in connection.incoming where message != .heartbeat { texts.append(message) }
        Issue.record("an over-long message went by")
      } catch {
        #expect(error is TransportError)
      }
      #expect(texts == [.message(.text("half"))])
    }
  }

  @Test func `are refused with the server's status, or the network's word`() async throws {
    try await NumberServer.run { url, _ in
      await #expect(throws: MessageRefusal.status(401, retryAfter: .seconds(7))) {
        try await WebSocketConnector().open(TransportRequest(method: "GET", url: url))
      }
    }
    await #expect(throws: MessageRefusal.self) {
      try await WebSocketConnector().open(TransportRequest(method: "GET", url: "ws://127.0.0.1:1/"))
    }
    for url in ["http://a", "ws://", "nothing", "ws://a:99999/", "ws://u@a/"] {
      await #expect(throws: MessageRefusal.transport(.invalidRequest("the address is none of a WebSocket"))) {
        try await WebSocketConnector().open(TransportRequest(method: "GET", url: url))
      }
    }
  }
}
#endif
