public import HandstampCore
import HandstampSupport

/// The backend of any OAuth 2 or OpenID Connect server.
///
/// ```swift
/// let client = OAuthClient(issuer: "https://id.example.org", id: "forum", scopes: ["openid", "offline_access"])
/// let identity = OAuthBackend(client, transport: URLSessionTransport())
/// try await session.signIn { try await identity.signIn(through: browser, redirectURI: "org.example.forum:/signed-in") }
/// ```
///
/// ## Limits
/// Handstamp's own server, whose metadata says so, gets a rotation key with every refresh, so that a lost response costs nothing.
/// Other servers know no such keys. There, a refresh always runs under the refresh lock, other processes adopt the tokens that it
/// stored, and no refresh is sent before the newest token has been read. One risk remains: a server that rotates refresh tokens and
/// allows no second use treats a repeat after a *lost response* as token reuse, and ends the session. No client can prevent that.
/// Servers with an overlap, and servers that do not rotate, are not affected, see ``RefreshPolicy/reuse``.
public struct OAuthBackend: Backend {
  /// The registration of the app at the server.
  public let client: OAuthClient
  let transport: any Transport
  let source: MetadataSource
  let prover: DPoPProver?
  let time: OAuthTime

  /// Creates a backend. Sends nothing before the first request.
  ///
  /// - Parameters:
  ///   - transport: the transport to the token endpoint. Not a ``DPoPTransport``: that is for APIs.
  ///   - prover: binds every token to a key (RFC 9449); tokens that are not bound are then an error. `nil` for bearer tokens.
  public init(
    _ client: OAuthClient, transport: any Transport, proving prover: DPoPProver? = nil, time: OAuthTime = .system
  ) {
    self.client = client
    self.transport = transport
    self.prover = prover
    self.time = time
    source = MetadataSource(issuer: client.issuer, client.traits, transport: transport, prover: prover)
  }

  /// Returns the server's metadata, which is fetched once.
  ///
  /// - Throws: ``SessionError/requestFailed(_:retryAfter:)`` if the server cannot be reached,
  ///   ``SessionError/invalidResponse(_:)`` or ``SessionError/unsupported(_:)`` if there is no
  ///   usable metadata.
  @concurrent public func metadata() async throws(SessionError) -> ServerMetadata { try await source.metadata() }

  /// The issuer that the server named in place of the client's, after ``metadata()`` has failed.
  package var otherIssuer: String? { source.otherIssuer }

  /// Returns the metadata of a server at which a session exists. The server had metadata when that began, so a response without any
  /// decides nothing.
  private func sessionMetadata() async throws(SessionError) -> ServerMetadata {
    do throws(SessionError) { return try await metadata() } catch {
      switch error {
      case .unsupported(let text) where source.lastStatus != nil,
        .invalidResponse(let text) where source.lastStatus != nil && otherIssuer == nil:
        throw .requestFailed(.server(.init(status: source.lastStatus ?? 0, detail: text)))
      default: throw error
      }
    }
  }

  // MARK: Backend

  public var abilities: BackendAbilities {
    var abilities = BackendAbilities(
      sessionEndingOrigin: client.issuer, reuse: client.knownReuse, supportsTargets: true,
      issuer: client.issuer)
    abilities.namesIssuer = true
    return abilities
  }

  /// Sends one refresh (RFC 6749 section 6). It is sent once, and the response is awaited until the task is cancelled.
  @concurrent public func refresh(_ request: RefreshRequest) async -> RefreshResult {
    var fields = [("grant_type", Secret("refresh_token")), ("refresh_token", request.token.secret)]
    let response: TransportResponse
    let metadata: ServerMetadata
    let exchange: [(String, Secret)]?
    do throws(RequestError) {
      metadata = try await prepared { () async throws(SessionError) in try await sessionMetadata() }
      exchange = OAuthBackend.exchange(for: request, at: metadata)
      if let exchange { fields = exchange }
      fields += OAuthBackend.fields(of: request.target)
      if exchange == nil, client.traits.repeatsRedirectURI, let uri = client.redirectURI {
        fields.append(("redirect_uri", Secret(uri)))
      }
      if request.alwaysSendsKey || metadata.supportsRotationKeys, exchange == nil {
        fields.append(("rotation_key", request.key.wireText))
      }
      response = try await send(
        fields, to: metadata.tokenEndpoint, timeout: request.patience, until: request.sendingTime)
    } catch {
      // The wait that was asked of a step before the request.
      guard case .preparation(.requestFailed(_, let wait)) = error else { return .noDecision(error) }
      return .noDecision(error, retryAfter: wait)
    }
    switch EndpointWord(response) {
    case .tokens(var tokens):
      // Those of an exchange belong to no session of this app, and replace nothing.
      if exchange != nil { (tokens.refresh_token, tokens.id_token) = (nil, nil) }
      let result = refreshed(tokens, metadata, sent: request.token, served: served(response))
      guard exchange != nil, case .granted(var grant) = result else { return result }
      grant.isExchanged = true
      return .granted(grant)
    case .refusal(let refusal):
      return RefreshResult(refusal, response, isOwn: metadata.isHandstamp, client.traits, at: time.now())
    case .object, .other: return RefreshResult(other: response, sent: request.token)
    }
  }

  /// The fields of a token exchange (RFC 8693 section 2.1); `nil` if the request is a refresh. An exchange leaves the refresh token as
  /// it is.
  private static func exchange(for request: RefreshRequest, at metadata: ServerMetadata) -> [(String, Secret)]? {
    guard request.target?.audience != nil, metadata.exchangesTokens, let access = request.access else { return nil }
    let type = "urn:ietf:params:oauth:token-type:access_token"
    return [
      ("grant_type", Secret(ServerMetadata.tokenExchange)), ("subject_token", access.secret),
      ("subject_token_type", Secret(type)), ("requested_token_type", Secret(type)),
    ]
  }

  private static func fields(of target: TokenTarget?) -> [(String, Secret)] {
    guard let target else { return [] }
    let scope = target.scopes.isEmpty ? nil : target.scopes.joined(separator: " ")
    return [("scope", scope), ("resource", target.resource), ("audience", target.audience)].compactMap { name, value in
      value.map { (name, Secret($0)) }
    }
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let response: TransportResponse
    do throws(RequestError) {
      // A server without such an endpoint now had one when the handle was stored.
      guard
        let endpoint = try await prepared({ () async throws(SessionError) in try await sessionMetadata() })
          .revocationEndpoint
      else { throw .preparation(.unsupported("revocation")) }
      response = try await send([("token", handle.secret)], to: endpoint, timeout: .seconds(20))
    } catch {
      return .noDecision(error)
    }
    return RevocationResult(response, error: response.decoded(TokenRefusal.self)?.error)
  }

  // MARK: The token endpoint

  /// Returns the tokens of a refresh, if they can be used.
  private func refreshed(
    _ found: TokenResponseBody, _ metadata: ServerMetadata, sent token: RefreshToken, served: UnixTime?
  ) -> RefreshResult {
    let body: TokenResponseBody
    do throws(SessionError) { body = try checked(found, of: metadata) } catch {
      var reason = "not a token response"
      if case .invalidResponse(let text) = error { reason = text }
      return RefreshResult(unusable: reason, found.refresh_token, sent: token)
    }
    var response = TokenResponse(
      tokens: body.tokens, sessionID: body.session_id,
      // For a session that was taken over without a handle.
      revocation: handle(of: body, else: token.secret, metadata),
      acceptsRotationKey: body.handstamp_rotation_key ?? false,
      scopes: body.scope.map(client.traits.scopes(in:)))
    if let token = body.id_token {
      // The user that the response names (OpenID Connect Core 1.0 section 12.2). With an ID token of another issuer or client
      // nothing of it is used, because its refresh token may belong to another person.
      do throws(SessionError) {
        let identity = try IdentityToken(refreshed: token, from: metadata, client: client.id)
        response.subject = identity?.profile.id
        response.idToken = identity?.idToken(token, at: served ?? time.now())
      } catch {
        return .noDecision(.unusableTokens("\(error)", successor: nil))
      }
    }
    return .granted(response)
  }

  /// The server's clock: the device's own may be wrong.
  private func served(_ response: TransportResponse) -> UnixTime? {
    response.header("Date").flatMap { UnixTime(httpDate: $0) }
  }

  /// The handle that ends the session of a token response: its own one, or the refresh token (RFC 7009); `nil` if nothing does.
  private func handle(of body: TokenResponseBody, else sent: Secret?, _ metadata: ServerMetadata) -> RevocationHandle? {
    if let handle = body.revocation_handle { return RevocationHandle(handle) }
    guard metadata.revocationEndpoint != nil else { return nil }
    return (body.tokens.refresh?.secret ?? sent).map { RevocationHandle($0) }
  }

  /// Checks a token response. Handstamp's additions count only at a server whose metadata names them: others may use the same
  /// names in their own way.
  func checked(_ body: TokenResponseBody, of metadata: ServerMetadata) throws(SessionError)
    -> TokenResponseBody
  {
    let body = metadata.isHandstamp ? body : body.withoutAdditions
    try body.check(
      isBound: prover != nil, assumesBearer: client.assumesBearerTokens, synonyms: client.traits.tokenTypes)
    return body
  }

  /// Exchanges the result of the user's sign-in for tokens.
  ///
  /// At Handstamp's own server the request has a key, and is repeated with it if the response is lost.
  ///
  /// - Parameters:
  ///   - method: how the user signed in.
  ///   - repeats: `false` if the caller repeats the request itself.
  ///   - refused: gets the refusal that the error is made of.
  func exchange(
    _ fields: [(String, Secret)], by method: SignInMethod, nonce: String?, repeats: Bool = true,
    refused: Locked<TokenRefusal?> = Locked(nil)
  ) async throws(SessionError) -> TokenResponse {
    let claim = SignInClaim(method)
    SignInTurn.name(claim)
    let metadata = try await metadata()
    var fields = fields
    for resource in client.resources { fields.append(("resource", Secret(resource))) }
    guard metadata.supportsRotationKeys else {
      return try await SignInTurn.take(by: claim) { [fields] () async throws(SessionError) in
        try await tokens(fields, metadata, nonce: nonce, refused)
      }
    }
    let purpose = "\(client.issuer) \(client.id)"
    if !SignInTurn.remembers { fields.append(("remember", Secret("false"))) }
    return try await SignInTurn.exchange(by: claim, for: purpose, repeats: repeats) {
      [fields] key throws(SessionError) in
      try await tokens(fields + [("rotation_key", key.wireText)], metadata, nonce: nonce, refused)
    }
  }

  private func tokens(
    _ fields: [(String, Secret)], _ metadata: ServerMetadata, nonce: String?, _ refused: Locked<TokenRefusal?>
  ) async throws(SessionError) -> TokenResponse {
    let response = try await post(fields, to: metadata.tokenEndpoint)
    guard case .tokens(let found) = EndpointWord(response) else {
      refused.withLock { $0 = response.decoded(TokenRefusal.self) }
      throw SessionError(asking: response, at: time.now())
    }
    let body = try checked(found, of: metadata)
    let handle = handle(of: body, else: nil, metadata)
    let served = served(response)
    let identity = try body.id_token.map { token throws(SessionError) in
      try IdentityToken(token, from: metadata, client: client.id, nonce: nonce, served: served)
    }
    let person = try await profile(body, identity, metadata)
    var grant = TokenResponse(
      tokens: body.tokens, sessionID: body.session_id,
      profile: person ?? Profile(id: AccountID(metadata.issuer), name: metadata.issuerName),
      revocation: handle, issuer: metadata.issuer,
      acceptsRotationKey: body.handstamp_rotation_key ?? false,
      scopes: body.scope.map(client.traits.scopes(in:)))
    grant.namesNoUser = person == nil
    if let token = body.id_token { grant.idToken = identity?.idToken(token, at: served ?? time.now()) }
    return grant
  }

  /// Returns the signed-in user: from the response, its ID token, or the userinfo endpoint; `nil` if the server offers none of these.
  private func profile(
    _ body: TokenResponseBody, _ identity: IdentityToken?, _ metadata: ServerMetadata
  ) async throws(SessionError) -> Profile? {
    if let identity {
      if let person = body.profile, person.name.isShown { return identity.profile.named(person.name) }
      guard !identity.hasName, let endpoint = metadata.userInfoEndpoint else { return identity.profile }
      // Only the name is missing, so a failure costs nothing else. That of another user does not count (OpenID Connect Core 1.0
      // section 5.3.2).
      let info = try? await userInfo(body.access_token, at: endpoint)
      return info.flatMap { $0.id == identity.profile.id ? $0 : nil } ?? identity.profile
    }
    if let person = body.profile, person.id.namesSomebody {
      // A guest has no name.
      let name = person.name.isShown || person.isAnonymous ? person.name : person.id.rawValue
      return person.named(name)
    }
    guard asksForUser, let endpoint = metadata.userInfoEndpoint else { return nil }
    return try await userInfo(body.access_token, at: endpoint)
  }

  /// Whether the access token is meant for the userinfo endpoint.
  var asksForUser: Bool { client.scopes.contains("openid") || client.traits.namesUsers }

  private func userInfo(_ token: String, at endpoint: String) async throws(SessionError) -> Profile {
    let response = try await resource(at: endpoint, with: token)
    guard let info = UserInfo(response, client.traits) else {
      if response.decoded(TokenRefusal.self) != nil { throw SessionError(asking: response, at: time.now()) }
      throw .invalidResponse("the user information has no subject")
    }
    return info.profile
  }

  /// Returns what the server shows to the token's owner at one of its endpoints, with status 200.
  package func resource(at endpoint: String, with token: String) async throws(SessionError) -> TransportResponse {
    let response = try await send("GET", to: endpoint, with: Secret(token), [.uncompressed, .program])
    guard response.status == 200 else { throw SessionError(asking: response, at: time.now()) }
    return response
  }

  /// Sends a request with an access token, and with a proof if tokens are bound.
  func send(
    _ method: String, to url: String, with token: Secret, _ fields: [HeaderField] = []
  ) async throws(SessionError) -> TransportResponse {
    let request = TransportRequest(
      method: method, url: url, headers: [HeaderField("Accept", "application/json")] + fields + [.bearer(token)],
      maximumResponseSize: 1 << 20)
    let sender: any Transport = prover.map { DPoPTransport(transport, $0) } ?? transport
    do throws(TransportError) { return try await sender.send(request) } catch { throw SessionError(error) }
  }

  /// Sends a form as this client; with a proof if tokens are bound, and again if that needs the server's nonce or its time.
  func post(_ fields: [(String, Secret)], to endpoint: String) async throws(SessionError) -> TransportResponse {
    do throws(RequestError) { return try await send(fields, to: endpoint, timeout: .seconds(20)) } catch {
      throw SessionError(error)
    }
  }

  /// A step before a request is sent.
  private func prepared<Success>(
    _ step: () async throws(SessionError) -> Success
  ) async throws(RequestError) -> Success {
    do throws(SessionError) { return try await step() } catch { throw .preparation(error) }
  }

  private func send(
    _ fields: [(String, Secret)], to endpoint: String, timeout: Duration, until end: SendingTime? = nil
  ) async throws(RequestError) -> TransportResponse {
    var headers = [
      HeaderField("Accept", "application/json"), .uncompressed,
      HeaderField("Content-Type", "application/x-www-form-urlencoded"),
    ]
    var fields = fields.map { (name: $0.0, value: $0.1) }
    let takesBasic = try await prepared { () async throws(SessionError) in
      client.secret == nil || client.key != nil ? false : try await metadata().takesBasicAuthentication(at: endpoint)
    }
    if let secret = client.secret, takesBasic {
      headers.append(.basic(client.id, secret))
    } else if client.key == nil {
      fields.append(("client_id", Secret(client.id)))
      if let secret = client.secret { fields.append(("client_secret", secret)) }
    }
    var learned: Set<DPoPProver.Lesson> = []
    while true {
      var (headers, fields) = (headers, fields)
      // An assertion counts once.
      if let key = client.key {
        fields += try await prepared { () async throws(SessionError) in
          try key.fields(of: client.id, at: try await metadata(), now: time.now())
        }
      }
      if let prover {
        headers.append(
          HeaderField(
            "DPoP",
            try await prepared { () async throws(SessionError) in try prover.proof(method: "POST", url: endpoint) }))
      }
      let request = TransportRequest(
        method: "POST", url: endpoint, headers: headers, body: [UInt8](form: fields), timeout: timeout,
        // Tokens that were sent and not read are lost, so the limit is beyond any honest response.
        maximumResponseSize: 32 << 20,
        mayReuseConnection: false)
      try end?.check()
      let response: TransportResponse
      do throws(TransportError) { response = try await transport.send(request) } catch { throw .network(error) }
      guard let lesson = prover?.lesson(of: response, from: endpoint), learned.insert(lesson).inserted else {
        return response
      }
    }
  }
}

extension HeaderField {
  /// Without it, any coding of the response would be acceptable (RFC 9110 section 12.5.3).
  static let uncompressed = HeaderField("Accept-Encoding", "identity")
  /// GitHub's API answers 403 to a request that names no program.
  static let program = HeaderField("User-Agent", "handstamp")
}

extension Profile {
  fileprivate func named(_ name: String) -> Profile { Profile(id: id, name: name, isAnonymous: isAnonymous) }
}

extension OAuthBackend: SessionConfirming {
  @concurrent package func confirm(_ token: AccessToken) async {
    guard let metadata = try? await metadata(), metadata.supportsRotationKeys, let api = metadata.handstampAPI else {
      return
    }
    _ = try? await send("POST", to: api + "/session/confirm", with: token.secret)
  }
}
