#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird

/// `/account`: what the server knows a person by, and `/account/email`: the address.
struct AccountPageController: Sendable {
  let pages: AccountPages
  let outbox: Outbox
  private var web: WebSessions { pages.web }

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts own: some RouterMethods<Context>
  ) {
    routes.get("/account") { try await pages.call($0, $1) { profilePage($0) } }
    own.post("/account") { try await pages.call($0, $1, rename) }
    own.get("/account/email") { try await pages.call($0, $1) { try await emailPage($0) } }
    own.post("/account/email") { try await pages.call($0, $1, changeEmail) }
    own.get("/account/email/confirm", use: showConfirm)
    own.post("/account/email/confirm", use: confirm)
  }

  // MARK: The name

  private func profilePage(
    _ call: AccountPages.Call, name: String? = nil, error: PageText? = nil, notice: PageNotice? = nil
  ) -> Response {
    let account = call.account
    var page = Page(name: "account_profile", title: "account_profile.title", notice: notice, section: .profile)
    page.context = [
      "name": .text(name ?? account.username), "email": .text(account.email?.typed ?? "–"),
      "since": web.dates(call.visit).day(account.createdAt), "account_id": .text(account.id.rawValue),
    ]
    if let error { page.errors["name"] = error }
    return pages.show(page, call)
  }

  @concurrent private func rename(_ call: AccountPages.Call) async throws -> Response {
    guard call.visit.action == "save" else { return web.unknownAction(call.visit) }
    let name = call.visit.form?["name"] ?? ""
    guard !name.allSatisfy(\.isWhitespace) else {
      return profilePage(call, name: name, error: "field_error.name_missing")
    }
    guard name.utf8.count <= AccountRecord.maxUsername else {
      let most: PageValue = .text(String(AccountRecord.maxUsername))
      return profilePage(call, name: name, error: PageText("field_error.name_long", ["most": most]))
    }
    var changed = call
    changed.user.account.username = name
    changed.user.account = try await pages.registry(call).update(changed.user.account)
    changed.visit.web = changed.user
    return profilePage(changed, notice: .good("notice.saved"))
  }

  // MARK: The address

  private func emailPage(
    _ call: AccountPages.Call, typed: String? = nil, error: PageText? = nil, notice: PageNotice? = nil
  ) async throws -> Response {
    var page = Page(name: "account_email", title: "account_email.title", notice: notice, section: .email)
    page.context = [
      "email": .text(call.account.email?.typed ?? "–"),
      "new_email": .text(ifPresent: typed.map { String($0.prefix(EmailAddress.maxLength)) }),
    ]
    if let change = try await web.registry.emailChange(of: call.account.id, now: web.clock.now) {
      page.context["pending"] = .object([
        "to": .text(change.email.typed), "until": web.dates(call.visit).minute(change.until),
      ])
    }
    if let error { page.errors["new_email"] = error }
    return pages.show(page, call)
  }

  @concurrent private func changeEmail(_ call: AccountPages.Call) async throws -> Response {
    try web.requireMail()
    let account = call.account
    switch call.visit.action {
    case "cancel":
      try await pages.registry(call).cancelEmailChange(of: account.id, now: web.clock.now)
      return try await emailPage(call, notice: PageNotice(kind: .note, text: "notice.email_cancelled"))
    case "change", "resend":
      // Who reads the mails to the address owns the account.
      if let proof = try await pages.proofPage(call) { return proof }
      var typed = call.visit.form?["new_email"]
      if call.visit.action == "resend" {
        typed = try await web.registry.emailChange(of: account.id, now: web.clock.now)?.email.typed
      }
      switch TypedAddress(typed) {
      case .bad(let error): return try await emailPage(call, typed: typed, error: error)
      case .good(let email):
        guard email.normalized != account.email?.normalized else {
          return try await emailPage(call, typed: typed, error: "field_error.email_same")
        }
        do throws(Problem) {
          try web.limits.take(.mails, from: call.client, about: email.normalized)
        } catch { return try await emailPage(call, typed: typed, notice: web.notice(of: error, call.visit)) }
        try await pages.registry(call).beginEmailChange(of: account, to: email, now: web.clock.now)
        outbox.bell.signal(.look)
        return pages.go(to: "/account/email")
      }
    default: return web.unknownAction(call.visit)
    }
  }

  /// The mailed link, which may be opened in another browser than the one that asked for it.
  @concurrent func showConfirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    try web.limits.takeOwn(.codes, from: web.limits.client(of: request, context))
    let text = visit.query?["token"] ?? ""
    return confirmPage(visit, text, try await email(text))
  }

  private func email(_ text: String) async throws -> EmailAddress? {
    guard let token = OneTimeToken(presented: Secret(text)) else { return nil }
    return try await web.registry.emailChange(confirmedBy: token, now: web.clock.now)
  }

  @concurrent func confirm(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    try web.requireMail()
    let visit = try await web.visit(request, context.logger)
    let client = web.limits.client(of: request, context)
    try web.limits.takeOwn(.codes, from: client)
    guard visit.action == "use" else { return web.unknownAction(visit) }
    let text = visit.form?["token"] ?? ""
    guard let token = OneTimeToken(presented: Secret(text)) else { return confirmPage(visit, text, nil) }
    let account: AccountRecord
    do throws(RegistryError) {
      account = try await web.registry.acting(as: .owner(from: client.text))
        .confirmEmailChange(with: token, now: web.clock.now)
    } catch {
      guard error == .oneTimeTokenInvalid || error == .emailTaken else { throw error }
      return confirmPage(visit, text, nil)
    }
    web.journal.changed(account.id)
    outbox.bell.signal(.look)
    return web.show(
      .message(
        "email_changed", ["email": .text(account.email?.typed ?? "")],
        to: [PageAction(text: "action.to_account", href: web.pages.base + "/account")]), visit)
  }

  private func confirmPage(_ visit: Visit, _ token: String, _ email: EmailAddress?) -> Response {
    var page = Page(
      name: "confirm_email", title: email == nil ? "confirm_email.title_expired" : "confirm_email.title",
      status: email == nil ? .badRequest : .ok)
    page.context = [
      "token": .text(String(token.prefix(OneTimeToken.maxLength))), "new_email": .text(ifPresent: email?.typed),
      "expired": .flag(if: email == nil),
    ]
    return web.show(page, visit)
  }
}
#endif
