#if Server
import Foundation
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// Browsers signed in on the server's own pages.
struct WebSessions: Sendable {
  let service: AccountService
  let errors: ErrorMapper
  let pages: PageWriter
  /// Whether the server has its origin to itself.
  let isWholeSite: Bool
  /// Maximum size of a form, in bytes.
  let bodyLimit: Int
  /// Whether accounts are the server's own, and mail is set up: only then the pages for passwords work.
  let hasPasswordPages: Bool

  var registry: Registry { service.registry }
  var limits: RequestLimits { service.limits }
  var clock: ServerClock { service.clock }
  var recorder: SessionEventRecorder { service.recorder }
  /// `nil` if the server has no passkeys.
  var passkeys: PasskeyService? { service.passkeys }

  var issuer: String { pages.issuer }
  var formLimit: Int { min(bodyLimit, 16_384) }

  func form(of request: Request) async throws -> FormFields {
    try FormFields(
      try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: formLimit).readableBytesView)
  }

  /// Reads a browser's request. A session ID that this server did not issue is ignored and never adopted.
  ///
  /// - Parameters:
  ///   - form: the submitted form, if the caller has read it.
  ///   - isForm: whether a POST submits a form; `false` for those of scripts.
  ///   - persistence: whether the browser is another person's, as a script says; `nil` for pages, whose forms say it.
  ///   - isSeen: whether the request shows that the user is here; `false` for one that a page left open makes by itself.
  ///   - outdated: where a form leads to that another tab has outdated by signing in or out; `nil` says that it has expired.
  /// - Throws: ``FormError`` for a form from another site, or from a browser that it was not shown in; ``Redirection``.
  func browserRequest(
    _ request: Request, form read: FormFields? = nil, isForm: Bool = true,
    persistence: SessionPersistence? = nil, isSeen: Bool = true, _ context: some SessionRequestContext,
    outdated: (BrowserRequest) -> String? = { _ in nil }
  ) async throws -> BrowserRequest {
    var form = read
    if form == nil, isForm, request.method == .post { form = try await self.form(of: request) }
    let session = request.cookie(ResponseCookie.session).map { Secret($0) }
    let known = request.drawnCookie(ResponseCookie.form)
    var web: BrowserSession?
    if let session { web = try await registry.anyBrowserSession(session, now: clock.now) }
    let provider = if web == nil, let session { try await registry.providerOfEnd(of: session) } else { nil as String? }
    if let web {
      recorder.recordDisplacement(web.displaced, logger: context.logger)
      if isSeen { await touch(web, context.logger) }
    }
    var visit = BrowserRequest(
      web: web?.isRecovering == true ? nil : web, recovering: web?.isRecovering == true ? web : nil, session: session,
      providerOfEnd: provider,
      device: request.drawnCookie(ResponseCookie.device) ?? ResponseCookie.drawn(),
      name: BrowserName(userAgent: request.headers[.userAgent] ?? "").text,
      formCookie: known ?? ResponseCookie.drawn(), isFormCookieNew: known == nil,
      saidByScript: persistence,
      wasBorrowed: web?.row.isBorrowed == true || request.cookie(ResponseCookie.borrowed) != nil,
      place: pages.reader(of: request, locale: web?.account.locale),
      caller: service.caller(request, context),
      query: try? FormFields(Array((request.uri.query ?? "").utf8)))
    visit.caller.language = visit.place.language
    if let form {
      do throws(FormError) { try check(form, of: visit, request) } catch {
        guard isFromHere(request), let address = outdated(visit) else { throw error }
        throw Redirection(address: address)
      }
      visit.form = form
    }
    return visit
  }

  /// Refuses a form of another site, or one that the browser was not shown.
  private func check(
    _ form: FormFields, of visit: BrowserRequest, _ request: Request
  ) throws(FormError) {
    let logger = visit.caller.logger
    guard isFromHere(request) else {
      guard let origin = request.headers[.origin].flatMap({ Origin($0) }),
        origin.text == "\(origin.scheme)://\(request.head.authority ?? "")"
      else { throw .expired }
      logger.notice(
        "Form sent from another address than the issuer's",
        metadata: ["handstamp.origin": "\(origin.text)", "handstamp.issuer": "\(issuer)"])
      throw .elsewhere(issuer: issuer)
    }
    guard !visit.isFormCookieNew else {
      logger.notice("Form sent without its cookie", metadata: ["handstamp.issuer": "\(issuer)"])
      throw .cookieMissing
    }
    guard let token = form["csrf"], Secret(token) == Secret(visit.token) else { throw .expired }
  }

  /// The same page again, for a form of a user whom another tab has signed out. Without the cookie of forms, only the error helps.
  func reload(_ visit: BrowserRequest) -> String? {
    visit.web == nil && !visit.isFormCookieNew ? address(of: visit) : nil
  }

  /// The address of the page that a request is for.
  func address(of visit: BrowserRequest) -> String { issuer + path(of: visit) }

  /// The path of that page below the issuer, and its query, as `?next=` has them.
  func path(of visit: BrowserRequest) -> String { String(visit.place.here.dropFirst(pages.base.utf8.count)) }

  /// The page for signing in, which leads back to that of a request.
  func signInAddress(for visit: BrowserRequest) -> String {
    issuer + "/sign-in?next=" + PercentEncoding.encode(path(of: visit))
  }

  /// Updates when the session was last seen.
  func touch(_ web: BrowserSession, _ logger: Logger) async {
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
  /// - Throws: ``FormError`` for one from another site, or from a browser that the page was not shown in.
  func scriptRequest(_ request: Request, _ context: some SessionRequestContext) async throws -> BrowserRequest {
    let visit = try await browserRequest(request, isForm: false, context)
    guard isFromHere(request), !visit.isFormCookieNew, let token = request.headers[.csrfToken],
      Secret(token) == Secret(visit.token)
    else { throw FormError.expired }
    return visit
  }

  /// Shows a page to the browser.
  func show(_ page: Page, _ visit: BrowserRequest) -> Response {
    var page = page
    page.cookies += visit.cookies
    return pages.response(page, to: visit.reader)
  }

  /// Says that a mail is on its way.
  func sent(_ name: String, to email: EmailAddress, _ visit: BrowserRequest) -> Response {
    show(
      .message(
        name, ["email": .text(email.typed)], icon: "mail", detail: "message.mail_detail",
        to: [PageAction(text: "common.back_to_sign_in", href: pages.base + "/sign-in", isPrimary: false)]), visit)
  }

  /// The times on a page.
  func dates(_ visit: BrowserRequest) -> PageDates {
    PageDates(pages: pages, language: visit.place.language, now: clock.now)
  }

  // MARK: Sign-in

  /// The purpose of a sign-in.
  struct Purpose: Sendable {
    /// The client that asked for it.
    var asked: AuthorizationRequest?
    /// Whether the signed-in user is asked to prove it again, and where the user goes instead.
    var cancel: String?
    /// The page of this server that the user comes from, as in `?next=`.
    var next: String?
    /// Whether the user who is asked to prove it again has a passkey.
    var hasPasskey = false
    /// The identities of that user at other providers, of those whose word would be enough.
    var identities: [LinkedIdentity] = []
    /// Whether the password would be enough, with the code of an authenticator app where there is one.
    var hasPassword = true
    /// Whether a mailed link would be, because the account has nothing else of its own.
    var hasMail = false
  }

  /// The client that asked for a sign-in, in the texts of its pages.
  func app(_ purpose: Purpose, _ visit: BrowserRequest) -> PageValue? {
    purpose.asked.map { .object(pages.app($0.client.id, named: $0.client.name, in: visit.place.language)) }
  }

  func signInPage(
    _ visit: BrowserRequest, _ purpose: Purpose = Purpose(), email: String? = nil, error: PageText? = nil,
    notice: PageNotice? = nil, unknownPasskey: String? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    let confirms = purpose.cancel != nil && visit.account != nil
    let ended = visit.providerOfEnd.map {
      PageNotice(kind: .note, text: PageText("sign_in.ended_at", ["name": .text($0)]))
    }
    var page = Page(
      name: "sign_in", title: confirms ? "sign_in.title_confirm" : "sign_in.title", status: status,
      notice: notice ?? ended)
    let known =
      confirms ? visit.account?.email?.typed : email ?? purpose.asked?.loginHint ?? visit.account?.email?.typed
    let hasPasskeys = passkeys != nil && (!confirms || purpose.hasPasskey)
    let hasPassword = !confirms || purpose.hasPassword
    page.context = [
      "focus_email": .flag(if: !confirms && known == nil),
      "email": .text(ifPresent: known.map { String($0.prefix(EmailAddress.maxLength)) }),
      "who": .text(known ?? visit.account?.shownName ?? ""),
      "app": app(purpose, visit),
      "confirm": .flag(if: confirms), "again": .flag(if: confirms && lostAction(visit)),
      "cancel": .text(ifPresent: purpose.cancel),
      "can_sign_up": .flag(if: !confirms && service.signUp != .closed && hasPasswordPages),
      "passkeys": .flag(if: hasPasskeys), "passkey_only": .flag(if: !hasPassword),
      "buttons": buttons(for: confirms ? purpose.identities : nil, alone: !hasPassword && !hasPasskeys),
      "mail": .flag(if: confirms && purpose.hasMail),
      "unknown_passkey": unknownPasskey.flatMap { id in
        passkeys.map { .object(["id": .text(id), "domain": .text($0.domain)]) }
      },
      "recovery": .flag(if: passkeys != nil && !confirms),
      "can_reset": .flag(if: hasPasswordPages),
      "next": purpose.next.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    if let error { page.errors["password"] = error }
    return show(page, visit)
  }

  /// Whether the page asks for a proof in place of what a button was to do, which the user then has to press once more.
  private func lostAction(_ visit: BrowserRequest) -> Bool {
    visit.form.map { visit.signsIn || visit.action == "mail-link" ? $0["again"] != nil : true } ?? false
  }

  /// Signs in with the form of ``signInPage(_:_:email:error:notice:unknownPasskey:status:)`` and redirects to `target`.
  func signIn(
    by visit: BrowserRequest, _ purpose: Purpose, backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    switch visit.action {
    case "passkey": return try await signInWithPasskey(by: visit, purpose, backTo: target)
    case "provider": return try await signInElsewhere(by: visit, purpose)
    case "second-factor": return try await secondFactor(by: visit, purpose, backTo: target)
    default: break
    }
    let confirms = purpose.cancel != nil && visit.account != nil
    let typed = confirms ? visit.account?.email?.typed ?? "" : visit.form?["email"] ?? ""
    let wrong: PageText = confirms ? "field_error.password_wrong" : "field_error.sign_in_wrong"
    guard let email = EmailAddress(composed: typed), let password = visit.form?["password"],
      (try? PasswordPolicy.check(attempt: Secret(password))) != nil
    else { return signInPage(visit, purpose, email: typed, error: wrong) }
    let account: AccountRecord
    do {
      account = try await service.accounts.account(
        PasswordAttempt(
          email: email, password: Secret(password), device: visit.browser.id, caller: visit.caller))
    } catch {
      let refusal = try refusal(of: error, visit)
      return signInPage(
        visit, purpose, email: typed, error: refusal.errors.isEmpty ? nil : wrong, notice: refusal.notice,
        status: refusal.status)
    }
    do {
      let new = try await service.withSecondFactor(of: account, code: nil, on: visit.browser.id, visit.caller) {
        try await beginOrRenewSession(by: $0, visit)
      }
      return redirect(to: target(new), with: new, visit)
    } catch AccountError.secondFactorRequired { return secondFactorPage(of: account, visit, purpose) }
  }

  private func signInWithPasskey(
    by visit: BrowserRequest, _ purpose: Purpose, backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    guard passkeys != nil, let answer = visit.form?["passkey"] else { return unknownAction(visit) }
    do {
      let account = purpose.cancel == nil ? nil : visit.account?.id
      let new = try await service.verify(passkey: answer, boundTo: visit.token, as: account, visit.caller) {
        try await beginOrRenewSession(by: $0, visit)
      }
      return redirect(to: target(new), with: new, visit)
    } catch AccountError.passkey(let refusal) {
      return signInPage(
        visit, purpose, notice: .warning(refusal.text),
        // The script tells the browser's password manager that it was removed.
        unknownPasskey: refusal == .unknown ? PasskeyService.credential(in: answer) : nil, status: .unauthorized)
    } catch let error as AccountError {
      let refusal = try refusal(of: error, visit)
      return signInPage(visit, purpose, notice: refusal.notice, status: refusal.status)
    }
  }

  /// The words on a page for an operation that was refused.
  struct Refusal: Sendable {
    /// Those beside fields, by their names.
    var errors: [String: PageText] = [:]
    var notice: PageNotice?
    var status = HTTPResponse.Status.ok
  }

  /// The one place where a refusal of ``AccountService`` becomes words on a page.
  ///
  /// - Parameter field: that of the password that was checked.
  /// - Throws: what concerns more than the form, such as ``AccountError/reauthenticationRequired(_:)``.
  func refusal(
    of error: any Error, passwordIn field: String = "current_password", _ visit: BrowserRequest
  ) throws -> Refusal {
    guard let refusal = errors.refusal(of: error, logger: visit.caller.logger) else { throw error }
    func later(_ text: PageText) -> Refusal {
      Refusal(notice: .warning(text), status: ProblemError(refusal).status)
    }
    switch refusal {
    case .passkey(let refusal): return Refusal(notice: .warning(refusal.text))
    case .weakPassword(let weakness, _): return Refusal(errors: ["new_password": service.policy.text(of: weakness)])
    case .emailTaken: return Refusal(errors: ["email": "field_error.email_taken"])
    case .wrongCredentials, .wrongPassword: return Refusal(errors: [field: "field_error.password_wrong"])
    case .rateLimited(let reached):
      return later(
        PageText("sign_in.too_many", ["wait": pages.wait(for: reached.retryAfter, in: visit.place.language)]))
    case .disabled: return later("sign_in.disabled")
    case .busy, .unavailable: return later("error.unavailable.text")
    case .passwordTooLong, .passwordMissing, .secondFactorRequired, .secondFactorWrong, .secondFactorMissing,
      .reauthenticationRequired, .idTokenInvalid, .oneTimeTokenInvalid, .signUpClosed, .notGuest, .identityTaken,
      .identityNotLinked, .providerEnded, .rotationKeyUsed, .unmailable, .notFound, .notOffered:
      throw error
    }
  }

  /// The session that a sign-up begins in the browser.
  func start(_ visit: BrowserRequest) -> SessionStart {
    SessionStart(device: visit.browser, kind: .browser, visit.persistence, leaving: visit.web?.row.id)
  }

  /// Redirects to `target`, and gives the browser the cookies of a session that has begun.
  func redirect(to target: String, with new: BrowserSession, _ visit: BrowserRequest) -> Response {
    .seeOther(
      target,
      registry.cookies(of: new, device: visit.device) + [ResponseCookie(name: ResponseCookie.form, value: nil)])
  }

  /// Begins a session of the browser, or renews the one that it has: the cookie changes with every sign-in. The former cookie counts
  /// until the browser presents the new one.
  func beginOrRenewSession(by use: CredentialUse, _ visit: BrowserRequest) async throws -> BrowserSession {
    let (registry, now) = (service.owned(visit.caller), clock.now)
    // A session in which a lost factor is replaced is one of its own. So is one in a browser that is only now said to be borrowed,
    // by this very request: what an earlier form said may have been for another sign-in.
    if let former = visit.web, former.account.id == use.account.id, !former.isRecovering, !use.methods.isRecovering,
      former.row.isBorrowed || visit.said != .ephemeral
    {
      return try await registry.reauthenticate(former, by: use, now: now)
    }
    // It goes on until the browser presents the new cookie.
    let new = try await registry.beginBrowserSession(
      by: use, on: visit.browser, visit.persistence, leaving: (visit.web ?? visit.recovering)?.row.id, now: now)
    recorder.recordSignIn(new.row, logger: visit.caller.logger)
    return new
  }

  // MARK: Sign-out

  /// Signs this browser out and redirects to `target`.
  func signOut(by visit: BrowserRequest, backTo target: String) async throws -> Response {
    if let former = visit.web ?? visit.recovering {
      try await end(former.row.id, of: former.account.id, visit.caller.logger)
    }
    var response = Response.seeOther(
      target, ResponseCookie.signedOut + [ResponseCookie(name: ResponseCookie.form, value: nil)])
    response.headers[.clearSiteData] = clearedData
    return response
  }

  /// Ends a session of the browser's user.
  func end(_ session: SessionID, of account: AccountID, _ logger: Logger) async throws {
    do throws(RegistryError) {
      recorder.recordEnd(
        try await registry.end(session, of: account, reason: .signedOut, now: clock.now), logger: logger)
    } catch {
      // It was deleted in the meantime.
      guard error == .notFound else { throw error }
    }
  }

  /// The data that a browser deletes when it is signed out (W3C Clear Site Data section 3.1). Not its cookies: the one that recognizes the
  /// browser stays, and those of other sites below the same domain are theirs. In an app, the storage is the app's.
  var clearedData: String { isWholeSite ? "\"cache\", \"storage\"" : "\"cache\"" }

  // MARK: Errors

  /// - Throws: ``ProblemError/notFound`` if the server cannot send mails.
  func requireMail() throws(ProblemError) {
    guard hasPasswordPages else { throw .notFound }
  }

  /// Says that a form has no button of this name.
  func unknownAction(_ visit: BrowserRequest) -> Response {
    show(
      .error("form_expired", to: [PageAction(text: "action.try_again", href: visit.place.here)]), visit)
  }

  /// Says that a client's request cannot be answered.
  func invalidRequest(_ reason: String, _ visit: BrowserRequest) -> Response {
    show(
      .error(
        "request_invalid", reason: reason,
        to: [PageAction(text: "action.to_account", href: pages.base + "/account", isPrimary: false)]), visit)
  }
}

extension PasskeyService.Refusal {
  /// The text on a page.
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

/// A form that a browser may not send.
enum FormError: Error {
  /// It is of another site, or of a session or a cookie that the browser no longer has.
  case expired
  /// The page was opened at another name of this server, such as `localhost` instead of `127.0.0.1`.
  case elsewhere(issuer: String)
  case cookieMissing
}

/// An error that is answered by another page.
struct Redirection: Error, HTTPResponseError {
  let address: String
  var status: HTTPResponse.Status { .seeOther }

  func response(from request: Request, context: some RequestContext) -> Response { .seeOther(address) }
}

extension Response {
  /// Redirects with 303: the browser loads the page with GET and drops the form.
  static func seeOther(_ address: String, _ cookies: [ResponseCookie] = []) -> Response {
    var headers: HTTPFields = [.location: address, .cacheControl: "no-store"]
    headers.add(cookies)
    return Response(status: .seeOther, headers: headers)
  }
}
#endif
