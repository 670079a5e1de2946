#if WebSocket
import HandstampCore
import NIOCore
import NIOExtras
import NIOHTTP1

/// Asks an HTTP proxy for a connection to another host (`CONNECT`, RFC 9110 section 9.3.6).
enum Tunnel {
  private static let encoder = "handstamp.tunnel.encoder"
  private static let decoder = "handstamp.tunnel.decoder"

  /// Succeeds when the channel leads to `address`, without a handler in the pipeline. Its errors are ``TransportError``s.
  static func open(
    on channel: any Channel, to address: WebSocketAddress, through proxy: ProxyServer, by deadline: NIODeadline
  ) -> EventLoopFuture<Void> {
    let host = address.host.contains(":") ? "[\(address.host)]" : address.host
    let headers = proxy.connectFields(to: "\(host):\(address.port)")
    let connected = channel.eventLoop.makePromise(of: Void.self)
    do {
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandler(HTTPRequestEncoder(), name: encoder)
      try pipeline.addHandler(
        ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)), name: decoder)
      try pipeline.addHandler(
        NIOHTTP1ProxyConnectHandler(
          targetHost: host, targetPort: address.port, headers: headers, deadline: deadline, promise: connected))
    } catch {
      connected.fail(error)
    }
    return connected.futureResult
      .flatMap { channel.pipeline.removeHandler(name: decoder) }
      .flatMap { channel.pipeline.removeHandler(name: encoder) }
      .flatMapErrorThrowing { throw failure($0, of: proxy) }
  }

  private static func failure(_ error: any Error, of proxy: ProxyServer) -> TransportError {
    guard let error = error as? NIOHTTP1ProxyConnectHandler.Error else { return NetworkFailure.proxyLost.error() }
    switch error {
    case .proxyAuthenticationRequired(): return NetworkFailure.refusal(status: 407, of: proxy)
    case .httpProxyHandshakeTimeout(): return NetworkFailure.proxySilent.error()
    case .remoteConnectionClosed(), .channelUnexpectedlyInactive(): return NetworkFailure.proxyLost.error()
    default: return NetworkFailure.proxyRefuses.error()
    }
  }
}
#endif
