#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird

/// `/account/security`: how a person signs in.
struct SecurityPageController: Sendable {
  let pages: AccountPages
  let accounts: any Accounts
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let metrics: ServerMetrics
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
      "password_least": policy.shownLeast,
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
    page.context["passkeys_locked"] = .flag(if: try await pages.proofPage(call) != nil)
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
    case "remove-password", "unlock", "add-passkey", "remove-passkey", "make-codes":
      guard let passkeys = web.passkeys else { return web.unknownAction(call.visit) }
      if let proof = try await pages.proofPage(call) { return proof }
      return try await change(call, passkeys)
    default: return web.unknownAction(call.visit)
    }
  }

  // MARK: The password

  private func setPassword(_ call: AccountPages.Call, isFirst: Bool) async throws -> Response {
    let (form, account) = (call.visit.form, call.account)
    if let error = policy.pageError(form?.password("new_password"), of: account.email, account.username) {
      return try await show(call, errors: ["new_password": error])
    }
    if !isFirst {
      guard let email = account.email, let current = form?.password("current_password") else {
        return try await show(call, errors: ["current_password": "field_error.password_missing"])
      }
      do {
        _ = try await accounts.account(
          PasswordAttempt(
            email: email, password: current, device: call.visit.browser.id, client: call.client, logger: call.logger))
      } catch {
        let problem = web.errors.problem(for: error, logger: call.logger)
        guard problem.status != .unauthorized else {
          return try await show(call, errors: ["current_password": "field_error.password_wrong"])
        }
        return try await show(call, notice: web.notice(of: problem, call.visit))
      }
    } else if let proof = try await pages.proofPage(call) {
      return proof
    }
    let hash = try await passwords.hash(form?.password("new_password") ?? Secret(""))
    let endsOthers = form?["end_others"] != nil
    // The hash may just have been strengthened.
    guard let stored = try await web.registry.account(account.id) else { throw RegistryError.notFound }
    let outcome = try await pages.registry(call).setPassword(
      of: stored, hash: hash, keeping: call.user.row.id, endingOthers: endsOthers, now: web.clock.now)
    web.journal.ended(outcome, logger: call.logger)
    metrics.update { $0.passwordChanges += 1 }
    let text: PageText =
      isFirst ? "notice.password_set" : endsOthers ? "notice.password_changed_ended" : "notice.password_changed"
    return try await changed(call, notice: .good(text))
  }

  // MARK: Passkeys and recovery codes

  private func change(_ call: AccountPages.Call, _ passkeys: PasskeyDesk) async throws -> Response {
    let (registry, now) = (pages.registry(call), web.clock.now)
    let desk = PasskeyDesk(party: passkeys.party, registry: registry, clock: passkeys.clock)
    switch call.visit.action {
    case "add-passkey":
      do {
        _ = try await desk.add(
          call.visit.form?["passkey"] ?? "", boundTo: call.visit.token, by: call.user, orNamed: call.visit.name,
          call.logger)
      } catch let refusal as PasskeyDesk.Refusal {
        return try await show(call, notice: .warning(refusal.text))
      }
      return try await changed(call, notice: .good("notice.passkey_added"))
    case "remove-passkey":
      switch try await registry.removePasskey(call.visit.form?["passkey_id"] ?? "", by: call.user, now: now) {
      case .removed: return try await changed(call, notice: .good("notice.passkey_removed"))
      case .isLast: return try await show(call, notice: .warning("notice.passkey_last"))
      // Removed in another window: the list shows what is left.
      case .unknown: return try await show(call)
      }
    case "remove-password":
      guard try await registry.removePassword(by: call.user, now: now) != nil else { return try await show(call) }
      return try await changed(call, notice: .good("notice.password_removed"))
    case "make-codes":
      let codes = try await registry.makeRecoveryCodes(by: call.user, now: now)
      web.journal.changed(call.account.id)
      return try await show(call, codes: codes)
    default: return pages.go(to: "/account/security")
    }
  }

  /// Shows the page after the account has changed.
  private func changed(_ call: AccountPages.Call, notice: PageNotice) async throws -> Response {
    web.journal.changed(call.account.id)
    var call = call
    if let account = try await web.registry.account(call.account.id) { call.user.account = account }
    return try await show(call, notice: notice)
  }

  /// `PublicKeyCredentialCreationOptionsJSON`, for the script.
  @concurrent private func options(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.scriptVisit(request, context.logger)
    guard let passkeys = web.passkeys else { throw Problem.noPasskeys }
    guard let user = visit.web else { return Response(status: .unauthorized) }
    return .options(try await passkeys.creationOptions(for: user.account, boundTo: visit.token))
  }
}
#endif
