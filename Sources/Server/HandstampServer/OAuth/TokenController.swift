#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// A request for tokens, and who makes it.
struct TokenRequest: Sendable {
  var form: FormFields
  /// `nil` for the server's own app.
  var client: ConfiguredClient?
  /// Not used yet.
  var proof: DPoPVerifier.Proof?
  var address: ClientAddress
  /// On behalf of that address.
  var registry: Registry
  var logger: Logger
}

/// `/oauth/token`: exchanges a refresh token or a code for an access token and a new refresh token, and gives clients tokens of their
/// own.
struct TokenController: Sendable {
  let authentication: ClientAuthentication
  let proofs: DPoPVerifier
  let deviceCodes: DeviceCodeRateLimiter
  let responses: TokenResponses
  let machines: MachineTokens
  let recorder: SessionEventRecorder
  /// `nil` if no sessions of a former system are taken over.
  let former: FormerSessions?
  /// The audience of tokens for the server's own API.
  let issuer: String
  /// See ``ServerConfiguration/endsRepeatedCodes``.
  let endsRepeatedCodes: Bool

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post(.prompt(.token), use: token)
  }

  @concurrent func token(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (form, client) = try await authentication.call(request, context)
    let now = authentication.clock.now
    let proof = try proofs.check(request, token: nil, at: now)
    let address = authentication.limits.client(of: request, context)
    let call = TokenRequest(
      form: form, client: client, proof: proof, address: address,
      registry: authentication.registry.acting(as: .server(from: address.text)), logger: context.logger)
    switch form["grant_type"] {
    case "refresh_token": return try await refresh(call, at: now)
    case "authorization_code": return try await redeemCode(call)
    case "urn:ietf:params:oauth:grant-type:device_code": return try await redeemDevice(call)
    case "client_credentials": return .oauth(try await machines.credentials(call))
    case MachineTokens.assertionGrant: return .oauth(try await machines.assertion(call))
    case FormerSessions.grantType where former != nil: return try await takeOver(call)
    case nil: throw OAuthError.invalidRequest("grant_type is missing")
    case .some: throw OAuthError("unsupported_grant_type")
    }
  }

  /// Rotates a refresh token (RFC 6749 section 6).
  private func refresh(_ call: TokenRequest, at now: UnixTime) async throws -> Response {
    let (form, client, registry) = (call.form, call.client, call.registry)
    guard let presented = form["refresh_token"] else { throw OAuthError.invalidRequest("refresh_token is missing") }
    let claims: RefreshClaims
    switch registry.mint.read(RefreshToken(presented)) {
    case .genuine(let genuine): claims = genuine
    case .forged:
      recorder.metrics.update { $0.garbage += 1 }
      throw OAuthError("invalid_grant")
    case .unknownKey(let id): throw RegistryError.unknownKey(id)
    }
    // By session alone: others behind the same address, and others with a wrong token, must not stop its refreshes.
    let session = claims.session.id
    try authentication.limits.take(.refreshes, from: nil, about: session.rawValue)
    let scopes = try TokenScopeRequest(form, of: client, at: issuer, scope: form["scope"])
    // A client refreshes once per access token, so a longer overlap would reach back to the refresh before.
    let terms = RefreshTerms(
      isConstrained: client?.isConfidential == true,
      overlap: min(client?.refreshOverlap ?? RefreshTerms.overlap, responses.accessTokens.life / 2))
    let outcome = try await registry.refresh(
      claims, key: form["rotation_key"].map { Secret($0) }, client: client?.id, proof: call.proof?.thumbprint,
      terms: terms, now: now, narrow: scopes.narrowed)
    recorder.recordRefresh(outcome, of: session, logger: call.logger)
    switch outcome {
    case .issued(let issue):
      // A key that the session is not bound to proves nothing, and takes no room.
      if issue.row.dpopThumbprint != nil, let proof = call.proof, !proofs.use(proof, at: now) {
        throw ProofError.invalid
      }
      // If it fails, a later refresh does it.
      _ = try? await registry.keepClient(of: issue.row, now: now)
      let known = try await responses.claims(of: issue.row.account, for: issue.grant, from: registry)
      return .oauth(
        try responses.tokens(
          of: issue.row, for: issue.grant, refresh: registry.mint.refreshToken(issue.token), about: known))
    case .superseded: throw OAuthError("invalid_grant", code: "superseded")
    case .ended(let reason): throw OAuthError("invalid_grant", reason: reason)
    case .theft: throw OAuthError("invalid_grant", reason: .tokenReuseDetected)
    case .forged, .otherClient: throw OAuthError("invalid_grant")
    case .notGranted(let refusal): throw OAuthError(refusal.rawValue)
    case .otherProof: throw OAuthError("invalid_dpop_proof")
    case .invalidRequest: throw OAuthError.invalidRequest("rotation_key is missing or malformed")
    }
  }

  /// Redeems an authorization code (RFC 6749 section 4.1.3).
  private func redeemCode(_ call: TokenRequest) async throws -> Response {
    let form = call.form
    guard let client = call.client, client.flows.contains(.code) else { throw OAuthError("unauthorized_client") }
    // One that is forgotten begins no session, and learns here that it has to register anew.
    if client.hasRegisteredItself { _ = try await authentication.clients.described(client) }
    guard let code = form["code"], let redirect = form["redirect_uri"] else {
      throw OAuthError.invalidRequest("code or redirect_uri is missing")
    }
    let verifier = form["code_verifier"].map { Secret($0) }
    guard verifier != nil || client.codeProtection != .pkce else {
      throw OAuthError.invalidRequest("code_verifier is missing")
    }
    var claim = CodeClaim(
      client: client.id, redirectURI: redirect, verifier: verifier, thumbprint: call.proof?.thumbprint,
      key: try rotationKey(form))
    claim.persistence = try persistence(form)
    let scopes = try TokenScopeRequest(form, of: client, at: issuer)
    let outcome = try await call.registry.redeemCode(
      Secret(code), claim, endsRepeated: endsRepeatedCodes, now: authentication.clock.now, narrow: scopes.narrowed)
    return try await response(to: outcome, of: client, call)
  }

  /// Exchanges a refresh token of the former system for a session here (RFC 8693 section 2.1).
  private func takeOver(_ call: TokenRequest) async throws -> Response {
    guard let former else { throw OAuthError("unsupported_grant_type") }
    let origin = try call.form.formerOrigin(
      call.client, thumbprint: call.proof?.thumbprint, isKeyed: try rotationKey(call.form) != nil, at: issuer)
    let token = try call.form.formerToken()
    // A client that hangs up does not make the former system's response go astray.
    let new = try await Task {
      try await former.takeOver(token, origin, by: AccountService.Caller(client: call.address, logger: call.logger))
    }.value
    if let proof = call.proof { proofs.use(proof, at: authentication.clock.now) }
    var json = try responses.signedIn(new)
    json.add("issued_token_type", FormerSessions.accessTokenType)
    return .oauth(json)
  }

  /// The key with which a request that redeems a code can be repeated; `nil` if there is none.
  private func rotationKey(_ form: FormFields) throws -> RotationKey? {
    guard let text = form["rotation_key"] else { return nil }
    guard let key = RotationKey(wireText: text) else { throw OAuthError.invalidRequest("rotation_key is malformed") }
    return key
  }

  /// How a client that redeems a code keeps the session, as in the JSON API.
  private func persistence(_ form: FormFields) throws -> SessionPersistence {
    switch form["remember"] {
    case nil, "true": .persistent
    case "false": .ephemeral
    case .some: throw OAuthError.invalidRequest("remember must be true or false")
    }
  }

  /// Answers a polling device (RFC 8628 section 3.4).
  private func redeemDevice(_ call: TokenRequest) async throws -> Response {
    let form = call.form
    guard let client = call.client, client.flows.contains(.device) else { throw OAuthError("unauthorized_client") }
    guard let code = form["device_code"] else { throw OAuthError.invalidRequest("device_code is missing") }
    // Do not remember codes that cannot be genuine: any client may send them, as long as a body may be.
    guard let presented = OneTimeToken(presented: Secret(code)) else { throw OAuthError("invalid_grant") }
    let now = authentication.clock.now
    let isPaced = deviceCodes.mayAsk(presented.secret, now: now)
    let key = try rotationKey(form)
    // A lost response may be asked for again at once, with its key.
    guard isPaced || key != nil else { throw OAuthError("slow_down") }
    let scopes = try TokenScopeRequest(form, of: client, at: issuer)
    let outcome = try await call.registry.redeemDevice(
      presented.secret, client: client.id, try persistence(form), thumbprint: call.proof?.thumbprint, key: key,
      now: now, narrow: scopes.narrowed)
    return try await response(to: outcome, of: client, call, isPaced: isPaced)
  }

  /// Returns the response to a client that has presented a code.
  ///
  /// - Parameter isPaced: whether a device has not asked too soon.
  private func response(
    to outcome: CodeOutcome, of client: ConfiguredClient, _ call: TokenRequest, isPaced: Bool = true
  ) async throws -> Response {
    let (registry, clock) = (authentication.registry, authentication.clock)
    switch outcome {
    case .signedIn(let new, let nonce):
      // If two requests had one proof, either session is bound to its key.
      if let proof = call.proof { proofs.use(proof, at: clock.now) }
      if !new.isRepeated { recorder.recordSignIn(new.row, logger: call.logger) }
      _ = try? await registry.keepClient(of: new.row, now: clock.now)
      let claims = try await responses.claims(of: new.account.id, for: new.grant, from: registry)
      return .oauth(try responses.signedIn(new, about: claims, nonce: nonce))
    case .pending: throw OAuthError(isPaced ? "authorization_pending" : "slow_down")
    case .denied: throw OAuthError("access_denied")
    case .expired: throw OAuthError("expired_token")
    case .invalid, .late: throw OAuthError("invalid_grant")
    case .notGranted(let refusal): throw OAuthError(refusal.rawValue)
    case .replayed(let outcome):
      recorder.recordEnd(outcome, logger: call.logger)
      call.logger.warning("Authorization code used twice", metadata: ["handstamp.client": "\(client.id)"])
      throw OAuthError("invalid_grant", reason: .tokenReuseDetected)
    }
  }
}
#endif
