#if Server
import HTTPTypes
import HandstampCore
import HandstampSupport
import Hummingbird

/// An error response of the OAuth endpoints (RFC 6749 section 5.2).
struct OAuthError: Error, Equatable {
  struct Redirect: Equatable {
    var uri: String
    var state: String?
  }

  var error: String
  var status: HTTPResponse.Status
  /// A more specific code than `error`, of this server's own.
  var code: String?
  /// Why the session ended, if that is the cause.
  var reason: EndReason?
  var description: String?
  var retryAfter: Int?
  var headers: HTTPFields
  /// The address to which the authorization endpoint reports the error; `nil` for an error that a page shows.
  var redirect: Redirect?

  init(
    _ error: String, status: HTTPResponse.Status = .badRequest, code: String? = nil, reason: EndReason? = nil,
    description: String? = nil, retryAfter: Int? = nil, headers: HTTPFields = [:]
  ) {
    self.error = error
    self.status = status
    self.code = code
    self.reason = reason
    self.description = description
    self.retryAfter = retryAfter
    self.headers = headers
  }

  func describing(_ description: String) -> OAuthError {
    var error = self
    error.description = description
    return error
  }

  var response: Response {
    var json = JSONText()
    json.add("error", error)
    json.add("error_code", ifPresent: code)
    json.add("reason", ifPresent: reason?.rawValue)
    json.add("provider", ifPresent: reason?.provider)
    json.add("error_description", ifPresent: description)
    var headers = Response.oauthHeaders
    for field in self.headers { headers[field.name] = field.value }
    if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    return Response(status: status, headers: headers, body: .init(byteBuffer: json.buffer))
  }
}

extension OAuthError {
  /// The server cannot decide at the moment. This must never look like a definitive refusal, which would sign users out.
  static let unavailable = OAuthError("temporarily_unavailable", status: .serviceUnavailable, retryAfter: 1)

  static func invalidRequest(_ description: String) -> OAuthError {
    OAuthError("invalid_request", description: description)
  }

  static let formMalformed = OAuthError.invalidRequest("the body is not a valid form")
  /// RFC 6749 section 3.2 forbids it.
  static let parameterRepeated = OAuthError.invalidRequest("a parameter is repeated")

  /// Does not reveal whether the ID or the secret is wrong.
  static let invalidClient = OAuthError(
    "invalid_client", status: .unauthorized, headers: [.wwwAuthenticate: "Basic realm=\"oauth\""])
}

extension Response {
  /// A successful response of an OAuth endpoint, never cached (RFC 6749 section 5.1).
  static func oauth(_ json: JSONText, status: HTTPResponse.Status = .ok) -> Response {
    Response(status: status, headers: oauthHeaders, body: .init(byteBuffer: json.buffer))
  }

  fileprivate static let oauthHeaders: HTTPFields = [
    .contentType: "application/json", .cacheControl: "no-store", .pragma: "no-cache",
  ]
}
#endif
