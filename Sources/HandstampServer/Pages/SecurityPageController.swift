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
    routes.get("/account/security") { try await pages.call($0, $1) { show($0) } }
    routes.post("/account/security") { try await pages.call($0, $1, change) }
  }

  private func show(
    _ call: AccountPages.Call, errors: [String: PageText] = [:], notice: PageNotice? = nil
  ) -> Response {
    let account = call.account
    var page = Page(
      name: "account_security", title: "account_security.title", errors: errors, notice: notice, section: .security)
    page.context = [
      "email": .text(account.email?.typed ?? ""), "has_password": .flag(if: account.passwordHash != nil),
      "password_changed": account.credentialsChangedAt.map { web.dates(call.visit).relative($0) },
      "password_least": policy.shownLeast,
    ]
    return pages.show(page, call)
  }

  @concurrent private func change(_ call: AccountPages.Call) async throws -> Response {
    let (form, account) = (call.visit.form, call.account)
    let isFirst = account.passwordHash == nil
    guard call.visit.action == (isFirst ? "set-password" : "change-password") else {
      return web.unknownAction(call.visit)
    }
    if let error = policy.pageError(form?.password("new_password"), of: account.email, account.username) {
      return show(call, errors: ["new_password": error])
    }
    if !isFirst {
      guard let email = account.email, let current = form?.password("current_password") else {
        return show(call, errors: ["current_password": "field_error.password_missing"])
      }
      do {
        _ = try await accounts.account(
          PasswordAttempt(
            email: email, password: current, device: call.visit.browser.id, client: call.client, logger: call.logger))
      } catch {
        let problem = web.errors.problem(for: error, logger: call.logger)
        guard problem.status != .unauthorized else {
          return show(call, errors: ["current_password": "field_error.password_wrong"])
        }
        return show(call, notice: web.notice(of: problem, call.visit))
      }
    } else if let proof = pages.proofPage(call) {
      return proof
    }
    let hash = try await passwords.hash(form?.password("new_password") ?? Secret(""))
    let endsOthers = form?["end_others"] != nil
    // The hash may just have been strengthened.
    guard let stored = try await web.registry.account(account.id) else { throw RegistryError.notFound }
    let outcome = try await pages.registry(call).setPassword(
      of: stored, hash: hash, keeping: call.user.row.id, endingOthers: endsOthers, now: web.clock.now)
    web.journal.ended(outcome, logger: call.logger)
    web.journal.changed(account.id)
    metrics.update { $0.passwordChanges += 1 }
    let text: PageText =
      isFirst ? "notice.password_set" : endsOthers ? "notice.password_changed_ended" : "notice.password_changed"
    var changed = call
    if let account = try await web.registry.account(account.id) { changed.user.account = account }
    return show(changed, notice: .good(text))
  }
}
#endif
