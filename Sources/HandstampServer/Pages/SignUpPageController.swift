#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/sign-up`: a person creates an account. Where addresses are confirmed, a mailed link leads on.
struct SignUpPageController: Sendable {
  let web: WebSessions
  let outbox: Outbox
  let passwords: PasswordPool
  let policy: PasswordPolicy

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/sign-up", use: show)
    routes.post("/sign-up", use: create)
    routes.get("/sign-up/confirm", use: showConfirm)
    routes.post("/sign-up/confirm", use: confirm)
  }

  private var isConfirmed: Bool { web.signUp == .confirmed }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard web.signUp != .closed else { throw Problem.notFound }
    let visit = try await web.visit(request, context.logger)
    return signUpPage(visit)
  }

  @concurrent func create(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard web.signUp != .closed else { throw Problem.notFound }
    let visit = try await web.visit(request, context.logger)
    let client = web.limits.client(of: request, context)
    guard visit.action == "sign-up" else { return web.unknownAction(visit) }
    var errors: [String: PageText] = [:]
    let name = visit.form?["name"] ?? ""
    if name.allSatisfy(\.isWhitespace) { errors["name"] = "field_error.name_missing" }
    if name.utf8.count > AccountRecord.maxUsername {
      errors["name"] = PageText("field_error.name_long", ["most": .text(String(AccountRecord.maxUsername))])
    }
    var address: EmailAddress?
    switch TypedAddress(visit.form?["email"]) {
    case .good(let email): address = email
    case .bad(let error): errors["email"] = error
    }
    let password = visit.form?.password("new_password")
    if !isConfirmed, let error = policy.pageError(password, of: address, name) { errors["new_password"] = error }
    guard errors.isEmpty, let address else { return signUpPage(visit, errors) }
    do throws(Problem) {
      try web.limits.take(.signUps, from: client)
      if isConfirmed { try web.limits.take(.mails, from: client, about: address.normalized) }
    } catch { return signUpPage(visit, notice: web.notice(of: error, visit), status: error.status) }
    if isConfirmed {
      try await outbox.add(.confirmation(address, username: name), to: address)
      return sent(to: address, visit)
    }
    let hash = try await passwords.hash(password ?? Secret(""))
    let account: AccountRecord
    do throws(RegistryError) {
      account = try await web.registry.acting(as: .owner(from: client.text))
        .openAccount(email: address, username: name, passwordHash: hash, now: web.clock.now)
    } catch {
      guard error == .emailTaken else { throw error }
      return signUpPage(visit, ["email": "field_error.email_taken"])
    }
    return try await web.signedIn(to: account, visit, context.logger) { _ in
      web.issuer + NextPage(visit.query?["next"]).path
    }
  }

  private func sent(to email: EmailAddress, _ visit: Visit) -> Response {
    web.show(
      .message(
        "sign_up_sent", ["email": .text(email.typed)], icon: "mail", detail: "message.mail_detail",
        to: [PageAction(text: "common.back_to_sign_in", href: web.pages.base + "/sign-in", isPrimary: false)]), visit)
  }

  private func signUpPage(
    _ visit: Visit, _ errors: [String: PageText] = [:], notice: PageNotice? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "sign_up", title: "sign_up.title", status: status, errors: errors, notice: notice)
    page.context = [
      "name": .text(ifPresent: visit.form?["name"].map { String($0.prefix(AccountRecord.maxUsername)) }),
      "email": .text(ifPresent: visit.form?["email"].map { String($0.prefix(EmailAddress.maxLength)) }),
      "password_now": .flag(if: !isConfirmed), "password_least": policy.shownLeast,
      "next": NextPage(visit.query?["next"]).asked.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    return web.show(page, visit)
  }

  // MARK: The mailed link

  @concurrent func showConfirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    try web.limits.takeOwn(.codes, from: web.limits.client(of: request, context))
    let text = visit.query?["token"] ?? ""
    let found = try await confirmed(by: text)
    return confirmPage(visit, text, found, isExpired: found == nil)
  }

  private func confirmed(by text: String) async throws -> OneTimeTokenRecord? {
    guard let token = OneTimeToken(presented: Secret(text)) else { return nil }
    return try await web.registry.signUp(confirmedBy: token, now: web.clock.now)
  }

  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    let client = web.limits.client(of: request, context)
    switch visit.action {
    case "send":
      switch TypedAddress(visit.form?["email"]) {
      case .bad(let error): return confirmPage(visit, "", nil, isExpired: true, errors: ["email": error])
      case .good(let email):
        try web.limits.take(.mails, from: client, about: email.normalized)
        try await outbox.add(.confirmation(email, username: ""), to: email)
        return sent(to: email, visit)
      }
    case "confirm": break
    default: return web.unknownAction(visit)
    }
    let text = visit.form?["token"] ?? ""
    try web.limits.takeOwn(.codes, from: client)
    guard let token = OneTimeToken(presented: Secret(text)), let found = try await confirmed(by: text) else {
      return confirmPage(visit, text, nil, isExpired: true)
    }
    let password = visit.form?.password("new_password")
    if let error = policy.pageError(password, of: found.email, found.username) {
      return confirmPage(visit, text, found, errors: ["new_password": error])
    }
    try web.limits.takeShared(.codes)
    let hash = try await passwords.hash(password ?? Secret(""))
    do throws(RegistryError) {
      let new = try await web.registry.acting(as: .owner(from: client.text))
        .confirm(token, passwordHash: hash, on: visit.browser, now: web.clock.now)
      web.journal.began(new, logger: context.logger)
      return web.began(new, visit, to: web.issuer + "/account")
    } catch {
      switch error {
      case .oneTimeTokenInvalid: return confirmPage(visit, text, nil, isExpired: true)
      case .emailTaken:
        return confirmPage(visit, text, nil, isExpired: true, errors: ["email": "field_error.email_taken"])
      case .unavailable, .unknownKey, .accountChanged, .accountClosed, .notFound, .notGuest, .nonceUsed, .keyUsed:
        throw error
      }
    }
  }

  private func confirmPage(
    _ visit: Visit, _ token: String, _ found: OneTimeTokenRecord?, isExpired: Bool = false,
    errors: [String: PageText] = [:]
  ) -> Response {
    var page = Page(name: "confirm", title: isExpired ? "confirm.title_expired" : "confirm.title", errors: errors)
    page.context = [
      "token": .text(String(token.prefix(OneTimeToken.maxLength))),
      "email": .text(ifPresent: found?.email?.typed ?? visit.form?["email"]), "needs_password": .flag,
      "password_least": policy.shownLeast, "expired": .flag(if: isExpired),
    ]
    if isExpired { page.status = .badRequest }
    return web.show(page, visit)
  }
}
#endif
