#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// `/device`: the user types the code shown on another device (RFC 8628 section 3.3).
struct DevicePageController: Sendable {
  let web: WebSessions
  let pacing: Pacing

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/device", use: show)
    routes.post("/device", use: answer)
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.visit(request)
    guard visit.account != nil else { return web.signInPage(visit) }
    let typed = (try? FormBody(Array((request.uri.query ?? "").utf8)))?["user_code"] ?? ""
    return codePage(visit, typed: typed)
  }

  @concurrent func answer(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.visit(request)
    let here = web.issuer + "/device" + (request.uri.query.map { "?" + $0 } ?? "")
    let action = visit.form?["action"]
    if action == "sign-in" { return try await web.signIn(by: visit, backTo: here, request, context) }
    if action == "sign-out" { return try await web.signOut(by: visit, backTo: here) }
    guard let user = visit.web else { return web.signInPage(visit) }
    let account = user.account
    let now = web.clock.now
    let typed = visit.form?["user_code"] ?? ""
    guard pacing.mayGuess(account.id, now: now) else {
      context.logger.warning("Too many device codes tried", metadata: ["handstamp.account": "\(account.id)"])
      return web.errorPage(
        "Too many attempts. Wait ten minutes, then start again on the device.", visit, status: .tooManyRequests)
    }
    let wrong = "That code is invalid or has expired."
    guard let code = UserCode(typed: typed), let grant = try await web.registry.device(showing: code, now: now) else {
      return codePage(visit, typed: typed, words: wrong)
    }
    pacing.forgive(account.id)
    switch action {
    case "look": return devicePage(grant, code, account, visit)
    case "allow", "deny":
      let allows = action == "allow"
      guard try await web.registry.answerDevice(showing: code, by: user, allows: allows, now: now) else {
        return codePage(visit, typed: typed, words: wrong)
      }
      return Page(
        title: allows ? "Signed in" : "Not signed in",
        content: "<p>You can now return to your device.</p>", cookies: visit.cookies
      ).response(of: web.issuer)
    default: return web.errorPage("This form is not valid. Go back, reload the page, and try again.", visit)
    }
  }

  private func codePage(_ visit: Visit, typed: String, words: String? = nil) -> Response {
    let error: HTML = words.map { "<p class=\"error\" role=\"alert\">\($0)</p>" } ?? ""
    return Page(
      title: "Sign in on a device",
      content: """
        \(error)<form method="post">\(visit.field)<label for="user_code">Code shown on the device</label>\
        <input id="user_code" class="code" name="user_code" value="\(String(typed.prefix(32)))" autocomplete="off" \
        autocapitalize="characters" spellcheck="false" required autofocus>\
        <button name="action" value="look">Continue</button>\
        <button name="action" value="sign-out" formnovalidate>Use a different account</button></form>
        """,
      cookies: visit.cookies
    ).response(of: web.issuer)
  }

  private func devicePage(
    _ grant: DeviceGrant, _ code: UserCode, _ account: AccountRecord, _ visit: Visit
  ) -> Response {
    Page(
      title: "Allow \(grant.clientName) to access your account?",
      content: """
        <p>The device showing the code <span class="code">\(code.text)</span> wants to access your account \
        <strong>\(account.shownName)</strong>. Continue only if you have this device in front of you. If someone sent you \
        this code, don’t allow it.</p>\(Page.scopes(grant.scope))\
        <form method="post">\(visit.field)<input type="hidden" name="user_code" value="\(code.text)">\
        <button name="action" value="allow">Allow</button><button name="action" value="deny">Don’t allow</button>\
        <button name="action" value="sign-out">Use a different account</button></form>
        """,
      cookies: visit.cookies
    ).response(of: web.issuer)
  }
}
#endif
