#if Server
import HandstampRegistry
import HandstampSupport
public import Hummingbird

extension SessionServer {
  /// Adds all routes of the server to the router of an app, below ``ServerConfiguration/mountPath``. Only the metadata
  /// documents and those that name apps are elsewhere: below `/.well-known` at the router's root (RFC 8414 section 3.1, RFC 9728
  /// section 3.1).
  ///
  /// The routes answer their own errors; the app's routes, unknown paths and middlewares remain the app's.
  ///
  /// - Parameter router: the app's router, not a group with a path of its own: the server's documents, pages and mails say
  ///   where its routes are.
  public func addRoutes<Context: SessionRequestContext>(to router: some RouterMethods<Context>) {
    let root = router.group().add(middleware: errorResponses(as: .problem))
    root.get(RouterPath(FixedDocument.metadataPath(of: configuration.issuer))) { request, _ in
      serverMetadata.response(to: request)
    }
    if let resource {
      let document = FixedDocument(resource)
      root.get(RouterPath(resource.path)) { request, _ in document.response(to: request) }
    }
    for (path, document) in [
      (AssociationFile.applePath, associations.apple), (AssociationFile.androidPath, associations.android),
    ] {
      if let document { root.get(RouterPath(path)) { request, _ in document.response(to: request) } }
    }
    let mounted = router.group(RouterPath(configuration.mountPath))
    let (api, oauth) = (mounted.group(), mounted.group())
    admit(webOrigins.allowed, withCookie: true, at: paths.filter { $0.hasPrefix("/v1/") }, to: api)
    let forClients = ["token", "revoke", "userinfo", "par", "device_authorization"].map { "/oauth/" + $0 }
    // The pages of clients have tokens.
    let origins = Set(configuration.clients.flatMap(\.webOrigins))
    admit(origins, withCookie: false, at: paths.intersection(forClients), to: oauth)
    addAPI(to: api.add(middleware: errorResponses(as: .problem)))
    UserInfoController(registry: registry, authenticator: authenticator, bodyLimit: configuration.bodyLimit)
      .addRoutes(to: oauth.group().add(middleware: errorResponses(as: .problem)))
    addOAuthRoutes(to: oauth.group().add(middleware: errorResponses(as: .oauth)))
    UpstreamEndsController(ends: upstreamEnds, limits: limits, bodyLimit: configuration.bodyLimit)
      .addRoutes(to: mounted.group().add(middleware: errorResponses(as: .problem)))
    addPages(
      to: mounted.group().add(middleware: errorResponses(as: .page))
        .add(middleware: IssuerMiddleware(pages: pages))
        .add(middleware: OpeningMiddleware(below: configuration.mountPath)))
  }

  /// Lets pages of other origins read the responses of routes, if there are any such origins.
  private func admit<Context: SessionRequestContext>(
    _ origins: Set<String>, withCookie: Bool, at paths: Set<String>, to routes: RouterGroup<Context>
  ) {
    guard !origins.isEmpty else { return }
    routes.add(middleware: CrossOriginMiddleware<Context>(origins: origins, allowsCookie: withCookie))
    let preflights = routes.group().add(middleware: errorResponses(as: .problem))
    // One for each path: routers look for a path first, and then for a method.
    for path in paths {
      preflights.on(RouterPath(path), method: .options) { _, _ in CrossOriginMiddleware<Context>.preflight }
    }
  }

  /// Returns a group of an app's own routes that require a session: their context has the account, the session and the scopes.
  /// Requests without a valid access token of a live session are answered 401.
  ///
  /// - Parameters:
  ///   - routes: a group of the app's router, or the router itself.
  ///   - scope: the scope that also admits tokens of other OAuth clients; `nil` admits only those of the app itself.
  public func protected<Context: SessionRequestContext>(
    _ routes: some RouterMethods<Context>, allowing scope: String? = nil
  ) -> RouterGroup<SignedInContext<Context>> {
    routes.signedIn(by: authenticator, allowing: scope.map { [$0] } ?? [])
  }

  /// The middleware behind ``protected(_:allowing:)``, for contexts and groups of an app's own.
  public func sessionMiddleware<Context: SessionRequestContext>(
    for context: Context.Type = Context.self, allowing scope: String? = nil
  ) -> SessionMiddleware<Context> {
    SessionMiddleware(authenticator: authenticator, scopes: scope.map { [$0] } ?? [])
  }

  private func addAPI<Context: SessionRequestContext>(to api: some RouterMethods<Context>) {
    let limit = configuration.bodyLimit
    let own = api.group().add(middleware: OwnAccountsOnly(hasDirectory: directory != nil))
    DocumentsController(
      keySet: keySet, metadata: serverMetadata, appConfig: appConfig, openAPI: openAPI, limits: limits,
      readiness: readiness
    )
    .addRoutes(to: api)
    SignUpController(service: service, sessions: sessions, authenticator: authenticator, bodyLimit: limit)
      .addRoutes(to: api, ownAccounts: own)
    SignInController(service: service, sessions: sessions, bodyLimit: limit).addRoutes(to: api, ownAccounts: own)
    PasskeysController(service: service, authenticator: authenticator, bodyLimit: limit).addRoutes(to: own)
    BrowserSessionController(web: web, cookies: cookies, responses: responses, bodyLimit: limit).addRoutes(to: api)
    AccountController(service: service, authenticator: authenticator, responses: responses, bodyLimit: limit)
      .addRoutes(to: api, ownAccounts: own)
    SessionsController(service: service, authenticator: authenticator, pages: pages, bodyLimit: limit)
      .addRoutes(to: api)
    AdministrationController(
      administrators: configuration.administrators, administration: { administration(by: $0) },
      clients: configuration.clients, limits: limits, bodyLimit: limit
    ).addRoutes(to: api)
    EventsController(
      registry: registry, authenticator: authenticator, recorder: recorder, clock: clock,
      heartbeat: configuration.heartbeat, longest: configuration.accessTokenLife,
      limits: configuration.eventStreams
    ).addRoutes(to: api)
    RevocationsController(
      registry: registry,
      authentication: authentication,
      hub: hub, metrics: metrics, clock: clock, life: configuration.accessTokenLife,
      interval: min(configuration.heartbeat, RevocationStream.interval), limit: configuration.eventStreams.verifiers
    ).addRoutes(to: api)
  }

  private func addOAuthRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    let issuer = configuration.issuerIdentifier
    let machines = MachineTokens(
      registry: registry, assertions: assertions, proofs: proofs, limits: limits, tokens: tokens, clock: clock,
      issuer: issuer)
    TokenController(
      registry: registry, authentication: authentication, proofs: proofs, deviceCodes: deviceCodes, limits: limits,
      responses: responses, machines: machines, recorder: recorder, clock: clock, former: formerSessions,
      issuer: issuer,
      endsRepeatedCodes: configuration.endsRepeatedCodes
    ).addRoutes(to: routes)
    let reader = TokenReader(registry: registry, tokens: tokens, clock: clock)
    RevocationController(authentication: authentication, reader: reader, recorder: recorder).addRoutes(to: routes)
    IntrospectionController(
      authentication: authentication, reader: reader, limits: limits, recorder: recorder, issuer: issuer
    ).addRoutes(to: routes)
    DeviceAuthorizationController(
      registry: registry, authentication: authentication, limits: limits, clock: clock, base: configuration.issuer
    ).addRoutes(to: routes)
    PushedRequestController(registry: registry, authentication: authentication, limits: limits, clock: clock)
      .addRoutes(to: routes)
    if let rights = configuration.clientRegistration {
      RegistrationController(registry: registry, rights: rights, limits: limits, clock: clock).addRoutes(to: routes)
    }
  }

  private func addPages<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/assets/:name") { _, context in try pages.assets.response(try context.parameters.require("name")) }
    AuthorizePageController(clients: clients, idTokens: idTokens, web: web).addRoutes(to: routes)
    LogoutPageController(clients: clients, idTokens: idTokens, web: web).addRoutes(to: routes)
    DevicePageController(web: web, deviceCodes: deviceCodes, clients: clients).addRoutes(to: routes)
    let own = routes.group().add(middleware: OwnAccountsOnly(hasDirectory: directory != nil))
    SignInPageController(web: web).addRoutes(to: routes, ownAccounts: own)
    PasswordPageController(web: web).addRoutes(to: own)
    SignUpPageController(web: web).addRoutes(to: own)
    RecoverPageController(web: web).addRoutes(to: own)
    ProviderPageController(web: web).addRoutes(to: own)
    let account = web
    AccountPageController(web: account).addRoutes(to: routes, ownAccounts: own)
    DevicesPageController(
      web: account, heartbeat: configuration.heartbeat, streams: configuration.eventStreams
    ).addRoutes(to: routes)
    AppsPageController(web: account, clients: clients).addRoutes(to: routes)
    ActivityPageController(web: account).addRoutes(to: routes)
    SecurityPageController(web: account).addRoutes(to: own)
    DataPageController(web: account, export: { try await administration(by: $1).export($0) }).addRoutes(to: own)
  }

  // The services that controllers share.

  func errorResponses<Context: RequestContext>(as format: ErrorMapper.Format) -> ErrorMiddleware<Context> {
    ErrorMiddleware(errors: errors, format: format, fields: ResponseFields(configuration))
  }

  var errors: ErrorMapper { ErrorMapper(metrics: metrics, pages: pages, resource: resource) }
  var recorder: SessionEventRecorder { SessionEventRecorder(hub: hub, metrics: metrics, logouts: logoutQueue.bell) }
  private var authentication: ClientAuthentication {
    ClientAuthentication(
      clients: clients, limits: limits, bodyLimit: configuration.bodyLimit, registry: registry, clock: clock,
      audiences: [configuration.issuerIdentifier, configuration.issuer + "/oauth/token"])
  }
  /// `nil` also for accounts of an app, which this server cannot ask for a proof.
  private var reauthentication: Duration? { directory == nil ? configuration.reauthentication : nil }
  private var responses: TokenResponses {
    TokenResponses(
      accessTokens: tokens, idTokens: idTokens, clients: clients, mint: registry.mint, clock: clock)
  }
  private var sessions: SessionIssuer { SessionIssuer(responses: responses, proofs: proofs, clock: clock) }
  var service: AccountService {
    AccountService(
      registry: registry, accounts: accounts, passwords: passwords,
      policy: configuration.policyOfPasswords,
      passwordGuard: passwordGuard, passkeys: passkeys, identityTokens: identityTokens,
      appleGrants: appleSignIn?.key == nil ? nil : appleGrants, providers: providers,
      outbox: outbox,
      recorder: recorder, limits: limits, clock: clock, signUp: configuration.signUp,
      reauthentication: reauthentication,
      assurance: Assurance(
        requirement: configuration.requiredAssurance, page: configuration.issuer + "/account/security"),
      languages: pages.library.languages, issuer: configuration.issuer, mailLink: configuration.mail.link,
      refusals: refusedSignIns)
  }
  private var web: WebSessions {
    WebSessions(
      service: service, errors: errors, pages: pages, isWholeSite: configuration.mountPath.isEmpty,
      bodyLimit: configuration.bodyLimit, hasPasswordPages: directory == nil && mailer != nil)
  }
  private var cookies: CookieSessions {
    CookieSessions(registry: registry, origins: webOrigins, clock: clock, recorder: recorder)
  }
  private var accounts: any AccountSource {
    guard let directory else {
      return RegistryAccounts(
        registry: registry, passwords: passwords, passwordGuard: passwordGuard, clock: clock)
    }
    return DirectoryAccounts(
      directory: directory, registry: registry, clock: clock, passwordGuard: passwordGuard)
  }
  var authenticator: Authenticator {
    Authenticator(
      registry: registry, tokens: tokens, proofs: proofs, clients: clients, clock: clock, metrics: metrics,
      errors: errors, recorder: recorder, cookies: cookies)
  }
  /// `nil` if no sessions are taken over.
  private var formerSessions: FormerSessions? {
    configuration.former.map { system in
      FormerSessions(
        registry: registry, system: system, server: system.isAsked ? formerServer : nil, limits: limits,
        recorder: recorder, ends: formerEnds, clock: clock, metrics: metrics)
    }
  }
  private var formerServer: FormerServer? {
    guard let system = configuration.former, let transport else { return nil }
    return FormerServer(system: system, transport: transport)
  }
  /// `nil` without Apple's key.
  var appleGranter: AppleGrants? {
    guard let apple = appleSignIn, let key = apple.key else { return nil }
    return AppleGrants(server: self, apple: apple, key: key)
  }
  /// `nil` if no sessions are ended elsewhere.
  var formerEnder: FormerEnder? {
    guard configuration.former?.ends == true, let formerServer else { return nil }
    return FormerEnder(server: self, former: formerServer)
  }
}
#endif
