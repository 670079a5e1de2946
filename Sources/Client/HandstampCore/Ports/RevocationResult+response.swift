/// Maps the response of a revocation endpoint (RFC 7009 section 2.2).
///
/// | status | body | result |
/// |---|---|---|
/// | 2xx | anything but a page or a JSON object with `error` | ended: the status counts |
/// | 2xx, 400, 401 | `error` `invalid_token` | ended: the server knows no such token |
/// | 2xx, 400, 401 | `error` `invalid_client`, `invalid_grant`, `invalid_request`, `unauthorized_client` | refused permanently |
/// | 2xx, 400, 401 | `error` `unsupported_token_type` | refused permanently |
/// | anything else: a redirect, a captive portal, a gateway error, a bare 401, 403, 429, 5xx, DPoP errors | | no decision |
extension RevocationResult {
  /// - Parameter error: the member `error` of a body that is a JSON object, if it is a string.
  package init(_ response: TransportResponse, error: String?) {
    switch (response.status, error) {
    // A web framework's type of an empty body says nothing.
    case (200..<300, nil) where !response.isPage || response.body.allSatisfy { [9, 10, 13, 32].contains($0) }:
      self = .ended
    case (200..<300, "invalid_token"?), (400, "invalid_token"?), (401, "invalid_token"?): self = .ended
    case (200..<300, let code?) where RevocationResult.final.contains(code): self = .refused(code: code)
    case (400, let code?) where RevocationResult.final.contains(code): self = .refused(code: code)
    case (401, let code?) where RevocationResult.final.contains(code): self = .refused(code: code)
    default: self = .noDecision(RequestError(.init(status: response.status, error: error)))
    }
  }

  /// The codes of RFC 6749 section 5.2 and RFC 7009 section 2.2.1 that a retry does not change.
  private static let final: Set = [
    "invalid_client", "invalid_grant", "invalid_request", "unauthorized_client", "unsupported_token_type",
  ]

  /// The error code of a refusal, as it is written to logs: `refused` unless it is at most 40 characters of `a` to `z` and `_`.
  /// `nil` for other results.
  package var refusalCode: String? {
    guard case .refused(let code) = self else { return nil }
    return AuditEntry.outcome(of: code)
  }
}

extension RequestError {
  /// Whether the server itself refused the request without a reason: the next attempt is delayed, longer each time
  /// (``DeliveryDelay``). Proxies also answer 403 and 407.
  package var isRefusalWithoutReason: Bool {
    guard let status = response?.status else { return false }
    return status >= 400 && ![403, 407].contains(status) && StatusMeaning(status) != .passing
  }
}
