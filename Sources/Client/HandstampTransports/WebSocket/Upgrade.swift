#if WebSocket
import HandstampCore
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOWebSocket

/// Turns a new connection into a WebSocket, or reports the failure.
enum Upgrade {
  static func future(
    on channel: any Channel, _ request: TransportRequest, _ address: WebSocketAddress, _ proxy: ProxyServer?,
    tls: NIOSSLContext?, limits: WebSocketConnector, by deadline: NIODeadline
  ) -> EventLoopFuture<EventLoopFuture<WebSocketConnection>> {
    channel.eventLoop.makeCompletedFuture {
      let result = channel.eventLoop.makePromise(of: WebSocketConnection.self)
      channel.closeFuture.whenComplete { _ in
        result.fail(MessageError.transport(.connectionLost("the connection broke")))
      }
      let limit = channel.eventLoop.scheduleTask(deadline: deadline) {
        result.fail(MessageError.transport(.timedOut))
        channel.close(promise: nil)
      }
      result.futureResult.whenComplete { _ in limit.cancel() }
      let path = proxy.map { Tunnel.open(on: channel, to: address, through: $0, by: deadline) }
      let isReady = path ?? channel.eventLoop.makeSucceededVoidFuture()
      isReady.flatMapThrowing { try configure(channel, request, address, tls: tls, limits: limits, result) }
        .whenFailure { error in
          result.fail(error)
          channel.close(promise: nil)
        }
      return result.futureResult
    }
  }

  private static func configure(
    _ channel: any Channel, _ request: TransportRequest, _ address: WebSocketAddress, tls: NIOSSLContext?,
    limits: WebSocketConnector, _ result: EventLoopPromise<WebSocketConnection>
  ) throws {
    let pipeline = channel.pipeline.syncOperations
    if let tls {
      // SNI is for host names only, not for IP addresses.
      let name = address.host.allSatisfy { $0.isHexDigit || $0 == "." || $0 == ":" } ? nil : address.host
      try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
    }
    let upgrader = NIOTypedWebSocketClientUpgrader<Void>(
      maxFrameSize: limits.messageLimit,
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          let connection = WebSocketConnection(channel, unreadLimit: limits.unreadLimit)
          try channel.pipeline.syncOperations.addHandlers([
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 1_024,
              maxAccumulatedFrameSize: limits.messageLimit), WebSocketHandler(connection.sink),
          ])
          result.succeed(connection)
        }
      })
    var headers = HTTPHeaders([("Host", address.authority)])
    for field in request.headers { headers.add(name: field.name, value: field.value) }
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.target, headers: headers)
    var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
      upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
        upgradeRequestHead: head, upgraders: [upgrader],
        notUpgradingCompletionHandler: { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(RefusalHandler(result))
          }
        }))
    // The server's first message may arrive in one read with its response. NIO drops it by default.
    configuration.leftOverBytesStrategy = .forwardBytes
    _ = try pipeline.configureUpgradableHTTPClientPipeline(configuration: configuration)
  }
}

/// Reads the head of a response that is not an upgrade, then closes.
private final class RefusalHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  private let result: EventLoopPromise<WebSocketConnection>

  init(_ result: EventLoopPromise<WebSocketConnection>) { self.result = result }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data) else { return }
    let wait = head.headers.first(name: "Retry-After").flatMap(Int64.init).map {
      Duration.seconds(min(max($0, 0), 86_400))
    }
    result.fail(MessageError.status(Int(head.status.code), retryAfter: wait))
    context.close(promise: nil)
  }
}
#endif
