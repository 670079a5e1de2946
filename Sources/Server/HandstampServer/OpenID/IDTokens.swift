#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Issues ID tokens (OpenID Connect Core 1.0 section 2) and logout tokens (OpenID Connect Back-Channel Logout 1.0 section 2.4).
struct IDTokens: Sendable, CustomStringConvertible, CustomReflectable {
  /// How long an ID token may be used. A client reads it once, when it gets it.
  static let life = Duration.seconds(600)
  /// How long a logout token may be used: at most two minutes (section 2.4).
  static let logoutLife = Duration.seconds(120)

  private let identities: TokenSigners
  private let logouts: TokenSigners
  let issuer: String

  init(keys: SigningKeys, issuer: String) {
    identities = TokenSigners(keys, type: "JWT")
    logouts = TokenSigners(keys, type: "logout+jwt")
    self.issuer = issuer
  }

  /// Issues the ID token of a client's session.
  ///
  /// - Parameters:
  ///   - nonce: that of the authorization request; `nil` for a refresh (section 12.2).
  ///   - accessToken: the token that is issued with it, which `at_hash` binds it to.
  ///   - about: what it says of the account; `nil` says nothing.
  func identity(
    _ row: SessionRow, of client: ConfiguredClient, nonce: String?, accessToken: String, about: AccountClaims?,
    at time: ServerClock.Reading
  ) throws(RegistryError) -> String {
    var claims = JSONText(reserving: 384)
    claims.add("iss", issuer)
    claims.add("sub", row.account.rawValue)
    claims.add("aud", client.id)
    claims.add("iat", time.issueTime.seconds)
    claims.add("exp", time.lifeStart.advanced(by: IDTokens.life).seconds)
    claims.add("auth_time", row.authenticatedAt.seconds)
    claims.add(row.methods)
    claims.add("nonce", ifPresent: nonce)
    claims.add("sid", row.id.rawValue)
    // The left half of the hash that the signature uses: SHA-256 with ES256 and RS256 (section 3.1.3.6).
    claims.add("at_hash", Base64URL.encode(SHA256.hash(data: Array(accessToken.utf8)).prefix(16)))
    about?.add(to: &claims)
    return try identities.token(claims, signedWith: client.idTokenSigning)
  }

  /// Issues the token that tells a client that a session has ended.
  ///
  /// - Parameter id: its `jti`, the same for every attempt, so that the client can recognize a repetition.
  func logout(
    of session: SessionID, _ account: AccountID, for client: ConfiguredClient, id: String, at time: ServerClock.Reading
  ) throws(RegistryError) -> String {
    var claims = JSONText(reserving: 320)
    claims.add("iss", issuer)
    claims.add("sub", account.rawValue)
    claims.add("aud", client.id)
    claims.add("iat", time.issueTime.seconds)
    claims.add("exp", time.lifeStart.advanced(by: IDTokens.logoutLife).seconds)
    claims.add("jti", id)
    claims.add("sid", session.rawValue)
    var events = JSONText()
    events.add("http://schemas.openid.net/event/backchannel-logout", JSONText())
    claims.add("events", events)
    return try logouts.token(claims, signedWith: client.idTokenSigning)
  }

  /// The claims of an ID token that a client sends back as a hint.
  struct Hint: Sendable, Hashable {
    var account: AccountID
    var session: SessionID
    var client: String
  }

  /// Reads an ID token of this server, expired or not: as a hint it only says whom a request is about (section 3.1.2.1).
  func hint(_ token: String) -> Hint? {
    guard let claims = identities.claims(of: token[...]), claims["iss"]?.string == issuer,
      let subject = claims["sub"]?.string, let session = claims["sid"]?.string, let client = claims["aud"]?.string
    else { return nil }
    return Hint(account: AccountID(subject), session: SessionID(session), client: client)
  }

  var description: String { "ID tokens of \(issuer)" }
  var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}

extension JSONValue {
  /// The claims of a signed JWT, whose signature is not verified; `nil` for another text.
  init?(claimsOf token: String) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let claims = Base64URL.decode(parts[1]).flatMap({ JSONValue($0) }) else { return nil }
    self = claims
  }
}
#endif
