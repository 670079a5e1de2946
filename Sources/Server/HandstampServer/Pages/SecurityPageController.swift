#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampWebAuthn
import Hummingbird

/// `/account/security`: how a person signs in. `/account/confirm`: a mailed link by which a person proves to be the owner.
struct SecurityPageController: Sendable {
  let owners: OwnerPages
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/security") {
      try await owners.withSignedInUser($0, $1, recovering: true) { try await show($0) }
    }
    routes.post("/account/security") { try await owners.withSignedInUser($0, $1, recovering: true, change) }
    routes.get("/account/confirm") { try await owners.withSignedInUser($0, $1) { owners.ownerPage($0) } }
    routes.post("/account/confirm") { try await owners.withSignedInUser($0, $1, owners.proveOwner) }
    routes.post("/account/passkey/options", use: options)
  }

  private func show(
    _ call: AccountRequest, errors: [String: PageText] = [:], notice: PageNotice? = nil, codes: [RecoveryCode] = []
  ) async throws -> Response {
    let account = call.account
    let recovering: PageNotice? = call.user.isRecovering ? PageNotice(kind: .note, text: "notice.recovering") : nil
    var page = Page(
      name: "account_security", title: "account_security.title", errors: errors, notice: notice ?? recovering,
      section: .security)
    page.context = [
      "email": .text(account.email?.typed ?? ""), "has_password": .flag(if: account.passwordHash != nil),
      "password_changed": account.credentialsChangedAt.map { call.visit.dates(at: service.clock.now).relative($0) },
      "password_least": service.policy.shownLeast,
      "password_locked": .flag(if: try await isLocked(call)), "recovering": .flag(if: call.user.isRecovering),
      // The passkey would stay on a device of another person.
      "offers_passkey": .flag(if: !call.user.row.isBorrowed),
    ]
    try await addIdentities(to: &page, call)
    if let passkeys = service.passkeys { try await addPasskeys(of: passkeys.domain, to: &page, call, codes) }
    if service.passkeys != nil, account.email != nil {
      let totp = try await service.registry.totp(of: account.id)
      let dates = call.visit.dates(at: service.clock.now)
      page.context["totp_on"] = .flag(if: totp != nil || account.passwordHash != nil)
      page.context["totp"] = totp.map { totp in
        .object(["created": dates.relative(totp.createdAt), "used": totp.lastUsedAt.map { dates.relative($0) }])
      }
    }
    return call.visit.show(page)
  }

  /// Whether more than the password has to be proved before it is changed.
  private func isLocked(_ call: AccountRequest) async throws -> Bool {
    guard try await service.neededContext(of: call.account) != nil else { return call.user.isRecovering }
    return try await !service.isAllowed(.changePassword, to: call.owner)
  }

  private func addPasskeys(
    of domain: String, to page: inout Page, _ call: AccountRequest, _ codes: [RecoveryCode]
  ) async throws {
    let (user, dates) = (try PasskeyService.user(of: call.account), call.visit.dates(at: service.clock.now))
    let passkeys = try await service.registry.passkeys(of: call.account.id)
    let left = try await service.registry.recoveryCodesLeft(of: call.account.id)
    // The script tells the browser's password manager which passkeys are left.
    page.context["passkeys_on"] = .object([
      "domain": .text(domain), "user": .text(user.handle.text), "user_name": .text(user.name),
      "display_name": .text(user.displayName),
    ])
    page.context["passkeys"] = .list(
      passkeys.map { passkey in
        .object([
          "id": .text(passkey.id), "name": .text(passkey.name), "created": dates.relative(passkey.createdAt),
          "used": passkey.lastUsedAt.map { dates.relative($0) },
        ])
      })
    page.context["passkeys_locked"] = .flag(if: try await !service.isAllowed(.addPasskey, to: call.owner))
    page.context["can_remove_password"] = .flag(if: call.account.passwordHash != nil && !passkeys.isEmpty)
    page.context["recovery_on"] = .flag
    page.context["codes_left"] = .text(ifPresent: left > 0 ? String(left) : nil)
    if !codes.isEmpty { page.context["codes"] = .object(["rows": .list(codes.map { .text($0.text) })]) }
  }

  private func addIdentities(to page: inout Page, _ call: AccountRequest) async throws {
    let (linked, dates) = (
      try await service.registry.identities(of: call.account), call.visit.dates(at: service.clock.now)
    )
    guard !linked.isEmpty || !service.providers.isEmpty else { return }
    let names = Dictionary(
      service.providers.map { ($0.provider.id, $0.provider.name) }, uniquingKeysWith: { first, _ in first })
    page.context["identities_on"] = .flag
    page.context["identities"] = .list(
      linked.map { link in
        .object([
          "id": .text(link.id), "name": .text(names[link.provider] ?? Origin(link.identity.issuer)?.host ?? ""),
          "label": .text(ifPresent: link.label), "created": dates.relative(link.createdAt),
          "used": link.lastUsedAt.map { dates.relative($0) },
        ])
      })
    page.context["buttons"] = ProviderPages(service: service).buttons(call.visit.pages)
    // Set by the way back from the provider.
    if page.notice == nil, let id = call.visit.query?["linked"], linked.contains(where: { $0.provider == id }) {
      page.notice = .good("notice.identity_linked")
    }
  }

  @concurrent private func change(_ call: AccountRequest) async throws -> Response {
    let hasPassword = call.account.passwordHash != nil
    switch call.visit.action {
    case "change-password" where hasPassword, "set-password" where !hasPassword:
      return try await setPassword(call, isFirst: !hasPassword)
    case "unlock":
      try await service.require(.changePassword, of: call.owner)
      return .seeOther(service.issuer + "/account/security")
    case "link":
      try await service.require(.link, of: call.owner)
      return try await ProviderPages(service: service).leave(
        call.visit, .link, next: "/account/security", isFresh: true)
    case "unlink":
      switch try await service.unlink(call.visit.form?["identity"] ?? "", of: call.owner) {
      case .done: return try await changed(call, notice: .good("notice.identity_unlinked"))
      case .isLast: return try await show(call, notice: .warning("notice.identity_last"))
      // Removed in another window: the list shows what is left.
      case .taken, .tooMany, .unknown: return try await show(call)
      }
    case "add-passkey", "remove-passkey", "remove-password", "make-codes":
      guard service.passkeys != nil else { return call.visit.unknownAction() }
      return try await changePasskeys(call)
    case "add-totp", "confirm-totp", "remove-totp": return try await changeTOTP(call)
    default: return call.visit.unknownAction()
    }
  }

  private func changeTOTP(_ call: AccountRequest) async throws -> Response {
    let form = call.visit.form
    switch call.visit.action {
    case "add-totp": return try showTOTP(try await service.newTOTP(of: call.owner), call)
    case "confirm-totp":
      try await service.require(.addApp, of: call.owner)
      let sealed = form?["setup"] ?? ""
      guard let setup = try service.registry.totpSetup(sealed, in: call.owner.session, now: service.clock.now) else {
        return try await show(call, notice: .warning("notice.totp_expired"))
      }
      do {
        guard try await service.addTOTP(setup, code: form?["code"] ?? "", of: call.owner) else {
          return try showTOTP(setup, call, error: "field_error.code_wrong")
        }
      } catch {
        return try showTOTP(setup, call, notice: try call.visit.words(for: error).notice)
      }
      // A lost device must not be the end of the account.
      var call = call
      if let account = try await service.registry.account(call.account.id) { call.user.account = account }
      let left = try await service.registry.recoveryCodesLeft(of: call.account.id)
      let codes = left > 0 ? [] : try await service.newRecoveryCodes(of: call.owner, in: call.user)
      return try await show(call, notice: .good("notice.totp_added"), codes: codes)
    default:
      let isRemoved = try await service.removeTOTP(of: call.owner)
      return try await changed(call, notice: isRemoved ? .good("notice.totp_removed") : nil)
    }
  }

  /// Shows the secret of an authenticator app that is being set up.
  private func showTOTP(
    _ setup: TOTPSetup, _ call: AccountRequest, error: PageText? = nil, notice: PageNotice? = nil
  ) throws -> Response {
    var page = Page(name: "account_totp", title: "account_totp.title", notice: notice, section: .security)
    let uri = setup.secret.uri(issuer: call.visit.pages.siteName, name: call.account.email?.typed ?? "").withExposed {
      $0
    }
    page.context = [
      "uri": .text(uri), "setup": .text(setup.sealed),
      // In groups, for people who type it.
      "secret": .text(
        setup.secret.text.withExposed { text in
          stride(from: 0, to: text.count, by: 4).map { String(text.dropFirst($0).prefix(4)) }.joined(separator: " ")
        }),
      // An address too long for a code is left to be typed.
      "qr": QRCode(Array(uri.utf8)).map { .text($0.svg) },
    ]
    if let error { page.errors["code"] = error }
    return call.visit.show(page)
  }

  private func setPassword(_ call: AccountRequest, isFirst: Bool) async throws -> Response {
    let form = call.visit.form
    guard let new = form?.password("new_password") else {
      return try await show(call, errors: ["new_password": "field_error.password_missing"])
    }
    let endsOthers = form?["end_others"] != nil
    do {
      if isFirst {
        try await service.setFirstPassword(of: call.owner, to: new, endingOthers: endsOthers)
      } else {
        guard let current = form?.password("current_password") else {
          return try await show(call, errors: ["current_password": "field_error.password_missing"])
        }
        try await service.changePassword(of: call.owner, from: current, to: new, endingOthers: endsOthers)
      }
    } catch {
      let words = try call.visit.words(for: error)
      return try await show(call, errors: words.errors, notice: words.notice)
    }
    let text: PageText =
      isFirst ? "notice.password_set" : endsOthers ? "notice.password_changed_ended" : "notice.password_changed"
    return try await changed(call, notice: .good(text))
  }

  private func changePasskeys(_ call: AccountRequest) async throws -> Response {
    let form = call.visit.form
    switch call.visit.action {
    case "add-passkey":
      do {
        try await service.addPasskey(
          form?["passkey"] ?? "", boundTo: call.visit.token, orNamed: call.visit.name, of: call.owner)
      } catch {
        return try await show(call, notice: try call.visit.words(for: error).notice)
      }
      return try await changed(call, notice: .good("notice.passkey_added"))
    case "remove-passkey":
      switch try await service.removePasskey(form?["passkey_id"] ?? "", of: call.owner) {
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
  private func changed(_ call: AccountRequest, notice: PageNotice?) async throws -> Response {
    var call = call
    if let account = try await service.registry.account(call.account.id) { call.user.account = account }
    return try await show(call, notice: notice)
  }

  /// `PublicKeyCredentialCreationOptionsJSON`, for the script.
  @concurrent private func options(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await owners.browsers.scriptRequest(request, context)
    guard let user = visit.web ?? visit.recovering else { return Response(status: .unauthorized) }
    let owner = AccountService.Owner(user, visit.caller)
    return .json(try await service.passkeyOptions(boundTo: visit.token, of: owner))
  }
}
#endif
