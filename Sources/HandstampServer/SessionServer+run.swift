#if Server
import HandstampCore
import Hummingbird
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
  /// - Throws: if the port is not available.
  public func run(
    host: String = "127.0.0.1", port: Int = 0, stoppingOnSignals: Bool = false,
    onReady: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) async throws {
    let group = serviceGroup(
      host: host, port: port, signals: stoppingOnSignals ? [.sigterm, .sigint] : [], onReady: onReady)
    try await group.run()
  }

  /// Starts the server in the background and returns when it accepts connections. Stop it with ``RunningServer/stop()``.
  ///
  /// - Throws: if the port is not available.
  public func start(host: String = "127.0.0.1", port: Int = 0) async throws -> RunningServer {
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let group = serviceGroup(host: host, port: port, signals: []) { continuation.yield($0) }
    let serving = Task {
      defer { continuation.finish() }
      try await group.run()
    }
    for await port in ports { return RunningServer(host: host, port: port, group: group, serving: serving) }
    try await serving.value
    throw CancellationError()
  }

  private func serviceGroup(
    host: String, port: Int, signals: [UnixSignal], onReady: @escaping @Sendable (Int) async -> Void
  ) -> ServiceGroup {
    let application = application(address: .hostname(host, port: port)) { channel in
      await onReady(channel.localAddress?.port ?? port)
    }
    // Services shut down last to first: the streams end before the server waits for its connections.
    var configuration = ServiceGroupConfiguration(
      services: [MailFinisher(desk: desk), application] + backgroundServices,
      gracefulShutdownSignals: signals,
      logger: self.configuration.logger)
    configuration.maximumGracefulShutdownDuration = self.configuration.shutdownLimit
    return ServiceGroup(configuration: configuration)
  }
}

extension SessionServer {
  /// What the server does besides answering requests: it sends queued mails before a shutdown, ends expired sessions, deletes
  /// old data, accepts a clock that jumped once it runs steadily, and announces events of other servers. Give them to the
  /// Hummingbird application that has the server's routes; ``run(host:port:stoppingOnSignals:onReady:)`` runs them itself.
  public var services: [any Service] { [MailFinisher(desk: desk)] + backgroundServices }

  private var backgroundServices: [any Service] {
    [Sweeper(server: self), EventRelay(server: self), StreamStopper(hub: hub)]
  }
}

/// A server running in the background.
public struct RunningServer: Sendable {
  public let host: String
  public let port: Int
  fileprivate let group: ServiceGroup
  fileprivate let serving: Task<Void, any Error>

  /// The server's URL, without a trailing slash.
  public var url: String { "http://\(host):\(port)" }

  /// Shuts the server down gracefully and returns when it has stopped.
  ///
  /// - Throws: the error that stopped the server earlier, if any.
  public func stop() async throws {
    await group.triggerGracefulShutdown()
    try await serving.value
  }
}

/// Ends the event streams when the server shuts down; they would not end otherwise.
private struct StreamStopper: Service, CustomStringConvertible {
  let hub: EventHub
  var description: String { "StreamStopper" }

  func run() async throws {
    try? await gracefulShutdown()
    hub.stop()
  }
}
#endif
