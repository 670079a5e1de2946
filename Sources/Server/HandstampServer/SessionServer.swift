#if Server
public import HandstampCore
public import HandstampRegistry
import HandstampSupport
public import Hummingbird
import Logging

/// The session server: sign-up, sign-in, refresh, sessions and events over HTTP, on top of a ``Registry``.
///
/// Its only state is open event streams: any number of servers may share one store, and a server can be restarted at any time.
public struct SessionServer: Sendable {
  public let configuration: ServerConfiguration
  public let registry: Registry
  public let metrics: ServerMetrics
  let clock: ServerClock
  let tokens: AccessTokens
  let idTokens: IDTokens
  let passwords: PasswordPool
  let hub: EventHub
  let mailer: (any Mailer)?
  let outbox: Outbox
  let appleSignIn: AppleSignIn?
  let identityTokens: IdentityTokens?
  let providers: [UpstreamSignIn]
  /// The app's accounts; `nil` if they are in the registry.
  let directory: (any AccountDirectory)?
  let keySet: FixedDocument
  let serverMetadata: FixedDocument
  /// The server's own API as a resource; `nil` for an issuer without TLS that is not on this machine.
  let resource: ResourceDocument?
  let clients: ClientDirectory
  /// Of the issuers that clients trust.
  let assertions: IssuerAssertions
  let deviceCodes: DeviceCodeRateLimiter
  let logoutQueue: LogoutQueue
  let webhookQueue: WebhookQueue
  let webhookSigner: WebhookSigner
  let formerEnds: JobBell
  let appleGrants: JobBell
  let apple: AppleSignIn?
  /// Sends requests to clients.
  let transport: (any Transport)?
  let limits: RequestLimits
  let passwordGuard: PasswordGuard
  let proofs: DPoPVerifier
  let refusedSignIns: Tallies<RefusedSignIn>
  let refusedRequests: Tallies<RefusedRequest>
  let readiness: Readiness
  let appConfig: FixedDocument
  let openAPI: FixedDocument
  /// The paths of all routes.
  let paths: Set<String>
  let pages: PageWriter
  let webOrigins: WebOrigins
  let associations: AppAssociations
  /// `nil` if there are no passkeys.
  let passkeys: PasskeyService?
  /// The server that has replaced this one, see ``reload(_:registry:keys:mailer:apple:)``.
  let reloaded: ReloadedServer
  let middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>]

  /// - Parameters:
  ///   - keys: the keys that sign access tokens.
  ///   - mailer: delivers mails. Without one, passwords cannot be reset.
  ///   - apple: settings for Sign in with Apple; `nil` disables it.
  ///   - transport: tells clients that sessions have ended; required if one has a ``ConfiguredClient/backChannelLogoutURI``.
  ///   - accounts: the accounts of an app that keeps its own; `nil` keeps them in the registry.
  ///   - middlewares: see every request first and every response last, so that tests can delay or drop responses.
  /// - Throws: ``RegistryError`` if the registry cannot be read, ``ServerConfigurationError`` if the configuration, or what goes with
  ///   it, is not accepted.
  public init(
    configuration: ServerConfiguration, registry: Registry, keys: SigningKeys, mailer: (any Mailer)? = nil,
    apple: AppleSignIn? = nil, transport: (any Transport)? = nil, accounts: (any AccountDirectory)? = nil,
    middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>] = []
  ) async throws {
    try await self.init(
      configuration: configuration, registry: registry, keys: keys, mailer: mailer, apple: apple, transport: transport,
      accounts: accounts, middlewares: middlewares, continuing: nil)
  }

  /// - Parameter former: a running server, whose state continues in this one.
  init(
    configuration: ServerConfiguration, registry: Registry, keys: SigningKeys, mailer: (any Mailer)?,
    apple: AppleSignIn?, transport: (any Transport)?, accounts: (any AccountDirectory)?,
    middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>], continuing former: SessionServer?
  ) async throws {
    self.configuration = configuration
    var registry = registry
    registry.notices = mailer == nil ? [] : configuration.mail.notices
    self.registry = registry
    self.middlewares = middlewares
    let metrics = former?.metrics ?? ServerMetrics(factory: configuration.metrics)
    self.metrics = metrics
    reloaded = ReloadedServer()
    refusedSignIns = former?.refusedSignIns ?? Tallies(interval: .seconds(60))
    refusedRequests = former?.refusedRequests ?? Tallies(interval: .seconds(10))
    deviceCodes = former?.deviceCodes ?? DeviceCodeRateLimiter()
    logoutQueue = former?.logoutQueue ?? LogoutQueue()
    webhookQueue = former?.webhookQueue ?? WebhookQueue()
    webhookSigner = WebhookSigner(keys: keys, issuer: configuration.issuerIdentifier)
    formerEnds = former?.formerEnds ?? JobBell()
    appleGrants = former?.appleGrants ?? JobBell()
    appleSignIn = apple
    self.transport = transport
    if let system = configuration.former {
      try system.check()
      guard transport != nil || !(system.isAsked || system.ends) else {
        throw ServerConfigurationError.former("the former system cannot be asked without a transport")
      }
    }
    idTokens = IDTokens(keys: keys, issuer: configuration.issuerIdentifier)
    tokens = AccessTokens(
      keys: keys, issuer: configuration.issuerIdentifier, audience: configuration.issuerIdentifier,
      client: configuration.clientID, life: configuration.accessTokenLife)
    passwords =
      former?.passwords
      ?? PasswordPool(
        parameters: configuration.passwords.hashing, width: configuration.passwords.threads,
        capacity: configuration.passwords.queue, metrics: metrics)
    hub = former?.hub ?? EventHub()
    directory = accounts
    guard accounts == nil || configuration.signUp != .confirmed else {
      throw ServerConfigurationError.directoryWithConfirmedSignUp
    }
    guard accounts == nil || apple == nil else { throw ServerConfigurationError.directoryWithAppleSignIn }
    guard mailer == nil || Mailbox(configuration.sender) != nil else { throw ServerConfigurationError.mailSender }
    guard configuration.signUp != .confirmed || mailer != nil else { throw ServerConfigurationError.noMailer }
    self.mailer = mailer
    let clock: ServerClock
    if let former {
      clock = former.clock
    } else {
      clock = ServerClock(after: try await registry.clockNote(), configuration)
    }
    self.clock = clock
    limits = RequestLimits(
      configuration.limits, behind: configuration.trustedProxies, metrics: metrics, uptime: configuration.uptime,
      continuing: former?.limits)
    passwordGuard = PasswordGuard(registry: registry, limits: limits, metrics: metrics)
    self.apple = apple
    identityTokens = apple.map { IdentityTokens($0, now: { clock.read().now }) }
    providers = try configuration.providers.signIns(
      issuer: configuration.issuer, mint: registry.mint, transport: accounts == nil ? transport : nil,
      now: { clock.read().now })
    outbox =
      former?.outbox
      ?? Outbox(registry: registry, clock: clock, jitter: configuration.mail.jitter, hasMailer: mailer != nil)
    clients = try ClientDirectory(
      configuration, algorithms: keys.algorithms, registry: registry, now: { clock.read().now })
    if transport == nil, let party = clients.relyingParties.first {
      throw ServerConfigurationError.client(.noTransport(party.id))
    }
    if transport == nil, let client = configuration.clients.first(where: { !$0.trusts.isEmpty }) {
      throw ServerConfigurationError.client(.noTransport(client.id))
    }
    assertions = IssuerAssertions(of: configuration.clients, transport: transport, now: { clock.read().now })
    readiness =
      former?.readiness
      ?? Readiness(
        registry: registry, clock: clock, uptime: configuration.uptime, logger: configuration.logger)
    proofs = DPoPVerifier(
      address: try configuration.publicAddress(), keys: keys, continuing: former?.proofs)
    serverMetadata = FixedDocument(metadataOf: configuration, algorithms: keys.algorithms)
    resource = ResourceDocument(configuration)
    keySet = FixedDocument(keys.publicSet, cacheControl: "public, max-age=300", isForAllOrigins: true)
    let document = try OpenAPIDocument(for: configuration)
    openAPI = FixedDocument(document.bytes, cacheControl: "public, max-age=300")
    paths = Set(document.operations.map(\.path))
    associations = try AppAssociations(configuration, routes: paths)
    pages = try PageWriter(
      configuration.pages, issuer: configuration.issuer, mountPath: configuration.mountPath,
      providers: configuration.providers)
    webOrigins = try WebOrigins(issuer: configuration.issuer, allowed: configuration.webOrigins)
    let party = try configuration.passkeys.party(
      of: configuration.issuer, and: webOrigins.allowed, apps: configuration.androidApps, name: pages.siteName)
    let ownParty = accounts == nil ? party : nil
    passkeys = ownParty.map { PasskeyService(party: $0, registry: registry, clock: clock) }
    if ownParty == nil {
      guard configuration.requiredAssurance.groups.isEmpty else {
        throw ServerConfigurationError.assuranceWithoutPasskeys(issuer: configuration.issuer)
      }
      if let client = configuration.clients.first(where: { $0.requiredContext != nil }) {
        throw ServerConfigurationError.client(.noPasskeys(client.id))
      }
    }
    guard configuration.passwords.policy.hasRanges else {
      throw ServerConfigurationError.breachedPasswords(configuration.passwords.policy.breachedPasswords ?? "")
    }
    appConfig = try FixedDocument(appConfig: configuration.appConfig)
    // Before the first token of that life.
    try await noteTokenLife()
  }

  /// Notes how long the tokens of this server live, for the verifiers of all servers on the store.
  func noteTokenLife() async throws(RegistryError) {
    try await registry.noteTokenLife(
      configuration.accessTokenLife, every: Sweeper.interval * 2, now: clock.now)
  }

  /// Responds to requests with these settings.
  var responder: RouterResponder<ServerContext> {
    let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
    for middleware in middlewares { router.add(middleware: middleware) }
    router.add(
      middleware: RequestTrace(
        metrics: metrics, refusals: refusedRequests, proxies: configuration.trustedProxies,
        fields: ResponseFields(configuration), now: configuration.now))
    addRoutes(to: router)
    let methods = RouteMethods(of: router)
    // Probes reach the server itself, below no path.
    if !configuration.mountPath.isEmpty {
      readiness.addRoutes(to: router.group().add(middleware: errorResponses(as: .problem)))
    }
    // Added after all routes, it sees only requests without one.
    router.add(
      middleware: UnknownPaths(
        errors: errors, fields: ResponseFields(configuration), methods: methods, callbacks: associations.callbacks))
    return router.buildResponder()
  }
}

extension SessionServer: CustomStringConvertible, CustomReflectable {
  /// Only the issuer: other properties hold keys, and descriptions end up in logs.
  public var description: String { "session server of \(configuration.issuer)" }
  public var customMirror: Mirror { Mirror(self, children: ["issuer": configuration.issuer]) }
}

extension SessionServer {
  /// Ends the sessions of an account whose password has changed in the app's ``AccountDirectory``, and refuses sign-ins with
  /// the former password that are in flight.
  ///
  /// - Parameter kept: a session that stays, such as the one that changed the password.
  /// - Returns: how many sessions ended.
  @discardableResult
  public func credentialsChanged(
    of account: AccountID, keeping kept: SessionID? = nil
  ) async throws(RegistryError) -> Int {
    let ended = try await registry.credentialsChanged(of: account, keeping: kept, now: clock.now)
    recorder.announceChange(account)
    return recorder.recordEnd(ended, logger: configuration.logger)
  }

  /// Ends the sessions of an account that was deleted from the app's ``AccountDirectory``. Its ID cannot sign in again.
  ///
  /// - Returns: how many sessions ended.
  @discardableResult
  public func accountDeleted(_ account: AccountID) async throws(RegistryError) -> Int {
    for _ in 0..<Registry.attempts {
      guard let record = try await registry.account(account) else { return 0 }
      do throws(RegistryError) {
        let ended = try await registry.deleteAccount(record, now: clock.now)
        recorder.announceChange(account)
        return recorder.recordEnd(ended, logger: configuration.logger)
      } catch {
        guard error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }

  /// Returns the clients that are configured no more and have live sessions in a store, with how many.
  package func missingClients(in registry: Registry) async throws(RegistryError) -> [String: Int] {
    try await registry.clientSessions().filter { !clients.knows($0.key) }
  }

  /// Returns the operations of administrators on this server. Its event streams report the changes at once.
  ///
  /// - Parameter actor: who is named in the audit log.
  public func administration(by actor: AuditActor) -> Administration {
    var known = configuration
    known.mail.link = known.mail.link ?? MailSettings.ownLink(at: known.issuer)
    return Administration(
      registry.acting(as: actor), configuration: known, passwords: passwords, hasDirectory: directory != nil,
      hasMailer: mailer != nil, now: { [clock] in clock.now },
      announce: { [recorder, configuration] account, ended in
        recorder.announceChange(account)
        recorder.recordEnd(ended, logger: configuration.logger)
      }, knows: { [clients] in clients.knows($0) })
  }
}

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
