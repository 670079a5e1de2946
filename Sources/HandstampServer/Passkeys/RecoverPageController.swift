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
    let visit = try await web.visit(request, context)
    return page(visit)
  }

  @concurrent func recover(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.visit(request, context)
    guard visit.action == "recover" else { return web.unknownAction(visit) }
    let (typed, code) = (visit.form?["email"] ?? "", visit.form?["recovery_code"] ?? "")
    do throws(ProblemError) { try web.limits.take(.codes, from: visit.caller.client, .own) } catch {
      return page(visit, notice: web.notice(of: error, visit), status: error.status)
    }
    for _ in 0..<2 {
      guard let email = EmailAddress(composed: typed), let code = RecoveryCode(typed: code) else { break }
      let account = try await web.registry.account(email: email)
      guard
        let use = try await web.service.use(
          of: code, account: account, on: visit.browser.name, visit.caller)
      else { break }
      do {
        let new = try await web.session(by: use, visit)
        let next = NextPage(visit.query?["next"]).asked ?? "/account/security"
        return web.redirect(to: web.issuer + next, with: new, visit)
      } catch RegistryError.oneTimeTokenInvalid { continue }
    }
    return page(visit, error: "field_error.recovery_code", status: .unauthorized)
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
