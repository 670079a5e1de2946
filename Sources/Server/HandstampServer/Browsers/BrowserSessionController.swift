#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import HandstampSupport
import Hummingbird
import Logging

/// `/v1/session`: a browser application signs in and out, and gets a cookie that its scripts cannot read, instead of tokens that they
/// could leak (draft-ietf-oauth-browser-based-apps section 6.1). The cookie is that of the server's own pages: a browser is one
/// session.
struct BrowserSessionController: Sendable {
  let browsers: BrowserSessions
  let service: AccountService
  let authenticator: Authenticator
  let responses: TokenResponses

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/v1/session", use: show)
    routes.post("/v1/session", use: begin)
    routes.delete("/v1/session", use: end)
    routes.post("/v1/session/token", use: token)
  }

  /// `GET /v1/session`: whether this browser is signed in, and the CSRF token for other requests.
  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard let user = try await authenticator.browserSession(of: request, context.logger) else {
      var json = JSONText()
      json.add("signed_in", false)
      return .json(json)
    }
    await touch(user, context.logger)
    return .json(BrowserSessionController.state(of: user))
  }

  /// `POST /v1/session`: signs in with a password, and the one-time password that the account may ask for, or with a passkey's answer
  /// (`AuthenticationResponseJSON` as a text). If the browser is signed in to the account, the user has proved it
  /// again. There is another cookie, and another CSRF token, each time; the previous ones count until the browser has presented them.
  /// With `remember` `false` the browser is borrowed, as with the box of the pages. Nothing else makes it so.
  @concurrent func begin(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard authenticator.origins.admit(request) else { throw ProblemError.otherOrigin }
    let body = try await request.json(upTo: service.limits.bodySize)
    let visit = try await browsers.visit(request, isForm: false, persistence: try body.persistence(), context)
    let new: BrowserSession
    if let answer = try body.optionalText("passkey") {
      new = try await service.verify(passkey: answer, boundTo: PasskeyService.app, visit.caller) {
        try await browsers.beginOrRenewSession(by: $0, visit)
      }
    } else {
      let attempt = PasswordAttempt(
        email: try body.email(), password: try body.secret("password"), device: visit.browser.id, caller: visit.caller)
      let code = try body.optionalSecret("code")
      let account = try await service.accounts.account(attempt)
      new = try await service.withSecondFactor(of: account, code: code, on: visit.browser.id, visit.caller) { use in
        try await service.require(use.methods, of: account)
        return try await browsers.beginOrRenewSession(by: use, visit)
      }
    }
    var response = Response.json(BrowserSessionController.state(of: new))
    response.headers.add(service.registry.cookies(of: new, device: visit.device))
    return response
  }

  /// `DELETE /v1/session`: signs this browser out, and the clients that the user has signed in to with it.
  @concurrent func end(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    if let user = try await authenticator.browserSession(of: request, context.logger) {
      try await browsers.end(user.row.id, of: user.account.id, context.logger)
    }
    var response = Response.nothing
    response.headers.add(ResponseCookie.signedOut)
    response.headers[.clearSiteData] = browsers.clearedData
    return response
  }

  /// `POST /v1/session/token`: an access token of this session for other services, which verify it (RFC 9068). It expires soon, and
  /// there is nothing to refresh it with but the cookie.
  @concurrent func token(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    guard let user = try await authenticator.browserSession(of: request, context.logger) else {
      throw ProblemError.notSignedIn
    }
    await touch(user, context.logger)
    // As old as the proof that the cookie shows.
    return .json(try responses.tokens(of: user.row, for: user.row.client, proof: (user.authenticatedAt, user.methods)))
  }

  /// Keeps a session, unless it is borrowed: the scripts of a tab that was left open ask by themselves.
  private func touch(_ user: BrowserSession, _ logger: Logger) async {
    if !user.row.isBorrowed { await browsers.touch(user, logger) }
  }

  private static func state(of user: BrowserSession) -> JSONText {
    var json = JSONText(reserving: 512)
    json.add("signed_in", true)
    json.add("session_id", user.row.id.rawValue)
    json.add("csrf_token", Authenticator.csrfToken(for: user.cookie.withExposed { $0 }))
    json.add("authenticated_at", user.authenticatedAt.description)
    json.add("expires_at", ifPresent: user.row.absoluteExpiry?.description)
    json.add("profile", user.account.profile)
    return json
  }
}

extension ProblemError {
  static let notSignedIn = ProblemError(.unauthorized, "not_signed_in", "This browser is not signed in")
}
#endif
