/// The meaning of a status by itself, of a response at a token endpoint or another endpoint of a session's server. Every reading of such a
/// response begins with it.
///
/// | status | meaning | without an error code |
/// |---|---|---|
/// | 2xx | success | a page in place of tokens decides nothing |
/// | 400, 401, 403, 422 | judged | the endpoint has refused the request, unless it is a page |
/// | 408, 425, 429, 5xx | passing | come again |
/// | anything else, such as 302, 404, 405, 407, 410, 421, 426 | astray | another place has answered; one repeat |
///
/// A code of the protocol counts beside every status: `invalid_grant` ends the session except with a passing one.
package enum StatusMeaning: Sendable, Hashable {
  case success
  /// The endpoint has judged the request, or something in front of it has.
  case judged
  /// The server could not answer now, which says nothing of the request.
  case passing
  /// The request has not come to the endpoint, or not as it was sent, which says nothing of its content.
  case astray

  package init(_ status: Int) {
    switch status {
    case 200..<300: self = .success
    case 400, 401, 403, 422: self = .judged
    case 408, 425, 429, 500...: self = .passing
    default: self = .astray
    }
  }
}

extension RequestError.ServerResponse {
  /// The error response of such an endpoint, with who has given it.
  ///
  /// - Parameters:
  ///   - error: the code in its body; `nil` for none.
  ///   - detail: the message beside it.
  package init(_ response: TransportResponse, error: String?, detail: String?) {
    self.init(status: response.status, error: error, detail: detail)
    switch StatusMeaning(response.status) {
    case .success, .passing: isFromEndpoint = error != nil
    case .judged: isFromEndpoint = error != nil || response.isObject || response.isBlank
    // Gateways and frameworks fill the member, too: "Not Found".
    case .astray: isFromEndpoint = error.map(RequestError.endpointErrors.contains) ?? false
    }
    // Where the code tells already, the value is the same as one made of status and code.
    if isFromEndpoint == (error != nil) { isFromEndpoint = nil }
  }
}

extension RequestError {
  /// The codes that only an endpoint says.
  fileprivate static let endpointErrors = configurationErrors.union(passingErrors).union([
    "invalid_grant", "interaction_required", "consent_required", "login_required", "access_denied", "expired_token",
    "authorization_pending", "authorization_declined", "device_not_found",
  ])
}

extension TransportResponse {
  private var firstByte: UInt8? { body.first { ![9, 10, 13, 32].contains($0) } }
  fileprivate var isObject: Bool { firstByte == UInt8(ascii: "{") && !isPage }
  fileprivate var isBlank: Bool { firstByte == nil && !isPage }
}
