#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// `/device`: the user types the code shown on another device (RFC 8628 section 3.3).
struct DevicePageController: Sendable {
  let browsers: BrowserSessions
  let signIn: SignInPages
  let service: AccountService
  let deviceCodes: DeviceCodeRateLimiter
  let clients: ClientDirectory

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/device", use: show)
    routes.post("/device", use: answer)
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context)
    guard let user = visit.web else { return signIn.page(visit) }
    guard let typed = visit.query?["user_code"] else { return codePage(user.account, visit) }
    // The address that the device shows has the code: one step less.
    return try await look(at: typed, user, visit, request.uri.query)
  }

  @concurrent func answer(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context, outdated: \.reloadAddress)
    let here = service.issuer + "/device" + (request.uri.query.map { "?" + $0 } ?? "")
    if visit.signsIn {
      return try await signIn.submit(by: visit, .init()) { session in
        request.uri.query.map { service.issuer + "/device?" + fresh.proven($0, by: session) } ?? here
      }
    }
    if visit.action == "sign-out" { return try await browsers.signOut(by: visit, backTo: here) }
    guard let user = visit.web else { return signIn.page(visit) }
    let typed = visit.form?["user_code"] ?? ""
    switch visit.action {
    case "look": return try await look(at: typed, user, visit, request.uri.query)
    case "allow", "deny":
      guard let (code, grant) = try await grant(typed, user, visit) else {
        return codePage(user.account, visit, typed: typed, isWrong: true)
      }
      if visit.action == "allow", let detour = try await detour(code, grant, user, visit, request.uri.query) {
        return detour
      }
      let allows = visit.action == "allow"
      try await service.require(.allowClient, of: AccountService.Owner(user, visit.caller))
      guard try await service.registry.answerDevice(showing: code, by: user, allows: allows, now: service.clock.now)
      else {
        return codePage(user.account, visit, typed: typed, isWrong: true)
      }
      return visit.show(
        .message(
          allows ? "device_allowed" : "device_denied", icon: allows ? "check" : "info",
          to: [PageAction(text: "action.to_account", href: visit.pages.base + "/account", isPrimary: false)]))
    default: return visit.unknownAction()
    }
  }

  /// Returns the request of the device that shows the code; `nil` if none does.
  ///
  /// - Throws: ``ProblemError`` after too many wrong codes.
  private func grant(
    _ typed: String, _ user: BrowserSession, _ visit: BrowserRequest
  ) async throws -> (UserCode, DeviceGrant)? {
    let (account, now) = (user.account.id, service.clock.now)
    // No attempt: nothing can be found by it.
    guard let code = typed.pasted("user_code", at: service.issuer).flatMap({ UserCode(typed: $0) }) else { return nil }
    guard deviceCodes.mayGuess(account, now: now) else {
      visit.caller.logger.warning("Too many device codes tried", metadata: ["handstamp.account": "\(account)"])
      throw ProblemError(
        .tooManyRequests, "rate_limited", "Too many attempts",
        retryAfter: Int(DeviceCodeRateLimiter.window.components.seconds))
    }
    guard let grant = try await service.registry.device(showing: code, now: now) else { return nil }
    deviceCodes.forgive(account)
    return (code, grant)
  }

  private var fresh: FreshSignIn { FreshSignIn(mint: service.registry.mint) }

  /// Returns the page for a user whose sign-in is not what the device's client asks for, or the operator requires; `nil` if it is.
  private func detour(
    _ code: UserCode, _ grant: DeviceGrant, _ user: BrowserSession, _ visit: BrowserRequest, _ query: String?
  ) async throws -> Response? {
    let needs = PromptRequirements(maxAge: grant.maxAge, context: grant.access.context)
    let isForThis = query.map { fresh.isProven($0, by: user) } ?? false
    switch try await signIn.standing(of: user, for: clients[grant.access.client], needs, isForThis: isForThis) {
    case .good: return nil
    // The device only waits; its user can help.
    case .unmet, .setUp: return signIn.setUpPage(visit)
    case .signIn(let notice):
      // The code goes into the address, where it is still known after the sign-in.
      guard visit.query?["user_code"] != nil else {
        return .seeOther(service.issuer + "/device?user_code=" + code.text)
      }
      return signIn.page(visit, notice: notice)
    }
  }

  private func look(
    at typed: String, _ user: BrowserSession, _ visit: BrowserRequest, _ query: String?
  ) async throws -> Response {
    guard let (code, grant) = try await grant(typed, user, visit) else {
      return codePage(user.account, visit, typed: typed, isWrong: true)
    }
    if let detour = try await detour(code, grant, user, visit, query) { return detour }
    let app = visit.pages.app(grant.access.client, named: grant.access.clientName, in: visit.place.language)
    var page = Page(name: "device_allow", title: PageText("device_allow.title", ["app": .object(app)]))
    page.context = [
      "app": .object(app), "person": user.account.person, "user_code": .text(code.text),
      "scopes": visit.pages.scopes(grant.access.scope, of: user.account, in: visit.place.language),
      "with_browser": .flag(if: user.row.isBorrowed),
    ]
    return visit.show(page)
  }

  private func codePage(
    _ account: AccountRecord, _ visit: BrowserRequest, typed: String? = nil, isWrong: Bool = false
  ) -> Response {
    var page = Page(name: "device_code", title: "device_code.title")
    page.context = [
      "person": account.person, "user_code": .text(ifPresent: typed.map { String($0.prefix(256)) }),
    ]
    if isWrong { page.errors["user_code"] = "field_error.user_code" }
    return visit.show(page)
  }
}
#endif
