#if WebSocket
import Foundation
public import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Opens WebSockets (RFC 6455) with SwiftNIO, for a ``MessageStream``. Supports `ws:` and `wss:`, directly or through an HTTP proxy,
/// but neither SOCKS nor extensions. Where the settings name a SOCKS proxy, ``open(_:)`` throws and does not connect.
public struct WebSocketConnector: MessageConnector {
  /// The maximum size of a message in bytes; a longer one breaks the connection. Default 1 MiB.
  public var messageLimit: Int
  /// The maximum number of unread messages. More of them break the connection, and the stream resumes: messages never
  /// pile up.
  public var unreadLimit: Int
  /// Proxies, authorities and client certificate; `nil`, the default, reads the environment at each ``open(_:)``, as
  /// ``NetworkSettings/environment(proxies:)`` does.
  public var network: NetworkSettings?

  public init(messageLimit: Int = 1 << 20, unreadLimit: Int = 1_024, network: NetworkSettings? = nil) {
    self.messageLimit = messageLimit
    self.unreadLimit = unreadLimit
    self.network = network
  }

  /// Opens a connection. The request's timeout limits the wait for the server's response to the upgrade.
  @concurrent public func open(_ request: TransportRequest) async throws(MessageError) -> any MessageConnection {
    let address = try WebSocketAddress(request.url)
    let network = try settings()
    let proxy = network.proxies.server(for: request.url)
    guard proxy?.kind != .socks5 else {
      throw .transport(.invalidRequest("a WebSocket cannot use a SOCKS proxy; except its host from it (NO_PROXY)"))
    }
    let group = MultiThreadedEventLoopGroup.singleton
    let deadline = NIODeadline.now() + TimeAmount(request.timeout)
    do {
      let tls = address.isSecure ? try NIOSSLContext(configuration: TLSConfiguration(network)) : nil
      return try await ClientBootstrap(group: group)
        .connectTimeout(TimeAmount(request.timeout))
        .connect(host: proxy?.host ?? address.host, port: proxy?.port ?? address.port) { channel in
          Upgrade.future(on: channel, request, address, proxy, tls: tls, limits: self, by: deadline)
        }
        .get()
    } catch {
      if let proxy, let failure = (error as? TransportError).flatMap(NetworkFailure.init), failure == .proxyRefuses {
        throw .transport(await NetworkFailure.refusal(of: proxy, for: request.url))
      }
      throw MessageError(error, through: proxy)
    }
  }

  private func settings() throws(MessageError) -> NetworkSettings {
    do throws(TransportError) { return try NetworkSettings.given(network).get() } catch { throw .transport(error) }
  }
}

extension MessageError {
  init(_ error: any Error, through proxy: ProxyServer?) {
    switch error {
    case let error as MessageError: self = error
    case let error as TransportError: self = .transport(error)
    case is NIOConnectionError where proxy != nil: self = .transport(NetworkFailure.proxyUnreachable.error())
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

  init(_ url: String) throws(MessageError) {
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
