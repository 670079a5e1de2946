#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// `/oauth/token`: exchanges a refresh token or a code for an access token and a new refresh token.
struct TokenController: Sendable {
  let registry: Registry
  let authentication: ClientAuthentication
  let proofs: ProofDesk
  let pacing: Pacing
  let limits: RequestLimits
  let responses: TokenResponses
  let journal: SessionJournal
  let clock: ServerClock
  let metrics: ServerMetrics
  /// The audience of tokens for the server's own API.
  let issuer: String

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.prompt { $0.post("/oauth/token", use: token) }
  }

  @concurrent func token(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (form, caller) = try await authentication.call(request, context)
    let proof = try proofs.check(request, token: nil, at: clock.read())
    let registry = registry.acting(as: .server(from: limits.client(of: request, context).text))
    switch form["grant_type"] {
    case "refresh_token": return try await refresh(form, caller, proof: proof, registry, context.logger)
    case "authorization_code": return try await redeemCode(form, caller, proof: proof, registry, context.logger)
    case "urn:ietf:params:oauth:grant-type:device_code":
      return try await redeemDevice(form, caller, proof: proof, registry, context.logger)
    case nil: throw OAuthError.invalidRequest("grant_type is missing")
    case .some: throw OAuthError("unsupported_grant_type")
    }
  }

  /// Rotates a refresh token (RFC 6749 section 6).
  private func refresh(
    _ form: FormBody, _ caller: Caller, proof: ProofDesk.Proof?, _ registry: Registry, _ logger: Logger
  ) async throws -> Response {
    guard let presented = form["refresh_token"] else { throw OAuthError.invalidRequest("refresh_token is missing") }
    let claims: RefreshClaims
    switch registry.mint.read(RefreshToken(presented)) {
    case .genuine(let genuine): claims = genuine
    case .forged: throw forged()
    case .unknownKey(let id): throw RegistryError.unknownKey(id)
    }
    // By session alone: others behind the same address, and others with a wrong token, must not stop its refreshes.
    try limits.take(.refreshes, from: nil, about: claims.session.id.rawValue)
    let wish = try TokenWish(form, of: caller.client, at: issuer, scope: form["scope"])
    let now = clock.now
    let outcome = try await registry.refresh(
      claims, key: form["rotation_key"].map { Secret($0) }, client: caller.client?.id,
      proof: proof?.thumbprint, terms: caller.terms(accessTokenLife: responses.tokens.life), now: now,
      narrow: wish.narrowed)
    switch outcome {
    case .issued(let issue):
      count(issue, logger)
      journal.displaced(issue.displaced, logger: logger)
      // A key that the session is not bound to proves nothing, and takes no room.
      if issue.row.dpopThumbprint != nil, let proof, !proofs.use(proof, at: now) { throw ProofDesk.Fault.invalid }
      let account = responses.needsAccount(issue.grant) ? try await registry.account(issue.row.account) : nil
      return .oauth(
        try responses.refreshed(issue.row, registry.mint.refreshToken(issue.token), of: account, for: issue.grant))
    case .superseded:
      metrics.update { $0.superseded += 1 }
      logger.notice("Refresh superseded", metadata: ["handstamp.session": "\(claims.session.id)"])
      throw OAuthError("invalid_grant", code: "superseded")
    case .ended(let reason): throw OAuthError("invalid_grant", reason: reason)
    case .theft(let row, let sign):
      journal.changed(row.account)
      journal.logouts.signal(.look)
      metrics.update { $0.thefts += 1 }
      logger.warning(
        "A refresh token was used twice, session ended",
        metadata: [
          "handstamp.session": "\(row.id)", "handstamp.account": "\(row.account)", "handstamp.sign": "\(sign.rawValue)",
        ])
      throw OAuthError("invalid_grant", reason: .tokenReuseDetected)
    case .forged: throw forged()
    case .otherClient: throw OAuthError("invalid_grant")
    case .notGranted(let error): throw OAuthError(error.rawValue)
    case .otherProof: throw OAuthError("invalid_dpop_proof")
    case .invalidRequest: throw OAuthError.invalidRequest("rotation_key is missing or malformed")
    }
  }

  /// The error for a token that this server did not issue.
  private func forged() -> OAuthError {
    metrics.update { $0.garbage += 1 }
    return OAuthError("invalid_grant")
  }

  private func count(_ issue: RefreshOutcome.Issue, _ logger: Logger) {
    switch issue.course {
    case .rotated: metrics.update { $0.rotations += 1 }
    case .kept: metrics.update { $0.kept += 1 }
    case .repeated: metrics.update { $0.repeats += 1 }
    case .fastForwarded(let lost):
      metrics.update {
        $0.rotations += 1
        $0.fastForwards += 1
      }
      logger.warning(
        "The store had lost rotations of a session",
        metadata: ["handstamp.session": "\(issue.row.id)", "handstamp.lost": "\(lost)"])
    }
  }

  /// Redeems an authorization code (RFC 6749 section 4.1.3).
  private func redeemCode(
    _ form: FormBody, _ caller: Caller, proof: ProofDesk.Proof?, _ registry: Registry, _ logger: Logger
  ) async throws -> Response {
    guard let client = caller.client, client.flows.contains(.code) else { throw OAuthError("unauthorized_client") }
    guard let code = form["code"], let redirect = form["redirect_uri"] else {
      throw OAuthError.invalidRequest("code or redirect_uri is missing")
    }
    let verifier = form["code_verifier"].map { Secret($0) }
    guard verifier != nil || client.codeProtection != .pkce else {
      throw OAuthError.invalidRequest("code_verifier is missing")
    }
    let claim = CodeClaim(
      client: client.id, redirectURI: redirect, verifier: verifier, thumbprint: proof?.thumbprint,
      key: try rotationKey(form))
    let wish = try TokenWish(form, of: client, at: issuer)
    let outcome = try await registry.redeemCode(Secret(code), claim, now: clock.now, narrow: wish.narrowed)
    return try response(to: outcome, of: client, proof, logger)
  }

  /// The key with which a request that redeems a code can be repeated; `nil` if there is none.
  private func rotationKey(_ form: FormBody) throws -> RotationKey? {
    guard let text = form["rotation_key"] else { return nil }
    guard let key = RotationKey(wireText: text) else { throw OAuthError.invalidRequest("rotation_key is malformed") }
    return key
  }

  /// Answers a polling device (RFC 8628 section 3.4).
  private func redeemDevice(
    _ form: FormBody, _ caller: Caller, proof: ProofDesk.Proof?, _ registry: Registry, _ logger: Logger
  ) async throws -> Response {
    guard let client = caller.client, client.flows.contains(.device) else { throw OAuthError("unauthorized_client") }
    guard let code = form["device_code"] else { throw OAuthError.invalidRequest("device_code is missing") }
    // Do not remember codes that cannot be genuine: any client may send them, as long as a body may be.
    guard let presented = OneTimeToken(presented: Secret(code)) else { throw OAuthError("invalid_grant") }
    let now = clock.now
    let isPaced = pacing.mayAsk(presented.secret, now: now)
    let key = try rotationKey(form)
    // A lost answer may be asked for again at once, with its key.
    guard isPaced || key != nil else { throw OAuthError("slow_down") }
    let wish = try TokenWish(form, of: client, at: issuer)
    let outcome = try await registry.redeemDevice(
      presented.secret, client: client.id, thumbprint: proof?.thumbprint, key: key, now: now,
      narrow: wish.narrowed)
    return try response(to: outcome, of: client, proof, isPaced: isPaced, logger)
  }

  /// Returns the response to a client that has presented a code.
  ///
  /// - Parameter isPaced: whether a device has not asked too soon.
  private func response(
    to outcome: CodeOutcome, of client: ConfiguredClient, _ proof: ProofDesk.Proof?, isPaced: Bool = true,
    _ logger: Logger
  ) throws -> Response {
    switch outcome {
    case .signedIn(let new, let nonce):
      // If two requests had one proof, either session is bound to its key.
      if let proof { proofs.use(proof, at: clock.now) }
      if !new.isRepeated { journal.began(new, logger: logger) }
      return .oauth(try responses.signedIn(new, nonce: nonce))
    case .pending: throw OAuthError(isPaced ? "authorization_pending" : "slow_down")
    case .denied: throw OAuthError("access_denied")
    case .expired: throw OAuthError("expired_token")
    case .invalid, .late: throw OAuthError("invalid_grant")
    case .notGranted(let error): throw OAuthError(error.rawValue)
    case .replayed(let outcome):
      journal.ended(outcome, logger: logger)
      logger.warning("A code was used twice", metadata: ["handstamp.client": "\(client.id)"])
      throw OAuthError("invalid_grant", reason: .tokenReuseDetected)
    }
  }
}
#endif
