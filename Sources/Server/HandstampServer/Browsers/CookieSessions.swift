#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HTTPTypes
import Hummingbird
import Logging

/// Requests with the cookie of a browser's session instead of an access token.
struct CookieSessions: Sendable {
  let registry: Registry
  let origins: WebOrigins
  let clock: ServerClock
  let recorder: SessionEventRecorder

  /// Returns the session of a request's cookie; `nil` if the request has none, or it is no longer valid.
  ///
  /// - Throws: ``ProblemError`` for a request that a page of another origin may have made: SameSite alone does not stop pages of the
  ///   same site, such as those of other subdomains.
  func session(of request: Request, _ logger: Logger) async throws -> BrowserSession? {
    guard let cookie = request.cookie(ResponseCookie.session) else { return nil }
    guard origins.admit(request) else { throw ProblemError.otherOrigin }
    if ![.get, .head].contains(request.method) {
      guard let token = request.headers[.csrfToken], Secret(token) == Secret(CookieSessions.token(for: cookie)) else {
        throw ProblemError.csrfTokenInvalid
      }
    }
    let user = try await registry.browserSession(Secret(cookie), now: clock.now)
    if let user { recorder.recordDisplacement(user.displaced, logger: logger) }
    return user
  }

  /// The CSRF token that belongs to a cookie: other sites can read neither.
  static func token(for cookie: String) -> String {
    Base64URL.encode(SHA256.hash(data: Array("handstamp session \(cookie)".utf8)))
  }
}

extension ProblemError {
  static let otherOrigin = ProblemError(
    .forbidden, "origin_not_allowed", "Pages of this origin may not use the session",
    detail: "The operator allows origins by the setting web-origins.")
  static let csrfTokenInvalid = ProblemError(
    .forbidden, "csrf_token_invalid", "The CSRF token is missing or not valid",
    detail: "Send the csrf_token of GET /v1/session as X-CSRF-Token.")
}
#endif
