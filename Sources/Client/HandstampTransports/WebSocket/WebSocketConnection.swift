#if WebSocket
import HandstampCore
import NIOCore
import NIOWebSocket

/// A WebSocket connection.
final class WebSocketConnection: MessageConnection {
  let incoming: AsyncThrowingStream<IncomingMessage, any Error>
  let sink: Sink
  private let channel: any Channel

  init(_ channel: any Channel, unreadLimit: Int) {
    self.channel = channel
    let (incoming, continuation) = AsyncThrowingStream.makeStream(
      of: IncomingMessage.self, bufferingPolicy: .bufferingOldest(unreadLimit))
    self.incoming = incoming
    sink = Sink(continuation: continuation)
    continuation.onTermination = { _ in channel.close(promise: nil) }
  }

  deinit { channel.close(promise: nil) }

  @concurrent func send(_ message: WireMessage) async throws(TransportError) {
    switch message {
    case .text(let text): try await write(.text, ByteBuffer(string: text))
    case .bytes(let bytes): try await write(.binary, ByteBuffer(bytes: bytes))
    }
  }

  @concurrent func ping() async throws(TransportError) { try await write(.ping, ByteBuffer()) }

  func close() {
    // Does not wait for the server's close frame, since the caller expects no more messages.
    var code = channel.allocator.buffer(capacity: 2)
    code.write(webSocketErrorCode: .normalClosure)
    let frame = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: code)
    channel.writeAndFlush(frame).whenComplete { [channel] _ in channel.close(promise: nil) }
    sink.finish()
  }

  private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) async throws(TransportError) {
    do {
      try await channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data))
    } catch {
      throw .connectionLost("the connection broke")
    }
  }

  /// Receives incoming messages.
  struct Sink: Sendable {
    fileprivate let continuation: AsyncThrowingStream<IncomingMessage, any Error>.Continuation

    /// Returns `false` if messages are not read fast enough.
    func put(_ message: IncomingMessage) -> Bool {
      if case .dropped = continuation.yield(message) { false } else { true }
    }

    func finish(_ error: TransportError? = nil) { continuation.finish(throwing: error) }
  }
}

/// Decodes frames.
final class WebSocketHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame
  private let sink: WebSocketConnection.Sink

  init(_ sink: WebSocketConnection.Sink) { self.sink = sink }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    // Frames from a server are not masked (RFC 6455 section 5.1); NIO passes them on as received.
    let content = frame.unmaskedData
    switch frame.opcode {
    case .text: put(.message(.text(String(buffer: content))), context)
    case .binary: put(.message(.bytes(Array(buffer: content))), context)
    case .ping:
      let answer = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: content)
      context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
      put(.heartbeat, context)
    case .pong: put(.heartbeat, context)
    case .connectionClose:
      let answer = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: content)
      context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
      sink.finish()
      context.close(promise: nil)
    default: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    sink.finish(.connectionLost("the connection broke"))
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    sink.finish(.connectionLost("the server violated RFC 6455"))
    context.close(promise: nil)
  }

  private func put(_ message: IncomingMessage, _ context: ChannelHandlerContext) {
    guard !sink.put(message) else { return }
    sink.finish(.connectionLost("messages were not read in time"))
    context.close(promise: nil)
  }
}
#endif
