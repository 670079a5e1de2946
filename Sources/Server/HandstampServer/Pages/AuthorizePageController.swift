#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// `/oauth/authorize`: a user allows or denies an app access to the account (RFC 6749 section 4.1, OpenID Connect Core 1.0 section
/// 3.1.2).
struct AuthorizePageController: Sendable {
  let clients: ClientDirectory
  let idTokens: IDTokens
  let browsers: BrowserSessions
  let signIn: SignInPages
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/oauth/authorize", use: show)
    routes.post("/oauth/authorize", use: answer)
  }

  /// A request of a client, and the browser that carries it.
  private struct Ask {
    var request: AuthorizationRequest
    /// The request, if the client sent it beforehand.
    var pushed: PushedRequest?
    var visit: BrowserRequest
    /// The session in which the user may answer it; `nil` if the user has to sign in.
    var user: BrowserSession?
    var standing = SignInPages.Standing.good
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context)
    let ask: Ask
    do { ask = try await self.ask(request, visit) } catch let fault as OAuthError {
      return response(to: fault, visit)
    }
    let prompt = ask.request.signIn
    guard let user = ask.user else { return prompt.isSilent ? refuseSilently(ask) : signInPage(ask) }
    if request.method == .get, !prompt.wantsPage, let consent = try await remembered(ask.request, by: user) {
      return try await allow(ask, by: user, remembered: consent)
    }
    guard !prompt.isSilent else { return refuseSilently(ask) }
    return consentPage(ask.request, user, visit)
  }

  /// The form of the page; or the request of a client, which may be a form, too (section 3.1.2.1). That comes from another site, without
  /// cookies, so the browser is sent on.
  @concurrent func answer(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let form = try await browsers.form(of: request)
    // The page's own form has the request in its address.
    if form["csrf"] == nil, form["client_id"] != nil {
      return .seeOther(service.issuer + "/oauth/authorize?" + form.encoded(keeping: AuthorizationRequest.parameters))
    }
    let visit = try await browsers.visit(request, form: form, context, outdated: \.reloadAddress)
    let ask: Ask
    do { ask = try await self.ask(request, visit) } catch let fault as OAuthError {
      return response(to: fault, visit)
    }
    guard !ask.request.signIn.isSilent else { return refuseSilently(ask) }
    // The same page again: its address holds the app's request.
    let (here, query) = (service.issuer + "/oauth/authorize?", request.uri.query ?? "")
    switch visit.action {
    case _ where visit.signsIn:
      return try await signIn.submit(by: visit, .init(asked: ask.request)) { session in
        here + fresh.proven(query, by: session)
      }
    case "sign-out": return try await browsers.signOut(by: visit, backTo: here + query)
    case "allow":
      guard let user = ask.user else { return signInPage(ask) }
      return try await allow(ask, by: user)
    case "deny": return refuse(ask, "access_denied", "the user did not allow it")
    default: return visit.unknownAction()
    }
  }

  private var fresh: FreshSignIn { FreshSignIn(mint: service.registry.mint) }

  /// Reads the client's request from the address, or from where the client has sent it.
  private func ask(_ request: Request, _ visit: BrowserRequest) async throws -> Ask {
    let query = request.uri.query ?? ""
    let (asked, pushed) = try await authorization(query)
    var user = visit.web
    var standing = SignInPages.Standing.good
    if let session = user {
      standing = try await signIn.standing(
        of: session, for: asked.client, asked.signIn, isForThis: fresh.isProven(query, by: session))
      if case .good = standing {} else { user = nil }
    }
    // A hint that cannot be read is no hint (OpenID Connect Core 1.0 section 3.1.2.1).
    if let hint = asked.idTokenHint.flatMap(idTokens.hint), let account = user?.account.id, hint.account != account {
      user = nil
    }
    return Ask(request: asked, pushed: pushed, visit: visit, user: user, standing: standing)
  }

  private func authorization(_ query: String) async throws -> (AuthorizationRequest, PushedRequest?) {
    guard let fields = try? FormFields(Array(query.utf8)),
      let reference = fields["request_uri"].flatMap(PushedReference.secret)
    else { return (try await AuthorizationRequest(query: query, clients: clients), nil) }
    guard let pushed = try await service.registry.pushedRequest(reference, now: service.clock.now),
      pushed.client == fields["client_id"], let client = clients[pushed.client]
    else {
      throw OAuthError.invalidRequest(
        "The app's request has expired. Go back to the app, and try again.")
    }
    let described = try await AuthorizationRequest.described(client, clients)
    return (try AuthorizationRequest(pushed.parameters, of: described), pushed)
  }

  /// Returns the consent by which the user has allowed the client all of this before, if the response surely reaches it.
  private func remembered(_ asked: AuthorizationRequest, by user: BrowserSession) async throws -> Consent? {
    guard asked.client.isCertain(at: asked.grant.redirectURI) else { return nil }
    let consent = try await service.registry.consent(of: user.account.id, to: asked.client.id, now: service.clock.now)
    let scopes = asked.grant.access.scope.split(separator: " ").map(String.init)
    return consent.flatMap { $0.covers(scopes, for: asked.grant.audiences) ? $0 : nil }
  }

  private func allow(
    _ ask: Ask, by user: BrowserSession, remembered: Consent? = nil
  ) async throws -> Response {
    try await service.require(.allowClient, of: AccountService.Owner(user, ask.visit.caller))
    do throws(RegistryError) {
      let code = try await service.registry.issueCode(
        ask.request.grant, by: user, for: ask.pushed, remembered: remembered, now: service.clock.now)
      if !ask.request.leftOut.isEmpty {
        ask.visit.caller.logger.info(
          "Scopes left out that the client may not request",
          metadata: [
            "handstamp.client": "\(ask.request.client.id)",
            "handstamp.scopes": "\(ask.request.leftOut.joined(separator: " "))",
          ])
      }
      return back([("code", code.secret.withExposed { $0 })], ask.request)
    } catch {
      guard error == .accountChanged else { throw error }
      var ask = ask
      ask.user = nil
      return ask.request.signIn.isSilent ? refuseSilently(ask) : signIn.page(ask.visit, .init(asked: ask.request))
    }
  }

  /// The page for a user who has to sign in before, or to set up a second factor; or the response that the account cannot prove what the
  /// client asks for (OpenID Connect Core Unmet Authentication Requirements 1.0).
  private func signInPage(_ ask: Ask) -> Response {
    switch ask.standing {
    case .good: return signIn.page(ask.visit, .init(asked: ask.request))
    case .signIn(let notice): return signIn.page(ask.visit, .init(asked: ask.request), notice: notice)
    case .setUp: return signIn.setUpPage(ask.visit)
    case .unmet:
      return refuse(ask, "unmet_authentication_requirements", "the account has nothing to prove acr_values with")
    }
  }

  /// The response to `prompt=none` if there is something to ask.
  private func refuseSilently(_ ask: Ask) -> Response {
    if case .unmet = ask.standing { return signInPage(ask) }
    return ask.user == nil
      ? refuse(ask, "login_required", "the user must sign in")
      : refuse(ask, "consent_required", "the user must be asked for consent")
  }

  private func refuse(_ ask: Ask, _ error: String, _ words: String) -> Response {
    back([("error", error), ("error_description", words)], ask.request)
  }

  private func back(_ fields: [(String, String?)], _ asked: AuthorizationRequest) -> Response {
    back(fields, asked.grant.redirectURI, asked.state)
  }

  private func back(_ fields: [(String, String?)], _ redirect: String, _ state: String?) -> Response {
    .seeOther(AuthorizationRequest.response(fields, to: redirect, state: state, issuer: idTokens.issuer))
  }

  private func response(to fault: OAuthError, _ visit: BrowserRequest) -> Response {
    guard let redirect = fault.redirect else { return visit.invalidRequest(fault.description ?? "") }
    return back([("error", fault.error), ("error_description", fault.description)], redirect.uri, redirect.state)
  }

  private func consentPage(_ asked: AuthorizationRequest, _ user: BrowserSession, _ visit: BrowserRequest) -> Response {
    let account = user.account
    let app = visit.pages.app(asked.client.id, named: asked.client.name, in: visit.place.language)
    var page = Page(
      name: "consent", title: PageText("consent.title", ["app": .object(app)]), leadsTo: asked.grant.redirectURI)
    let origin = Origin(asked.grant.redirectURI)
    let isHere = !asked.client.isCertain(at: asked.grant.redirectURI)
    page.context = [
      "app": .object(app), "person": account.person,
      "scopes": visit.pages.scopes(asked.grant.access.scope, of: account, in: visit.place.language),
      "apis": .list(asked.grant.audiences.map { .text($0) }), "leads_to": isHere ? nil : origin.map { .text($0.host) },
      "on_this_computer": .flag(if: isHere),
      "with_browser": .flag(if: asked.grant.allowed(in: user.row).dependsOnBrowser),
    ]
    return visit.show(page)
  }
}
#endif
