/// An access token for less than the session was granted, or for another API: the scopes and the resource of a token request (RFC
/// 6749 section 6, RFC 8707 section 2.2), or the audience of a token exchange (RFC 8693 section 2.1).
public struct TokenTarget: Sendable, Hashable, Comparable {
  /// The requested scopes, sorted; empty for those of the session.
  public let scopes: [String]
  /// The API, an absolute URI; `nil` for that of the session.
  public let resource: String?
  /// The name of the API at a server that knows it by a name, not by a URI; `nil` for none. A server that exchanges tokens gets it with
  /// an exchange (RFC 8693), any other as a parameter of the refresh, which it may ignore.
  public let audience: String?

  public init(scopes: [String] = [], resource: String? = nil, audience: String? = nil) {
    self.scopes = scopes.sorted()
    self.resource = resource
    self.audience = audience
  }

  public static func < (left: TokenTarget, right: TokenTarget) -> Bool {
    (left.resource ?? "", left.audience ?? "", left.scopes.joined(separator: " ")) < (
      right.resource ?? "", right.audience ?? "", right.scopes.joined(separator: " ")
    )
  }
}
