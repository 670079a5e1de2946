#if Server
import Foundation
import HandstampSupport
import HTTPTypes
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird
import Logging

/// Browsers signed in on the server's own pages.
struct WebSessions: Sendable {
  let desk: AccountDesk
  let errors: ErrorMapper
  let pages: PageWriter
  /// Whether the server has its origin to itself.
  let isWholeSite: Bool
  /// Maximum size of a form, in bytes.
  let bodyLimit: Int
  /// Whether accounts are the server's own, and mail is set up: only then the pages for passwords work.
  let hasPasswordPages: Bool

  var registry: Registry { desk.registry }
  var limits: RequestLimits { desk.limits }
  var clock: ServerClock { desk.clock }
  var journal: SessionJournal { desk.journal }
  /// `nil` if the server has no passkeys.
  var passkeys: PasskeyDesk? { desk.passkeys }

  var issuer: String { pages.issuer }
  var formLimit: Int { min(bodyLimit, 16_384) }

  /// Reads a browser's request. A session ID that this server did not issue is ignored and never adopted.
  ///
  /// - Throws: ``Problem`` for a form from another site, or from a browser that it was not shown in.
  func visit(_ request: Request, _ logger: Logger) async throws -> Visit {
    try await visit(request, form: request.method == .post ? form(of: request) : nil, logger)
  }

  func form(of request: Request) async throws -> FormBody {
    try FormBody(
      try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: formLimit).readableBytesView)
  }

  /// - Parameter form: the submitted form; `nil` unless the request is a POST.
  func visit(_ request: Request, form: FormBody?, _ logger: Logger) async throws -> Visit {
    let session = request.cookie(Cookie.session).map { Secret($0) }
    let known = request.cookie(Cookie.form).flatMap { $0.utf8.count == 22 ? $0 : nil }
    var web: BrowserSession?
    if let session { web = try await registry.browserSession(session, now: clock.now) }
    if let web {
      journal.displaced(web.displaced, logger: logger)
      try await seen(web, logger)
    }
    let device = request.cookie(Cookie.device).flatMap { $0.utf8.count == 22 ? $0 : nil }
    var visit = Visit(
      web: web, session: session, device: device ?? WebSessions.drawn(),
      name: BrowserName(userAgent: request.headers[.userAgent] ?? "").text,
      formCookie: known ?? WebSessions.drawn(), isFormCookieNew: known == nil, place: pages.reader(of: request),
      query: try? FormBody(Array((request.uri.query ?? "").utf8)))
    guard let form else { return visit }
    guard isFromHere(request) else {
      guard let origin = request.headers[.origin].flatMap({ Origin($0) }),
        origin.text == "\(origin.scheme)://\(request.head.authority ?? "")"
      else { throw Problem.formExpired }
      logger.notice(
        "A form was sent from another address than the issuer's",
        metadata: ["handstamp.origin": "\(origin.text)", "handstamp.issuer": "\(issuer)"])
      throw Problem.formElsewhere(issuer)
    }
    guard known != nil else {
      logger.notice("A form came without its cookie", metadata: ["handstamp.issuer": "\(issuer)"])
      throw Problem.cookieMissing
    }
    guard let token = form["csrf"], Secret(token) == Secret(visit.token) else { throw Problem.formExpired }
    visit.form = form
    return visit
  }

  /// Updates when the session was last seen.
  private func seen(_ web: BrowserSession, _ logger: Logger) async throws {
    // If this update fails, a later request makes it.
    do throws(RegistryError) { try await registry.touch(web.row, now: clock.now) } catch {
      errors.report(error, logger: logger)
    }
  }

  /// Returns whether a form comes from this server, according to the browser's headers. Without them only the CSRF token
  /// decides.
  func isFromHere(_ request: Request) -> Bool {
    let site = request.headers[.secFetchSite]
    if let site, !["same-origin", "none"].contains(site) { return false }
    guard let origin = request.headers[.origin] else { return true }
    // Some browsers hide the origin from the site itself, and say so only here.
    return origin == Origin(issuer)?.text || (origin == "null" && site == "same-origin")
  }

  /// Reads a request of a page's script, without a body: it shows the token of the page's form.
  ///
  /// - Throws: ``Problem`` for one from another site, or from a browser that the page was not shown in.
  func scriptVisit(_ request: Request, _ logger: Logger) async throws -> Visit {
    let visit = try await visit(request, form: nil, logger)
    guard isFromHere(request), !visit.isFormCookieNew, let token = request.headers[.csrfToken],
      Secret(token) == Secret(visit.token)
    else { throw Problem.formExpired }
    return visit
  }

  private static func drawn() -> String { Base64URL.encode(randomBytes(16)) }

  /// Shows a page to the browser.
  func show(_ page: Page, _ visit: Visit) -> Response {
    var page = page
    page.cookies += visit.cookies
    return pages.response(page, to: visit.reader)
  }

  /// The times on a page.
  func dates(_ visit: Visit) -> PageDates { PageDates(pages: pages, language: visit.place.language, now: clock.now) }

  // MARK: Sign-in

  /// What a sign-in is for.
  struct Purpose: Sendable {
    /// The client that asked for it.
    var asked: AuthorizationRequest?
    /// Whether the signed-in user is asked to prove it again, and where the user goes instead.
    var cancel: String?
    /// The page of this server that the user comes from, as in `?next=`.
    var next: String?
    /// Whether the user who is asked to prove it again has a passkey.
    var hasPasskey = false
  }

  func signInPage(
    _ visit: Visit, _ purpose: Purpose = Purpose(), email: String? = nil, error: PageText? = nil,
    notice: PageNotice? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    let confirms = purpose.cancel != nil && visit.account != nil
    var page = Page(
      name: "sign_in", title: confirms ? "sign_in.title_confirm" : "sign_in.title", status: status, notice: notice)
    let known =
      confirms ? visit.account?.email?.typed : email ?? purpose.asked?.loginHint ?? visit.account?.email?.typed
    page.context = [
      "focus_email": .flag(if: !confirms && known == nil),
      "email": .text(ifPresent: known.map { String($0.prefix(EmailAddress.maxLength)) }),
      "app": purpose.asked.map { .object(["name": .text($0.client.name)]) },
      "confirm": .flag(if: confirms), "cancel": .text(ifPresent: purpose.cancel),
      "can_sign_up": .flag(if: !confirms && desk.signUp != .closed && hasPasswordPages),
      "passkeys": .flag(if: passkeys != nil && (!confirms || purpose.hasPasskey)),
      "passkey_only": .flag(if: confirms && visit.account?.passwordHash == nil),
      "recovery": .flag(if: passkeys != nil && !confirms),
      "can_reset": .flag(if: hasPasswordPages),
      "next": purpose.next.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    if let error { page.errors["password"] = error }
    return show(page, visit)
  }

  /// Signs in with the form of ``signInPage(_:_:email:error:notice:status:)`` and redirects to `target`.
  func signIn(
    by visit: Visit, _ purpose: Purpose, _ request: Request, _ context: some SessionRequestContext,
    backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    if visit.action == "passkey" {
      return try await signInWithPasskey(by: visit, purpose, request, context, backTo: target)
    }
    let confirms = purpose.cancel != nil && visit.account != nil
    let typed = confirms ? visit.account?.email?.typed ?? "" : visit.form?["email"] ?? ""
    let wrong: PageText = confirms ? "field_error.password_wrong" : "field_error.sign_in_wrong"
    guard let email = EmailAddress(composed: typed), let password = visit.form?["password"],
      (try? PasswordPolicy.check(attempt: Secret(password))) != nil
    else { return signInPage(visit, purpose, email: typed, error: wrong) }
    let account: AccountRecord
    do {
      account = try await desk.accounts.account(
        PasswordAttempt(
          email: email, password: Secret(password), device: visit.browser.id,
          client: limits.client(of: request, context), logger: context.logger))
    } catch {
      let problem = errors.problem(for: error, logger: context.logger)
      guard problem.status != .unauthorized else { return signInPage(visit, purpose, email: typed, error: wrong) }
      return signInPage(visit, purpose, email: typed, notice: notice(of: problem, visit), status: problem.status)
    }
    return try await signedIn(to: account, visit, desk.caller(request, context), backTo: target)
  }

  private func signInWithPasskey(
    by visit: Visit, _ purpose: Purpose, _ request: Request, _ context: some SessionRequestContext,
    backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    guard passkeys != nil, let answer = visit.form?["passkey"] else { return unknownAction(visit) }
    let caller = desk.caller(request, context)
    do {
      let account = purpose.cancel == nil ? nil : visit.account?.id
      return try await desk.verify(passkey: answer, boundTo: visit.token, as: account, caller) {
        try await signedIn(by: $0, visit, caller, backTo: target)
      }
    } catch let refusal as PasskeyDesk.Refusal {
      return signInPage(visit, purpose, notice: .warning(refusal.text), status: .unauthorized)
    } catch let problem as Problem {
      return signInPage(visit, purpose, notice: notice(of: problem, visit), status: problem.status)
    }
  }

  /// Signs the browser in by a passkey or a recovery code, and redirects to `target`.
  func signedIn(
    by use: CredentialUse, _ visit: Visit, _ caller: AccountDesk.Caller, backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    let new = try await session(of: use.account, by: use, visit, caller)
    return began(new, visit, to: target(new.session))
  }

  /// What a page says when something cannot be done now.
  func notice(of problem: Problem, _ visit: Visit) -> PageNotice {
    switch problem.status {
    case .tooManyRequests:
      let wait = pages.wait(after: problem, in: visit.place.language)
      return .warning(PageText("sign_in.too_many", ["wait": wait]))
    case .forbidden: return .warning("sign_in.disabled")
    default: return .warning("error.unavailable.text")
    }
  }

  /// The words on a page for an operation that was refused.
  struct Refusal: Sendable {
    /// Those beside fields, by their names.
    var errors: [String: PageText] = [:]
    var notice: PageNotice?
    var status = HTTPResponse.Status.ok
  }

  /// The one place where a refusal of ``AccountDesk`` becomes words on a page.
  ///
  /// - Parameter field: that of the password that was checked.
  /// - Throws: what concerns more than the form, such as ``Problem/reauthenticationRequired``.
  func refusal(
    of error: any Error, passwordIn field: String = "current_password", _ visit: Visit, _ logger: Logger
  ) throws -> Refusal {
    if let refusal = error as? PasskeyDesk.Refusal { return Refusal(notice: .warning(refusal.text)) }
    let problem = errors.problem(for: error, logger: logger)
    if let fault = problem.reason.flatMap({ PasswordPolicy.Fault(rawValue: $0) }) {
      return Refusal(errors: ["new_password": desk.policy.text(of: fault)])
    }
    switch problem.code {
    case "email_taken": return Refusal(errors: ["email": "field_error.email_taken"])
    case "wrong_credentials": return Refusal(errors: [field: "field_error.password_wrong"])
    case "rate_limited", "busy", "unavailable", "account_disabled":
      return Refusal(notice: notice(of: problem, visit), status: problem.status)
    default: throw error
    }
  }

  /// Signs the browser in and redirects to `target`.
  func signedIn(
    to account: AccountRecord, _ visit: Visit, _ caller: AccountDesk.Caller,
    backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    let new = try await session(of: account, visit, caller)
    return began(new, visit, to: target(new.session))
  }

  /// The session that a sign-up begins in the browser.
  func start(_ visit: Visit) -> AccountDesk.SessionStart {
    AccountDesk.SessionStart(device: visit.browser, kind: .browser, leaving: visit.web?.row.id)
  }

  /// Gives the browser the cookies of a session that has begun, and redirects to `target`.
  func began(_ new: NewSession, _ visit: Visit, to target: String) -> Response {
    began(registry.browserSession(of: new), visit, to: target)
  }

  func began(_ new: NewBrowserSession, _ visit: Visit, to target: String) -> Response {
    .seeOther(target, cookies(of: new, visit) + [Cookie(name: Cookie.form, value: nil)])
  }

  /// The cookies of a session.
  func cookies(of new: NewBrowserSession, _ visit: Visit) -> [Cookie] {
    [
      Cookie(
        name: Cookie.session, value: new.cookie.withExposed { $0 },
        life: registry.limits.browserAbsoluteLimit?.components.seconds ?? Cookie.longest),
      Cookie(name: Cookie.device, value: visit.device, life: Registry.deviceMemory.components.seconds),
    ]
  }

  /// Begins a session of the browser, or renews the one that it has: the cookie changes with every sign-in. The former cookie counts
  /// until the browser presents the new one.
  ///
  /// - Parameter use: the passkey or recovery code that it begins by; `nil` for a password.
  func session(
    of account: AccountRecord, by use: CredentialUse? = nil, _ visit: Visit, _ caller: AccountDesk.Caller
  ) async throws -> NewBrowserSession {
    let (registry, now) = (desk.owned(caller), clock.now)
    if let former = visit.web, former.account.id == account.id {
      return try await registry.reauthenticated(former, by: use, now: now)
    }
    // It goes on until the browser presents the new cookie.
    let former = visit.web?.row.id
    let new =
      if let use {
        try await registry.beginBrowserSession(by: use, on: visit.browser, leaving: former, now: now)
      } else {
        try await registry.beginBrowserSession(of: account, on: visit.browser, leaving: former, now: now)
      }
    journal.began(new, logger: caller.logger)
    return new
  }

  // MARK: Sign-out

  /// Signs this browser out and redirects to `target`.
  func signOut(by visit: Visit, backTo target: String, _ logger: Logger) async throws -> Response {
    if let former = visit.web { try await end(former.row.id, of: former.account.id, logger) }
    var response = Response.seeOther(
      target, [Cookie(name: Cookie.session, value: nil), Cookie(name: Cookie.form, value: nil)])
    response.headers[.clearSiteData] = clearedData
    return response
  }

  /// Ends a session of the browser's user.
  func end(_ session: SessionID, of account: AccountID, _ logger: Logger) async throws {
    do throws(RegistryError) {
      journal.ended(
        try await registry.end(session, of: account, reason: .signedOut, now: clock.now), logger: logger)
    } catch {
      // It was deleted in the meantime.
      guard error == .notFound else { throw error }
    }
  }

  /// What a browser forgets when it is signed out (W3C Clear Site Data section 3.1). Not its cookies: the one that recognizes the
  /// browser stays, and those of other sites below the same domain are theirs. In an app, the storage is the app's.
  var clearedData: String { isWholeSite ? "\"cache\", \"storage\"" : "\"cache\"" }

  // MARK: Errors

  /// - Throws: ``Problem/notFound`` if the server cannot send mails.
  func requireMail() throws(Problem) {
    guard hasPasswordPages else { throw .notFound }
  }

  /// Says that a form has no button of this name.
  func unknownAction(_ visit: Visit) -> Response {
    show(
      .error("form_expired", to: [PageAction(text: "action.try_again", href: visit.place.here)]), visit)
  }

  /// Says that a client's request cannot be answered.
  func invalidRequest(_ reason: String, _ visit: Visit) -> Response {
    show(
      .error(
        "request_invalid", reason: reason,
        to: [PageAction(text: "action.to_account", href: pages.base + "/account", isPrimary: false)]), visit)
  }
}

extension PasskeyDesk.Refusal {
  /// What a page says.
  var text: PageText {
    switch self {
    case .expired: "passkey.expired"
    case .unknown: "passkey.unknown"
    case .tooMany: "passkey.too_many"
    case .notVerified: "passkey.not_verified"
    case .invalid: "passkey.failed"
    }
  }
}

extension Problem {
  static let formExpired = Problem(
    .forbidden, "form_expired", "This form has expired", detail: "Go back, reload the page, and try again.")

  /// The page was opened at another name of this server, such as `localhost` instead of `127.0.0.1`.
  static func formElsewhere(_ issuer: String) -> Problem {
    Problem(.forbidden, "form_elsewhere", "This page has another address", detail: "Open \(issuer) instead.")
  }

  static let cookieMissing = Problem(
    .forbidden, "cookie_missing", "The browser sent no cookie",
    detail: "Allow cookies for this site. Some browsers take none over http: use https.")
}

extension Response {
  /// Redirects with 303: the browser loads the page with GET and drops the form.
  static func seeOther(_ address: String, _ cookies: [Cookie] = []) -> Response {
    var headers: HTTPFields = [.location: address, .cacheControl: "no-store"]
    for cookie in cookies { headers.append(HTTPField(name: .setCookie, value: cookie.field)) }
    return Response(status: .seeOther, headers: headers)
  }
}
#endif
