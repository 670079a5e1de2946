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
    let mounted = router.group(RouterPath(configuration.mountPath))
    let (api, oauth) = (mounted.group(), mounted.group())
    let (paths, limits) = (documents.paths, service.limits)
    admit(authenticator.origins.allowed, withCookie: true, at: paths.filter { $0.hasPrefix("/v1/") }, to: api)
    let forClients = ["token", "revoke", "userinfo", "par", "device_authorization"].map { "/oauth/" + $0 }
    // The pages of clients have tokens.
    let origins = Set(configuration.clients.flatMap(\.webOrigins))
    admit(origins, withCookie: false, at: paths.intersection(forClients), to: oauth)
    addAPI(to: api.add(middleware: errorResponses(as: .problem)))
    documents.addRoutes(to: api, root: router.group().add(middleware: errorResponses(as: .problem)))
    UserInfoController<Context>(authenticator: authenticator, limits: limits)
      .addRoutes(to: oauth.group().add(middleware: errorResponses(as: .problem)))
    addOAuthRoutes(to: oauth.group().add(middleware: errorResponses(as: .oauth)))
    UpstreamEndsController(ends: upstreamEnds, limits: limits)
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
    let own = api.group().add(middleware: OwnAccountsOnly(hasDirectory: lasting.directory != nil))
    let sessions = SessionIssuer(responses: responses, proofs: proofs)
    SignUpController<Context>(service: service, sessions: sessions, authenticator: authenticator)
      .addRoutes(to: api, ownAccounts: own)
    SignInController(service: service, sessions: sessions).addRoutes(to: api, ownAccounts: own)
    PasskeysController<Context>(service: service, authenticator: authenticator).addRoutes(to: own)
    BrowserSessionController(
      browsers: browsers, service: service, authenticator: authenticator, responses: responses
    ).addRoutes(to: api)
    AccountController<Context>(service: service, authenticator: authenticator, responses: responses)
      .addRoutes(to: api, ownAccounts: own)
    SessionsController<Context>(service: service, authenticator: authenticator, pages: pages).addRoutes(to: api)
    AdministrationController(
      administrators: configuration.administrators, administration: { administration(by: $0) },
      clients: configuration.clients, limits: service.limits
    ).addRoutes(to: api)
    EventsController(
      authenticator: authenticator, heartbeat: configuration.heartbeat, longest: configuration.accessTokenLife,
      limits: configuration.eventStreams
    ).addRoutes(to: api)
    RevocationsController(
      authentication: authentication, recorder: recorder, life: configuration.accessTokenLife,
      interval: min(configuration.heartbeat, RevocationStream.interval), limit: configuration.eventStreams.verifiers
    ).addRoutes(to: api)
  }

  private func addOAuthRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    let issuer = configuration.issuerIdentifier
    TokenController(
      authentication: authentication, proofs: proofs, deviceCodes: lasting.deviceCodes, responses: responses,
      machines: machines, recorder: recorder, former: formerSessions, issuer: issuer,
      endsRepeatedCodes: configuration.endsRepeatedCodes
    ).addRoutes(to: routes)
    let reader = TokenReader(registry: registry, tokens: authenticator.tokens, clock: clock)
    RevocationController(authentication: authentication, reader: reader, recorder: recorder).addRoutes(to: routes)
    IntrospectionController(authentication: authentication, reader: reader, recorder: recorder, issuer: issuer)
      .addRoutes(to: routes)
    DeviceAuthorizationController(authentication: authentication, base: configuration.issuer).addRoutes(to: routes)
    PushedRequestController(authentication: authentication).addRoutes(to: routes)
    if let rights = configuration.clientRegistration {
      RegistrationController(registry: registry, rights: rights, limits: service.limits, clock: clock)
        .addRoutes(to: routes)
    }
  }

  private func addPages<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/assets/:name") { _, context in try pages.assets.response(try context.parameters.require("name")) }
    let signIn = SignInPages(browsers: browsers, hasPasswordPages: lasting.directory == nil && lasting.outbox.hasMailer)
    let owners = OwnerPages(signIn: signIn)
    AuthorizePageController(
      clients: clients, idTokens: responses.idTokens, browsers: browsers, signIn: signIn, service: service
    )
    .addRoutes(to: routes)
    LogoutPageController(clients: clients, idTokens: responses.idTokens, browsers: browsers, service: service)
      .addRoutes(to: routes)
    DevicePageController(
      browsers: browsers, signIn: signIn, service: service, deviceCodes: lasting.deviceCodes, clients: clients
    ).addRoutes(to: routes)
    let own = routes.group().add(middleware: OwnAccountsOnly(hasDirectory: lasting.directory != nil))
    SignInPageController(browsers: browsers, signIn: signIn, service: service).addRoutes(to: routes, ownAccounts: own)
    PasswordPageController(browsers: browsers, service: service).addRoutes(to: own)
    SignUpPageController(browsers: browsers, service: service).addRoutes(to: own)
    RecoverPageController(browsers: browsers, service: service).addRoutes(to: own)
    ProviderPageController(browsers: browsers, providers: ProviderPages(service: service), service: service)
      .addRoutes(to: own)
    AccountPageController(owners: owners, service: service).addRoutes(to: routes, ownAccounts: own)
    DevicesPageController(
      owners: owners, service: service, heartbeat: configuration.heartbeat,
      streams: configuration.eventStreams
    ).addRoutes(to: routes)
    AppsPageController(owners: owners, service: service, clients: clients).addRoutes(to: routes)
    ActivityPageController(owners: owners, service: service).addRoutes(to: routes)
    SecurityPageController(owners: owners, service: service).addRoutes(to: own)
    DataPageController(
      owners: owners, service: service, export: { try await administration(by: $1).export($0) }
    ).addRoutes(to: own)
  }

  func errorResponses<Context: RequestContext>(as format: ErrorMapper.Format) -> ErrorMiddleware<Context> {
    ErrorMiddleware(errors: authenticator.errors, format: format, fields: ResponseFields(configuration))
  }
}
#endif
