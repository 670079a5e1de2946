#if Server
public import HandstampRegistry
import HandstampSupport
import Hummingbird

extension SessionServer {
  /// Replaces the settings of a server that ``run(host:port:stoppingOnSignals:onReady:)`` or ``start(host:port:)`` has started.
  /// Requests in flight and open event streams continue with the former ones; connections stay open, and no limit is forgotten
  /// unless it changes.
  ///
  /// Not replaced, because they cannot change while a server runs: ``ServerConfiguration/issuer``,
  /// ``ServerConfiguration/mountPath``, ``ServerConfiguration/clientID``, the listener, the clocks, the logger, and how many
  /// passwords are hashed at once. Routes in an app's own router keep their settings.
  ///
  /// - Parameter registry: the server's store and master keys, perhaps with other limits.
  /// - Throws: like the initializer; the former settings then remain.
  public func reload(
    _ configuration: ServerConfiguration, registry: Registry, keys: SigningKeys, mailer: (any Mailer)? = nil,
    apple: AppleSignIn? = nil
  ) async throws {
    let running = self.configuration
    var configuration = configuration
    configuration.issuer = running.issuer
    configuration.mountPath = running.mountPath
    configuration.clientID = running.clientID
    configuration.listener = running.listener
    configuration.logger = running.logger
    configuration.now = running.now
    configuration.uptime = running.uptime
    let server = try await SessionServer(
      configuration: configuration, registry: registry, keys: keys, mailer: mailer, apple: apple, accounts: directory,
      middlewares: middlewares, continuing: self)
    latest.replace(by: server)
  }

  /// The server with the settings in use.
  var current: SessionServer { latest.server ?? self }
}

/// The server that has replaced the first one, see ``SessionServer/reload(_:registry:keys:mailer:apple:)``.
final class LatestServer: Sendable {
  private struct Content {
    var server: SessionServer
    var responder: any HTTPResponder<ServerContext>
  }

  private let content = Locked<Content?>(nil)

  var server: SessionServer? { content.withLock { $0?.server } }
  var responder: (any HTTPResponder<ServerContext>)? { content.withLock { $0?.responder } }

  func replace(by server: SessionServer) {
    let next = Content(server: server, responder: server.responder)
    content.withLock { $0 = next }
  }
}
#endif
