#if Server
import Crypto
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// An ID token is damaged, of another issuer, for another audience, expired, or has another nonce. Which of these is not reported.
struct InvalidIDToken: Error {}

/// Verifies the ID tokens of an issuer (OpenID Connect Core 1.0 section 3.1.3.7).
struct IdentityTokens: Sendable {
  /// The claims of a genuine token.
  struct Claims: Sendable {
    /// The user. Never the email address, which can be reassigned.
    var identity: ExternalIdentity
    /// The value that makes the sign-in unique, as in the token.
    var nonce: String
    /// When it stops being accepted, by the server time.
    var expiresAt: UnixTime
    var all: JSONValue
    /// When the user proved it to the issuer, `auth_time`; `nil` if it does not say.
    var authenticatedAt: UnixTime? { all.time("auth_time")?.stated }
    /// The address, if the issuer has verified it, and it could be a new account's.
    var verifiedEmail: EmailAddress? {
      all.isTrue("email_verified") ? all["email"]?.string.flatMap { EmailAddress(verified: $0) } : nil
    }
  }

  /// How a token contains the nonce of its request.
  enum NonceForm: Sendable {
    case plain
    /// The SHA-256 of the nonce, in hexadecimal.
    case hashed
    /// As the app chose. A token with the form of a hash counts only as one, so that reading it does not reveal the nonce.
    case either
  }

  /// The accepted lengths of a nonce. Shorter ones could be guessed.
  static let nonceLengths = 16...256
  /// How far the issuer's clock may be ahead.
  static let skew = Duration.seconds(60)
  /// How long ago a token may have been issued, whatever its end is: an app may hold it for a while (section 3.1.3.7, item 10).
  static let longest = Duration.seconds(86_400)

  let keys: KeySet
  let clientIDs: Set<String>
  /// How long a token is accepted after its end.
  var grace = Duration.zero
  var form = NonceForm.hashed
  /// Whether the issuer, whose tenant it may be, is the expected one.
  let isIssuer: @Sendable (_ issuer: String, _ tenant: String?) -> Bool
  /// The expected issuer, if it has one name.
  var issuer: String?

  /// Returns the claims of `token` if it is genuine, valid now, issued for one of the clients, and was requested with `nonce`.
  /// Before the signature is verified, only the header is parsed.
  ///
  /// - Throws: ``InvalidIDToken``, ``KeysUnavailable``.
  func verify(_ token: Secret, nonce: String, at time: ServerClock.Reading) async throws -> Claims {
    guard let token = CompactJWS(token.withExposedBytes { Array($0) }), let header = token.header,
      // Logout tokens and security events of the same issuer say so (RFC 8417 section 2.3).
      header.type.map({ $0.uppercased() == "JWT" }) ?? true
    else { throw InvalidIDToken() }
    guard let key = try await keys.key(named: header.keyID), let payload = token.payload(under: header, signedBy: key),
      let json = JSONValue(payload), let iss = json["iss"]?.string, let sub = json["sub"]?.string,
      let claimed = json["nonce"]?.string, let end = json.time("exp")?.advanced(by: grace),
      let issued = json.time("iat")
    else { throw InvalidIDToken() }
    guard isIssuer(iss, json["tid"]?.string), isForClient(json), !end.hasPassed(at: time), json["events"] == nil,
      !issued.advanced(by: IdentityTokens.longest).hasPassed(at: time),
      [issued, json.time("nbf")].allSatisfy({
        $0?.advanced(by: .zero - IdentityTokens.skew).isAhead(of: time) != true
      }),
      IdentityTokens.nonceLengths.contains(nonce.utf8.count), isNonce(claimed, nonce),
      ExternalIdentity(issuer: iss, subject: sub).isStorable
    else { throw InvalidIDToken() }
    return Claims(
      identity: ExternalIdentity(issuer: iss, subject: sub), nonce: claimed, expiresAt: end.end(at: time), all: json)
  }

  /// With several audiences, `azp` has to say which of them asked (items 3 to 5).
  private func isForClient(_ json: JSONValue) -> Bool {
    let audience = json.audiences
    guard audience.contains(where: clientIDs.contains) else { return false }
    guard let party = json["azp"] else { return audience.count == 1 }
    return party.string.map(clientIDs.contains) ?? false
  }

  private func isNonce(_ claimed: String, _ nonce: String) -> Bool {
    let isHash = Secret(claimed) == Secret(Hexadecimal.text(SHA256.hash(data: Array(nonce.utf8))))
    let isPlain = Secret(claimed) == Secret(nonce)
    switch form {
    case .plain: return isPlain
    case .hashed: return isHash
    case .either:
      let hasFormOfHash = claimed.utf8.count == 64 && claimed.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
      return isHash || isPlain && !hasFormOfHash
    }
  }
}

extension IdentityTokens {
  /// Those that Apple issues to apps.
  init(_ apple: AppleSignIn, now: @escaping @Sendable () -> UnixTime) {
    self.init(
      keys: KeySet(of: apple.issuer, url: apple.keysURL, transport: apple.transport, now: now),
      clientIDs: apple.clientIDs,
      isIssuer: { issuer, _ in issuer == apple.issuer }, issuer: apple.issuer)
  }
}

extension EmailAddress {
  /// An address as a provider states it; `nil` for a text that is more than one. With a space or a line end it is not the address
  /// that the provider has verified.
  init?(stated text: String) {
    self.init(text)
    guard typed.utf8.elementsEqual(text.utf8) else { return nil }
  }
}

extension JSONValue {
  /// The member `aud`: a text, or a list of texts (RFC 7519 section 4.1.3).
  var audiences: [String] { self["aud"]?.string.map { [$0] } ?? self["aud"]?.array?.compactMap(\.string) ?? [] }

  /// A member that is a time in seconds (`NumericDate`, RFC 7519 section 2).
  func time(_ name: String) -> ClaimedTime? {
    self[name]?.number.flatMap { $0 > 0 && $0 < 1e11 ? ClaimedTime(UnixTime(seconds: Int64($0))) : nil }
  }
}
#endif
