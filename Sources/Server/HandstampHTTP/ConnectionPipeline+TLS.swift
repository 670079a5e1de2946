#if HTTP && AsyncHTTPClient
import NIOCore
import NIOHTTP2
import NIOHTTPTypesHTTP2
import NIOSSL
import NIOTLS

typealias SecureContext = NIOSSLContext

extension ConnectionPipeline {
  /// Sets up the protocol that the client chooses during the handshake.
  func addTLS(to channel: any Channel, of connection: Connection, with tls: SecureContext) throws {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
    try pipeline.addHandler(
      NIOTypedApplicationProtocolNegotiationHandler<Void> { result, channel in
        channel.eventLoop.makeCompletedFuture {
          switch result {
          case .negotiated("h2"): try addHTTP2(to: channel, of: connection)
          case .negotiated, .fallback: try addHTTP1(to: channel, of: connection, isSecure: true)
          }
        }
      })
  }

  private func addHTTP2(to channel: any Channel, of connection: Connection) throws {
    connection.isMultiplexed = true
    var settings = NIOHTTP2Handler.ConnectionConfiguration()
    settings.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: ListenerOptions.concurrentStreams),
      HTTP2Setting(parameter: .maxHeaderListSize, value: host.options.headSize),
    ]
    // Control frames that wait because the client does not read (CVE-2019-9512 and others).
    settings.maximumBufferedControlFrames = 1000
    var streams = NIOHTTP2Handler.StreamConfiguration()
    // Requests that are taken back as soon as they are made (CVE-2023-44487), or cause errors at once.
    streams.streamResetFrameRateLimit.maximumCount = 2 * ListenerOptions.concurrentStreams
    streams.streamErrorRateLimit.maximumCount = 2 * ListenerOptions.concurrentStreams
    let pipeline = channel.pipeline.syncOperations
    let manager = NIOHTTP2ServerConnectionManagementHandler(
      eventLoop: channel.eventLoop,
      configuration: .init(maxIdleTime: nil, maxAge: nil, maxGraceTime: nil, keepalive: nil))
    try pipeline.addHandler(FrameBudget(connection, host))
    try pipeline.addHandler(
      NIOHTTP2Handler(
        mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: settings, streamConfiguration: streams,
        streamDelegate: manager.http2StreamDelegate
      ) { stream in
        stream.eventLoop.makeCompletedFuture {
          let pipeline = stream.pipeline.syncOperations
          try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
          try pipeline.addHandler(ExchangeHandler(host: host, connection: connection, isStream: true))
        }
      })
    try pipeline.addHandler(manager)
    try pipeline.addHandler(ConnectionEnd())
  }

  /// Whether an error is one of HTTP, and not of TLS.
  static func isHTTP(_ error: any Error) -> Bool { !(error is NIOSSLError) && !(error is BoringSSLError) }
}

/// Closes a connection of HTTP/2 whose client sends much that is part of no request, such as frames that grant room for responses, or of
/// unknown kinds: they cost it nothing, and keep an event loop busy.
private final class FrameBudget: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// In bytes: as much as an honest client sends beside many responses that it reads at once.
  private static let most = 256 << 10
  /// In bytes per second: some thousand frames, as a client sends that reads 50 MB a second.
  private static let rate: Int64 = 16 << 10

  private let connection: Connection
  private let host: ExchangeHost
  private var left = FrameBudget.most
  private var filledAt = NIODeadline.now()

  init(_ connection: Connection, _ host: ExchangeHost) {
    self.connection = connection
    self.host = host
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // Bytes that had arrived before the connection was closed.
    guard left >= 0 else { return }
    let now = NIODeadline.now()
    let earned = min((now - filledAt).nanoseconds / 1000 * FrameBudget.rate / 1_000_000, Int64(FrameBudget.most))
    // Less than a byte is earned later.
    if earned > 0 { filledAt = now }
    left = min(left + Int(earned) + connection.useful, FrameBudget.most) - unwrapInboundIn(data).readableBytes
    connection.useful = 0
    guard left >= 0 else {
      host.count(.idleFrames, 1)
      host.log.note(.idleFrames)
      return context.close(promise: nil)
    }
    context.fireChannelRead(data)
  }
}

/// Closes a connection of HTTP/2 whose client violates the protocol.
private final class ConnectionEnd: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }
}
#elseif HTTP
import NIOCore

/// Never created without the trait `AsyncHTTPClient`: ``TLSFiles`` throws ``ListenError/missingTrait``.
struct SecureContext: Sendable {
  private init() {}
}

extension ConnectionPipeline {
  func addTLS(to channel: any Channel, of connection: Connection, with tls: SecureContext) throws {}

  /// Whether an error is one of HTTP, and not of TLS.
  static func isHTTP(_ error: any Error) -> Bool { true }
}
#endif
