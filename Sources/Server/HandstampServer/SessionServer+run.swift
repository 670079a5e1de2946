#if Server
import HandstampCore
import HandstampSupport
public import Hummingbird
import Logging
import NIOCore
public import ServiceLifecycle
import UnixSignals

extension SessionServer {
  /// Runs the server until the task is cancelled or, with `stoppingOnSignals`, until SIGTERM or SIGINT arrives. Then open event
  /// streams end, and other requests have ``ServerConfiguration/shutdownLimit`` to finish.
  ///
  /// - Parameters:
  ///   - port: 0 for any free port.
  ///   - onReady: called once, with the port, when the server accepts connections.
  /// - Throws: ``ListenError``.
  public func run(
    host: String = "127.0.0.1", port: Int = 0, stoppingOnSignals: Bool = false,
    onReady: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) async throws {
    try await run(on: [.host(host, port: port)], stoppingOnSignals: stoppingOnSignals, onReady: onReady)
  }

  /// Runs the server on several addresses, or on sockets that another process has opened.
  ///
  /// - Parameters:
  ///   - notifier: tells the service manager when the server accepts connections, and when it stops.
  ///   - others: services to run beside it, such as a ``MetricsPage``; they stop after it.
  ///   - onReady: called once, with the port of the first address (0 for a Unix domain socket), when the server accepts
  ///     connections.
  /// - Throws: ``ListenError``.
  public func run(
    on addresses: [ListeningAddress], stoppingOnSignals: Bool = false, notifier: ServiceNotifier = .silent,
    beside others: [any Service] = [], onReady: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) async throws {
    let group = try serviceGroup(
      addresses, signals: stoppingOnSignals ? [.sigterm, .sigint] : [], notifier: notifier, beside: others,
      onReady: onReady, respond: respond)
    try await group.run()
  }

  /// Runs the router of an app, which has the server's routes, on the server's listener instead of Hummingbird's, with the limits of
  /// ``ServerConfiguration/listener``, and with ``services``. Otherwise like ``run(on:stoppingOnSignals:notifier:beside:onReady:)``.
  ///
  /// - Parameter responder: that of the router, `buildResponder()`. It gets each request when its body is complete. Reading a body of more
  ///   than ``ServerConfiguration/bodyLimit`` bytes throws `NIOTooManyBytesError`: an app that receives larger ones, or reads them as they
  ///   come, is served by Hummingbird's application.
  /// - Throws: ``ListenError``.
  public func run<Context: RequestContext>(
    _ responder: some HTTPResponder<Context>, on addresses: [ListeningAddress], stoppingOnSignals: Bool = false,
    notifier: ServiceNotifier = .silent, beside others: [any Service] = [],
    onReady: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) async throws where Context.Source == ApplicationRequestContextSource {
    let group = try serviceGroup(
      addresses, signals: stoppingOnSignals ? [.sigterm, .sigint] : [], notifier: notifier, beside: others,
      onReady: onReady
    ) { [logger = configuration.logger] request, channel in
      var logger = logger
      // Contexts demand one.
      logger[metadataKey: "hb.request.id"] = .string(RequestTraceID.random())
      let source = ApplicationRequestContextSource(channel: channel, logger: logger)
      return try await responder.respond(to: request, context: Context(source: source))
    }
    try await group.run()
  }

  /// Starts the server in the background and returns when it accepts connections. Stop it with ``RunningServer/stop()``.
  ///
  /// - Throws: ``ListenError``.
  public func start(host: String = "127.0.0.1", port: Int = 0) async throws -> RunningServer {
    try await start(on: .host(host, port: port))
  }

  /// Starts the server in the background and returns when it accepts connections.
  ///
  /// - Throws: ``ListenError``.
  public func start(
    on address: ListeningAddress, notifier: ServiceNotifier = .silent
  ) async throws -> RunningServer {
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let group = try serviceGroup(
      [address], signals: [], notifier: notifier, onReady: { continuation.yield($0) }, respond: respond)
    let serving = Task {
      defer { continuation.finish() }
      try await group.run()
    }
    for await port in ports {
      return RunningServer(
        host: address.host, port: port, isSecure: configuration.listener.tls != nil, group: group, serving: serving)
    }
    try await serving.value
    throw CancellationError()
  }

  private func serviceGroup(
    _ addresses: [ListeningAddress], signals: [UnixSignal], notifier: ServiceNotifier,
    beside others: [any Service] = [], onReady: @escaping @Sendable (Int) async -> Void,
    respond: @escaping Respond
  ) throws(ListenError) -> ServiceGroup {
    var options = configuration.listener
    options.idleLimit = configuration.idleConnectionLimit
    options.bodySize = configuration.bodyLimit
    options.proxies = { [self] in current.configuration.trustedProxies }
    options.fields = ResponseFields(configuration)
    let prompt = PromptRoute.paths(below: configuration.mountPath)
    let listener = try Listener(
      on: addresses, options: options, promptPaths: prompt, count: { [metrics] in metrics.add($1, to: $0) },
      logger: configuration.logger, notifier: notifier, onReady: onReady, respond: respond)
    try configuration.requireEncryption(on: addresses)
    lasting.identity.withLock { $0 = listener.identity }
    lasting.addresses.withLock { $0 = addresses }
    // Services shut down last to first: the streams end before the server waits for its connections.
    var group = ServiceGroupConfiguration(
      services: others + jobServices + [listener] + backgroundServices
        + [DrainService(readiness: lasting.readiness, delay: configuration.shutdownDelay)],
      gracefulShutdownSignals: signals, logger: configuration.logger)
    group.maximumGracefulShutdownDuration = configuration.shutdownDelay + configuration.shutdownLimit
    return ServiceGroup(configuration: group)
  }

  private typealias Respond = @Sendable (Request, any Channel) async throws -> Response

  /// Responds with the settings in use.
  private var respond: Respond {
    let (logger, first) = (configuration.logger, responder as any HTTPResponder<ServerContext>)
    return { [reloaded] request, channel in
      let context = ServerContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
      return try await (reloaded.withLock { $0?.responder } ?? first).respond(to: request, context: context)
    }
  }
}

extension ServerConfiguration {
  /// - Throws: ``ListenError/cleartext(_:)`` if passwords and tokens would cross a network unencrypted.
  package func requireEncryption(on addresses: [ListeningAddress]) throws(ListenError) {
    guard listener.tls == nil, !listener.allowsCleartext, trustedProxies.ranges.isEmpty,
      let open = addresses.first(where: { !$0.isLocal })
    else { return }
    throw .cleartext(open)
  }
}

extension SessionServer {
  /// The work besides responding to requests: the server sends mails, ends expired sessions, deletes
  /// old data, accepts a clock that jumped once it runs steadily, and announces events of other servers. Give them to the
  /// Hummingbird application that has the server's routes; ``run(host:port:stoppingOnSignals:onReady:)`` runs them itself.
  public var services: [any Service] { jobServices + backgroundServices }

  private var jobServices: [any Service] {
    [
      MailCarrier(server: self), LogoutNotifier(server: self), WebhookCarrier(server: self),
      RefusalTeller(server: self),
    ]
  }

  private var backgroundServices: [any Service] {
    var services: [any Service] = [
      Sweeper(server: self), EventRelay(server: self), MetricsPublisher(server: self), StreamStopper(hub: lasting.hub),
      UpstreamPoller(ends: { current.upstreamEnds }, transport: lasting.transport, logger: configuration.logger),
    ]
    if let system = configuration.former, system.ends, let transport = lasting.transport {
      services.append(FormerEnder(server: self, former: FormerServer(system: system, transport: transport)))
    }
    if let apple, let key = apple.key { services.append(AppleGrants(server: self, apple: apple, key: key)) }
    if configuration.logsAudit { services.append(AuditRelay(server: self)) }
    return services
  }
}

/// A server running in the background.
public struct RunningServer: Sendable {
  public let host: String
  public let port: Int
  fileprivate let isSecure: Bool
  fileprivate let group: ServiceGroup
  fileprivate let serving: Task<Void, any Error>

  /// The server's URL, without a trailing slash.
  public var url: String { "\(isSecure ? "https" : "http")://\(ListeningAddress.host(host, port: port))" }

  /// Shuts the server down gracefully and returns when it has stopped.
  ///
  /// - Throws: the error that stopped the server earlier, if any.
  public func stop() async throws {
    await group.triggerGracefulShutdown()
    try await serving.value
  }
}

/// Says that the server is not ready when it is told to stop, and gives load balancers time to notice before anything else stops.
private struct DrainService: NamedService {
  let readiness: Readiness
  let delay: Duration

  func run() async throws {
    try? await gracefulShutdown()
    await readiness.stop()
    if delay > .zero { try? await Task.sleep(for: delay) }
  }
}

/// Ends the event streams when the server shuts down; they would not end otherwise.
private struct StreamStopper: NamedService {
  let hub: EventHub

  func run() async throws {
    try? await gracefulShutdown()
    hub.stop()
  }
}
#endif
