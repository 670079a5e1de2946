#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// `/oauth/introspect` (RFC 7662), for confidential clients such as APIs. A client sees its own tokens and those that are meant
/// for it; others are inactive, or any client could try out tokens that it has found (section 4).
struct IntrospectionController: Sendable {
  let authentication: ClientAuthentication
  let reader: TokenReader
  let recorder: SessionEventRecorder
  let issuer: String

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post(.prompt(.introspection), use: introspect)
  }

  /// For a token that is not valid, or not visible to the client, the response only says that it is not active.
  @concurrent func introspect(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (form, client) = try await authentication.call(request, context)
    guard let client, client.isConfidential else { throw OAuthError.invalidClient }
    let limits = authentication.limits
    try limits.take(.introspections, from: limits.client(of: request, context), about: client.id)
    guard let token = form["token"] else { throw OAuthError.invalidRequest("token is missing") }
    if let facts = try await facts(about: token, for: client, context.logger) { return .oauth(facts) }
    var inactive = JSONText()
    inactive.add("active", false)
    return .oauth(inactive)
  }

  private func facts(
    about token: String, for client: ConfiguredClient, _ logger: Logger
  ) async throws -> JSONText? {
    let now = reader.clock.now
    guard let token = reader.read(token, at: now) else { return nil }
    if case .access(let claims) = token, claims.isMachine { return try await machineFacts(about: claims, for: client) }
    guard let row = try await reader.registry.session(token.session, now: now) else { return nil }
    switch token {
    case .access(let claims):
      guard row.account == claims.account, client.mayIntrospect(claims), authentication.clients.knows(claims.client)
      else { return nil }
      // Its client has presented the token to this one.
      recorder.recordDisplacement(try await reader.registry.recordFirstUse(of: row, now: now), logger: logger)
      // Scopes that the user has allowed the token's client, and the operator this one.
      let scopes = claims.scope?.split(separator: " ").map(String.init) ?? client.scopes
      let visible = scopes.filter { client.scopes.contains($0) }
      return facts(
        about: claims, try await AccountClaims.read(row.account, allowedBy: visible, from: reader.registry))
    // Only its own client may introspect a refresh token.
    case .refresh(let claims):
      return row.client?.id == client.id && claims.counter == row.counter ? facts(about: row, for: client) : nil
    case .revocation: return nil
    }
  }

  /// A client's own token ends when the administrator ends those of the client, and when the client is removed.
  private func machineFacts(
    about claims: AccessTokens.Claims, for client: ConfiguredClient
  ) async throws -> JSONText? {
    guard client.mayIntrospect(claims),
      authentication.clients.configured(claims.client)?.flows.contains(where: \.isForMachines) == true,
      let machine = try await reader.registry.machine(claims.client, now: reader.clock.now),
      machine.session == claims.session
    else { return nil }
    return facts(about: claims, nil)
  }

  private func facts(about claims: AccessTokens.Claims, _ account: AccountClaims?) -> JSONText {
    var json = JSONText()
    json.add("active", true)
    json.add("scope", ifPresent: claims.scope)
    json.add("client_id", claims.client)
    json.add("token_type", claims.thumbprint == nil ? "Bearer" : "DPoP")
    json.add("exp", claims.expiresAt.seconds)
    json.add("iat", claims.issuedAt.seconds)
    if let proven = claims.authenticatedAt { json.add("auth_time", proven.seconds) }
    if !claims.methods.isEmpty { json.add("amr", claims.methods) }
    json.add("acr", ifPresent: claims.context)
    json.add("sub", claims.account.rawValue)
    json.add("aud", claims.audience)
    json.add("iss", issuer)
    json.add("jti", claims.id)
    json.add("sid", claims.session.rawValue)
    if let thumbprint = claims.thumbprint { json.add("cnf", JSONText([("jkt", thumbprint)])) }
    account?.add(to: &json)
    // RFC 7662 section 2.2.
    json.add("username", ifPresent: account?.username)
    return json
  }

  private func facts(about row: SessionRow, for client: ConfiguredClient) -> JSONText {
    var json = JSONText()
    json.add("active", true)
    json.add("scope", ifPresent: row.client.map(\.scope))
    json.add("client_id", client.id)
    json.add("sub", row.account.rawValue)
    json.add("iss", issuer)
    if let end = row.expiry { json.add("exp", end.seconds) }
    return json
  }
}

extension ConfiguredClient {
  fileprivate func mayIntrospect(_ claims: AccessTokens.Claims) -> Bool {
    introspects || claims.client == id || claims.audience == id
  }
}
#endif
