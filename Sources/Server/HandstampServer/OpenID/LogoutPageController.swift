#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// `/oauth/logout`: a client has its user signed out (OpenID Connect RP-Initiated Logout 1.0).
struct LogoutPageController: Sendable {
  let clients: ClientDirectory
  let idTokens: IDTokens
  let browsers: BrowserSessions
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/oauth/logout", use: show)
    routes.post("/oauth/logout", use: answer)
  }

  private static let parameters: Set<String> = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"]

  /// A client's request.
  private struct Ask {
    var client: ConfiguredClient?
    /// The claims of its ID token.
    var hint: IDTokens.Hint?
    /// Where the browser goes in the end; `nil` for a page of this server.
    var target: String?
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context)
    let ask = try ask(request.uri.query ?? "")
    guard let user = visit.web else { return done(ask, visit) }
    if request.method == .get, let hint = ask.hint, hint.account == user.account.id,
      try await isOf(hint.session, user)
    {
      return try await signOut(ask, visit)
    }
    return confirmPage(ask, visit)
  }

  /// The form of the page; or the request of a client, which may be a form, too (section 2). That comes from another site, without
  /// cookies, so the browser is sent on.
  @concurrent func answer(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let form = try await browsers.form(of: request)
    guard form["csrf"] != nil else {
      return .seeOther(service.issuer + "/oauth/logout?" + form.encoded(keeping: LogoutPageController.parameters))
    }
    let visit = try await browsers.visit(request, form: form, context, outdated: \.reloadAddress)
    let ask = try ask(request.uri.query ?? "")
    switch form["action"] {
    case "sign-out": return try await signOut(ask, visit)
    case "stay": return .seeOther(service.issuer + "/account")
    default: return visit.unknownAction()
    }
  }

  private func ask(_ query: String) throws(ProblemError) -> Ask {
    let fields: FormFields
    do throws(OAuthError) { fields = try FormFields(Array(query.utf8)) } catch {
      throw .invalidRequest("The app's request is not valid: a parameter is repeated or malformed.")
    }
    let hint = fields["id_token_hint"].flatMap(idTokens.hint)
    let named = fields["client_id"]
    guard named == nil || hint == nil || named == hint?.client else {
      throw .invalidRequest("The app's request is not valid: its ID token belongs to another app.")
    }
    // One whose key was retired only names its client, as anyone can, and the user is asked.
    let claimed = fields["id_token_hint"].flatMap { JSONValue(claimsOf: $0)?["aud"]?.string }
    let client = (named ?? hint?.client ?? claimed).flatMap { clients[$0] }
    var target: String?
    if let address = fields["post_logout_redirect_uri"] {
      // Only exact matches, or anyone could send a browser anywhere with an address of this server (section 3).
      guard let client, client.postLogoutRedirectURIs.contains(where: { $0.utf8.elementsEqual(address.utf8) }) else {
        throw .invalidRequest("The app's return address is not registered with this server.")
      }
      target = AuthorizationRequest.withQuery(address, [("state", fields["state"])])
    }
    return Ask(client: client, hint: hint, target: target)
  }

  /// Returns whether a client's session depends on the sign-in in this browser, or on none: then its ID token shows that the user was
  /// signed in to the client, and need not be asked.
  private func isOf(_ session: SessionID, _ user: BrowserSession) async throws -> Bool {
    guard let row = try await service.registry.storedSession(session), row.account == user.account.id,
      let client = row.client
    else { return false }
    return client.browser.map { $0 == user.row.device.id } ?? client.scopes.contains("offline_access")
  }

  private func signOut(_ ask: Ask, _ visit: BrowserRequest) async throws -> Response {
    // The client's own session may outlast the browser's, but its user wants to be signed out.
    if let hint = ask.hint, hint.account == visit.account?.id {
      try await browsers.end(hint.session, of: hint.account, visit.caller.logger)
    }
    return try await browsers.signOut(by: visit, backTo: ask.target ?? service.issuer + "/oauth/logout")
  }

  private func done(_ ask: Ask, _ visit: BrowserRequest) -> Response {
    if let target = ask.target { return .seeOther(target) }
    return visit.show(
      .message(
        "signed_out", icon: "sign-out",
        to: [PageAction(text: "action.sign_in", href: visit.pages.base + "/sign-in", isPrimary: false)]))
  }

  private func confirmPage(_ ask: Ask, _ visit: BrowserRequest) -> Response {
    var page = Page(name: "logout", title: "logout.title", leadsTo: ask.target)
    page.context = [
      "app": ask.client.map { .object(visit.pages.app($0.id, named: $0.name, in: visit.place.language)) },
      "person": visit.account?.person,
    ]
    return visit.show(page)
  }
}
#endif
