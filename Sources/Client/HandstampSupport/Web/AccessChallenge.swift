/// A scheme by which a request presents its access token.
package enum AccessScheme: String, Sendable, CaseIterable {
  /// RFC 6750 section 2.1.
  case bearer = "Bearer"
  /// With a proof that the client has the key that the token is bound to (RFC 9449 section 7.1).
  case dpop = "DPoP"

  /// The scheme with that name, in any case.
  package init?(_ name: some StringProtocol) {
    guard let scheme = AccessScheme.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else {
      return nil
    }
    self = scheme
  }
}

/// The challenges in the response to a refused request (RFC 6750 section 3, RFC 9449 section 7.1, RFC 9470 section 3): resources accept both schemes.
package struct AccessChallenge: Sendable, Hashable {
  /// The algorithm of proofs of possession.
  package static let proofAlgorithm = "ES256"

  /// The scheme of the request, whose challenge comes first and alone has the error.
  package var scheme: AccessScheme
  /// `nil` for a request without a token (RFC 6750 section 3.1).
  package var error: String?
  /// The scopes that the request needs.
  package var scopes: [String]
  /// The accepted values of `acr`; empty for any.
  package var acrValues: [String]
  /// Maximum time since `auth_time`, in seconds.
  package var maxAge: Int64?

  package init(
    to scheme: AccessScheme = .bearer, error: String? = nil, scopes: [String] = [], acrValues: [String] = [],
    maxAge: Int64? = nil
  ) {
    self.acrValues = acrValues
    self.maxAge = maxAge
    self.scheme = scheme
    self.error = error
    self.scopes = scopes
  }

  /// Returns the value of `WWW-Authenticate`.
  ///
  /// - Parameter metadata: the URL of the resource's metadata (RFC 9728 section 5.1).
  package func field(metadata: String?) -> String {
    let scope = scopes.joined(separator: " ").filter(AccessChallenge.isScopeCharacter)
    let acr = acrValues.joined(separator: " ").filter(AccessChallenge.isScopeCharacter)
    let schemes = [scheme] + AccessScheme.allCases.filter { $0 != scheme }
    return schemes.map { each in
      let parameters = [
        ("error", each == scheme ? error : nil), ("scope", scope.isEmpty ? nil : scope),
        ("acr_values", acr.isEmpty ? nil : acr), ("max_age", maxAge.map { String($0) }),
        ("resource_metadata", metadata), ("algs", each == .dpop ? AccessChallenge.proofAlgorithm : nil),
      ]
      let texts = parameters.compactMap { name, value in value.map { "\(name)=\"\($0)\"" } }
      return texts.isEmpty ? each.rawValue : each.rawValue + " " + texts.joined(separator: ", ")
    }.joined(separator: ", ")
  }

  /// The characters of scopes (RFC 6749 section 3.3), which a quoted string may have as they are.
  private static func isScopeCharacter(_ character: Character) -> Bool {
    guard let value = character.asciiValue else { return false }
    return (32...126).contains(value) && value != 34 && value != 92
  }
}
