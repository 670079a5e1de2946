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
  /// ``ServerConfiguration/mountPath``, ``ServerConfiguration/clientID``, ``ServerConfiguration/former``, ``MailSettings/jitter``, the listener, the
  /// clocks, the logger, and how and how many passwords are hashed. Routes in an app's own router keep their settings.
  ///
  /// - Parameters:
  ///   - registry: the server's store and master keys, perhaps with other limits.
  ///   - mailer: another one, or the same; `nil` only if the server began without one.
  /// - Throws: like the initializer, and ``ServerConfigurationError/mailerCannotChange``; the former settings then remain.
  public func reload(
    _ configuration: ServerConfiguration, registry: Registry, keys: SigningKeys, mailer: (any Mailer)? = nil,
    apple: AppleSignIn? = nil
  ) async throws {
    guard (mailer == nil) == (self.mailer == nil) else { throw ServerConfigurationError.mailerCannotChange }
    let running = self.configuration
    var configuration = configuration
    configuration.issuer = running.issuer
    configuration.hasIssuerSlash = running.hasIssuerSlash
    configuration.mountPath = running.mountPath
    configuration.clientID = running.clientID
    configuration.listener = running.listener
    configuration.former = running.former
    configuration.logger = running.logger
    configuration.now = running.now
    configuration.uptime = running.uptime
    configuration.boot = running.boot
    let server = try await SessionServer(
      configuration: configuration, registry: registry, keys: keys, mailer: mailer, apple: apple, transport: transport,
      accounts: directory, middlewares: middlewares, continuing: current)
    reloaded.replace(by: server)
  }

  /// Reads the files of the certificate now, and logs whether a new one is in use or cannot be used.
  package func reloadCertificate() { reloaded.identity.withLock { $0 }?.reload(isAsked: true) }

  /// The server with the settings in use.
  package var current: SessionServer { reloaded.server ?? self }
}

/// The server after the last reload; empty before the first.
final class ReloadedServer: Sendable {
  private struct Content {
    var server: SessionServer
    var responder: any HTTPResponder<ServerContext>
  }

  private let content = Locked<Content?>(nil)
  /// The certificate of the running listener, which settings do not change.
  let identity = Locked<TLSIdentity?>(nil)

  var server: SessionServer? { content.withLock { $0?.server } }
  var responder: (any HTTPResponder<ServerContext>)? { content.withLock { $0?.responder } }

  func replace(by server: SessionServer) {
    let next = Content(server: server, responder: server.responder)
    content.withLock { $0 = next }
  }
}
#endif
