/// An access token for less than the session was granted, or for another API: the scopes and the resource of a token request (RFC
/// 6749 section 6, RFC 8707 section 2.2).
public struct TokenTarget: Sendable, Hashable, Comparable {
  /// The requested scopes, sorted; empty for those of the session.
  public let scopes: [String]
  /// The API, an absolute URI; `nil` for that of the session.
  public let resource: String?

  public init(scopes: [String] = [], resource: String? = nil) {
    self.scopes = scopes.sorted()
    self.resource = resource
  }

  public static func < (left: TokenTarget, right: TokenTarget) -> Bool {
    (left.resource ?? "", left.scopes.joined(separator: " ")) < (
      right.resource ?? "", right.scopes.joined(separator: " ")
    )
  }
}
