#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird

/// `/account/security`: how a person signs in.
struct SecurityPageController: Sendable {
  let pages: AccountPages
  private var web: WebSessions { pages.web }

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/security") { try await pages.call($0, $1) { try await show($0) } }
    routes.post("/account/security") { try await pages.call($0, $1, change) }
    routes.post("/account/passkey/options", use: options)
  }

  private func show(
    _ call: AccountPages.Call, errors: [String: PageText] = [:], notice: PageNotice? = nil, codes: [RecoveryCode] = []
  ) async throws -> Response {
    let account = call.account
    var page = Page(
      name: "account_security", title: "account_security.title", errors: errors, notice: notice, section: .security)
    page.context = [
      "email": .text(account.email?.typed ?? ""), "has_password": .flag(if: account.passwordHash != nil),
      "password_changed": account.credentialsChangedAt.map { web.dates(call.visit).relative($0) },
      "password_least": pages.service.policy.shownLeast,
    ]
    if web.passkeys != nil { try await addPasskeys(to: &page, call, codes) }
    return pages.show(page, call)
  }

  private func addPasskeys(to page: inout Page, _ call: AccountPages.Call, _ codes: [RecoveryCode]) async throws {
    let dates = web.dates(call.visit)
    let passkeys = try await web.registry.passkeys(of: call.account.id)
    let left = try await web.registry.recoveryCodesLeft(of: call.account.id)
    page.context["passkeys_on"] = .flag
    page.context["passkeys"] = .list(
      passkeys.map { passkey in
        .object([
          "id": .text(passkey.id), "name": .text(passkey.name), "created": dates.relative(passkey.createdAt),
          "used": passkey.lastUsedAt.map { dates.relative($0) },
        ])
      })
    page.context["passkeys_locked"] = .flag(if: !pages.service.isProven(call.user.authenticatedAt))
    page.context["can_remove_password"] = .flag(if: call.account.passwordHash != nil && !passkeys.isEmpty)
    page.context["recovery_on"] = .flag
    page.context["codes_left"] = .text(ifPresent: left > 0 ? String(left) : nil)
    if !codes.isEmpty { page.context["codes"] = .object(["rows": .list(codes.map { .text($0.text) })]) }
  }

  @concurrent private func change(_ call: AccountPages.Call) async throws -> Response {
    let hasPassword = call.account.passwordHash != nil
    switch call.visit.action {
    case "change-password" where hasPassword, "set-password" where !hasPassword:
      return try await setPassword(call, isFirst: !hasPassword)
    case "unlock":
      try pages.service.requireProof(call.owner)
      return pages.go(to: "/account/security")
    case "add-passkey", "remove-passkey", "remove-password", "make-codes":
      guard web.passkeys != nil else { return web.unknownAction(call.visit) }
      return try await changePasskeys(call)
    default: return web.unknownAction(call.visit)
    }
  }

  private func setPassword(_ call: AccountPages.Call, isFirst: Bool) async throws -> Response {
    let form = call.visit.form
    guard let new = form?.password("new_password") else {
      return try await show(call, errors: ["new_password": "field_error.password_missing"])
    }
    let endsOthers = form?["end_others"] != nil
    do {
      if isFirst {
        try await pages.service.setFirstPassword(of: call.owner, to: new, endingOthers: endsOthers)
      } else {
        guard let current = form?.password("current_password") else {
          return try await show(call, errors: ["current_password": "field_error.password_missing"])
        }
        try await pages.service.changePassword(of: call.owner, from: current, to: new, endingOthers: endsOthers)
      }
    } catch {
      let refusal = try web.refusal(of: error, call.visit, call.logger)
      return try await show(call, errors: refusal.errors, notice: refusal.notice)
    }
    let text: PageText =
      isFirst ? "notice.password_set" : endsOthers ? "notice.password_changed_ended" : "notice.password_changed"
    return try await changed(call, notice: .good(text))
  }

  private func changePasskeys(_ call: AccountPages.Call) async throws -> Response {
    let (service, form) = (pages.service, call.visit.form)
    switch call.visit.action {
    case "add-passkey":
      do {
        try await service.addPasskey(
          form?["passkey"] ?? "", boundTo: call.visit.token, orNamed: call.visit.name, of: call.owner, in: call.user)
      } catch {
        return try await show(call, notice: try web.refusal(of: error, call.visit, call.logger).notice)
      }
      return try await changed(call, notice: .good("notice.passkey_added"))
    case "remove-passkey":
      switch try await service.removePasskey(form?["passkey_id"] ?? "", of: call.owner, in: call.user) {
      case .removed: return try await changed(call, notice: .good("notice.passkey_removed"))
      case .isLast: return try await show(call, notice: .warning("notice.passkey_last"))
      // Removed in another window: the list shows what is left.
      case .unknown: return try await show(call)
      }
    case "remove-password":
      guard try await service.removePassword(of: call.owner, in: call.user) else { return try await show(call) }
      return try await changed(call, notice: .good("notice.password_removed"))
    default: return try await show(call, codes: try await service.makeRecoveryCodes(of: call.owner, in: call.user))
    }
  }

  /// Shows the page after the account has changed.
  private func changed(_ call: AccountPages.Call, notice: PageNotice) async throws -> Response {
    var call = call
    if let account = try await web.registry.account(call.account.id) { call.user.account = account }
    return try await show(call, notice: notice)
  }

  /// `PublicKeyCredentialCreationOptionsJSON`, for the script.
  @concurrent private func options(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.scriptVisit(request, context.logger)
    guard let passkeys = web.passkeys else { throw ProblemError.noPasskeys }
    guard let user = visit.web else { return Response(status: .unauthorized) }
    return .options(try await passkeys.creationOptions(for: user.account, boundTo: visit.token))
  }
}
#endif
