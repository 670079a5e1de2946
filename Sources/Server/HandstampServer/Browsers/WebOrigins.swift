#if Server
import HTTPTypes
import HandstampSupport
import Hummingbird

/// The origins whose pages may use the server with its cookie: its own, and those of the operator's browser applications.
struct WebOrigins: Sendable {
  let own: String
  let allowed: Set<String>

  /// - Throws: ``ServerConfigurationError/webOrigin(_:)`` if a text is not an origin as browsers write it, or not encrypted.
  init(issuer: String, allowed: [String]) throws(ServerConfigurationError) {
    own = Origin(issuer)?.text ?? issuer
    if let text = allowed.first(where: { !WebOrigins.isGood($0) }) { throw .webOrigin(text) }
    self.allowed = Set(allowed)
  }

  /// Returns whether a text is an encrypted origin, as browsers write it.
  static func isGood(_ text: String) -> Bool { Origin(text).map { $0.text == text && $0.isTrustworthy } ?? false }

  /// Returns whether a request may come from a page of these origins, according to the browser's headers; older browsers do not
  /// send all of them, and programs none.
  func admit(_ request: Request) -> Bool {
    let site = request.headers[.secFetchSite]
    // Some browsers hide the origin from the site itself, and say so only there.
    if let origin = request.headers[.origin], origin != "null" || site != "same-origin" {
      return origin == own || allowed.contains(origin)
    }
    return site.map { ["same-origin", "none"].contains($0) } ?? true
  }
}

/// Lets pages of some origins read responses (CORS, Fetch Standard section 3.2). Others get no field, so that browsers keep the responses from
/// them.
struct CrossOriginMiddleware<Context: RequestContext>: RouterMiddleware {
  let origins: Set<String>
  /// Whether their requests may use the cookie.
  let allowsCookie: Bool

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    response.headers.append(HTTPField(name: .vary, value: "Origin"))
    guard let origin = request.headers[.origin], origins.contains(origin) else { return response }
    response.headers[.accessControlAllowOrigin] = origin
    if allowsCookie { response.headers[.accessControlAllowCredentials] = "true" }
    response.headers[.accessControlExposeHeaders] = "Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate"
    return response
  }

  /// The response to the question before a request (section 3.2.2).
  static var preflight: Response {
    Response(
      status: .noContent,
      headers: [
        .accessControlAllowMethods: "GET, POST, PUT, PATCH, DELETE",
        .accessControlAllowHeaders: "Authorization, Content-Type, DPoP, Last-Event-ID, X-CSRF-Token",
        .accessControlMaxAge: "600",
      ])
  }
}
#endif
