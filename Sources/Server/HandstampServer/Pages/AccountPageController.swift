#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/account`: what the server knows a person by, and `/account/email`: the address.
struct AccountPageController: Sendable {
  let owners: OwnerPages
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts own: some RouterMethods<Context>
  ) {
    routes.get("/account") { try await owners.withSignedInUser($0, $1) { profilePage($0) } }
    own.post("/account") { try await owners.withSignedInUser($0, $1, rename) }
    own.get("/account/email") { try await owners.withSignedInUser($0, $1) { try await emailPage($0) } }
    own.post("/account/email") { try await owners.withSignedInUser($0, $1, changeEmail) }
    own.get("/account/email/confirm") { try await owners.withSignedInUser($0, $1, showConfirm) }
    own.post("/account/email/confirm") { try await owners.withSignedInUser($0, $1, confirm) }
  }

  // MARK: The name

  private func profilePage(
    _ call: AccountRequest, name: String? = nil, error: PageText? = nil, notice: PageNotice? = nil
  ) -> Response {
    let account = call.account
    var page = Page(name: "account_profile", title: "account_profile.title", notice: notice, section: .profile)
    for (name, field) in AccountField.shown(in: .page) {
      let value = field.value(account)
      page.context[name.description] =
        if case .time(let time?) = value { call.visit.dates(at: service.clock.now).day(time) } else {
          .text(value.text ?? "–")
        }
    }
    let chosen = call.visit.form?["locale"] ?? account.locale?.rawValue
    if let name { page.context["name"] = .text(name) }
    page.context["locales"] = .list(
      locales(of: account, call.visit).map { code in
        .object([
          "code": .text(code), "name": .text(call.visit.pages.library.name(ofLanguage: code)),
          "is_chosen": .flag(if: code == chosen),
        ])
      })
    if let error { page.errors["name"] = error }
    return call.visit.show(page)
  }

  /// The languages of the pages, and the one that an import has brought.
  private func locales(of account: AccountRecord, _ visit: BrowserRequest) -> [String] {
    let offered = visit.pages.library.languages
    return offered + [account.locale?.rawValue].compactMap(\.self).filter { !offered.contains($0) }
  }

  @concurrent private func rename(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "save" else { return call.visit.unknownAction() }
    let name = call.visit.form?["name"] ?? ""
    guard name.isShown else {
      return profilePage(call, name: name, error: "field_error.name_missing")
    }
    guard name.utf8.count <= AccountRecord.maxUsername else {
      let most: PageValue = .text(String(AccountRecord.maxUsername))
      return profilePage(call, name: name, error: PageText("field_error.name_long", ["most": most]))
    }
    // Pages of an operator's own may not ask for it. A field without a value counts as missing: `*` stands for no language.
    let chosen = call.visit.form?["locale"]
    let code = chosen == "*" ? "" : chosen ?? call.account.locale?.rawValue ?? ""
    guard code.isEmpty || locales(of: call.account, call.visit).contains(code) else {
      return call.visit.unknownAction()
    }
    let locale = LanguageTag(rawValue: code)
    var changed = call
    changed.user.account = try await service.rename(call.owner, to: name, reading: locale)
    changed.visit.web = changed.user
    if chosen != nil { changed.visit.place = call.visit.pages.reader(call.visit.place, choosing: locale) }
    return profilePage(changed, notice: .good("notice.saved"))
  }

  // MARK: The address

  private func emailPage(
    _ call: AccountRequest, typed: String? = nil, error: PageText? = nil, notice: PageNotice? = nil
  ) async throws -> Response {
    var page = Page(name: "account_email", title: "account_email.title", notice: notice, section: .email)
    page.context = [
      "email": .text(call.account.email?.typed ?? "–"),
      "new_email": .text(ifPresent: typed.map { String($0.prefix(EmailAddress.maxLength)) }),
    ]
    if let change = try await service.registry.emailChange(of: call.account.id, now: service.clock.now) {
      page.context["pending"] = .object([
        "to": .text(change.email.typed), "until": call.visit.dates(at: service.clock.now).minute(change.until),
      ])
    }
    if let error { page.errors["new_email"] = error }
    return call.visit.show(page)
  }

  @concurrent private func changeEmail(_ call: AccountRequest) async throws -> Response {
    try service.requireMail()
    let account = call.account
    switch call.visit.action {
    case "cancel":
      try await service.cancelEmailChange(of: call.owner)
      return try await emailPage(call, notice: PageNotice(kind: .note, text: "notice.email_cancelled"))
    case "change", "resend":
      var typed = call.visit.form?["new_email"]
      if call.visit.action == "resend" {
        typed = try await service.registry.emailChange(of: account.id, now: service.clock.now)?.email.typed
      }
      switch TypedAddress(typed) {
      case .bad(let error): return try await emailPage(call, typed: typed, error: error)
      case .good(let email):
        guard email.normalized != account.email?.normalized else {
          return try await emailPage(call, typed: typed, error: "field_error.email_same")
        }
        do { try await service.beginEmailChange(of: call.owner, to: email) } catch {
          return try await emailPage(
            call, typed: typed, notice: try call.visit.words(for: error).notice)
        }
        return .seeOther(service.issuer + "/account/email")
      }
    default: return call.visit.unknownAction()
    }
  }

  /// The mailed link. It names the account, for whose signed-in owner it works, in whichever browser.
  @concurrent private func showConfirm(_ call: AccountRequest) async throws -> Response {
    try service.requireMail()
    let text = call.visit.query?["token"] ?? ""
    return confirmPage(call, text, try await service.emailChange(of: call.owner, confirmedBy: Secret(text)))
  }

  @concurrent private func confirm(_ call: AccountRequest) async throws -> Response {
    try service.requireMail()
    guard call.visit.action == "use" else { return call.visit.unknownAction() }
    let text = call.visit.form?["token"] ?? ""
    let changed: AccountRecord
    do {
      changed = try await service.completeEmailChange(of: call.owner, with: Secret(text), in: call.user)
    } catch RegistryError.oneTimeTokenInvalid, RegistryError.emailTaken {
      return confirmPage(call, text, nil)
    }
    return call.visit.show(
      .message(
        "email_changed", ["email": .text(changed.email?.typed ?? "")],
        to: [PageAction(text: "action.to_account", href: call.visit.pages.base + "/account")]))
  }

  private func confirmPage(_ call: AccountRequest, _ token: String, _ email: EmailAddress?) -> Response {
    var page = Page(
      name: "confirm_email", title: email == nil ? "confirm_email.title_expired" : "confirm_email.title",
      status: email == nil ? .badRequest : .ok)
    page.context = [
      "token": .text(String(token.prefix(OneTimeToken.maxLength))), "new_email": .text(ifPresent: email?.typed),
      "email": .text(call.account.email?.typed ?? call.account.shownName), "expired": .flag(if: email == nil),
    ]
    return call.visit.show(page)
  }
}
#endif
