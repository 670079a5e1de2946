#if Server
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// Issues and verifies access tokens: JWT as profiled by RFC 9068, signed with ES256, or with RS256 if
/// the client asks for it.
struct AccessTokens: Sendable, CustomStringConvertible, CustomReflectable {
  /// The claims of a genuine token.
  struct Claims: Sendable, Hashable {
    var issuer: String
    var account: AccountID
    var session: SessionID
    /// The client that it was issued to.
    var client: String
    /// The scope granted to the client; `nil` in a token of the server's own app.
    var scope: String?
    /// The API that it is for.
    var audience: String
    /// The thumbprint of the key that it is bound to (RFC 9449 section 6).
    var thumbprint: String?
    /// When the user proved to be the account's owner, in whole seconds.
    var authenticatedAt: UnixTime?
    /// How: `amr`.
    var methods: [String] = []
    /// `acr`.
    var context: String?
    var id: String
    var issuedAt: UnixTime
    /// `nbf`: this server writes none; other signers with its keys may (RFC 7519 section 4.1.5).
    var validFrom: UnixTime?
    var expiresAt: UnixTime

    /// Whether the client got it for itself: its subject is the client, and no account (RFC 9068 section 2.2).
    var isMachine: Bool { account.rawValue == client }
  }

  /// The reason for which a token is not accepted.
  enum Refusal: Error {
    /// The token is damaged, of another issuer, or for another audience. Which of these is not reported.
    case invalid
    case expired
  }

  private let signers: TokenSigners
  private let verified = VerifiedTokens<Claims>()
  private let issuer: String
  private let audience: String
  private let client: String
  /// Lifetime of a token.
  let life: Duration

  init(keys: SigningKeys, issuer: String, audience: String, client: String, life: Duration) {
    signers = TokenSigners(keys, type: "at+jwt")
    self.issuer = issuer
    self.audience = audience
    self.client = client
    self.life = life
  }

  /// Issues a token. Its `jti` is unique. It outlasts `limit`, the end of its session, by at most a second.
  ///
  /// - Parameters:
  ///   - authenticatedAt: when the user proved to be the account's owner: `auth_time` (RFC 9068 section 2.2.1).
  ///   - methods: how: `amr` and `acr`.
  /// - Returns: the token, and its lifetime in whole seconds.
  func mint(
    account: AccountID, session: SessionID, client: SessionClient? = nil, thumbprint: String? = nil,
    authenticatedAt: UnixTime? = nil, methods: AuthenticationMethods = [], at time: ServerClock.Reading,
    until limit: UnixTime? = nil,
    signedWith algorithm: SigningKeys.Algorithm = .es256
  ) throws(RegistryError) -> (text: String, life: Int64) {
    let left = limit.map { max(.seconds(1), $0.since(time.now)) } ?? life
    let life = min(life, left)
    var payload = JSONText(reserving: 320)
    payload.add("iss", issuer)
    payload.add("sub", account.rawValue)
    payload.add("aud", client?.audience ?? audience)
    payload.add("client_id", client?.id ?? self.client)
    payload.add("scope", ifPresent: client?.scope)
    if let thumbprint { payload.add("cnf", JSONText([("jkt", thumbprint)])) }
    if let authenticatedAt { payload.add("auth_time", authenticatedAt.seconds) }
    payload.add(methods)
    payload.add("iat", time.issueTime.seconds)
    // Rounded up, so that a token is valid for at least `expires_in`.
    payload.add("exp", (time.lifeStart.advanced(by: life).milliseconds + 999) / 1000)
    payload.add("jti", Base64URL.encode(randomBytes(16)))
    payload.add("sid", session.rawValue)
    return (try signers.token(payload, signedWith: algorithm), life.components.seconds)
  }

  /// Verifies a token for this server's own API.
  func verify(_ token: Substring, at now: UnixTime) -> Result<Claims, Refusal> {
    verify(token, at: now, audience: audience)
  }

  /// Returns the claims of `token` if it is genuine and valid at `now`.
  ///
  /// - Parameter audience: the required audience; `nil` accepts any.
  func verify(_ token: Substring, at now: UnixTime, audience: String?) -> Result<Claims, Refusal> {
    let claims =
      token.utf8.count <= CompactJWS.longest
      ? verified.claims(of: Array(token.utf8)) { signers.claims(of: token).flatMap(Claims.init) } : nil
    guard let claims,
      claims.issuer == issuer, audience == nil || claims.audience == audience
    else { return .failure(.invalid) }
    guard now < claims.expiresAt else { return .failure(.expired) }
    guard claims.validFrom.map({ $0 <= now }) ?? true else { return .failure(.invalid) }
    return .success(claims)
  }

  var description: String { "access tokens of \(issuer)" }
  var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}

extension AccessTokens.Claims {
  /// Each member has its type, or the token is not valid.
  init?(_ json: JSONValue) {
    guard let issuer = json["iss"]?.string, let account = json["sub"]?.string, let audience = json["aud"]?.string,
      let session = json["sid"]?.string, let client = json["client_id"]?.string, let id = json["jti"]?.string,
      let end = json["exp"]?.integer, let issued = json["iat"]?.integer
    else { return nil }
    let (nbf, authTime, scope, acr) = (json["nbf"], json["auth_time"], json["scope"], json["acr"])
    let thumbprint = json["cnf"]?["jkt"]?.string
    guard nbf == nil || nbf?.integer != nil, authTime == nil || authTime?.integer != nil,
      scope == nil || scope?.string != nil, acr == nil || acr?.string != nil, json["cnf"] == nil || thumbprint != nil
    else { return nil }
    self.init(
      issuer: issuer, account: AccountID(account), session: SessionID(session), client: client, scope: scope?.string,
      audience: audience, thumbprint: thumbprint, authenticatedAt: authTime?.integer.map { UnixTime(seconds: $0) },
      methods: json["amr"]?.array?.compactMap(\.string) ?? [], context: acr?.string, id: id,
      issuedAt: UnixTime(seconds: issued), validFrom: nbf?.integer.map { UnixTime(seconds: $0) },
      expiresAt: UnixTime(seconds: end))
  }
}

extension JSONText {
  /// Adds how a user has proved to be an account's owner: `amr` (RFC 8176) and `acr`, as far as it is known.
  mutating func add(_ methods: AuthenticationMethods) {
    if !methods.all.isEmpty { add("amr", methods.all.map(\.rawValue)) }
    add("acr", ifPresent: methods.contextReference)
  }
}

/// Remembers tokens whose signature was verified, with their claims: a client sends the same access token with every request until it
/// expires, and verifying takes longer than everything else that such a request needs.
///
/// Only genuine tokens get in, so strangers cannot fill it. It says nothing about time or sessions: the caller checks both, every
/// time. It belongs to one set of keys and ends with it.
final class VerifiedTokens<Claims: Sendable>: Sendable {
  private struct Content: Sendable {
    /// The tokens seen since the last turn, and those that were seen in the turn before.
    // By bytes: texts are equal if they are canonically equivalent, and a token must have no second spelling.
    var recent: [[UInt8]: Claims] = [:]
    var previous: [[UInt8]: Claims] = [:]
  }

  /// How many tokens a turn takes, about 2 KB each.
  private let size: Int
  private let content = Locked(Content())

  init(size: Int = 4096) { self.size = size }

  /// Returns the claims of a token: the remembered ones, or what `verify` returns, which is `nil` for a token that is not genuine.
  func claims(of token: [UInt8], _ verify: () -> Claims?) -> Claims? {
    let known = content.withLock { content -> Claims? in
      if let claims = content.recent[token] { return claims }
      guard let claims = content.previous[token] else { return nil }
      insert(token, claims, into: &content)
      return claims
    }
    if let known { return known }
    guard let claims = verify() else { return nil }
    content.withLock { insert(token, claims, into: &$0) }
    return claims
  }

  /// The number of tokens, at most two turns.
  var count: Int { content.withLock { $0.recent.count + $0.previous.count } }

  private func insert(_ token: [UInt8], _ claims: Claims, into content: inout Content) {
    if content.recent.count >= size { (content.previous, content.recent) = (content.recent, [:]) }
    content.recent[token] = claims
  }
}
#endif
