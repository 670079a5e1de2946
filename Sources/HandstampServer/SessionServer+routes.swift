#if Server
import Hummingbird

extension SessionServer {
  /// Adds all routes of the server.
  func addRoutes<Context: SessionRequestContext>(to router: some RouterMethods<Context>) {
    let limit = configuration.bodyLimit
    let api = router.group().add(middleware: ErrorMiddleware(errors: errors, format: .problem))
    DocumentsController(registry: registry, keySet: keySet, appConfig: appConfig).addRoutes(to: api)
    api.get(RouterPath(FixedDocument.metadataPath(of: configuration.issuer))) { request, _ in
      serverMetadata.response(to: request)
    }
    SignUpController(
      registry: registry, accounts: accounts, passwords: passwords, sessions: sessions, mails: mails,
      authenticator: authenticator, metrics: metrics, signUp: configuration.signUp, bodyLimit: limit
    ).addRoutes(to: api)
    SignInController(
      registry: registry, accounts: accounts, sessions: sessions, identityTokens: identityTokens, clock: clock,
      signUp: configuration.signUp, bodyLimit: limit
    ).addRoutes(to: api)
    PasswordResetController(
      registry: registry, passwords: passwords, mails: mails, journal: journal, clock: clock, metrics: metrics,
      bodyLimit: limit
    ).addRoutes(to: api)
    AccountController(
      registry: registry, passwords: passwords, journal: journal, authenticator: authenticator, clock: clock,
      metrics: metrics, bodyLimit: limit
    ).addRoutes(to: api)
    SessionsController(
      registry: registry, journal: journal, authenticator: authenticator, clock: clock, bodyLimit: limit
    ).addRoutes(to: api)
    EventsController(
      registry: registry, authenticator: authenticator, hub: hub, clock: clock, metrics: metrics,
      heartbeat: configuration.heartbeat, longest: configuration.accessTokenLife
    ).addRoutes(to: api)
    addOAuthRoutes(to: router.group().add(middleware: ErrorMiddleware(errors: errors, format: .oauth)))
    addPages(to: router.group().add(middleware: ErrorMiddleware(errors: errors, format: .page)))
  }

  private func addOAuthRoutes<Context: RequestContext>(to routes: some RouterMethods<Context>) {
    let authentication = ClientAuthentication(clients: clients, bodyLimit: configuration.bodyLimit)
    let issuer = configuration.issuer
    TokenController(
      registry: registry, authentication: authentication, proofs: proofs, pacing: pacing, responses: responses,
      journal: journal, clock: clock, metrics: metrics, issuer: issuer
    ).addRoutes(to: routes)
    RevocationController(
      registry: registry, authentication: authentication, tokens: tokens, journal: journal, clock: clock
    ).addRoutes(to: routes)
    IntrospectionController(
      registry: registry, authentication: authentication, tokens: tokens, clock: clock, issuer: issuer
    ).addRoutes(to: routes)
    DeviceAuthorizationController(registry: registry, authentication: authentication, clock: clock, issuer: issuer)
      .addRoutes(to: routes)
  }

  private func addPages<Context: RequestContext>(to routes: some RouterMethods<Context>) {
    let issuer = configuration.issuer
    let web = WebSessions(
      registry: registry, accounts: accounts, clock: clock, errors: errors, issuer: issuer,
      bodyLimit: configuration.bodyLimit)
    AuthorizePageController(registry: registry, clients: clients, web: web, clock: clock, issuer: issuer)
      .addRoutes(to: routes)
    DevicePageController(registry: registry, web: web, pacing: pacing, clock: clock, issuer: issuer)
      .addRoutes(to: routes)
  }

  // The services that controllers share.

  var errors: ErrorMapper { ErrorMapper(metrics: metrics, issuer: configuration.issuer) }
  var journal: SessionJournal { SessionJournal(hub: hub, metrics: metrics) }
  private var responses: TokenResponses { TokenResponses(tokens: tokens, clock: clock) }
  private var sessions: SessionIssuer { SessionIssuer(journal: journal, responses: responses, clock: clock) }
  private var accounts: any Accounts {
    RegistryAccounts(registry: registry, passwords: passwords, metrics: metrics)
  }
  var authenticator: Authenticator {
    Authenticator(
      registry: registry, tokens: tokens, proofs: proofs, clients: clients, clock: clock, metrics: metrics,
      errors: errors)
  }
  private var mails: AccountMails {
    AccountMails(
      mailer: mailer, desk: desk, clock: clock, metrics: metrics, errors: errors, sender: configuration.sender,
      link: configuration.mailLink, issuer: configuration.issuer, logger: configuration.logger)
  }
}
#endif
