#if Server
import Foundation
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// The sessions of browsers on the server's own pages: their cookies, and the forms that come with them.
struct BrowserSessions: Sendable {
  let service: AccountService
  let errors: ErrorMapper

  var pages: PageWriter { errors.pages }
  private var registry: Registry { service.registry }
  private var clock: ServerClock { service.clock }
  private var recorder: SessionEventRecorder { service.recorder }
  private var issuer: String { pages.issuer }

  // MARK: Requests

  func form(of request: Request) async throws -> FormFields {
    let limit = min(service.limits.bodySize, 16_384)
    return try FormFields(
      try await request.wholeBody(of: "application/x-www-form-urlencoded", upTo: limit).readableBytesView)
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
  func visit(
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
      userAgent: request.headers[.userAgent] ?? "",
      formCookie: known ?? ResponseCookie.drawn(), isFormCookieNew: known == nil,
      saidByScript: persistence,
      wasBorrowed: web?.row.isBorrowed == true || request.cookie(ResponseCookie.borrowed) != nil,
      errors: errors, place: pages.reader(of: request, locale: web?.account.locale),
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
    let visit = try await self.visit(request, isForm: false, context)
    guard isFromHere(request), !visit.isFormCookieNew, let token = request.headers[.csrfToken],
      Secret(token) == Secret(visit.token)
    else { throw FormError.expired }
    return visit
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

  /// Begins a session of the browser, or renews the one that it has: the cookie changes with every sign-in. The previous cookie counts
  /// until the browser presents the new one.
  func beginOrRenewSession(by use: CredentialUse, _ visit: BrowserRequest) async throws -> BrowserSession {
    let (registry, now) = (service.owned(visit.caller), clock.now)
    // A session in which a lost factor is replaced is one of its own. So is one in a browser that is only now said to be borrowed,
    // by this very request: what an earlier form said may have been for another sign-in.
    if let previous = visit.web, previous.account.id == use.account.id, !previous.isRecovering,
      !use.methods.isRecovering,
      previous.row.isBorrowed || visit.said != .ephemeral
    {
      return try await registry.reauthenticate(previous, by: use, now: now)
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
    if let previous = visit.web ?? visit.recovering {
      try await end(previous.row.id, of: previous.account.id, visit.caller.logger)
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
  var clearedData: String { pages.base.isEmpty ? "\"cache\", \"storage\"" : "\"cache\"" }
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
