/// The authorization of a session's requests.
public enum Credential: Sendable, Hashable {
  /// An access token (RFC 6750), which a refresh replaces.
  case accessToken(AccessToken)
  /// All cookies of the session (RFC 6265), which any response may replace. `CookieJar` of the module `HandstampCookies` reads
  /// and writes the text.
  case cookies(Secret)

  /// The text of the token, or of the cookies.
  package var secret: Secret {
    switch self {
    case .accessToken(let token): token.secret
    case .cookies(let text): text
    }
  }

  /// The access token; `nil` for cookies.
  public var token: AccessToken? { if case .accessToken(let token) = self { token } else { nil } }
}
