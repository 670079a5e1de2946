/// What the answer of a revocation endpoint says (RFC 7009 section 2.2).
///
/// | status | body | answer |
/// |---|---|---|
/// | 200 | empty, or a JSON object without `error` | ended |
/// | 400, 401 | `error` `invalid_token` | ended: the server knows no such token |
/// | 400, 401 | `error` `invalid_client`, `invalid_grant`, `invalid_request`, `unauthorized_client`, `unsupported_token_type` | refused, for good |
/// | anything else: a redirect, a portal's page, a gateway's error, a bare 401, 403, 429, 5xx, DPoP errors | | undecided |
package enum RevocationAnswer: Sendable, Hashable {
  case ended
  case refused(code: String)
  case undecided

  /// - Parameters:
  ///   - isJSONObject: whether the body is one.
  ///   - error: its member `error`, if it is a string.
  package init(_ response: TransportResponse, isJSONObject: Bool, error: String?) {
    let isEmpty = response.body.allSatisfy { [9, 10, 13, 32].contains($0) }
    switch (response.status, error) {
    case (200, nil) where isEmpty || isJSONObject: self = .ended
    case (400, "invalid_token"?), (401, "invalid_token"?): self = .ended
    case (400, let code?) where RevocationAnswer.final.contains(code): self = .refused(code: code)
    case (401, let code?) where RevocationAnswer.final.contains(code): self = .refused(code: code)
    default: self = .undecided
    }
  }

  /// What an undecided answer means. Of a request that the server refused without an error code the next try is far away, and
  /// further with each (``DeliveryDelay``). 403 and 407 are proxies' words, too.
  package static func error(status: Int, retryAfter: Duration?) -> SessionError {
    let isRefusal = (400..<500).contains(status) && ![403, 407, 408, 425, 429].contains(status)
    return isRefusal
      ? .invalidAnswer("a revocation was answered with status \(status)") : .unreachable(retryAfter: retryAfter)
  }

  /// The codes of RFC 6749 section 5.2 and RFC 7009 section 2.2.1 that will be the same the next time.
  private static let final: Set = [
    "invalid_client", "invalid_grant", "invalid_request", "unauthorized_client", "unsupported_token_type",
  ]
}
