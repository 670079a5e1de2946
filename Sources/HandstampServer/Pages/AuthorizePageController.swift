#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/oauth/authorize`: a user allows or denies an app access to the account (RFC 6749 section 4.1).
struct AuthorizePageController: Sendable {
  let clients: ClientDirectory
  let web: WebSessions

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/oauth/authorize", use: show)
    routes.post("/oauth/authorize", use: answer)
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.visit(request)
    let asked: AuthorizationRequest
    do throws(AuthorizationRequest.Fault) { asked = try authorization(request) } catch {
      return response(to: error, visit)
    }
    let account = account(for: asked, visit)
    guard !asked.signIn.isSilent else { return refusal(of: asked, account) }
    guard let account else { return web.signInPage(visit) }
    return consentPage(asked, account, visit)
  }

  @concurrent func answer(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.visit(request)
    let asked: AuthorizationRequest
    do throws(AuthorizationRequest.Fault) { asked = try authorization(request) } catch {
      return response(to: error, visit)
    }
    let account = account(for: asked, visit)
    guard !asked.signIn.isSilent else { return refusal(of: asked, account) }
    // The same page again: its address holds the app's request.
    let (here, query) = (web.issuer + "/oauth/authorize?", request.uri.query ?? "")
    switch visit.form?["action"] {
    case "sign-in":
      return try await web.signIn(by: visit, backTo: here + SignInWish.met(in: query), request, context)
    case "sign-out": return try await web.signOut(by: visit, backTo: here + query)
    case "allow":
      guard account != nil, let user = visit.web else { return web.signInPage(visit) }
      let code: OneTimeToken
      do throws(RegistryError) {
        code = try await web.registry.issueCode(asked.grant, by: user, now: web.clock.now)
      } catch {
        guard error == .accountChanged else { throw error }
        return web.signInPage(visit)
      }
      return back([("code", code.secret.withExposed { $0 })], asked.grant.redirectURI, asked.state)
    case "deny":
      return back([("error", "access_denied")], asked.grant.redirectURI, asked.state)
    default: return web.errorPage("This form is not valid. Go back, reload the page, and try again.", visit)
    }
  }

  /// Returns the signed-in account; `nil` if the user has to sign in for this request.
  private func account(for asked: AuthorizationRequest, _ visit: Visit) -> AccountRecord? {
    guard let session = visit.web, asked.signIn.isMet(by: session, at: web.clock.now) else { return nil }
    return session.account
  }

  /// The answer to `prompt=none`: a code is never issued without a page, since consent is not remembered.
  private func refusal(of asked: AuthorizationRequest, _ account: AccountRecord?) -> Response {
    let (error, words) =
      account == nil
      ? ("login_required", "the user must sign in") : ("consent_required", "the user must be asked for consent")
    return back([("error", error), ("error_description", words)], asked.grant.redirectURI, asked.state)
  }

  private func authorization(_ request: Request) throws(AuthorizationRequest.Fault) -> AuthorizationRequest {
    try AuthorizationRequest(query: request.uri.query ?? "", clients: clients)
  }

  private func response(to fault: AuthorizationRequest.Fault, _ visit: Visit) -> Response {
    switch fault {
    case .page(let words): web.errorPage(words, visit)
    case .answer(let redirect, let state, let error, let words):
      back([("error", error), ("error_description", words)], redirect, state)
    }
  }

  private func back(_ fields: [(String, String?)], _ redirect: String, _ state: String?) -> Response {
    .seeOther(AuthorizationRequest.answer(fields, to: redirect, state: state, issuer: web.issuer))
  }

  private func consentPage(_ asked: AuthorizationRequest, _ account: AccountRecord, _ visit: Visit) -> Response {
    Page(
      title: "Allow \(asked.client.name) to access your account?",
      content: """
        <p>\(asked.client.name) wants to access your account <strong>\(account.shownName)</strong>.</p>\
        \(Page.scopes(asked.grant.scope))\
        <form method="post">\(visit.field)<button name="action" value="allow">Allow</button>\
        <button name="action" value="deny">Don’t allow</button>\
        <button name="action" value="sign-out">Use a different account</button></form>
        """,
      cookies: visit.cookies, leadsTo: asked.grant.redirectURI
    ).response(of: web.issuer)
  }
}
#endif
