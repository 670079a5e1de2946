#if Server
import Foundation
import HandstampSupport
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// Browsers signed in on the server's own pages.
struct WebSessions: Sendable {
  let registry: Registry
  let accounts: any Accounts
  let limits: RequestLimits
  let clock: ServerClock
  let errors: ErrorMapper
  let issuer: String
  /// Maximum size of a form, in bytes.
  let bodyLimit: Int

  /// Reads a browser's request. A session ID that this server did not issue is ignored and never adopted.
  ///
  /// - Throws: ``Problem`` for a form from another site, or from a browser that it was not shown in.
  func visit(_ request: Request) async throws -> Visit {
    let session = request.cookie(Cookie.session).map { Secret($0) }
    let known = request.cookie(Cookie.form).flatMap { $0.utf8.count == 22 ? $0 : nil }
    var web: WebSession?
    if let session { web = try await registry.webSession(session, now: clock.now) }
    let device = request.cookie(Cookie.device).flatMap { $0.utf8.count == 22 ? $0 : nil }
    var visit = Visit(
      web: web, session: session, device: device ?? WebSessions.drawn(),
      formCookie: known ?? WebSessions.drawn(), isFormCookieNew: known == nil)
    guard request.method == .post else { return visit }
    let body = try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: min(bodyLimit, 16_384))
    let form = try FormBody(body.readableBytesView)
    guard isFromHere(request), known != nil, let token = form["csrf"], Secret(token) == Secret(visit.token) else {
      throw Problem(
        .forbidden, "form_expired", "This form has expired", detail: "Go back, reload the page, and try again."
      )
    }
    visit.form = form
    return visit
  }

  /// Returns whether a form comes from this server, according to the browser's headers. Without them only the CSRF token
  /// decides.
  private func isFromHere(_ request: Request) -> Bool {
    if let site = request.headers[.secFetchSite], !["same-origin", "none"].contains(site) { return false }
    guard let origin = request.headers[.origin] else { return true }
    return origin == Origin(issuer)?.text
  }

  private static func drawn() -> String {
    var random = SystemRandomNumberGenerator()
    return Base64URL.encode((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }

  /// Signs in with the form of ``signInPage(_:words:status:)`` and redirects to `target`.
  func signIn(
    by visit: Visit, backTo target: String, _ request: Request, _ context: some SessionRequestContext
  ) async throws -> Response {
    let logger = context.logger
    let browser = DeviceID("browser " + visit.device)
    guard let form = visit.form, let email = EmailAddress(composed: form["email"] ?? ""),
      let password = form["password"],
      (try? PasswordPolicy.check(attempt: Secret(password))) != nil
    else { return signInPage(visit, words: "The email address or the password is wrong") }
    let account: AccountRecord
    do {
      account = try await accounts.account(
        PasswordAttempt(
          email: email, password: Secret(password), device: browser, client: limits.client(of: request, context),
          logger: logger))
    } catch {
      let problem = errors.problem(for: error, logger: logger)
      return signInPage(
        visit, words: problem.title, status: problem.status == .unauthorized ? .ok : problem.status)
    }
    // End this browser's previous session: the ID changes with every sign-in.
    if let former = visit.session { try await registry.endWebSession(former) }
    let secret = try await registry.beginWebSession(of: account, on: browser, now: clock.now)
    return .seeOther(
      target,
      [
        Cookie(
          name: Cookie.session, value: secret.secret.withExposed { $0 },
          life: WebSessionLimits.life.components.seconds),
        Cookie(name: Cookie.device, value: visit.device, life: Registry.deviceMemory.components.seconds),
        Cookie(name: Cookie.form, value: nil),
      ])
  }

  /// Signs this browser out and redirects to `target`.
  func signOut(by visit: Visit, backTo target: String) async throws -> Response {
    if let former = visit.session { try await registry.endWebSession(former) }
    return .seeOther(target, [Cookie(name: Cookie.session, value: nil), Cookie(name: Cookie.form, value: nil)])
  }

  func signInPage(
    _ visit: Visit, words: String? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    let error: HTML = words.map { "<p class=\"error\" role=\"alert\">\($0)</p>" } ?? ""
    return Page(
      title: "Sign in",
      content: """
        \(error)<form method="post">\(visit.field)\
        <label for="email">Email address</label>\
        <input id="email" name="email" type="email" autocomplete="username" required autofocus>\
        <label for="password">Password</label>\
        <input id="password" name="password" type="password" autocomplete="current-password" required>\
        <button name="action" value="sign-in">Sign in</button></form>
        """,
      status: status, cookies: visit.cookies
    ).response(of: issuer)
  }

  func errorPage(_ words: String, _ visit: Visit, status: HTTPResponse.Status = .badRequest) -> Response {
    Page.error(words, status: status, cookies: visit.cookies).response(of: issuer)
  }
}

extension Page {
  static func error(
    _ words: String, status: HTTPResponse.Status = .badRequest, cookies: [Cookie] = []
  ) -> Page {
    Page(title: "Something went wrong", content: "<p>\(words)</p>", status: status, cookies: cookies)
  }

  /// The requested scopes, as a list.
  static func scopes(_ scope: String) -> HTML {
    let names = scope.split(separator: " ").map { HTML("<li>\(String($0))</li>") }
    return names.isEmpty ? "" : "<p>It will be able to access:</p><ul>\(HTML.joined(names))</ul>"
  }
}

extension Response {
  /// Redirects with 303: the browser loads the page with GET and drops the form.
  static func seeOther(_ address: String, _ cookies: [Cookie] = []) -> Response {
    var headers: HTTPFields = [.location: address, .cacheControl: "no-store"]
    for cookie in cookies { headers.append(HTTPField(name: .setCookie, value: cookie.field)) }
    return Response(status: .seeOther, headers: headers)
  }
}

extension AccountRecord {
  /// The name of the account as shown to its owner.
  var shownName: String { email?.typed ?? username }
}
#endif
