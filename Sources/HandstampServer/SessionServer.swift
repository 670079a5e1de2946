#if Server
import HandstampCore
public import HandstampRegistry
public import Hummingbird
import Logging
public import NIOCore

/// The session server: sign-up, sign-in, refresh, sessions and events over HTTP, on top of a ``Registry``.
///
/// It keeps nothing of its own but open event streams: any number of them may serve one store, and one that is started
/// anew carries on.
public struct SessionServer: Sendable {
  public let configuration: ServerConfiguration
  public let registry: Registry
  public let metrics: ServerMetrics
  let clock: ServerClock
  let tokens: AccessTokens
  let passwords: PasswordPool
  let hub: EventHub
  let mailer: (any Mailer)?
  let desk: MailDesk
  let identityTokens: IdentityTokens?
  let keySet: FixedDocument
  let serverMetadata: FixedDocument
  let clients: [String: ConfiguredClient]
  let pacing = Pacing()
  let proofs: ProofDesk
  let appConfig: FixedDocument
  private let middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>]

  /// - Parameters:
  ///   - keys: what access tokens are signed with.
  ///   - mailer: where mails go. Without one nobody can reset a password.
  ///   - apple: how Sign in with Apple is taken. Nothing: it is not.
  ///   - middlewares: see every request first, and every answer last: tests hold or lose answers there.
  /// - Throws: ``RegistryError`` when the registry cannot be read, ``AppConfigFault`` when the app configuration is no JSON object, ``MailSetUpFault`` when addresses are to be
  ///   confirmed without a mailer, or when mails would have no usable sender; ``ClientFault`` when two clients have one id.
  public init(
    configuration: ServerConfiguration, registry: Registry, keys: SigningKeys, mailer: (any Mailer)? = nil,
    apple: AppleSignIn? = nil,
    middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>] = []
  ) async throws {
    self.configuration = configuration
    self.registry = registry
    self.middlewares = middlewares
    let metrics = ServerMetrics()
    self.metrics = metrics
    tokens = try await AccessTokens(
      keys: keys, issuer: configuration.issuer, audience: configuration.issuer, client: configuration.clientID,
      life: configuration.accessTokenLife)
    passwords = PasswordPool(
      parameters: configuration.passwordHashing, width: configuration.hashingThreads,
      capacity: configuration.hashingQueue, metrics: metrics)
    hub = EventHub()
    guard mailer == nil || Mailbox(configuration.sender) != nil else { throw MailSetUpFault.badSender }
    guard configuration.signUp != .confirmed || mailer != nil else { throw MailSetUpFault.noMailer }
    self.mailer = mailer
    let note = try await registry.clockNote()
    let (clock, correction) = ServerClock.starting(after: note, configuration)
    var former = note
    while let correction, former?.doubtedSince != nil {
      let right = ClockNote(at: correction.instant.wall)
      if try await registry.note(right, after: former, moving: correction.span, by: correction.distance) { break }
      // Another server has noted something meanwhile: perhaps that there is no doubt any more.
      former = try await registry.clockNote()
    }
    self.clock = clock
    identityTokens = apple.map { IdentityTokens($0, now: { clock.read().now }) }
    desk = MailDesk(capacity: configuration.mailQueue, interval: configuration.mailInterval)
    var clients: [String: ConfiguredClient] = [:]
    for client in configuration.clients {
      guard client.id != configuration.clientID, clients.updateValue(client, forKey: client.id) == nil else {
        throw ClientFault.twice(client.id)
      }
    }
    self.clients = clients
    proofs = ProofDesk(issuer: configuration.issuer, keys: keys)
    serverMetadata = FixedDocument(metadataOf: configuration)
    keySet = FixedDocument(keys.publicSet, cacheControl: "public, max-age=300")
    appConfig = try FixedDocument(appConfig: configuration.appConfig)
  }

  /// Answers requests without a socket, for measurements and for tests of many requests.
  public var responder: some HTTPResponder<ServerContext> { router.buildResponder() }

  /// The whole server as Hummingbird runs it. Prefer ``run(host:port:stoppingOnSignals:onReady:)``: it also ends event
  /// streams when it is told to stop, looks for sessions that are over, and lets a clock that jumped count again.
  public func application(
    address: BindAddress, onReady: @escaping @Sendable (any Channel) async -> Void = { _ in }
  ) -> some ApplicationProtocol {
    Application(
      router: router,
      server: .sturdyHTTP1(
        configuration: .init(idleTimeout: .milliseconds(configuration.idleConnectionLimit.wholeMilliseconds))),
      configuration: ApplicationConfiguration(address: address), onServerRunning: onReady,
      logger: configuration.logger)
  }

  private var router: Router<ServerContext> {
    let routes = routes
    let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
    for middleware in middlewares { router.add(middleware: middleware) }
    var allowed = AllowedMethods()
    for route in routes { allowed.add(route.method, route.path) }
    router.add(middleware: ProblemMiddleware(allowed: allowed))
    for route in routes { router.on(RouterPath(route.path), method: route.method, use: route.handler) }
    return router
  }
}

/// Why a server cannot write the mails that its configuration asks for.
public enum MailSetUpFault: Error, Sendable, Hashable {
  /// Addresses are to be confirmed, and there is no mailer.
  case noMailer
  /// Mails would be from something that is no plain address.
  case badSender
}

extension SessionServer: CustomStringConvertible, CustomReflectable {
  /// The issuer alone: the rest holds keys, and descriptions end up in logs.
  public var description: String { "session server of \(configuration.issuer)" }
  public var customMirror: Mirror { Mirror(self, children: ["issuer": configuration.issuer]) }
}

extension Duration {
  var wholeMilliseconds: Int64 {
    components.seconds.multipliedReportingOverflow(by: 1000).partialValue + components.attoseconds
      / 1_000_000_000_000_000
  }
}
#endif
