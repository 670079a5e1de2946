#if AsyncHTTPClient
import AsyncHTTPClient
import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// The `HTTPClient` of each proxy, and of direct connections. Each is started on first use: a client has one proxy for all its requests.
final class HTTPClients: Sendable {
  private enum State: Sendable {
    case started([ProxyServer?: HTTPClient])
    case shutDown
  }
  private let state = Locked(State.started([:]))
  private let connectTimeout: Duration
  private let network: Result<NetworkSettings, TransportError>
  /// How many connections to one host there may be; `nil` for AsyncHTTPClient's own limit.
  private let connectionsPerHost: Int?
  /// The addresses of hosts that are not looked up.
  private let addresses: [String: String]

  init(
    _ connectTimeout: Duration, _ network: Result<NetworkSettings, TransportError>, connectionsPerHost: Int? = nil,
    addresses: [String: String] = [:]
  ) {
    self.connectTimeout = connectTimeout
    self.network = network
    self.connectionsPerHost = connectionsPerHost
    self.addresses = addresses
  }

  deinit {
    // A client must be shut down before it is deallocated.
    guard case .started(let clients) = state.withLock({ $0 }) else { return }
    for client in clients.values { client.shutdown { _ in } }
  }

  func shutdown() async {
    guard case .started(let clients) = state.withLock({ exchange(&$0, with: .shutDown) }) else { return }
    for client in clients.values { try? await client.shutdown() }
  }

  /// Returns the client for a URL, and the proxy that it uses.
  func client(for url: String) throws(TransportError) -> (HTTPClient, ProxyServer?) {
    let settings = try network.get()
    let proxy = settings.proxies.server(for: url)
    let found = state.withLock { state -> Result<HTTPClient, TransportError> in
      guard case .started(var clients) = state else {
        return .failure(.notConnected("the transport has been shut down"))
      }
      if let known = clients[proxy] { return .success(known) }
      do throws(TransportError) {
        // Over the sockets of the system if there is a certificate: over Apple's Network framework, the library traps on one.
        let group: any EventLoopGroup =
          settings.clientCertificate == nil
          ? HTTPClient.defaultEventLoopGroup : MultiThreadedEventLoopGroup.singleton
        let client = HTTPClient(
          eventLoopGroup: group, configuration: try configuration(settings, proxy))
        clients[proxy] = client
        state = .started(clients)
        return .success(client)
      } catch {
        return .failure(error)
      }
    }
    return (try found.get(), proxy)
  }

  private func configuration(
    _ settings: NetworkSettings, _ proxy: ProxyServer?
  ) throws(TransportError) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: TimeAmount(connectTimeout)),
      // Some servers compress without having been asked; what they sent must not be lost for that.
      decompression: .enabled(limit: .size(64 << 20)))
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.dnsOverride = addresses
    configuration.proxy = proxy.map { HTTPClient.Configuration.Proxy($0) }
    if settings.certificateAuthorities != nil || settings.clientCertificate != nil {
      configuration.tlsConfiguration = try TLSConfiguration(settings)
    }
    if let connectionsPerHost {
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
    }
    return configuration
  }
}

extension HTTPClient.Configuration.Proxy {
  init(_ server: ProxyServer) {
    switch server.kind {
    case .socks5: self = .socksServer(host: server.host, port: server.port)
    case .http:
      let authorization = server.credentials?.withExposed { text in
        let name = text.prefix { $0 != ":" }
        return HTTPClient.Authorization.basic(
          username: String(name), password: String(text[name.endIndex...].dropFirst()))
      }
      self = .server(host: server.host, port: server.port, authorization: authorization)
    }
  }
}
#endif
