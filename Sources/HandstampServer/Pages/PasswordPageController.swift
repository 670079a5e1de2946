#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird

/// `/forgot-password` and `/reset-password`: a person who has forgotten the password sets a new one by a mailed link.
struct PasswordPageController: Sendable {
  let web: WebSessions
  let outbox: Outbox
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let metrics: ServerMetrics

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/forgot-password", use: showForgot)
    routes.post("/forgot-password", use: send)
    routes.get("/reset-password", use: showReset)
    routes.post("/reset-password", use: reset)
  }

  @concurrent func showForgot(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    return forgotPage(visit, typed: visit.account?.email?.typed)
  }

  /// Answers every address alike.
  @concurrent func send(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    let typed = visit.form?["email"]
    guard visit.action == "send" else { return web.unknownAction(visit) }
    switch TypedAddress(typed) {
    case .bad(let error): return forgotPage(visit, typed: typed, error: error)
    case .good(let email):
      do throws(Problem) {
        try web.limits.take(.mails, from: web.limits.client(of: request, context), about: email.normalized)
      } catch {
        return forgotPage(visit, typed: typed, notice: web.notice(of: error, visit), status: error.status)
      }
      try await outbox.add(.reset(email), to: email)
      return web.show(
        .message(
          "forgot_sent", ["email": .text(email.typed)], icon: "mail", detail: "message.mail_detail",
          to: [PageAction(text: "common.back_to_sign_in", href: web.pages.base + "/sign-in", isPrimary: false)]), visit)
    }
  }

  private func forgotPage(
    _ visit: Visit, typed: String?, error: PageText? = nil, notice: PageNotice? = nil,
    status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "forgot", title: "forgot.title", status: status, notice: notice)
    page.context["email"] = .text(ifPresent: typed.map { String($0.prefix(EmailAddress.maxLength)) })
    if let error { page.errors["email"] = error }
    return web.show(page, visit)
  }

  /// A link must change nothing when it is merely opened: mail programs open links, too.
  @concurrent func showReset(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    try web.limits.takeOwn(.codes, from: web.limits.client(of: request, context))
    let text = visit.query?["token"] ?? ""
    let account = try await account(text)
    return resetPage(visit, text, account, isExpired: account == nil)
  }

  private func account(_ text: String) async throws -> AccountRecord? {
    guard let token = OneTimeToken(presented: Secret(text)) else { return nil }
    return try await web.registry.account(resetBy: token, now: web.clock.now)
  }

  @concurrent func reset(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    let client = web.limits.client(of: request, context)
    let text = visit.form?["token"] ?? ""
    try web.limits.takeOwn(.codes, from: client)
    guard visit.action == "reset" else { return web.unknownAction(visit) }
    guard let token = OneTimeToken(presented: Secret(text)), let account = try await account(text) else {
      return resetPage(visit, text, nil, isExpired: true)
    }
    let password = visit.form?.password("new_password")
    if let error = policy.pageError(password, of: account.email, account.username) {
      return resetPage(visit, text, account, error: error)
    }
    try web.limits.takeShared(.codes)
    let hash = try await passwords.hash(password ?? Secret(""))
    do throws(RegistryError) {
      let outcome = try await web.registry.acting(as: .owner(from: client.text))
        .resetPassword(with: token, hash: hash, now: web.clock.now)
      web.journal.ended(outcome, logger: context.logger)
      web.journal.changed(account.id)
    } catch {
      guard error == .oneTimeTokenInvalid else { throw error }
      return resetPage(visit, text, nil, isExpired: true)
    }
    metrics.update { $0.passwordChanges += 1 }
    return web.show(
      .message(
        "reset_done", to: [PageAction(text: "action.sign_in", href: web.pages.base + "/sign-in")]), visit)
  }

  private func resetPage(
    _ visit: Visit, _ token: String, _ account: AccountRecord?, isExpired: Bool = false, error: PageText? = nil
  ) -> Response {
    var page = Page(name: "reset", title: isExpired ? "reset.title_expired" : "reset.title")
    page.context = [
      "token": .text(String(token.prefix(OneTimeToken.maxLength))), "email": .text(ifPresent: account?.email?.typed),
      "password_least": policy.shownLeast, "expired": .flag(if: isExpired),
    ]
    if isExpired { page.status = .badRequest }
    if let error { page.errors["new_password"] = error }
    return web.show(page, visit)
  }
}
#endif
