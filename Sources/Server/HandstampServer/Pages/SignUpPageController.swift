#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/sign-up`: a person creates an account. Where addresses are confirmed, a mailed link leads on.
struct SignUpPageController: Sendable {
  let web: WebSessions
  private var service: AccountService { web.service }

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/sign-up", use: show)
    routes.post("/sign-up", use: create)
    routes.get("/sign-up/confirm", use: showConfirm)
    routes.post("/sign-up/confirm", use: confirm)
  }

  private var isConfirmed: Bool { service.signUp == .confirmed }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireOpen()
    return signUpPage(try await web.browserRequest(request, context))
  }

  @concurrent func create(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.browserRequest(request, context)
    if visit.action == "provider" {
      let next = NextPage(visit.query?["next"]).path
      return try await web.signInElsewhere(by: visit, .init(next: next))
    }
    guard visit.action == "sign-up" else { return web.unknownAction(visit) }
    var errors: [String: PageText] = [:]
    let name = visit.form?["name"] ?? ""
    if !name.isShown { errors["name"] = "field_error.name_missing" }
    if name.utf8.count > AccountRecord.maxUsername {
      errors["name"] = PageText("field_error.name_long", ["most": .text(String(AccountRecord.maxUsername))])
    }
    var address: EmailAddress?
    switch TypedAddress(visit.form?["email"]) {
    case .good(let email): address = email
    case .bad(let error): errors["email"] = error
    }
    let password = visit.form?.password("new_password")
    if !isConfirmed, password == nil { errors["new_password"] = "field_error.password_missing" }
    guard errors.isEmpty, let address else { return signUpPage(visit, errors) }
    do {
      let new = NewAccount(email: address, username: name, password: password, session: web.start(visit))
      switch try await service.signUp(new, by: visit.caller) {
      case .confirmationSent: return web.sent("sign_up_sent", to: address, visit)
      case .session(let new):
        return web.redirect(
          to: web.issuer + NextPage(visit.query?["next"]).path,
          with: web.registry.browserSession(of: new.row, new.account), visit)
      }
    } catch {
      let refusal = try web.refusal(of: error, visit)
      return signUpPage(visit, refusal.errors, notice: refusal.notice, status: refusal.status)
    }
  }

  private func signUpPage(
    _ visit: BrowserRequest, _ errors: [String: PageText] = [:], notice: PageNotice? = nil,
    status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "sign_up", title: "sign_up.title", status: status, errors: errors, notice: notice)
    page.context = [
      "name": .text(ifPresent: visit.form?["name"].map { String($0.prefix(AccountRecord.maxUsername)) }),
      "email": .text(ifPresent: visit.form?["email"].map { String($0.prefix(EmailAddress.maxLength)) }),
      "buttons": web.buttons(), "password_now": .flag(if: !isConfirmed), "password_least": service.policy.shownLeast,
      "next": NextPage(visit.query?["next"]).asked.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    return web.show(page, visit)
  }

  // MARK: The mailed link

  @concurrent func showConfirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.browserRequest(request, context)
    let text = visit.query?["token"] ?? ""
    let found = try await service.confirmation(by: Secret(text), visit.caller)
    return confirmPage(visit, text, found, isExpired: found == nil)
  }

  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.browserRequest(request, context)
    switch visit.action {
    case "send":
      switch TypedAddress(visit.form?["email"]) {
      case .bad(let error): return confirmPage(visit, "", nil, isExpired: true, errors: ["email": error])
      case .good(let email):
        try await service.resendConfirmation(to: email, by: visit.caller)
        return web.sent("sign_up_sent", to: email, visit)
      }
    case "confirm": break
    default: return web.unknownAction(visit)
    }
    let text = visit.form?["token"] ?? ""
    guard let password = visit.form?.password("new_password") else {
      let found = try await service.confirmation(by: Secret(text), visit.caller)
      return confirmPage(
        visit, text, found, isExpired: found == nil, errors: ["new_password": "field_error.password_missing"])
    }
    do {
      let new = try await service.confirm(Secret(text), password: password, web.start(visit), by: visit.caller)
      return web.redirect(
        to: web.issuer + "/account", with: web.registry.browserSession(of: new.row, new.account), visit)
    } catch RegistryError.oneTimeTokenInvalid {
      return confirmPage(visit, text, nil, isExpired: true)
    } catch {
      let refusal = try web.refusal(of: error, visit)
      // Busy, or too many attempts: the link has not expired.
      guard refusal.notice == nil else { throw error }
      guard refusal.errors["new_password"] != nil else {
        return confirmPage(visit, text, nil, isExpired: true, errors: refusal.errors)
      }
      return confirmPage(
        visit, text, try await service.confirmation(by: Secret(text), visit.caller), errors: refusal.errors)
    }
  }

  private func confirmPage(
    _ visit: BrowserRequest, _ token: String, _ found: OneTimeTokenRecord?, isExpired: Bool = false,
    errors: [String: PageText] = [:]
  ) -> Response {
    var page = Page(name: "confirm", title: isExpired ? "confirm.title_expired" : "confirm.title", errors: errors)
    page.context = [
      "token": .text(String(token.prefix(OneTimeToken.maxLength))),
      "email": .text(ifPresent: found?.email?.typed ?? visit.form?["email"]), "needs_password": .flag,
      "password_least": service.policy.shownLeast, "expired": .flag(if: isExpired),
    ]
    if isExpired { page.status = .badRequest }
    return web.show(page, visit)
  }
}
#endif
