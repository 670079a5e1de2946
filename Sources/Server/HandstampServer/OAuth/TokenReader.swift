#if Server
import HandstampCore
import HandstampRegistry

/// Reads tokens of any kind that this server issues, as clients present them for revocation or introspection.
struct TokenReader: Sendable {
  enum Token {
    case access(AccessTokens.Claims)
    case refresh(RefreshClaims)
    case revocation(SessionID)

    var session: SessionID {
      switch self {
      case .access(let claims): claims.session
      case .refresh(let claims): claims.session.id
      case .revocation(let session): session
      }
    }
  }

  let registry: Registry
  let tokens: AccessTokens
  let clock: ServerClock

  /// Returns `nil` for a text that is not a token of this server, or an expired access token.
  func read(_ text: String, at now: UnixTime) -> Token? {
    if case .success(let claims) = tokens.verify(Substring(text), at: now, audience: nil) { return .access(claims) }
    if case .genuine(let claims) = registry.mint.read(RefreshToken(text)) { return .refresh(claims) }
    if case .genuine(let session) = registry.mint.read(RevocationHandle(text)) { return .revocation(session.id) }
    return nil
  }
}
#endif
