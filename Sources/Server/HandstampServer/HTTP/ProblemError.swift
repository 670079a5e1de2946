#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import NIOCore

/// An error response of the JSON API (RFC 9457). It never repeats data from the request.
struct ProblemError: Error, HTTPResponseError {
  var status: HTTPResponse.Status
  /// The code for clients to act on; stable, unlike the texts.
  var code: String
  var title: String
  var detail: String?
  /// Why the session ended, if that is the cause.
  var reason: String?
  /// The name of the provider where it ended, if it did.
  var provider: String?
  /// The page where a person can do something about it.
  var page: String?
  /// The least strength of a proof that would be enough, if one factor is not.
  var context: AuthenticationContext?
  /// Seconds after which the same request may succeed.
  var retryAfter: Int?
  var headers: HTTPFields
  /// For requests with access tokens. ``ErrorMapper`` adds it to the header fields, for it knows the resource.
  var challenge: AccessChallenge?

  init(
    _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String? = nil, reason: String? = nil,
    page: String? = nil, retryAfter: Int? = nil, headers: HTTPFields = [:], challenge: AccessChallenge? = nil
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
    self.reason = reason
    self.page = page
    self.retryAfter = retryAfter
    self.headers = headers
    self.challenge = challenge
  }

  func response(from request: Request, context: some RequestContext) -> Response { response }

  /// The JSON object.
  private var content: JSONText {
    var json = JSONText(problem: status, code, title, detail: detail)
    json.add("reason", ifPresent: reason)
    json.add("provider", ifPresent: provider)
    json.add("page", ifPresent: page)
    json.add("acr_values", ifPresent: context?.rawValue)
    return json
  }

  var response: Response {
    var headers = headers
    if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    return .problem(content, status, headers: headers)
  }
}

extension ProblemError {
  static func invalidRequest(_ detail: String) -> ProblemError {
    ProblemError(.badRequest, "invalid_request", "The request is not valid", detail: detail)
  }

  static let notFound = ProblemError(.notFound, "not_found", "Not found")

  static func methodNotAllowed(_ allowed: String) -> ProblemError {
    ProblemError(
      .methodNotAllowed, "method_not_allowed", "This method is not allowed here", headers: [.allow: allowed])
  }

  static func unsupportedMediaType(_ expected: String) -> ProblemError {
    ProblemError(
      .unsupportedMediaType, "unsupported_media_type", "The content type of the body is not supported",
      detail: "Send \(expected).")
  }

  static func tooLarge(_ limit: Int) -> ProblemError {
    ProblemError(
      .contentTooLarge, "too_large", "The body is too large", detail: "At most \(limit) bytes are accepted.")
  }

  /// The store is unavailable. No change was made, or it is not known whether it was.
  static let unavailable = ProblemError(
    .serviceUnavailable, "unavailable", "The server is temporarily unavailable", detail: "Try again later.",
    retryAfter: 1)

  static let busy = ProblemError(
    .serviceUnavailable, "busy", "The server is busy", detail: "Try again in a moment.", retryAfter: 1)

  static let tooManyStreams = ProblemError(
    .tooManyRequests, "too_many_streams", "Too many event streams are open", detail: "Close one, or try again later.",
    retryAfter: 30)

  /// Does not reveal whether the ID or the secret of an OAuth client is wrong.
  static let invalidClient = ProblemError(
    .unauthorized, "invalid_client", "The client's credentials are not valid",
    headers: [.wwwAuthenticate: "Basic realm=\"oauth\""])

  /// `handstamp-server serve` sends them, unless its build lacks that.
  static let noWebhooks = ProblemError(
    .forbidden, "not_offered", "This server sends no webhooks",
    detail: "Serve its store with handstamp-server serve; \(BuildPart.hint(building: "handstamp-server"))")

  static func notOffered(_ title: String) -> ProblemError { ProblemError(.forbidden, "not_offered", title) }

  /// A request without a token (RFC 6750 section 3.1: no error code then).
  static let tokenMissing = ProblemError(
    .unauthorized, "token_missing", "Sign-in required", challenge: AccessChallenge())

  /// The access token is invalid or expired, or its session has ended.
  static func invalidToken(
    _ scheme: AccessScheme, code: String, _ title: String, reason: EndReason? = nil
  ) -> ProblemError {
    var problem = ProblemError(
      .unauthorized, code, title, reason: reason?.rawValue,
      challenge: AccessChallenge(to: scheme, error: "invalid_token"))
    problem.provider = reason?.provider
    return problem
  }

  /// The token belongs to another client, which was not granted this access (RFC 6750 section 3.1).
  static func insufficientScope(_ scheme: AccessScheme, detail: String? = nil) -> ProblemError {
    ProblemError(
      .forbidden, "insufficient_scope", "The access token does not allow this", detail: detail,
      challenge: AccessChallenge(to: scheme, error: "insufficient_scope"))
  }

  /// The token is a client's own: no user has signed in (RFC 6749 section 4.4).
  static func noAccount(_ scheme: AccessScheme) -> ProblemError {
    insufficientScope(scheme, detail: "It is a client's own, and belongs to no account.")
  }

  static let `internal` = ProblemError(.internalServerError, "internal", "Internal server error")
}
#endif
