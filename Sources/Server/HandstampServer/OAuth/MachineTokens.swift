#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// Issues tokens to clients for themselves, without a user: client credentials (RFC 6749 section 4.4), and assertions of a CI (RFC 7523
/// section 2.1). There is no refresh token and no session of an account; the subject is the client.
struct MachineTokens: Sendable {
  /// The grant type of assertions.
  static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// The longest life of a token, also where those of users live longer.
  static let longest = Duration.seconds(600)

  let registry: Registry
  let assertions: IssuerAssertions
  let proofs: DPoPVerifier
  let limits: RequestLimits
  let tokens: AccessTokens
  let clock: ServerClock
  let issuer: String

  /// Returns the response to a client that has authenticated itself with its secret or its key.
  func credentials(_ call: TokenRequest) async throws -> JSONText {
    guard let client = call.client, client.isConfidential, client.flows.contains(.credentials) else {
      throw OAuthError("unauthorized_client")
    }
    return try await token(call, client)
  }

  /// Returns the response to a client that presents an assertion of an issuer that it trusts.
  func assertion(_ call: TokenRequest) async throws -> JSONText {
    guard let client = call.client, client.flows.contains(.assertion) else { throw OAuthError("unauthorized_client") }
    guard let text = call.form["assertion"] else { throw OAuthError.invalidRequest("assertion is missing") }
    do {
      try await assertions.verify(text, for: client, at: clock.read())
    } catch let defect as AssertionDefect {
      try limits.take(.clientFailures, from: call.address)
      call.logger.notice(
        "Assertion refused",
        metadata: ["handstamp.client": "\(client.id)", "handstamp.cause": "\(defect.rawValue)"])
      throw OAuthError("invalid_grant", description: "the assertion is not valid for this client")
    } catch let error as KeysUnavailable {
      call.logger.error(
        "Issuer's keys not available",
        metadata: [
          "handstamp.client": "\(client.id)", "handstamp.issuer": "\(error.issuer)",
          "handstamp.cause": "\(error.cause)",
        ])
      throw OAuthError.unavailable
    }
    return try await token(call, client)
  }

  private func token(_ call: TokenRequest, _ client: ConfiguredClient) async throws -> JSONText {
    let (proof, logger) = (call.proof, call.logger)
    guard let scope = client.granted(call.form["scope"])?.scope else { throw OAuthError("invalid_scope") }
    let audience = try audience(call.form, client)
    try limits.take(.machines, from: nil, about: client.id)
    let time = clock.read()
    // No token's subject may mean a client and an account (RFC 9068 section 5).
    guard try await registry.account(AccountID(client.id)) == nil else {
      logger.error("Client has the ID of an account", metadata: ["handstamp.client": "\(client.id)"])
      throw OAuthError("unauthorized_client", description: "an account has the client's ID")
    }
    if let proof, !proofs.use(proof, at: time.now) { throw ProofError.invalid }
    let machine = try await call.registry.countToken(ofMachine: client.id, now: time.now)
    let access = try tokens.mint(
      account: AccountID(client.id), session: machine.session,
      client: SessionClient(id: client.id, scope: scope, audience: audience), thumbprint: proof?.thumbprint, at: time,
      until: time.now.advanced(by: MachineTokens.longest), signedWith: client.accessTokenSigning)
    logger.info(
      "Token issued to a client",
      metadata: ["handstamp.client": "\(client.id)", "handstamp.session": "\(machine.session)"])
    var json = JSONText(reserving: 1024)
    json.add("access_token", access.text)
    json.add("token_type", proof == nil ? "Bearer" : "DPoP")
    json.add("expires_in", access.life)
    json.add("scope", ifPresent: scope.isEmpty ? nil : scope)
    return json
  }

  /// The API of the token: the one that the form names, or the client's only one; `nil` for this server's own.
  private func audience(_ form: FormFields, _ client: ConfiguredClient) throws(OAuthError) -> String? {
    guard let resource = try form.resource() else {
      return client.audiences.count == 1 ? client.audiences[0] : nil
    }
    guard resource != issuer else { return nil }
    guard client.audiences.contains(resource) else { throw OAuthError("invalid_target") }
    return resource
  }
}
#endif
