#if AsyncHTTPClient || WebSocket
import Foundation
import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTP1
import NIOPosix

extension ProxyServer {
  /// The header fields of a request for a connection to `place`, which is a host and a port.
  func connectFields(to place: String) -> HTTPHeaders {
    var fields = HTTPHeaders([("Host", place)])
    credentials?.withExposedBytes {
      fields.add(name: "Proxy-Authorization", value: "Basic " + Data($0).base64EncodedString())
    }
    return fields
  }
}

extension NetworkFailure {
  /// How an HTTP proxy refuses to connect to the server of `url`. The libraries tell no status but 407, so that it is asked once more,
  /// without a request behind it.
  @concurrent static func refusal(of proxy: ProxyServer, for url: String) async -> TransportError {
    let isSocket = url.prefix(2).lowercased() == "ws"
    guard proxy.kind == .http, let server = Origin(isSocket ? "http" + url.dropFirst(2) : url) else {
      return proxyRefuses.error()
    }
    let host = server.host.contains(":") ? "[\(server.host)]" : server.host
    let place = "\(host):\(server.port)"
    let request = HTTPRequestHead(
      version: .http1_1, method: .CONNECT, uri: place, headers: proxy.connectFields(to: place))
    let status = try? await withIdleLimit(.seconds(5), throwing: TransportError.timedOut) {
      _ throws(TransportError) in
      do { return try await statusCode(of: proxy, to: request) } catch { throw .connectionLost("the connection broke") }
    }
    return status.map { refusal(status: $0, of: proxy) } ?? proxyRefuses.error()
  }

  private static func statusCode(of proxy: ProxyServer, to request: HTTPRequestHead) async throws -> Int {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: proxy.host, port: proxy.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
            wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { responses, requests in
      try await requests.write(.head(request))
      try await requests.write(.end(nil))
      for try await case .head(let head) in responses { return Int(head.status.code) }
      throw ChannelError.eof
    }
  }
}
#endif
