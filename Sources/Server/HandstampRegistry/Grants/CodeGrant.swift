import Crypto
public import HandstampCore
import HandstampSupport

/// The authorization that a user granted in a browser, stored with its authorization code (RFC 6749 section 4.1.2).
public struct CodeGrant: Sendable, Hashable {
  /// Lifetime of a code: one minute (OWASP ASVS 10.4.3, level 3).
  public static let life = Duration.seconds(60)
  /// How long a used code is recognized.
  static let memory = Duration.seconds(24 * 3600)

  public var access: ClientAccess
  public var redirectURI: String
  /// The PKCE challenge. Only `S256` is supported (RFC 7636). `nil` for a client without PKCE.
  public var challenge: String?
  /// The APIs that tokens may be for: that one, or, if the request names none, all that the client may request later.
  public var audiences: [String] = []
  /// The thumbprint that `dpop_jkt` named (RFC 9449 section 10).
  public var thumbprint: String?
  /// The value that the ID token repeats, so that the client knows it for the response to its request (OpenID Connect Core 1.0 section 3.1.2.1).
  public var nonce: String?
  /// Whether the browser in which it was granted is borrowed.
  var isBorrowed = false

  public init(
    client: String, clientName: String, redirectURI: String, challenge: String?, scope: String, audience: String? = nil,
    thumbprint: String? = nil, nonce: String? = nil
  ) {
    access = ClientAccess(client: client, clientName: clientName, scope: scope, audience: audience)
    self.redirectURI = redirectURI
    self.challenge = challenge
    audiences = audience.map { [$0] } ?? []
    self.thumbprint = thumbprint
    self.nonce = nonce
  }

  /// Whether the client's session ends with that of the browser: an OpenID Connect client's does, unless it was allowed to stay
  /// (OpenID Connect Back-Channel Logout 1.0 section 2.7); and any client's, if the browser is borrowed.
  package var dependsOnBrowser: Bool {
    let scopes = access.scope.split(separator: " ")
    return isBorrowed || scopes.contains("openid") && !scopes.contains("offline_access")
  }

  /// Returns the grant as a browser's session would allow it.
  package func allowed(in row: SessionRow) -> CodeGrant {
    var grant = self
    grant.isBorrowed = row.isBorrowed
    grant.access.depend(on: row)
    return grant
  }

  /// Returns whether the claim comes from the client that started the authorization.
  func fits(_ claim: CodeClaim) -> Bool {
    guard access.client == claim.client, redirectURI == claim.redirectURI,
      thumbprint == nil || thumbprint == claim.thumbprint
    else { return false }
    // A verifier without a challenge: the challenge was taken out of the request (RFC 9700 section 2.1.1).
    guard let challenge, let verifier = claim.verifier else { return challenge == nil && claim.verifier == nil }
    // RFC 7636 section 4.1.
    guard (43...128).contains(verifier.count) else { return false }
    let hash = verifier.withExposedBytes { Base64URL.encode(SHA256.hash(data: $0)) }
    return constantTimeEqual(Array(hash.utf8), Array(challenge.utf8))
  }
}

/// The parameters of a client that redeems a code.
public struct CodeClaim: Sendable, Hashable {
  public var client: String
  public var redirectURI: String
  /// `nil` if the client sends none.
  public var verifier: Secret?
  /// The thumbprint of the key of the request's DPoP proof. The session's tokens are bound to that key.
  public var thumbprint: String?
  /// The client's key for this request: a repeat with the same one, and the same in everything else, is the same use of the code.
  public var key: RotationKey?
  /// How the client keeps the session.
  public var persistence = SessionPersistence.persistent

  public init(
    client: String, redirectURI: String, verifier: Secret?, thumbprint: String? = nil, key: RotationKey? = nil
  ) {
    self.client = client
    self.redirectURI = redirectURI
    self.verifier = verifier
    self.thumbprint = thumbprint
    self.key = key
  }
}

extension Registry {
  /// Issues a code for the access that the user of a browser's session granted, which is remembered.
  ///
  /// - Parameters:
  ///   - pushed: the client's request, if it was sent beforehand: it is good for one code.
  ///   - remembered: the consent that spared the user the question; `nil` if the user was asked.
  /// - Throws: ``RegistryError/accountChanged`` if that session has ended, or the account has changed, or the request was used.
  public func issueCode(
    _ grant: CodeGrant, by user: BrowserSession, for pushed: PushedRequest? = nil, remembered: Consent? = nil,
    now: UnixTime
  ) async throws(RegistryError) -> OneTimeToken {
    var grant = grant.allowed(in: user.row)
    grant.access.allow(by: user)
    let consent = try await consenting(to: grant, of: user.account.id, remembered: remembered, now: now)
    // First, because the client has to be known still when it redeems the code. If it fails, the first session does it.
    _ = try? await keepClient(grant.access.client, until: now, now: now)
    return try await issue(
      .authorizationCode, subject: user.account.id.rawValue, account: user.account.id,
      payload: PayloadCoding.text(grant),
      lasting: CodeGrant.life, now: now,
      with: user.expectations + (pushed.map { [.redeemOneTimeToken($0.id)] } ?? []) + [consent])
  }

  /// Redeems a code, which works once, and creates its session.
  ///
  /// A repeat of the same request, with the same key, is the same use until the session is used or the code has expired. Any other
  /// gets nothing, and ends the session that the code began unless it is ``CodeOutcome/late``.
  ///
  /// - Parameters:
  ///   - endsRepeated: whether it ends that session also where it may be a reload by the client itself.
  ///   - narrow: the grant of the access token within the user's. Called before anything is written.
  public func redeemCode(
    _ presented: Secret, _ claim: CodeClaim, endsRepeated: Bool = false, now: UnixTime,
    narrow: GrantNarrowing = { $0 }
  ) async throws(RegistryError) -> CodeOutcome {
    guard let code = OneTimeToken(presented: presented)?.secret else { return .invalid }
    let used = OneTimeTokenID(of: code, purpose: .usedCode)
    let start = SessionStart(byCodeWith: claim.key, claim.persistence, thumbprint: claim.thumbprint)
    for _ in 0..<Registry.attempts {
      guard let record = try await oneTimeToken(OneTimeTokenID(of: code, purpose: .authorizationCode)) else {
        // A thief who saw the code in an address, but has no verifier, must not end the session.
        guard let previous = try await oneTimeToken(used),
          let grant = PayloadCoding.value(CodeGrant.self, previous.payload), grant.fits(claim)
        else { return .invalid }
        return try await redeemAgain(
          previous, grant, grant.origin(start, by: .authorizationCode, as: used),
          mayBeReload: grant.challenge != nil && !endsRepeated, now: now, narrow: narrow)
      }
      guard record.expiresAt > now, let grant = PayloadCoding.value(CodeGrant.self, record.payload), grant.fits(claim),
        let id = record.account, let account = try await account(id), account.closedAt == nil,
        let expectations = try await expectations(of: grant, now: now)
      else { return .invalid }
      let origin = grant.origin(start, by: .authorizationCode, as: used)
      let narrowed: SessionClient?
      do { narrowed = try narrow(origin.client) } catch { return .notGranted(error) }
      let new = try await redeem(record, grant, as: used, origin, for: account, with: expectations, now: now)
      guard var new else { continue }
      new.grant = narrowed
      return .signedIn(new, nonce: grant.nonce)
    }
    throw Registry.contention
  }
}
