#if Server
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// The claims of an assertion whose signature was verified (RFC 7523 section 3).
struct AssertionClaims: Sendable {
  /// How far the clocks of issuers and this server may differ.
  static let leeway = Duration.seconds(30)

  let issuer: String
  let subject: String
  /// `jti`; `nil` if there is none.
  let id: String?
  let expiresAt: ClaimedTime
  let all: JSONValue
  /// `nbf` and `iat`.
  private let earliest, madeAt: ClaimedTime?

  /// - Throws: `claims` if a required claim is missing, or one has another type.
  init(_ payload: [UInt8]) throws(AssertionDefect) {
    guard let json = JSONValue(payload), case .object = json, let issuer = json["iss"]?.string,
      let subject = json["sub"]?.string, !subject.isEmpty, let end = AssertionClaims.time(json["exp"])
    else { throw .claims }
    let (id, nbf, iat) = (json["jti"], json["nbf"], json["iat"])
    guard id == nil || id?.string.map({ (1...256).contains($0.utf8.count) }) == true,
      nbf == nil || AssertionClaims.time(nbf) != nil, iat == nil || AssertionClaims.time(iat) != nil
    else { throw .claims }
    (self.issuer, self.subject, self.id, expiresAt) = (issuer, subject, id?.string, end)
    (earliest, madeAt, all) = (AssertionClaims.time(nbf), AssertionClaims.time(iat), json)
  }

  /// Returns whether one of its audiences is accepted.
  func isFor(_ accepted: [String]) -> Bool {
    // Bytes: `==` on strings treats other spellings of a character as the same.
    all.audiences.contains { one in accepted.contains { $0.utf8.elementsEqual(one.utf8) } }
  }

  /// Checks the audience and the times.
  ///
  /// - Parameter longest: how long the assertion counts after it was made, whatever its expiry says: Authlib's last an hour. One that
  ///   does not say when it was made must expire so soon.
  /// - Returns: the server time at which it no longer counts.
  @discardableResult
  func check(
    for accepted: [String], at time: ServerClock.Reading, lasting longest: Duration
  ) throws(AssertionDefect) -> UnixTime {
    guard isFor(accepted) else { throw .audience }
    let end = madeAt.map { min(expiresAt, $0.advanced(by: longest)) } ?? expiresAt
    let last = end.advanced(by: AssertionClaims.leeway)
    guard !last.hasPassed(at: time) else { throw .expired }
    func isAhead(_ claim: ClaimedTime?, by more: Duration = .zero) -> Bool {
      claim?.advanced(by: .zero - AssertionClaims.leeway - more).isAhead(of: time) == true
    }
    guard !isAhead(earliest), !isAhead(madeAt) else { throw .notYetValid }
    guard !isAhead(end, by: longest) else { throw .lasting }
    return last.end(at: time)
  }

  /// The seconds of a `NumericDate`, rounded down, as long as they are in some century near this one.
  private static func time(_ member: JSONValue?) -> ClaimedTime? {
    guard let seconds = member?.number, seconds >= 0, seconds < 1e11 else { return nil }
    return ClaimedTime(UnixTime(seconds: Int64(seconds)))
  }
}

/// The reason for which an assertion is refused. For logs: the response only says that it is not valid.
enum AssertionDefect: String, Error, Hashable {
  /// Not a compact JWS with a header that is allowed: `none` and symmetric algorithms are not.
  case malformed
  /// Its `typ` is that of another kind of token.
  case type
  /// The client, or the issuer, has no such key.
  case unknownKey = "unknown_key"
  case signature
  case claims
  /// Another issuer or subject.
  case issuer
  case audience
  case expired
  /// It expires too late.
  case lasting
  case notYetValid = "not_yet_valid"
  /// It was used before.
  case replayed
  /// A claim that the operator requires is missing, or has another value.
  case rule
}

/// An assertion that a client has signed to authenticate itself: `private_key_jwt` (RFC 7523 section 2.2, OpenID Connect Core 1.0
/// section 9).
struct ClientAssertion: Sendable {
  /// The value of `client_assertion_type`.
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// How long an assertion counts: a stolen one is of no use soon.
  static let longest = Duration.seconds(300)
  /// The types of headers; other kinds of tokens have one of their own (RFC 8725 section 3.11).
  private static let types: Set<String> = ["jwt", "client-authentication+jwt"]

  /// The `client_id` that it claims; nothing is verified yet.
  let subject: String
  private let token: CompactJWS

  /// Returns `nil` for a text that is not an assertion of any client.
  init?(_ text: String) {
    guard let token = CompactJWS(Array(text.utf8)), let subject = token.subject else { return nil }
    self.token = token
    self.subject = subject
  }

  /// Verifies that `client` has signed it for one of `audiences`.
  ///
  /// - Returns: the record that marks it as used.
  func verify(
    by client: ConfiguredClient, for audiences: [String], at time: ServerClock.Reading
  ) throws(AssertionDefect) -> OneTimeTokenRecord {
    guard let header = token.header else { throw .malformed }
    guard header.type.map({ ClientAssertion.types.contains($0.lowercased()) }) ?? true else { throw .type }
    let keys = client.keys.filter { key in
      key.key.algorithm == header.algorithm && (header.keyID == nil || header.keyID == key.id)
    }
    guard !keys.isEmpty else { throw .unknownKey }
    guard let payload = keys.lazy.compactMap({ token.payload(under: header, signedBy: $0.key) }).first else {
      throw .signature
    }
    let claims = try AssertionClaims(payload)
    guard claims.issuer == client.id, claims.subject == client.id else { throw .issuer }
    guard let id = claims.id else { throw .claims }
    let end = try claims.check(for: audiences, at: time, lasting: ClientAssertion.longest)
    return OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret("\(client.id.utf8.count) \(client.id) \(id)"), purpose: .nonce), purpose: .nonce,
      subject: client.id, createdAt: time.now, expiresAt: end)
  }
}

/// Verifies the assertions of issuers that clients trust (RFC 7523 section 2.1): ID tokens of a CI's jobs. Only RS256 is accepted, which
/// GitHub and GitLab sign with.
///
/// A job may use its token more than once: GitLab gives a job one for all of its commands.
struct IssuerAssertions: Sendable {
  /// How long an assertion counts: as long as the longest jobs.
  static let longest = Duration.seconds(86_400)

  private let keys: [String: KeySet]

  /// - Parameter transport: fetches metadata and keys; without it, no assertion is accepted.
  init(of clients: [ConfiguredClient], transport: (any Transport)?, now: @escaping @Sendable () -> UnixTime) {
    let issuers = Set(clients.flatMap(\.trusts).map(\.issuer))
    keys = Dictionary(
      uniqueKeysWithValues: transport.map { transport in
        issuers.map { ($0, KeySet(issuer: $0, transport: transport, now: now)) }
      } ?? [])
  }

  /// Verifies that an issuer which `client` trusts has signed the assertion, and that the client's rules allow it.
  ///
  /// - Throws: ``AssertionDefect``, or ``KeysUnavailable`` if the issuer's keys cannot be fetched.
  func verify(_ text: String, for client: ConfiguredClient, at time: ServerClock.Reading) async throws {
    guard let token = CompactJWS(Array(text.utf8)), let header = token.header, let name = header.keyID,
      let claimed = token.issuer
    else { throw AssertionDefect.malformed }
    let trusts = client.trusts.filter { $0.issuer.isIssuer(published: claimed) }
    guard !trusts.isEmpty, let keys = keys[trusts[0].issuer] else { throw AssertionDefect.issuer }
    guard let key = try await keys.key(named: name) else { throw AssertionDefect.unknownKey }
    guard await keys.published.map({ $0.utf8.elementsEqual(claimed.utf8) }) ?? true else {
      throw AssertionDefect.issuer
    }
    guard let payload = token.payload(under: header, signedBy: key) else { throw AssertionDefect.signature }
    let claims = try AssertionClaims(payload)
    try claims.check(for: trusts.map(\.audience), at: time, lasting: IssuerAssertions.longest)
    let isAllowed = trusts.contains { $0.allows(claims.all) && claims.isFor([$0.audience]) }
    guard isAllowed else { throw AssertionDefect.rule }
  }
}

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
