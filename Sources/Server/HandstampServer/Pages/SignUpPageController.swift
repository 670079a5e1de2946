#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/sign-up`: a person creates an account. Where addresses are confirmed, a mailed link leads on.
struct SignUpPageController: Sendable {
  let browsers: BrowserSessions
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/sign-up", use: show)
    routes.post("/sign-up", use: create)
    routes.get("/sign-up/confirm", use: showConfirm)
    routes.post("/sign-up/confirm", use: confirm)
  }

  private var isConfirmed: Bool { service.signUp == .confirmed }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireOpen()
    return signUpPage(try await browsers.visit(request, context))
  }

  @concurrent func create(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context)
    if visit.action == "provider" {
      let next = NextPage(visit.query?["next"]).path
      return try await ProviderPages(service: service).signIn(by: visit, .init(next: next))
    }
    guard visit.action == "sign-up" else { return visit.unknownAction() }
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
      let new = NewAccount(email: address, username: name, password: password, session: browsers.start(visit))
      switch try await service.signUp(new, by: visit.caller) {
      case .confirmationSent: return visit.sent("sign_up_sent", to: address)
      case .session(let new):
        return browsers.redirect(
          to: service.issuer + NextPage(visit.query?["next"]).path,
          with: service.registry.browserSession(of: new.row, new.account), visit)
      }
    } catch {
      let words = try visit.words(for: error)
      return signUpPage(visit, words.errors, notice: words.notice, status: words.status)
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
      "buttons": ProviderPages(service: service).buttons(visit.pages), "password_now": .flag(if: !isConfirmed),
      "password_least": service.policy.shownLeast,
      "next": NextPage(visit.query?["next"]).asked.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    return visit.show(page)
  }

  // MARK: The mailed link

  @concurrent func showConfirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireMail()
    let visit = try await browsers.visit(request, context)
    let text = visit.query?["token"] ?? ""
    let found = try await service.confirmation(by: Secret(text), visit.caller)
    return confirmPage(visit, text, found, isExpired: found == nil)
  }

  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireMail()
    let visit = try await browsers.visit(request, context)
    switch visit.action {
    case "send":
      switch TypedAddress(visit.form?["email"]) {
      case .bad(let error): return confirmPage(visit, "", nil, isExpired: true, errors: ["email": error])
      case .good(let email):
        try await service.resendConfirmation(to: email, by: visit.caller)
        return visit.sent("sign_up_sent", to: email)
      }
    case "confirm": break
    default: return visit.unknownAction()
    }
    let text = visit.form?["token"] ?? ""
    guard let password = visit.form?.password("new_password") else {
      let found = try await service.confirmation(by: Secret(text), visit.caller)
      return confirmPage(
        visit, text, found, isExpired: found == nil, errors: ["new_password": "field_error.password_missing"])
    }
    do {
      let new = try await service.confirm(Secret(text), password: password, browsers.start(visit), by: visit.caller)
      return browsers.redirect(
        to: service.issuer + "/account", with: service.registry.browserSession(of: new.row, new.account), visit)
    } catch RegistryError.oneTimeTokenInvalid {
      return confirmPage(visit, text, nil, isExpired: true)
    } catch {
      let words = try visit.words(for: error)
      // Busy, or too many attempts: the link has not expired.
      guard words.notice == nil else { throw error }
      guard words.errors["new_password"] != nil else {
        return confirmPage(visit, text, nil, isExpired: true, errors: words.errors)
      }
      return confirmPage(
        visit, text, try await service.confirmation(by: Secret(text), visit.caller), errors: words.errors)
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
    return visit.show(page)
  }
}
#endif
