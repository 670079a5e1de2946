#if Server
import HTTPTypes
import HandstampCore
import Hummingbird

/// Responses of the OAuth endpoints: JSON, never cached (RFC 6749 sections 5.1 and 5.2).
enum OAuthAnswer {
  static func success(_ json: JSONText) -> Response {
    Response(status: .ok, headers: headers, body: .init(byteBuffer: json.buffer))
  }

  /// Returns an error response, by default 400, with `error` and further details.
  static func refusal(
    _ error: String, status: HTTPResponse.Status = .badRequest, code: String? = nil, reason: EndReason? = nil,
    description: String? = nil, retryAfter: Int? = nil
  ) -> Response {
    var json = JSONText()
    json.add("error", error)
    json.add("error_code", ifPresent: code)
    json.add("reason", ifPresent: reason?.rawValue)
    json.add("error_description", ifPresent: description)
    var headers = headers
    if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    return Response(status: status, headers: headers, body: .init(byteBuffer: json.buffer))
  }

  /// The server cannot decide at the moment. This must never look like a definitive refusal, which would sign users out.
  static let unavailable = refusal("temporarily_unavailable", status: .serviceUnavailable, retryAfter: 1)

  private static let headers: HTTPFields = [
    .contentType: "application/json", .cacheControl: "no-store", .pragma: "no-cache",
  ]
}
#endif
