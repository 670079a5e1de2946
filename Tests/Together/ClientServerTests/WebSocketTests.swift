#if Programs
import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampTransports
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Testing

/// A real WebSocket server: it sends numbered messages to clients with a token, starting after the given number.
private final class NumberServer: Sendable {
  struct Visit: Sendable {
    var authorization: String?
    var after: String?
    var channel: any Channel
  }

  private let visits = Locked<[Visit]>([])
  private let refusals = Locked<[HTTPResponseStatus]>([])
  private let (arrivals, arrival) = AsyncStream.makeStream(of: Visit.self)

  /// Delays the response to the upgrade until the first message, and sends both in one write.
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

  /// The next accepted connection.
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

/// Answers every refused upgrade.
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

@Suite(.timeLimit(.minutes(10))) struct `Messages over a WebSocket` {
  /// Those of this platform.
  enum Connector: CaseIterable {
    case swiftNIO
    #if canImport(Darwin)
    case urlSession
    #endif

    func make(messageLimit: Int = 1 << 20) -> any MessageConnector {
      switch self {
      case .swiftNIO: return WebSocketConnector(messageLimit: messageLimit)
      #if canImport(Darwin)
      case .urlSession: return URLSessionMessageConnector(messageLimit: messageLimit)
      #endif
      }
    }
  }

  private let clock = ManualClock()

  private func session() async throws -> SessionController {
    let controller = SessionController(
      backend: ScriptedBackend { call, _, _ in .granted(.sample(call)) }, vault: MemoryVault(),
      policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)), clock: clock)
    try await controller.signIn { .sample(0) }
    return controller
  }

  private func stream(
    _ url: String, _ controller: SessionController, _ connector: Connector
  ) throws -> MessageStream {
    MessageStream(
      try #require(URL(string: url)), controller: controller, connector: connector.make(),
      // No pause, so that the clock does not need to move.
      options: StreamOptions(retry: RetryPolicy(base: .zero)),
      id: { message in if case .text(let text) = message { text } else { nil } })
  }

  /// Reads the messages in a task of its own.
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

  @Test(arguments: Connector.allCases)
  func `arrive in order, authenticated, and replies are sent back`(connector: Connector) async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      let stream = try stream(url, controller, connector)
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

  @Test(arguments: Connector.allCases)
  func `are not lost if they arrive together with the upgrade response`(connector: Connector) async throws {
    let controller = try await session()
    try await NumberServer.run(isSlow: true) { url, server in
      var messages = read(try stream(url, controller, connector))
      let visit = try #require(await server.next())
      visit.send(1)
      #expect(try await messages.next() == .text("1"))
    }
  }

  @Test(arguments: Connector.allCases)
  func `resume after a broken connection, after the last message`(connector: Connector) async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      var messages = read(try stream(url, controller, connector))
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

  @Test(arguments: Connector.allCases)
  func `continue with a new token when the old one is refused`(connector: Connector) async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      clock.advance(by: .seconds(60))
      server.refuse(.unauthorized)
      var messages = read(try stream(url, controller, connector))
      let visit = try #require(await server.next())
      #expect(visit.authorization == "Bearer access-s1-1")
      visit.send(1)
      #expect(try await messages.next() == .text("1"))
    }
  }

  @Test(arguments: Connector.allCases)
  func `end with the session`(connector: Connector) async throws {
    let controller = try await session()
    try await NumberServer.run { url, server in
      var messages = read(try stream(url, controller, connector))
      let visit = try #require(await server.next())
      visit.send(1)
      _ = try await messages.next()
      async let closed: Void = visit.channel.closeFuture.get()
      await controller.signOut()
      do {
        while try await messages.next() != nil {}
        Issue.record("the stream ended without an error")
      } catch {
        #expect(error as? SessionError == .signedOut(.signedOut))
      }
      try await closed
    }
  }

  @Test(arguments: Connector.allCases)
  func `may be fragmented, and may not exceed the limit`(connector: Connector) async throws {
    try await NumberServer.run { url, server in
      let request = TransportRequest(
        method: "GET", url: url, headers: [HeaderField("Authorization", "Bearer access-x")])
      let connection = try await connector.make(messageLimit: 100).open(request)
      let visit = try #require(await server.next())
      visit.send(.text, ByteBuffer(string: "ha"), fin: false)
      visit.send(.continuation, ByteBuffer(string: "lf"))
      try await connection.ping()
      visit.send(.text, ByteBuffer(repeating: 97, count: 101))
      var texts: [IncomingMessage] = []
      do {
        for try await message in connection.incoming where message != .heartbeat { texts.append(message) }
        Issue.record("an overlong message was accepted")
      } catch {
        #expect(error is TransportError)
      }
      #expect(texts == [.message(.text("half"))])
    }
  }

  @Test(arguments: Connector.allCases)
  func `are refused with the server's status or the network's error`(connector: Connector) async throws {
    try await NumberServer.run { url, _ in
      await #expect(throws: MessageError.status(401, retryAfter: .seconds(7))) {
        try await connector.make().open(TransportRequest(method: "GET", url: url))
      }
    }
    await #expect(throws: MessageError.self) {
      try await connector.make().open(TransportRequest(method: "GET", url: "ws://127.0.0.1:1/"))
    }
    for url in ["http://a", "ws://", "nothing", "ws://a:99999/", "ws://u@a/"] {
      await #expect(throws: MessageError.transport(.invalidRequest("not a valid WebSocket URL"))) {
        try await connector.make().open(TransportRequest(method: "GET", url: url))
      }
    }
  }

  @Test func `pass an HTTP proxy, and never go around one`() async throws {
    try await TinyProxy.run { port in
      try await NumberServer.run { url, server in
        let request = TransportRequest(
          method: "GET", url: url, headers: [HeaderField("Authorization", "Bearer access-x")])
        func open(_ kind: ProxyServer.Kind, _ port: Int) async throws(MessageError) -> any MessageConnection {
          let rules = ProxyRules.all(through: ProxyServer(kind, host: "127.0.0.1", port: port))
          return try await WebSocketConnector(network: NetworkSettings(proxies: rules)).open(request)
        }
        let connection = try await open(.http, port)
        let visit = try #require(await server.next())
        visit.send(.text, ByteBuffer(string: "hello"))
        var first: IncomingMessage?
        for try await message in connection.incoming where message != .heartbeat {
          first = message
          break
        }
        #expect(first == .message(.text("hello")))
        connection.close()

        await #expect(throws: MessageError.transport(NetworkFailure.proxyUnreachable.error())) {
          try await open(.http, 1)
        }
        let words = "a WebSocket cannot use a SOCKS proxy; except its host from it (NO_PROXY)"
        await #expect(throws: MessageError.transport(.invalidRequest(words))) { try await open(.socks5, port) }
        #expect(server.seen.count == 1)
      }
    }
  }
}
#endif
