#if WebSocket
import Foundation
public import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Opens WebSockets (RFC 6455) with SwiftNIO, for a ``MessageStream``. Supports `ws:` and `wss:`, but neither proxies
/// nor extensions.
public struct WebSocketConnector: MessageConnector {
  /// The maximum size of a message in bytes; a longer one breaks the connection. Default 1 MiB.
  public var messageLimit: Int
  /// The maximum number of unread messages. More of them break the connection, and the stream resumes: messages never
  /// pile up.
  public var unreadLimit: Int

  public init(messageLimit: Int = 1 << 20, unreadLimit: Int = 1_024) {
    self.messageLimit = messageLimit
    self.unreadLimit = unreadLimit
  }

  /// Opens a connection. The request's timeout limits the wait for the server's response to the upgrade.
  @concurrent public func open(_ request: TransportRequest) async throws(MessageRefusal) -> any MessageConnection {
    let address = try WebSocketAddress(request.url)
    let group = MultiThreadedEventLoopGroup.singleton
    let deadline = NIODeadline.now() + TimeAmount(request.timeout)
    do {
      let tls = address.isSecure ? try NIOSSLContext(configuration: WebSocketConnector.tls) : nil
      return try await ClientBootstrap(group: group)
        .connectTimeout(TimeAmount(request.timeout))
        .connect(host: address.host, port: address.port) { channel in
          Upgrade.future(on: channel, request, address, tls: tls, limits: self, by: deadline)
        }
        .get()
    } catch {
      throw MessageRefusal(error)
    }
  }
}

extension WebSocketConnector {
  /// Trusts the authorities in the file that `SSL_CERT_FILE` names, or the system's.
  private static var tls: TLSConfiguration {
    var tls = TLSConfiguration.makeClientConfiguration()
    if let file = ProcessEnvironment["SSL_CERT_FILE"] { tls.trustRoots = .file(file) }
    return tls
  }
}

extension MessageRefusal {
  init(_ error: any Error) {
    switch error {
    case let error as MessageRefusal: self = error
    case is CancellationError: self = .transport(.cancelled)
    case ChannelError.connectTimeout: self = .transport(.timedOut)
    case let error as IOError: self = .transport(.connectionLost("error \(error.errnoCode)"))
    default: self = .transport(.connectionLost(String(describing: type(of: error))))
    }
  }
}

/// The address of a WebSocket.
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
    else { throw .transport(.invalidRequest("not a valid WebSocket URL")) }
    isSecure = scheme == "wss"
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    port = parts.port ?? (isSecure ? 443 : 80)
    let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    target = path + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
    authority = parts.port.map { "\(host):\($0)" } ?? host
  }

  /// The value of the `Host` field.
  let authority: String
}
#endif
