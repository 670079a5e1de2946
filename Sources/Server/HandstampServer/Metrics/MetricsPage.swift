#if Server
import CoreMetrics
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging
import Metrics
import NIOCore
public import ServiceLifecycle

/// A page for Prometheus at `/metrics`, on an address of its own: it shows how a server is used, so it is not for the public. The
/// server's `/health` and `/ready` are there too.
///
/// The server's ``ServerConfiguration/metrics`` is the backend that the page shows.
public struct MetricsPage: Service, CustomStringConvertible {
  /// How long the numbers of accounts and sessions are kept: counting them takes long on a large store.
  private static let countLife = Duration.seconds(60)
  /// Maximum number of connections: of the descriptors that the server's listener leaves.
  private static let connections = 32

  private let server: SessionServer
  private let metrics: PrometheusMetrics
  private let host: String
  private let port: Int
  private let onReady: @Sendable (_ port: Int) async -> Void
  private let counted = Locked<ContinuousClock.Instant?>(nil)

  /// - Parameters:
  ///   - port: 0 for any free port.
  ///   - version: the version of the program, for `handstamp_build_info`.
  ///   - onReady: called once, with the port, when the page accepts connections.
  public init(
    of server: SessionServer, metrics: PrometheusMetrics, host: String, port: Int, version: String,
    onReady: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) {
    self.server = server
    self.metrics = metrics
    self.host = host
    self.port = port
    self.onReady = onReady
    metrics.makeMeter(label: "handstamp_build_info", dimensions: [("version", version)]).set(Int64(1))
  }

  /// The name of the service in logs.
  public var description: String { "MetricsPage" }

  public func run() async throws {
    let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
    router.get("/metrics") { [self] _, _ in
      await count()
      server.publishMetrics()
      return Response(
        status: .ok, headers: [.contentType: PrometheusMetrics.contentType, .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
    }
    server.lasting.readiness.addRoutes(to: router)
    // Its own words about starting and stopping are those of every listener.
    var logger = server.configuration.logger
    logger.logLevel = .critical
    var options = ListenerOptions()
    options.idleLimit = .seconds(60)
    options.connections = MetricsPage.connections
    options.connectionsPerAddress = MetricsPage.connections
    let responder = router.buildResponder()
    try await Listener(
      on: [.host(host, port: port)], options: options, isApart: true, promptPaths: ["/health"], logger: logger,
      onReady: onReady
    ) { [logger] request, channel in
      let context = ServerContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
      return try await responder.respond(to: request, context: context)
    }.run()
  }

  private func count() async {
    let now = ContinuousClock.now
    guard counted.withLock({ $0 }).map({ now - $0 >= MetricsPage.countLife }) ?? true else { return }
    let counts: RegistryCounts
    do throws(RegistryError) { counts = try await server.registry.counts() } catch {
      return server.authenticator.errors.report(error, logger: server.configuration.logger)
    }
    counted.withLock { $0 = now }
    server.metrics.update {
      $0.storedAccounts = counts.accounts
      $0.storedSessions = counts.liveSessions
    }
  }
}

/// Passes the counters on to swift-metrics every second.
struct MetricsPublisher: NamedService {
  let server: SessionServer

  func run() async throws { await everySecond { _ in server.publishMetrics() } }
}

extension SessionServer {
  func publishMetrics() {
    let queue = lasting.passwords.places
    metrics.update { $0.passwordQueue = queue }
    metrics.publish()
  }
}
#endif
