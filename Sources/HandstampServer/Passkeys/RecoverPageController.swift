#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import HandstampSupport
import HTTPTypes
import Hummingbird

/// `/recover`: a person without password and passkey signs in with a recovery code.
struct RecoverPageController: Sendable {
  let web: WebSessions

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/recover", use: show)
    routes.post("/recover", use: recover)
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.browserRequest(request, context)
    return page(visit)
  }

  @concurrent func recover(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.browserRequest(request, context)
    guard visit.action == "recover" else { return web.unknownAction(visit) }
    do {
      let new = try await web.service.verify(
        recoveryCode: visit.form?["recovery_code"] ?? "", of: visit.form?["email"] ?? "", on: visit.browser.name,
        visit.caller
      ) { try await web.beginOrRenewSession(by: $0, visit) }
      guard let new else { return page(visit, error: "field_error.recovery_code", status: .unauthorized) }
      let next = NextPage(visit.query?["next"]).asked ?? "/account/security"
      return web.redirect(to: web.issuer + next, with: new, visit)
    } catch let problem as ProblemError where problem.status == .tooManyRequests {
      return page(visit, notice: web.notice(of: problem, visit), status: problem.status)
    }
  }

  private func page(
    _ visit: BrowserRequest, error: PageText? = nil, notice: PageNotice? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "recover", title: "recover.title", status: status, notice: notice)
    let next = NextPage(visit.query?["next"]).asked
    page.context = [
      "email": .text(ifPresent: visit.form?["email"].map { String($0.prefix(EmailAddress.maxLength)) }),
      "recovery_code": .text(ifPresent: visit.form?["recovery_code"].map { String($0.prefix(64)) }),
      "next": next.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    if let error { page.errors["recovery_code"] = error }
    return web.show(page, visit)
  }
}
#endif
