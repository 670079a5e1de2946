import Crypto
public import HandstampCore

/// What a person agreed to in a browser, as the code that the browser brings stands for it (RFC 6749 section 4.1.2).
public struct CodeGrant: Sendable, Hashable {
  /// How long a code is good. One minute (OWASP ASVS 10.4.3, level 3).
  public static let life = Duration.seconds(60)
  /// How long a used code is recognised.
  static let memory = Duration.seconds(24 * 3600)

  public var client: String
  /// What the session's list shows.
  public var clientName: String
  public var redirectURI: String
  /// `S256` (RFC 7636): nothing else is taken.
  public var challenge: String
  public var scope: String
  public var audience: String?
  /// The thumbprint that `dpop_jkt` named (RFC 9449 section 10).
  public var thumbprint: String?

  public init(
    client: String, clientName: String, redirectURI: String, challenge: String, scope: String, audience: String? = nil,
    thumbprint: String? = nil
  ) {
    self.client = client
    self.clientName = clientName
    self.redirectURI = redirectURI
    self.challenge = challenge
    self.scope = scope
    self.audience = audience
    self.thumbprint = thumbprint
  }

  /// Whether whoever brings the code is who began.
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

/// What somebody says who brings a code.
public struct CodeClaim: Sendable, Hashable {
  public var client: String
  public var redirectURI: String
  public var verifier: Secret
  /// Of the key that the request was proven with; the session's tokens are then bound to it.
  public var thumbprint: String?

  public init(client: String, redirectURI: String, verifier: Secret, thumbprint: String? = nil) {
    self.client = client
    self.redirectURI = redirectURI
    self.verifier = verifier
    self.thumbprint = thumbprint
  }
}

/// What came of a code.
public enum CodeOutcome: Sendable, Hashable {
  case signedIn(NewSession)
  /// None of ours, over, or brought by somebody else. Nothing changed.
  case invalid
  /// It was used before: two have it, and what came of the first use has ended (RFC 6749 section 4.1.2).
  case replayed(EndOutcome)
}

extension Registry {
  /// A code for what `account` agreed to.
  public func issueCode(
    _ grant: CodeGrant, to account: AccountID, now: UnixTime
  ) async throws(RegistryError) -> LinkSecret {
    try await issue(
      .authorizationCode, subject: account.rawValue, account: account, payload: GrantCoding.text(grant),
      lasting: CodeGrant.life, now: now)
  }

  /// Begins the session that a code stands for, once.
  public func redeemCode(
    _ presented: Secret, _ claim: CodeClaim, now: UnixTime
  ) async throws(RegistryError) -> CodeOutcome {
    guard let code = LinkSecret(presented: presented)?.secret else { return .invalid }
    let used = TicketID(of: code, purpose: .usedCode)
    for _ in 0..<Registry.attempts {
      guard let ticket = try await ticket(TicketID(of: code, purpose: .authorizationCode)) else {
        guard let former = try await self.ticket(used), former.payload == claim.client else { return .invalid }
        let id = SessionID(former.subject)
        return .replayed(
          try await end(.misused, now: now) { () throws(RegistryStoreError) in
            try await store.session(id).map { [$0] } ?? []
          })
      }
      guard ticket.expiresAt > now, let grant = GrantCoding.value(CodeGrant.self, ticket.payload), grant.fits(claim),
        let id = ticket.account, let account = try await account(id), account.closedAt == nil
      else { return .invalid }
      var source = source
      let session = SessionBytes(from: &source)
      let note = Ticket(
        id: used, purpose: .usedCode, subject: session.id.rawValue, account: id, payload: claim.client, createdAt: now,
        expiresAt: now.advanced(by: CodeGrant.memory))
      let origin = SessionOrigin(
        kind: .plain, client: SessionClient(id: grant.client, scope: grant.scope, audience: grant.audience),
        thumbprint: claim.thumbprint, session: session)
      do throws(RegistryError) {
        return .signedIn(
          try await createSession(
            for: account, device: DeviceInfo(client: grant.clientName, session), origin: origin,
            with: [.useTicket(ticket.id), .createTicket(note)], now: now))
      } catch {
        // Somebody brought it at the same time, or the account moved on: look again.
        guard error == .linkInvalid || error == .accountChanged else { throw error }
      }
    }
    throw Registry.contention
  }
}

extension DeviceInfo {
  /// Another client's session in the list of devices; each is one of its own.
  init(client name: String, _ session: SessionBytes) {
    self.init(id: DeviceID("client:\(session.id)"), name: name, platform: "client")
  }
}
