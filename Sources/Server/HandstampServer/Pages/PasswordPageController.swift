#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/forgot-password` and `/reset-password`: a person who has forgotten the password sets a new one by a mailed link.
struct PasswordPageController: Sendable {
  let browsers: BrowserSessions
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/forgot-password", use: showForgot)
    routes.post("/forgot-password", use: send)
    routes.get("/reset-password", use: showReset)
    routes.post("/reset-password", use: reset)
  }

  @concurrent func showForgot(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireMail()
    let visit = try await browsers.visit(request, context)
    return forgotPage(visit, typed: visit.account?.email?.typed)
  }

  /// Answers every address alike.
  @concurrent func send(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireMail()
    let visit = try await browsers.visit(request, context)
    let typed = visit.form?["email"]
    guard visit.action == "send" else { return visit.unknownAction() }
    switch TypedAddress(typed) {
    case .bad(let error): return forgotPage(visit, typed: typed, error: error)
    case .good(let email):
      do { try await service.requestReset(of: email, by: visit.caller) } catch {
        let words = try visit.words(for: error)
        return forgotPage(visit, typed: typed, notice: words.notice, status: words.status)
      }
      return visit.sent("forgot_sent", to: email)
    }
  }

  private func forgotPage(
    _ visit: BrowserRequest, typed: String?, error: PageText? = nil, notice: PageNotice? = nil,
    status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "forgot", title: "forgot.title", status: status, notice: notice)
    page.context["email"] = .text(ifPresent: typed.map { String($0.prefix(EmailAddress.maxLength)) })
    if let error { page.errors["email"] = error }
    return visit.show(page)
  }

  /// A link must change nothing when it is merely opened: mail programs open links, too.
  @concurrent func showReset(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireMail()
    let visit = try await browsers.visit(request, context)
    let text = visit.query?["token"] ?? ""
    let account = try await service.account(forResetToken: Secret(text), visit.caller)
    return try await resetPage(visit, text, account)
  }

  @concurrent func reset(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try service.requireMail()
    let visit = try await browsers.visit(request, context)
    guard visit.action == "reset" else { return visit.unknownAction() }
    let text = visit.form?["token"] ?? ""
    var errors: [String: PageText] = ["new_password": "field_error.password_missing"]
    if let password = visit.form?.password("new_password") {
      do {
        try await service.resetPassword(
          with: Secret(text), to: password, keepingOthers: visit.form?["keep_passkeys"] != nil, by: visit.caller)
        return visit.show(
          .message("reset_done", to: [PageAction(text: "action.sign_in", href: visit.pages.base + "/sign-in")]))
      } catch RegistryError.oneTimeTokenInvalid {
        return try await resetPage(visit, text, nil)
      } catch {
        let words = try visit.words(for: error)
        // Busy, or too many attempts: a page of its own says so.
        guard words.notice == nil else { throw error }
        errors = words.errors
      }
    }
    return try await resetPage(
      visit, text, try await service.account(forResetToken: Secret(text), visit.caller), errors)
  }

  /// - Parameter account: `nil` if the link is not valid.
  private func resetPage(
    _ visit: BrowserRequest, _ token: String, _ account: AccountRecord?, _ errors: [String: PageText] = [:]
  ) async throws -> Response {
    let title: PageText =
      account.map { $0.passwordHash == nil ? "reset.title_first" : "reset.title" } ?? "reset.title_expired"
    var page = Page(name: "reset", title: title, errors: errors)
    page.context = [
      "token": .text(String(token.prefix(OneTimeToken.maxLength))), "email": .text(ifPresent: account?.email?.typed),
      "password_least": service.policy.shownLeast, "expired": .flag(if: account == nil),
    ]
    if let account {
      let isFirst = try await service.isFirstProof(Secret(token), of: account)
      try await addWaysIn(to: &page, of: account, takingAll: isFirst, visit)
    } else {
      page.status = .badRequest
    }
    return visit.show(page)
  }

  /// Names what a reset removes, for the person who knows whether a stranger has made it.
  ///
  /// - Parameter takingAll: whether nothing can be kept.
  private func addWaysIn(
    to page: inout Page, of account: AccountRecord, takingAll: Bool, _ visit: BrowserRequest
  ) async throws {
    let dates = visit.dates(at: service.clock.now)
    let keeps = takingAll ? false : try await service.keepsFactors(account)
    let app = takingAll ? try await service.registry.totp(of: account.id) : nil
    let passkeys = keeps ? [] : try await service.registry.passkeys(of: account.id)
    let codes = keeps ? 0 : try await service.registry.recoveryCodesLeft(of: account.id)
    let identities = try await service.registry.identities(of: account)
    guard !passkeys.isEmpty || !identities.isEmpty || codes > 0 || app != nil else { return }
    page.context["ways_in"] = .flag
    page.context["may_keep"] = .flag(if: !takingAll)
    page.context["app"] = .flag(if: app != nil)
    page.context["keeps"] = .flag(if: visit.form?["keep_passkeys"] != nil)
    page.context["codes_left"] = .text(ifPresent: codes > 0 ? String(codes) : nil)
    page.context["passkeys"] = .list(
      (passkeys.map { ($0.name, $0.createdAt) } + identities.map { ($0.shownName, $0.createdAt) }).map {
        .object(["name": .text($0), "created": dates.relative($1)])
      })
  }
}
#endif
