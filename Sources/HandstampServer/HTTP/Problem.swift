#if Server
import HTTPTypes
import Hummingbird

/// An error answer of the JSON API (RFC 9457). It never repeats what the caller sent.
struct Problem: Error, HTTPResponseError {
  var status: HTTPResponse.Status
  /// What a program acts on; stable, unlike the texts.
  var code: String
  var title: String
  var detail: String?
  /// Why the session ended, where that is the cause.
  var reason: String?
  /// Seconds after which the same request may succeed.
  var retryAfter: Int?
  var headers: HTTPFields = [:]

  init(
    _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String? = nil, reason: String? = nil,
    retryAfter: Int? = nil
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
    self.reason = reason
    self.retryAfter = retryAfter
  }

  func response(from request: Request, context: some RequestContext) -> Response { response }

  var response: Response {
    var json = JSONText()
    json.add("type", "urn:handstamp:problem:" + code)
    json.add("title", title)
    json.add("status", Int64(status.code))
    json.add("detail", ifPresent: detail)
    json.add("code", code)
    json.add("reason", ifPresent: reason)
    var headers = headers
    headers[.contentType] = "application/problem+json"
    headers[.cacheControl] = "no-store"
    if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    return Response(status: status, headers: headers, body: .init(byteBuffer: json.buffer))
  }
}

extension Problem {
  static func invalidRequest(_ detail: String) -> Problem {
    Problem(.badRequest, "invalid_request", "The request is not valid", detail: detail)
  }

  static let notFound = Problem(.notFound, "not_found", "There is nothing here")

  static func methodNotAllowed(_ allowed: String) -> Problem {
    var problem = Problem(.methodNotAllowed, "method_not_allowed", "This method is not possible here")
    problem.headers[.allow] = allowed
    return problem
  }

  static func unsupportedMediaType(_ expected: String) -> Problem {
    Problem(
      .unsupportedMediaType, "unsupported_media_type", "The body is of another kind than expected",
      detail: "Send \(expected).")
  }

  static func tooLarge(_ limit: Int) -> Problem {
    Problem(
      .contentTooLarge, "too_large", "The body is too large", detail: "At most \(limit) bytes are accepted.")
  }

  /// The store, or the queue for passwords, cannot serve now. Nothing was changed, or nothing that is known to hold.
  static let unavailable = Problem(
    .serviceUnavailable, "unavailable", "The server cannot do this now", detail: "Try again later.", retryAfter: 1)

  static let busy = Problem(
    .serviceUnavailable, "busy", "Too many sign-ins at once", detail: "Try again in a moment.", retryAfter: 1)

  static let wrongCredentials: Problem = {
    var problem = Problem(.unauthorized, "wrong_credentials", "The email address or the password is wrong")
    problem.headers[.wwwAuthenticate] = "Bearer"
    return problem
  }()

  /// As an answer to somebody who is signed in: their access token is good, so it is no 401.
  static let wrongPassword = Problem(.forbidden, "wrong_credentials", "The password is wrong")

  static let signUpClosed = Problem(.forbidden, "sign_up_closed", "Nobody can sign up here")

  static let notGuest = Problem(.conflict, "not_anonymous", "The account is a full one already")

  /// Whether it was ever good is not told.
  static let linkInvalid = Problem(
    .badRequest, "link_invalid", "The link is not valid", detail: "It was used, is over, or a later one took its place."
  )

  static let badIDToken = Problem(.forbidden, "id_token_invalid", "The other provider's sign-in is not valid here")

  static func notOffered(_ title: String) -> Problem { Problem(.forbidden, "not_offered", title) }

  static let emailTaken = Problem(.conflict, "email_taken", "There is an account with this email address already")

  /// A request without a token (RFC 6750 section 3.1: no error code then).
  static let tokenMissing: Problem = {
    var problem = Problem(.unauthorized, "token_missing", "Sign in first")
    problem.headers[.wwwAuthenticate] = "Bearer"
    return problem
  }()

  /// A token that is none of ours, over, or of an ended session.
  static func invalidToken(code: String, _ title: String, reason: String? = nil) -> Problem {
    var problem = Problem(.unauthorized, code, title, reason: reason)
    problem.headers[.wwwAuthenticate] = "Bearer error=\"invalid_token\""
    return problem
  }

  /// A token of another client, for what that may not do (RFC 6750 section 3.1).
  static func insufficientScope(_ scope: String?) -> Problem {
    var problem = Problem(.forbidden, "insufficient_scope", "The token is not for this")
    problem.headers[.wwwAuthenticate] =
      "Bearer error=\"insufficient_scope\"" + (scope.map { ", scope=\"\($0)\"" } ?? "")
    return problem
  }

  static let `internal` = Problem(.internalServerError, "internal", "Something went wrong in the server")
}
#endif
