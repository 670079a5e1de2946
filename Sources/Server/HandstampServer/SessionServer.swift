#if Server
public import HandstampCore
public import HandstampRegistry
import HandstampJOSE
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
  let lasting: LastingState
  let mailer: (any Mailer)?
  let apple: AppleSignIn?
  let webhookSigner: WebhookSigner
  let documents: DocumentsController
  let authenticator: Authenticator
  let authentication: ClientAuthentication
  let responses: TokenResponses
  let machines: MachineTokens
  /// `nil` if no sessions are taken over.
  let formerSessions: FormerSessions?
  /// Applies what the providers announce.
  let upstreamEnds: UpstreamEnds
  let service: AccountService
  let browsers: BrowserSessions
  /// The server with other settings that has replaced this one, see ``reload(_:registry:keys:mailer:apple:)``.
  let reloaded = Locked<(server: SessionServer, responder: any HTTPResponder<ServerContext>)?>(nil)

  var clock: ServerClock { lasting.clock }
  var recorder: SessionEventRecorder { service.recorder }
  var clients: ClientDirectory { authenticator.clients }
  var pages: PageWriter { authenticator.errors.pages }
  var proofs: DPoPVerifier { authenticator.proofs }

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
      configuration, registry, keys, mailer, apple,
      LastingState(configuration, registry, hasMailer: mailer != nil, transport, accounts, middlewares))
  }

  /// - Parameter previous: a running server, whose limits continue in this one.
  private init(
    _ configuration: ServerConfiguration, _ registry: Registry, _ keys: SigningKeys, _ mailer: (any Mailer)?,
    _ apple: AppleSignIn?, _ lasting: LastingState, continuing previous: SessionServer? = nil
  ) async throws {
    let (clock, metrics, issuer) = (lasting.clock, lasting.metrics, configuration.issuerIdentifier)
    let (transport, directory) = (lasting.transport, lasting.directory)
    let now = { @Sendable in clock.now }
    var registry = registry
    registry.notices = mailer == nil ? [] : configuration.mail.notices
    (self.configuration, self.registry, self.metrics) = (configuration, registry, metrics)
    (self.lasting, self.mailer, self.apple) = (lasting, mailer, apple)
    try SessionServer.check(configuration, mailer, apple, transport, directory)
    let clients = try ClientDirectory(
      configuration, algorithms: keys.algorithms, registry: registry, now: now, continuing: previous?.clients)

    let limits = RequestLimits(
      configuration.limits, bodySize: configuration.bodyLimit, behind: configuration.trustedProxies, metrics: metrics,
      uptime: configuration.uptime, continuing: previous?.service.limits)
    documents = try DocumentsController(configuration, keys, limits, lasting.readiness)
    let pages = try PageWriter(
      configuration.pages, issuer: configuration.issuer, mountPath: configuration.mountPath,
      providers: configuration.providers)
    let errors = ErrorMapper(metrics: metrics, pages: pages, resource: documents.resource)
    let recorder = SessionEventRecorder(hub: lasting.hub, metrics: metrics, logouts: lasting.logoutQueue.bell)
    webhookSigner = WebhookSigner(issuer: issuer, tokens: TokenSigners(keys, type: SecurityEventToken.type))

    let tokens = AccessTokens(
      keys: keys, issuer: issuer, audience: issuer, client: configuration.clientID, life: configuration.accessTokenLife)
    let proofs = DPoPVerifier(address: try configuration.publicAddress(), keys: keys, continuing: previous?.proofs)
    let origins = try WebOrigins(issuer: configuration.issuer, allowed: configuration.webOrigins)
    authenticator = Authenticator(
      registry: registry, tokens: tokens, proofs: proofs, clients: clients, clock: clock, metrics: metrics,
      errors: errors, recorder: recorder, origins: origins)
    authentication = ClientAuthentication(
      clients: clients, limits: limits, registry: registry, clock: clock,
      audiences: [issuer, configuration.issuer + "/oauth/token"])
    responses = TokenResponses(
      accessTokens: tokens, idTokens: IDTokens(keys: keys, issuer: issuer), clients: clients, mint: registry.mint,
      clock: clock)
    machines = MachineTokens(
      registry: registry, assertions: IssuerAssertions(of: configuration.clients, transport: transport, now: now),
      proofs: proofs, limits: limits, tokens: tokens, clock: clock, issuer: issuer)

    let identityTokens = apple.map { IdentityTokens($0, now: now) }
    let providers = try configuration.providers.signIns(
      issuer: configuration.issuer, mint: registry.mint, transport: directory == nil ? transport : nil, now: now)
    var sources: [String: UpstreamEventSource] = [:]
    if let apple, let identityTokens {
      sources[AppleSignIn.provider] = UpstreamEventSource(apple, keys: identityTokens.keys)
    }
    // OAuth providers without ID tokens announce nothing.
    for signIn in providers where signIn.provider.userInfo == nil {
      sources[signIn.provider.id] = UpstreamEventSource(
        signIn.provider, keys: signIn.endpoints.keys, receiver: configuration.issuer, named: issuer)
    }
    upstreamEnds = UpstreamEnds(sources: sources, registry: registry, recorder: recorder, clock: clock)
    formerSessions = configuration.former.map { system in
      FormerSessions(
        registry: registry, system: system,
        server: system.isAsked ? transport.map { FormerServer(system: system, transport: $0) } : nil, limits: limits,
        recorder: recorder, ends: lasting.formerEnds, clock: clock)
    }

    let party = try configuration.passkeys.party(
      of: configuration.issuer, and: origins.allowed, apps: configuration.androidApps, name: pages.siteName)
    let passkeys = directory == nil ? party.map { PasskeyService(party: $0, registry: registry, clock: clock) } : nil
    if passkeys == nil {
      guard configuration.requiredAssurance.groups.isEmpty else {
        throw ServerConfigurationError.assuranceWithoutPasskeys(issuer: configuration.issuer)
      }
      if let client = configuration.clients.first(where: { $0.requiredContext != nil }) {
        throw ServerConfigurationError.client(.noPasskeys(client.id))
      }
    }
    let passwordGuard = PasswordGuard(
      registry: registry, limits: limits, metrics: metrics, continuing: previous?.service.passwordGuard)
    let accounts: any AccountSource =
      if let directory {
        DirectoryAccounts(directory: directory, registry: registry, clock: clock, passwordGuard: passwordGuard)
      } else {
        RegistryAccounts(registry: registry, passwords: lasting.passwords, passwordGuard: passwordGuard, clock: clock)
      }
    service = AccountService(
      registry: registry, accounts: accounts, passwords: lasting.passwords, policy: configuration.policyOfPasswords,
      passwordGuard: passwordGuard, passkeys: passkeys, identityTokens: identityTokens,
      appleGrants: apple?.key == nil ? nil : lasting.appleGrants, providers: providers, outbox: lasting.outbox,
      recorder: recorder, limits: limits, clock: clock, signUp: configuration.signUp,
      // The server cannot ask for a proof of an app's accounts.
      reauthentication: directory == nil ? configuration.reauthentication : nil,
      assurance: Assurance(
        requirement: configuration.requiredAssurance, page: configuration.issuer + "/account/security"),
      languages: pages.library.languages, issuer: configuration.issuer, mailLink: configuration.mail.link,
      refusals: lasting.refusedSignIns)
    browsers = BrowserSessions(service: service, errors: errors)
    // Before the first token of that life.
    try await noteTokenLife()
  }

  private static func check(
    _ configuration: ServerConfiguration, _ mailer: (any Mailer)?, _ apple: AppleSignIn?,
    _ transport: (any Transport)?, _ directory: (any AccountDirectory)?
  ) throws(ServerConfigurationError) {
    if let system = configuration.former {
      try system.check()
      guard transport != nil || !(system.isAsked || system.ends) else {
        throw .former("the former system cannot be asked without a transport")
      }
    }
    guard directory == nil || configuration.signUp != .confirmed else { throw .directoryWithConfirmedSignUp }
    guard directory == nil || apple == nil else { throw .directoryWithAppleSignIn }
    guard mailer == nil || Mailbox(configuration.sender) != nil else { throw .mailSender }
    guard configuration.signUp != .confirmed || mailer != nil else { throw .noMailer }
    let called = configuration.clients.first { $0.backChannelLogoutURI != nil || !$0.trusts.isEmpty }
    if transport == nil, let called { throw .client(.noTransport(called.id)) }
    guard configuration.passwords.policy.hasRanges else {
      throw .breachedPasswords(configuration.passwords.policy.breachedPasswords ?? "")
    }
  }

  /// Notes how long the tokens of this server live, for the verifiers of all servers on the store.
  func noteTokenLife() async throws(RegistryError) {
    try await registry.noteTokenLife(
      configuration.accessTokenLife, every: Sweeper.interval * 2, now: clock.now)
  }

  /// Responds to requests with these settings.
  var responder: RouterResponder<ServerContext> {
    let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
    for middleware in lasting.middlewares { router.add(middleware: middleware) }
    router.add(
      middleware: RequestTrace(
        metrics: metrics, refusals: lasting.refusedRequests, proxies: configuration.trustedProxies,
        fields: ResponseFields(configuration), now: configuration.now))
    addRoutes(to: router)
    let methods = RouteMethods(of: router)
    // Probes reach the server itself, below no path.
    if !configuration.mountPath.isEmpty {
      lasting.readiness.addRoutes(to: router.group().add(middleware: errorResponses(as: .problem)))
    }
    // Added after all routes, it sees only requests without one.
    router.add(
      middleware: UnknownPaths(
        errors: authenticator.errors, fields: ResponseFields(configuration), methods: methods,
        callbacks: documents.associations.callbacks))
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
  /// the previous password that are in flight.
  ///
  /// - Parameter kept: a session that stays, such as the one that changed the password.
  /// - Returns: how many sessions ended.
  @discardableResult
  public func credentialsChanged(
    of account: AccountID, keeping kept: SessionID? = nil
  ) async throws(RegistryError) -> Int {
    let ended = try await registry.credentialsChanged(of: account, keeping: kept, now: clock.now)
    recorder.hub.announce(account)
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
        recorder.hub.announce(account)
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
      registry: registry.acting(as: actor), configuration: known, passwords: lasting.passwords,
      hasDirectory: lasting.directory != nil, hasMailer: mailer != nil, now: { [clock] in clock.now },
      announce: { [recorder, configuration] account, ended in
        recorder.hub.announce(account)
        recorder.recordEnd(ended, logger: configuration.logger)
      }, knows: { [clients] in clients.knows($0) })
  }
}

extension SessionServer {
  /// Replaces the settings of a server that ``run(host:port:stoppingOnSignals:onReady:)`` or ``start(host:port:)`` has started.
  /// Requests in flight and open event streams continue with the previous ones; connections stay open, and no limit is forgotten
  /// unless it changes.
  ///
  /// Not replaced, because they cannot change while a server runs: ``ServerConfiguration/issuer``,
  /// ``ServerConfiguration/mountPath``, ``ServerConfiguration/clientID``, ``ServerConfiguration/former``, ``MailSettings/jitter``, the listener, the
  /// clocks, the logger, and how and how many passwords are hashed. Routes in an app's own router keep their settings.
  ///
  /// - Parameters:
  ///   - registry: the server's store and master keys, perhaps with other limits.
  ///   - mailer: another one, or the same; `nil` only if the server began without one.
  /// - Throws: like the initializer, ``ServerConfigurationError/mailerCannotChange``, and ``ListenError/cleartext(_:)`` without the proxy that
  ///   terminated TLS; the previous settings then remain.
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
    try configuration.requireEncryption(on: lasting.addresses.withLock { $0 })
    let server = try await SessionServer(configuration, registry, keys, mailer, apple, lasting, continuing: current)
    let responder = server.responder
    reloaded.withLock { $0 = (server, responder) }
  }

  /// Reads the files of the certificate now, and logs whether a new one is in use or cannot be used.
  package func reloadCertificate() { lasting.identity.withLock { $0 }?.reload(isAsked: true) }

  /// The server with the settings in use.
  package var current: SessionServer { reloaded.withLock { $0?.server } ?? self }
}
#endif
