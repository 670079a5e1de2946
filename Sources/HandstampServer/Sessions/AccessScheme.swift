#if Server
/// A scheme by which a request presents its access token.
enum AccessScheme: String, Sendable, CaseIterable {
  /// RFC 6750 section 2.1.
  case bearer = "Bearer"
  /// With a proof that the client has the key that the token is bound to (RFC 9449 section 7.1).
  case dpop = "DPoP"

  /// The scheme with that name, in any case.
  init?(_ name: some StringProtocol) {
    guard let scheme = AccessScheme.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else {
      return nil
    }
    self = scheme
  }

  /// The challenge of a route to a request without a token: it accepts both schemes.
  static let challenge = bearer.challenge([]) + ", " + dpop.challenge([])

  /// Returns the challenge to a request with this scheme, which alone has the error.
  func challenge(error: String, scope: String? = nil) -> String {
    let own = challenge([("error", error)] + (scope.map { [("scope", $0)] } ?? []))
    return ([own] + AccessScheme.allCases.filter { $0 != self }.map { $0.challenge([]) }).joined(separator: ", ")
  }

  private func challenge(_ parameters: [(String, String)]) -> String {
    let all =
      switch self {
      case .bearer: parameters
      case .dpop: parameters + [("algs", DPoPVerifier.algorithm)]
      }
    guard !all.isEmpty else { return rawValue }
    return rawValue + " " + all.map { "\($0)=\"\($1)\"" }.joined(separator: ", ")
  }
}
#endif
