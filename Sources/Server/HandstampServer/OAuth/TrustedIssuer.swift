#if Server
import HandstampJOSE
import HandstampSupport

/// An issuer of ID tokens, such as a CI, in exchange for which a client gets tokens (RFC 7523 section 2.1).
public struct TrustedIssuer: Sendable, Hashable {
  /// The `iss` of its tokens, byte for byte: an `https` URL. Its keys are found by its OpenID Connect metadata, whose spelling decides on
  /// the slash of an empty path.
  public let issuer: String
  /// The `aud` that its tokens must have. Best one of this server's own, so that no other service can use them here.
  public let audience: String
  /// The claims that a token must have, with their exact values; all of them, and at least one. A public CI signs tokens for all of its users:
  /// the claims alone say whose job it is, such as `repository` and `ref` at GitHub, `project_path` and `ref` at GitLab.
  public let claims: [String: String]

  public init(issuer: String, audience: String, claims: [String: String]) {
    self.issuer = issuer
    self.audience = audience
    self.claims = claims
  }

  var isUsable: Bool {
    Origin(issuer)?.isTrustworthy == true && !audience.isEmpty && !claims.isEmpty
      && !claims.contains { $0.key.isEmpty || $0.value.isEmpty }
  }

  /// Returns whether a token has the required claims. Numbers and booleans compare as JSON writes them.
  func allows(_ claims: JSONValue) -> Bool {
    self.claims.allSatisfy { name, wanted in
      switch claims[name] {
      case .string(let text): text.utf8.elementsEqual(wanted.utf8)
      case .integer(let number): String(number) == wanted
      case .bool(let flag): String(flag) == wanted
      case .number, .array, .object, .null, nil: false
      }
    }
  }
}
#endif
