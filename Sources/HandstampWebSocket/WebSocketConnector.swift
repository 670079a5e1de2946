#if WebSocket
import Foundation
public import Handstamp
import HandstampCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Opens WebSockets (RFC 6455) by SwiftNIO, for a ``MessageStream``. `ws:` and `wss:`; no proxy, no extension.
public struct WebSocketConnector: MessageConnector {
  /// The most bytes of one message; a longer one breaks the connection. Default 1 MiB.
  public var messageLimit: Int
  /// The most messages that wait for a reader. More break the connection, and the stream resumes: nothing piles up.
  public var unreadLimit: Int

  public init(messageLimit: Int = 1 << 20, unreadLimit: Int = 1_024) {
    self.messageLimit = messageLimit
    self.unreadLimit = unreadLimit
  }

  /// The request's time is that for the server's answer to the upgrade.
  @concurrent public func open(_ request: TransportRequest) async throws(MessageRefusal) -> any MessageConnection {
    let address = try WebSocketAddress(request.url)
    let group = MultiThreadedEventLoopGroup.singleton
    let deadline = NIODeadline.now() + .nanoseconds(request.timeout.nanosecondsClamped)
    do {
      let tls = address.isSecure ? try NIOSSLContext(configuration: .makeClientConfiguration()) : nil
      return try await ClientBootstrap(group: group)
        .connectTimeout(.nanoseconds(request.timeout.nanosecondsClamped))
        .connect(host: address.host, port: address.port) { channel in
          Upgrade.future(on: channel, request, address, tls: tls, limits: self, by: deadline)
        }
        .get()
    } catch {
      throw MessageRefusal(error)
    }
  }
}

extension MessageRefusal {
  init(_ error: any Error) {
    switch error {
    case let error as MessageRefusal: self = error
    case is CancellationError: self = .transport(.cancelled)
    case ChannelError.connectTimeout: self = .transport(.timedOut)
    case let error as IOError: self = .transport(.unreachable("error \(error.errnoCode)"))
    default: self = .transport(.unreachable(String(describing: type(of: error))))
    }
  }
}

/// Where a WebSocket is.
struct WebSocketAddress {
  let isSecure: Bool
  let host: String
  let port: Int
  /// Path and query.
  let target: String

  init(_ url: String) throws(MessageRefusal) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
      ["ws", "wss"].contains(scheme),
      let host = parts.host, !host.isEmpty, parts.user == nil, (1...65_535).contains(parts.port ?? 1)
    else { throw .transport(.invalidRequest("the address is none of a WebSocket")) }
    isSecure = scheme == "wss"
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    port = parts.port ?? (isSecure ? 443 : 80)
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    target = path + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
    authority = parts.port.map { "\(host):\($0)" } ?? host
  }

  /// For the field `Host`.
  let authority: String
}

extension Duration {
  /// At most a century.
  var nanosecondsClamped: Int64 {
    let (seconds, attoseconds) = components
    return min(max(seconds, 0), 3_200_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
#endif
