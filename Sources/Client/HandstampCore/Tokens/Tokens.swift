import HandstampSupport

/// The short-lived credential that authorizes a request (RFC 6750).
public struct AccessToken: Sendable, Hashable {
  /// The token's text.
  public let secret: Secret
  public init(_ secret: Secret) { self.secret = secret }
  public init(_ text: String) { secret = Secret(text) }
}

/// The credential for new access tokens (RFC 6749 section 1.5). Long-lived, opaque to the client, sent only to the token
/// endpoint; and, if it is also the session's ``RevocationHandle``, to the revocation endpoint.
public struct RefreshToken: Sendable, Hashable {
  /// The token's text.
  public let secret: Secret
  public init(_ secret: Secret) { self.secret = secret }
  public init(_ text: String) { secret = Secret(text) }
}

/// The credential that ends one session at the server (RFC 7009). Kept in the vault after a sign-out until the revocation has
/// reached the server.
///
/// Handstamp's own server issues a handle that can do nothing else. At a plain RFC 7009 server it is the refresh token, with
/// all of its powers; for a session that is a cookie, the cookie.
public struct RevocationHandle: Sendable, Hashable {
  /// The handle's text.
  public let secret: Secret
  public init(_ secret: Secret) { self.secret = secret }
  public init(_ text: String) { secret = Secret(text) }
}

/// An idempotency key for one rotation of the refresh token, not a cryptographic key: 16 random bytes, stored before the token
/// is sent, and repeated with every retry. It distinguishes an honest retry from a replayed token.
public struct RotationKey: Sendable, Hashable {
  /// The length of a key: 16 bytes.
  package static let byteCount = 16
  /// The key's bytes.
  package let secret: Secret

  /// Creates a key from `bytes`; `nil` unless there are exactly 16.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == RotationKey.byteCount else { return nil }
    secret = Secret(bytes: bytes)
  }

  /// Parses the format of ``wireText``; `nil` for any other text.
  package init?(wireText: String) {
    guard let bytes = Base64URL.decode(wireText) else { return nil }
    self.init(bytes: bytes)
  }

  /// Creates a key from 16 bytes of `random`: pass a cryptographic source, such as the system's.
  public init(from random: inout some RandomNumberGenerator) {
    secret = Secret(bytes: randomBytes(RotationKey.byteCount, from: &random))
  }

  /// The value of the form field `rotation_key`: base64url without padding, 22 characters.
  public var wireText: Secret {
    secret.withExposedBytes { Secret(Base64URL.encode($0)) }
  }
}

/// The tokens of a token response (RFC 6749 section 5.1), or the cookies that a site has set instead.
public struct TokenSet: Sendable, Hashable {
  /// The credential of requests.
  public var credential: Credential
  /// The access token's lifetime, `expires_in`; `nil` (the default) if the server did not send it: the token then counts as
  /// valid until an API rejects it. Cookies have none.
  public var expiresIn: Duration?
  /// The refresh token; `nil` (the default) if the server issued none. After a sign-in, such a session is valid, but its access
  /// token cannot be renewed. After a refresh, `nil` means that the refresh token in use stays in use (RFC 6749 section 6).
  public var refresh: RefreshToken?

  public init(access: AccessToken, expiresIn: Duration? = nil, refresh: RefreshToken? = nil) {
    self.init(.accessToken(access), expiresIn: expiresIn, refresh: refresh)
  }

  /// Cookies. No refresh replaces them, and each carries its own expiry date.
  public init(cookies: Secret) { credential = .cookies(cookies) }

  package init(_ credential: Credential, expiresIn: Duration?, refresh: RefreshToken?) {
    (self.credential, self.expiresIn, self.refresh) = (credential, expiresIn, refresh)
  }

  /// The access token; `nil` for cookies.
  public var access: AccessToken? { credential.token }
}

/// The user's profile as stored with the session, so that an app can show it offline.
public struct Profile: Sendable, Hashable, Codable {
  /// The account's ID at the server.
  public var id: AccountID
  /// The display name.
  public var name: String
  /// Whether this is a guest account.
  public var isAnonymous: Bool

  public init(id: AccountID, name: String, isAnonymous: Bool = false) {
    self.id = id
    self.name = name
    self.isAnonymous = isAnonymous
  }
}

/// An ID token (OpenID Connect Core 1.0 section 2) whose issuer, audience and user have been checked.
package struct IDToken: Sendable, Hashable {
  package var secret: Secret
  /// The lifetime that was left when the response arrived.
  package var expiresIn: Duration

  package init(_ secret: Secret, expiresIn: Duration) {
    self.secret = secret
    self.expiresIn = expiresIn
  }
}

/// The result of a sign-in or refresh: tokens, and the session they belong to.
///
/// A refresh changes only the session's tokens and profile. One whose ``sessionID``, or whose profile's ID, is not that of the
/// session in use is discarded as ``RequestError/unusableTokens(_:successor:)``.
public struct TokenResponse: Sendable, Hashable {
  /// The new tokens.
  public var tokens: TokenSet
  /// The server's ID for the session. `nil` after a sign-in: the server has none, and the client generates one. `nil` after a
  /// refresh: the ID is not compared.
  public var sessionID: SessionID?
  /// The signed-in user; `nil` if the server did not say. `nil` after a refresh keeps the profile.
  public var profile: Profile?
  /// The handle that ends the session at the server. `nil` (the default): a sign-out does not revoke at the server, unless the
  /// refresh token takes the handle's place (``BackendAbilities/revokesRefreshTokens``).
  ///
  /// For a plain server with a revocation endpoint (RFC 7009), a backend passes the refresh token,
  /// `RevocationHandle(refresh.secret)`, with the sign-in. As long as the two are equal, each rotation replaces the handle as
  /// well. The handle of a refresh counts only if the session has none, so a handle that merely contains the refresh token becomes
  /// outdated.
  public var revocation: RevocationHandle?
  /// The scopes of the access token; `nil` (the default) if the server did not say: those that were requested (RFC 6749 section
  /// 5.1).
  public var scopes: [String]?
  /// Whether the server used the request's ``RotationKey``, so that the same request may be repeated freely. Default `false`.
  /// Ignored with ``BackendAbilities/supportsRotationKeys``.
  public var acceptsRotationKey: Bool
  /// The issuer's URL (OpenID Connect Core 1.0 section 2); the profile's ID is unique only within it. `nil` (the default) for
  /// apps with a single server. Used by `Accounts`, and stored with the session if the backend names no
  /// ``BackendAbilities/issuer``; ignored after a refresh.
  public var issuer: String?

  /// Whom the response to a refresh names (OpenID Connect Core 1.0 section 12.2), if it brings no ``profile``. If that is not the
  /// session's user, the response is discarded. `nil` (the default): it does not say.
  package var subject: AccountID?
  /// Whether the server named no user. The profile is then named after the issuer, and may be any person's. Default `false`.
  package var namesNoUser = false
  /// Whether the tokens came by an exchange (RFC 8693), which says nothing of the session's refresh token.
  package var isExchanged = false
  /// The ID token of the response; `nil` (the default) if it brought none, or none that is still valid. After a refresh, `nil`
  /// keeps the one in use.
  package var idToken: IDToken?

  public init(
    tokens: TokenSet, sessionID: SessionID? = nil, profile: Profile? = nil, revocation: RevocationHandle? = nil,
    issuer: String? = nil, acceptsRotationKey: Bool = false, scopes: [String]? = nil
  ) {
    self.scopes = scopes
    self.acceptsRotationKey = acceptsRotationKey
    self.tokens = tokens
    self.sessionID = sessionID
    self.profile = profile
    self.revocation = revocation
    self.issuer = issuer
  }

  /// The handle, or the refresh token in its place.
  package func handle(revokesRefreshTokens: Bool) -> RevocationHandle? {
    revocation ?? (revokesRefreshTokens ? tokens.refresh.map { RevocationHandle($0.secret) } : nil)
  }

  /// Checks the limits of a token response: tokens of at most 256 KiB each, which is more than any server accepts in a header,
  /// of printable ASCII (RFC 6749 appendix A.12, A.17), and bearer tokens without spaces (RFC 6750 section 2.1). Cookies are
  /// no bearer token.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)``.
  package func validate(isBearer: Bool) throws(SessionError) {
    let secrets = [tokens.credential.secret, tokens.refresh?.secret, revocation?.secret].compactMap { $0 }
    guard !secrets.contains(where: \.isEmpty) else { throw .invalidResponse("a token is empty") }
    guard secrets.allSatisfy({ $0.count <= 256 << 10 }) else {
      throw .invalidResponse("a token is longer than 256 KiB")
    }
    let isPrintable = secrets.allSatisfy { $0.withExposedBytes { $0.allSatisfy { (32...126).contains($0) } } }
    guard !isBearer || isPrintable && tokens.credential.token?.secret.isToken == true else {
      throw .invalidResponse("a token contains an invalid character")
    }
  }
}

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
