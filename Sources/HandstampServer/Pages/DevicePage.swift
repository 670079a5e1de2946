#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// `/device`: somebody types the code that another device shows (RFC 8628 section 3.3).
extension SessionServer {
  @concurrent func showDevicePage(_ request: Request, _ context: ServerContext) async throws -> Response {
    let visit = try await visit(request, context)
    guard visit.account != nil else { return signInPage(visit) }
    let typed = (try? FormBody(Array((request.uri.query ?? "").utf8)))?["user_code"] ?? ""
    return codePage(visit, typed: typed)
  }

  @concurrent func answerDevicePage(_ request: Request, _ context: ServerContext) async throws -> Response {
    let visit: Visit
    do { visit = try await self.visit(request, context) } catch let problem as Problem {
      return errorPage(problem.detail ?? problem.title, status: problem.status)
    }
    let here = configuration.issuer + "/device" + (request.uri.query.map { "?" + $0 } ?? "")
    let action = visit.form?["action"]
    if action == "sign-in" { return try await signIn(by: visit, backTo: here, context) }
    if action == "sign-out" { return try await signOut(by: visit, backTo: here, context) }
    guard let account = visit.account else { return signInPage(visit) }
    let now = self.now()
    let typed = visit.form?["user_code"] ?? ""
    guard pacing.mayGuess(account.id, now: now) else {
      context.logger.warning("Device codes guessed", metadata: ["handstamp.account": "\(account.id)"])
      return errorPage(
        "Too many codes were tried. Begin again on the device in ten minutes.", visit, status: .tooManyRequests)
    }
    let wrong = "No device shows this code. It may be over."
    guard let code = UserCode(typed: typed) else { return codePage(visit, typed: typed, words: wrong) }
    do throws(RegistryError) {
      guard let grant = try await registry.device(showing: code, now: now) else {
        return codePage(visit, typed: typed, words: wrong)
      }
      pacing.forgive(account.id)
      switch action {
      case "look": return devicePage(grant, code, account, visit)
      case "allow", "deny":
        let allows = action == "allow"
        guard try await registry.answerDevice(showing: code, as: account.id, allows: allows, now: now) else {
          return codePage(visit, typed: typed, words: wrong)
        }
        return Page(
          title: allows ? "Signed in" : "Not signed in",
          content: "<p>You can go back to the device.</p>", cookies: visit.cookies
        ).response(of: configuration.issuer)
      default: return errorPage("The form is not valid.", visit)
      }
    } catch { throw problem(error, context) }
  }

  private func codePage(_ visit: Visit, typed: String, words: String? = nil) -> Response {
    let error: HTML = words.map { "<p class=\"error\" role=\"alert\">\($0)</p>" } ?? ""
    return Page(
      title: "Sign in on a device",
      content: """
        \(error)<form method="post">\(visit.field)<label for="user_code">The code that the device shows</label>\
        <input id="user_code" class="code" name="user_code" value="\(String(typed.prefix(32)))" autocomplete="off" \
        autocapitalize="characters" spellcheck="false" required autofocus>\
        <button name="action" value="look">Go on</button></form>
        """,
      cookies: visit.cookies
    ).response(of: configuration.issuer)
  }

  private func devicePage(
    _ grant: DeviceGrant, _ code: UserCode, _ account: AccountRecord, _ visit: Visit
  ) -> Response {
    Page(
      title: "Let \(grant.clientName) in?",
      content: """
        <p>A device that shows <span class="code">\(code.text)</span> asks for your account \
        <strong>\(account.shownName)</strong>. Go on only if you hold that device yourself: nobody else has any reason to \
        send you such a code.</p>\(scopes(grant.scope))\
        <form method="post">\(visit.field)<input type="hidden" name="user_code" value="\(code.text)">\
        <button name="action" value="allow">Let it in</button><button name="action" value="deny">No</button></form>
        """,
      cookies: visit.cookies
    ).response(of: configuration.issuer)
  }
}
#endif
