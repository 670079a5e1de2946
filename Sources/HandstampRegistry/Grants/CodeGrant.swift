import Crypto
public import HandstampCore
import HandstampSupport

/// The authorization that a user granted in a browser, stored with its authorization code (RFC 6749 section 4.1.2).
public struct CodeGrant: Sendable, Hashable {
  /// Lifetime of a code: one minute (OWASP ASVS 10.4.3, level 3).
  public static let life = Duration.seconds(60)
  /// How long a used code is recognized.
  static let memory = Duration.seconds(24 * 3600)

  public var client: String
  /// The name shown in the list of sessions.
  public var clientName: String
  public var redirectURI: String
  /// The PKCE challenge. Only `S256` is supported (RFC 7636).
  public var challenge: String
  public var scope: String
  public var audience: String?
  /// The thumbprint that `dpop_jkt` named (RFC 9449 section 10).
  public var thumbprint: String?
  /// What the ID token repeats, so that the client knows it for the answer to its request (OpenID Connect Core 1.0 section 3.1.2.1).
  public var nonce: String?
  /// When the user who granted it had signed in.
  var authenticatedAt: UnixTime?
  /// The browser in which it was granted.
  var browser: DeviceID?
  /// The session of that browser.
  var session: SessionID?
  /// When the session of that browser ends at the latest.
  var absoluteExpiry: UnixTime?

  public init(
    client: String, clientName: String, redirectURI: String, challenge: String, scope: String, audience: String? = nil,
    thumbprint: String? = nil, nonce: String? = nil
  ) {
    self.client = client
    self.clientName = clientName
    self.redirectURI = redirectURI
    self.challenge = challenge
    self.scope = scope
    self.audience = audience
    self.thumbprint = thumbprint
    self.nonce = nonce
  }

  /// Whether the client's session ends with that of the browser: an OpenID Connect client's does, unless it was allowed to stay
  /// (OpenID Connect Back-Channel Logout 1.0 section 2.7).
  var dependsOnBrowser: Bool {
    let scopes = scope.split(separator: " ")
    return scopes.contains("openid") && !scopes.contains("offline_access")
  }

  /// The grant of an authorization code, used or not.
  init?(_ record: OneTimeTokenRecord) {
    guard let grant = PayloadCoding.value(CodeGrant.self, record.payload) else { return nil }
    self = grant
  }

  /// Returns whether the claim comes from the client that started the authorization.
  func fits(_ claim: CodeClaim) -> Bool {
    guard client == claim.client, redirectURI == claim.redirectURI, thumbprint == nil || thumbprint == claim.thumbprint
    else { return false }
    // RFC 7636 section 4.1.
    guard (43...128).contains(claim.verifier.count) else { return false }
    let hash = claim.verifier.withExposedBytes { bytes in
      var hash = SHA256()
      hash.update(bufferPointer: bytes)
      return Array(hash.finalize())
    }
    return constantTimeEqual(Array(Base64URL.encode(hash).utf8), Array(challenge.utf8))
  }
}

/// The parameters of a client that redeems a code.
public struct CodeClaim: Sendable, Hashable {
  public var client: String
  public var redirectURI: String
  public var verifier: Secret
  /// The thumbprint of the key of the request's DPoP proof. The session's tokens are bound to that key.
  public var thumbprint: String?
  /// The mark of the request's rotation key; `nil` if it sent none.
  public var key: KeyMark?

  public init(
    client: String, redirectURI: String, verifier: Secret, thumbprint: String? = nil, key: KeyMark? = nil
  ) {
    self.client = client
    self.redirectURI = redirectURI
    self.verifier = verifier
    self.thumbprint = thumbprint
    self.key = key
  }
}

/// The result of redeeming a code.
public enum CodeOutcome: Sendable, Hashable {
  ///
  /// - Parameter nonce: that of the authorization request.
  case signedIn(NewSession, nonce: String?)
  /// The code is unknown or expired, or the claim does not fit it. Nothing changed, whether the code was used or not.
  case invalid
  /// The client asks for more than the user granted. Nothing changed.
  case notGranted
  /// The code was used before, by a claim that fits as well: two parties have the code and its verifier. The session that it
  /// created has ended (RFC 6749 section 4.1.2).
  case replayed(EndOutcome)
}

extension Registry {
  /// Issues a code for the access that the user of a browser's session granted, which is remembered.
  ///
  /// - Parameter pushed: the client's request, if it was sent beforehand: it is good for one code.
  /// - Throws: ``RegistryError/accountChanged`` if that session has ended, or the account has changed, or the request was used.
  public func issueCode(
    _ grant: CodeGrant, by user: BrowserSession, for pushed: PushedRequest? = nil, now: UnixTime
  ) async throws(RegistryError) -> OneTimeToken {
    var grant = grant
    grant.authenticatedAt = user.authenticatedAt
    grant.browser = user.row.device.id
    grant.session = user.row.id
    grant.absoluteExpiry = user.row.absoluteExpiry
    let consent = try await consenting(to: grant, of: user.account.id, now: now)
    return try await issue(
      .authorizationCode, subject: user.account.id.rawValue, account: user.account.id,
      payload: PayloadCoding.text(grant),
      lasting: CodeGrant.life, now: now,
      with: user.expectations + (pushed.map { [.redeemOneTimeToken($0.id)] } ?? []) + [consent])
  }

  /// Redeems a code, which works once, and creates its session.
  ///
  /// - Parameter admits: whether the user granted what the request asks for. Called before anything is written.
  public func redeemCode(
    _ presented: Secret, _ claim: CodeClaim, now: UnixTime, admits: (SessionClient) -> Bool = { _ in true }
  ) async throws(RegistryError) -> CodeOutcome {
    guard let code = OneTimeToken(presented: presented)?.secret else { return .invalid }
    let used = OneTimeTokenID(of: code, purpose: .usedCode)
    for _ in 0..<Registry.attempts {
      guard let record = try await oneTimeToken(OneTimeTokenID(of: code, purpose: .authorizationCode)) else {
        // A thief who saw the code in an address, but has no verifier, must not end the session.
        guard let former = try await oneTimeToken(used), let grant = CodeGrant(former), grant.fits(claim) else {
          return .invalid
        }
        let id = SessionID(former.subject)
        let owner = former.account
        let audit = audited(
          .theftDetected, account: owner, session: id, details: #"{"sign":"code"}"#, at: now)
        let notices = owner.map { notice(.tokenTheft, of: $0, device: grant.clientName, now: now) } ?? []
        return .replayed(
          try await end(.tokenReuseDetected, now: now, finally: [audit] + notices) { () throws(RegistryStoreError) in
            try await store.session(id).map { [$0] } ?? []
          })
      }
      guard record.expiresAt > now, let grant = CodeGrant(record), grant.fits(claim),
        let id = record.account, let account = try await account(id), account.closedAt == nil
      else { return .invalid }
      var expectations: [RegistryChange] = []
      if grant.dependsOnBrowser {
        guard let id = grant.session, try await isLive(id, now: now) else { return .invalid }
        expectations = [.expectSession(id)]
      }
      let client = SessionClient(
        id: grant.client, scope: grant.scope, audience: grant.audience,
        browser: grant.dependsOnBrowser ? grant.browser : nil)
      guard admits(client) else { return .notGranted }
      var source = source
      let session = SessionBytes(from: &source)
      let note = OneTimeTokenRecord(
        id: used, purpose: .usedCode, subject: session.id.rawValue, account: id, payload: record.payload,
        createdAt: now, expiresAt: now.advanced(by: CodeGrant.memory))
      let origin = SessionOrigin(
        kind: claim.key == nil ? .plain : .keyed, client: client, thumbprint: claim.thumbprint, key: claim.key,
        session: session,
        authenticatedAt: grant.authenticatedAt,
        latestExpiry: grant.dependsOnBrowser ? grant.absoluteExpiry : nil)
      do throws(RegistryError) {
        return .signedIn(
          try await createSession(
            for: account, device: DeviceInfo(client: grant.clientName, session), origin: origin,
            with: [.redeemOneTimeToken(record.id), .createOneTimeToken(note)] + expectations, now: now),
          nonce: grant.nonce)
      } catch {
        // The code was redeemed at the same time, the browser's session has ended, or the account has changed: read again.
        guard error == .oneTimeTokenInvalid || error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }
}

extension DeviceInfo {
  /// Another client's session in the list of devices. Each session counts as a device of its own.
  init(client name: String, _ session: SessionBytes) {
    self.init(id: DeviceID("client:\(session.id)"), name: name, platform: "client")
  }
}
