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
    guard let account = visit.account else { return web.signInPage(visit) }
    return consentPage(asked, account, visit)
  }

  @concurrent func answer(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.visit(request)
    let asked: AuthorizationRequest
    do throws(AuthorizationRequest.Fault) { asked = try authorization(request) } catch {
      return response(to: error, visit)
    }
    // The same page again: its address holds the app's request.
    let here = web.issuer + "/oauth/authorize?" + (request.uri.query ?? "")
    switch visit.form?["action"] {
    case "sign-in": return try await web.signIn(by: visit, backTo: here, request, context)
    case "sign-out": return try await web.signOut(by: visit, backTo: here)
    case "allow":
      guard let account = visit.account else { return web.signInPage(visit) }
      let code = try await web.registry.issueCode(asked.grant, to: account.id, now: web.clock.now)
      return back([("code", code.secret.withExposed { $0 })], asked.grant.redirectURI, asked.state)
    case "deny":
      return back([("error", "access_denied")], asked.grant.redirectURI, asked.state)
    default: return web.errorPage("This form is not valid. Go back, reload the page, and try again.", visit)
    }
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
