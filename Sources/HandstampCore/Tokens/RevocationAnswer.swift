/// What the answer of a revocation endpoint says (RFC 7009 section 2.2).
///
/// | status | body | answer |
/// |---|---|---|
/// | 200 | empty, or a JSON object without `error` | ended |
/// | 400, 401, 403 | `error` `invalid_grant` or `invalid_token` | ended: the server knows no such token any more |
/// | 400, 401, 403 | `error` `server_error` or `temporarily_unavailable` | undecided |
/// | 400, 401, 403 | any other `error`, such as `invalid_client` or `unsupported_token_type` | refused, for good |
/// | anything else: a redirect, a portal's page, a bare 401, 429, 5xx | | undecided |
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
    case (400, let code?), (401, let code?), (403, let code?):
      switch code {
      case "invalid_grant", "invalid_token": self = .ended
      case "server_error", "temporarily_unavailable": self = .undecided
      default: self = .refused(code: RevocationAnswer.word(code))
      }
    default: self = .undecided
    }
  }

  /// The code where it is one of the field's, so that nothing else gets into a log.
  private static func word(_ code: String) -> String {
    let isWord = code.utf8.count <= 40 && code.utf8.allSatisfy { $0 == 0x5f || (0x61...0x7a).contains($0) }
    return isWord ? code : "refused"
  }
}
