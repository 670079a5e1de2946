#if Server
import HandstampCore
import HandstampOAuth
import HandstampRegistry
import HandstampSupport

/// The sign-in at one provider: authorization code with PKCE, state and nonce (RFC 6749 section 4.1, RFC 7636, OpenID Connect Core 1.0
/// section 3.1), or an ID token that an app got itself.
///
/// Before the user is back, nothing is stored: the attempt goes to the browser, sealed, in a cookie.
struct UpstreamSignIn: Sendable {
  /// The result of ``begin(for:boundTo:parameters:at:)``, for the browser.
  struct Start: Sendable {
    /// The page of the provider to redirect to.
    var url: String
    /// The sealed attempt, the value of the cookie ``UpstreamSignIn/cookie``.
    var attempt: String
  }

  /// How long an attempt lasts.
  static let life = Duration.seconds(600)
  /// The longest context, in bytes: the cookie has to stay below 4096.
  static let longestContext = 1536

  let provider: UpstreamProvider
  let redirectURI: String
  let endpoints: UpstreamEndpoints
  private let mint: TokenMint

  /// - Parameters:
  ///   - base: the server's own URL, below which ``UpstreamProvider/callbackPath`` is; without a slash at the end.
  ///   - mint: its keys seal attempts.
  ///   - transport: the requests to the provider. It follows no redirects.
  init(
    _ provider: UpstreamProvider, base: String, mint: TokenMint, transport: any Transport,
    now: @escaping @Sendable () -> UnixTime
  ) {
    self.provider = provider
    self.mint = mint
    redirectURI = base + provider.callbackPath
    endpoints = UpstreamEndpoints(provider, transport: transport, now: now)
  }

  /// The name of the cookie that holds the attempt.
  var cookie: String { "__Host-handstamp-with-" + provider.id }

  /// Begins a sign-in.
  ///
  /// - Parameters:
  ///   - context: the caller's own text, such as where the user goes afterwards, at most ``longestContext`` bytes; the browser cannot
  ///     read or change it.
  ///   - browser: what only this browser knows besides the cookie; an empty text if there is nothing.
  ///   - parameters: additional ones of the authorization request, such as `prompt`, `login_hint`, `max_age`, `acr_values`.
  func begin(
    for context: String, boundTo browser: String, parameters: [String: String] = [:], at now: UnixTime
  ) async throws(UpstreamError) -> Start {
    guard context.utf8.count <= UpstreamSignIn.longestContext else { throw .invalid("the context is too long") }
    let backend = endpoints.backend()
    let flow = try await UpstreamError.mapping { () async throws(SessionError) in
      try await backend.begin(redirectURI: redirectURI, hints: parameters)
    }
    // OpenID Connect Core 1.0 section 3.1.2.1.
    let asks = parameters["max_age"] == "0" || parameters["prompt"]?.split(separator: " ").contains("login") == true
    let attempt = UpstreamAttempt(
      memory: flow.memory, context: context, askedAt: asks ? now : nil,
      expiresAt: now.advanced(by: UpstreamSignIn.life))
    guard let sealed = mint.seal(attempt.json, for: .upstreamAttempt, boundTo: binding(browser)) else {
      throw .unavailable("the attempt cannot be sealed")
    }
    return Start(url: flow.url, attempt: sealed)
  }

  /// The caller's text of an attempt, for a sign-in that was refused; `nil` if this browser has none.
  func context(of attempt: String?, boundTo browser: String) -> String? {
    attempt.flatMap { mint.open($0, for: .upstreamAttempt, boundTo: binding(browser)) }
      .flatMap(UpstreamAttempt.init)?.context
  }

  /// Completes a sign-in: checks `state` and `iss` (RFC 9207), exchanges the code, verifies the ID token or asks who the user is.
  ///
  /// - Parameters:
  ///   - query: the query of the URL that the browser was redirected to.
  ///   - attempt: the value of the cookie ``cookie``, which the caller deletes, whatever the outcome.
  func finish(
    _ query: String, attempt: String?, boundTo browser: String, at time: ServerClock.Reading
  ) async throws(UpstreamError) -> UpstreamOutcome {
    guard
      let attempt = attempt.flatMap({ mint.open($0, for: .upstreamAttempt, boundTo: binding(browser)) })
        .flatMap(UpstreamAttempt.init), time.now < attempt.expiresAt
    else { throw .noAttempt }
    let backend = endpoints.backend()
    let body = try await UpstreamError.mapping { () async throws(SessionError) in
      let flow = try await backend.begin(redirectURI: redirectURI, hints: [:], memory: attempt.memory)
      return try await backend.tokens(of: flow, with: Secret(redirectURI + "?" + query))
    }
    var user =
      if let mapping = provider.userInfo {
        try await self.user(accessToken: body.access_token, mapping, backend)
      } else { try await self.user(body, nonce: attempt.memory.nonce ?? "", backend, at: time) }
    user.askedAt = attempt.askedAt
    return UpstreamOutcome(user: user, context: attempt.context, idToken: body.id_token.map { Secret($0) })
  }

  /// Returns the user of an ID token that an app got itself.
  ///
  /// - Parameter nonce: 16 to 256 bytes. The token has it, or its SHA-256 in hexadecimal.
  /// - Returns: the user, and the record that marks the nonce as used. Store it in the write that begins the session.
  func user(
    identityToken token: Secret, nonce: String, at time: ServerClock.Reading
  ) async throws(UpstreamError) -> (user: UpstreamUser, nonce: OneTimeTokenRecord) {
    guard provider.userInfo == nil else { throw .invalid("the provider issues no ID tokens") }
    let clients = provider.nativeClientIDs.union([provider.clientID])
    let claims = try await claims(of: token, for: clients, nonce: nonce, as: .either, endpoints.backend(), at: time)
    return (UpstreamUser(claims, of: provider), claims.usedNonce(at: time.now))
  }

  /// An attempt of one provider, redirect URI or browser is of no use at another.
  private func binding(_ browser: String) -> String {
    [provider.issuer, provider.clientID, redirectURI, browser].map { "\($0.utf8.count):\($0)" }.joined()
  }
}

/// A sign-in that a browser has begun.
private struct UpstreamAttempt {
  var memory: AuthorizationFlow.Memory
  var context: String
  /// When it began, if it asks the user to sign in anew.
  var askedAt: UnixTime?
  var expiresAt: UnixTime

  var json: [UInt8] {
    var json = JSONText([("state", memory.state), ("verifier", memory.verifier.withExposed { $0 })])
    json.add("nonce", ifPresent: memory.nonce)
    json.add("context", context)
    if let askedAt { json.add("asked_at", askedAt.milliseconds) }
    json.add("expires_at", expiresAt.milliseconds)
    return json.finished
  }
}

extension UpstreamAttempt {
  init?(_ bytes: [UInt8]) {
    guard let json = JSONValue(bytes), let state = json["state"]?.string, let verifier = json["verifier"]?.string,
      let context = json["context"]?.string, let end = json["expires_at"]?.integer
    else { return nil }
    memory = AuthorizationFlow.Memory(state: state, nonce: json["nonce"]?.string, verifier: Secret(verifier))
    self.context = context
    askedAt = json["asked_at"]?.integer.map { UnixTime(milliseconds: $0) }
    expiresAt = UnixTime(milliseconds: end)
  }
}

extension UpstreamSignIn {
  /// The user of an OpenID provider. An address and a name that the ID token leaves out are asked for.
  func user(
    _ body: TokenResponseBody, nonce: String, _ backend: OAuthBackend, at time: ServerClock.Reading
  ) async throws(UpstreamError) -> UpstreamUser {
    guard let token = body.id_token else { throw .invalid("the response has no ID token") }
    let claims = try await claims(
      of: Secret(token), for: [provider.clientID], nonce: nonce, as: .plain, backend, at: time)
    var user = UpstreamUser(claims, of: provider)
    guard user.email == nil || user.name == nil, let endpoint = try? await backend.metadata().userInfoEndpoint,
      // The token alone says who the user is, so a failure costs only these two.
      let response = try? await backend.resource(at: endpoint, with: body.access_token),
      let json = JSONValue(response.body)
    else { return user }
    // OpenID Connect Core 1.0 section 5.3.2.
    guard json["sub"]?.string == claims.identity.subject else {
      throw .invalid("the user information belongs to another user")
    }
    let other = UpstreamUser(provider: provider.id, identity: user.identity, profile: json)
    user.name = user.name ?? other.name
    if user.email == nil { (user.email, user.isEmailVerified) = (other.email, other.isEmailVerified) }
    return user
  }

  func claims(
    of token: Secret, for clients: Set<String>, nonce: String, as form: IdentityTokens.NonceForm,
    _ backend: OAuthBackend, at time: ServerClock.Reading
  ) async throws(UpstreamError) -> IdentityTokens.Claims {
    let metadata = try await UpstreamError.mapping { () async throws(SessionError) in try await backend.metadata() }
    let tokens = IdentityTokens(
      keys: endpoints.keys, clientIDs: clients, grace: IdentityTokens.skew, form: form,
      // Without a tenant of its own, a token of several tenants' issuer could be any one's.
      isIssuer: { metadata.isNamed($0, tenant: $1 ?? "") })
    do { return try await tokens.verify(token, nonce: nonce, at: time) } catch let error as KeysUnavailable {
      throw .unavailable(error.cause)
    } catch { throw .invalid("the ID token is not valid") }
  }

  /// The user of a provider without ID tokens.
  func user(
    accessToken token: String, _ mapping: UserInfoMapping, _ backend: OAuthBackend
  ) async throws(UpstreamError) -> UpstreamUser {
    let metadata = try await UpstreamError.mapping { () async throws(SessionError) in try await backend.metadata() }
    guard let endpoint = metadata.userInfoEndpoint else { throw .unavailable("no userinfo endpoint is known") }
    let json = try await document(at: endpoint, with: token, backend)
    let identity = json.word(mapping.id).map { ExternalIdentity(issuer: metadata.issuer, subject: $0) }
    guard let identity, identity.isStorable else { throw .invalid("the user information names no user") }
    var user = UpstreamUser(
      provider: provider.id, identity: identity, name: mapping.names.lazy.compactMap { json.word($0) }.first)
    guard let list = mapping.emailsEndpoint else {
      user.email = mapping.email.flatMap { json.word($0) }.flatMap { EmailAddress(stated: $0) }
      user.isEmailVerified = user.email != nil && mapping.emailVerified.map { json.isTrue($0) } ?? false
      return user
    }
    let primary = try await document(at: list, with: token, backend).array?.first { $0.isTrue("primary") }
    user.email = primary?.word("email").flatMap { EmailAddress(stated: $0) }
    user.isEmailVerified = user.email != nil && primary?.isTrue("verified") == true
    return user
  }

  private func document(
    at endpoint: String, with token: String, _ backend: OAuthBackend
  ) async throws(UpstreamError) -> JSONValue {
    let response = try await UpstreamError.mapping { () async throws(SessionError) in
      try await backend.resource(at: endpoint, with: token)
    }
    guard let json = JSONValue(response.body) else { throw .invalid("the user information is not JSON") }
    return json
  }
}

extension UpstreamUser {
  init(_ claims: IdentityTokens.Claims, of provider: UpstreamProvider) {
    let json = claims.all
    self.init(provider: provider.id, identity: claims.identity, profile: json)
    session = json.word("sid").flatMap { $0.utf8.count <= 255 ? $0 : nil }
    authenticatedAt = claims.authenticatedAt
    methods = json["amr"]?.array?.prefix(16).compactMap(\.string).filter { (1...64).contains($0.utf8.count) } ?? []
    acr = json.word("acr").flatMap { $0.utf8.count <= 255 ? $0 : nil }
    sessionExpiry = json.time("session_expiry")?.stated
  }

  /// - Parameter json: the standard claims (OpenID Connect Core 1.0 section 5.1).
  fileprivate init(provider: String, identity: ExternalIdentity, profile json: JSONValue) {
    self.init(provider: provider, identity: identity)
    email = json.word("email").flatMap { EmailAddress(stated: $0) }
    isEmailVerified = email != nil && json.isTrue("email_verified")
    name = ["name", "preferred_username"].lazy.compactMap { json.word($0) }.first
  }
}

extension JSONValue {
  /// `data.id` is the member `id` of the object `data`.
  private func member(_ path: String) -> JSONValue? {
    path.split(separator: ".").reduce(Optional(self)) { $0?[String($1)] }
  }

  /// A text that is not empty, or a whole number.
  fileprivate func word(_ path: String) -> String? {
    let value = member(path)
    return value?.string.flatMap { $0.isEmpty ? nil : $0 } ?? value?.integer.map(String.init)
  }

  /// Whether a member is true; at some providers, such as Apple, it is a text.
  func isTrue(_ path: String) -> Bool { [.bool(true), .string("true")].contains(member(path)) }
}

/// A user, as a provider identifies them.
struct UpstreamUser: Sendable, Hashable {
  /// The ``UpstreamProvider/id``.
  var provider: String
  /// The user at the provider. Never the email address, which can be reassigned.
  var identity: ExternalIdentity
  var email: EmailAddress?
  /// Whether the provider says that it has verified the address.
  var isEmailVerified = false
  var name: String?
  /// The provider's ID of its session, `sid`.
  var session: String?
  /// When the user proved to be the account's owner, `auth_time`.
  var authenticatedAt: UnixTime?
  /// When the browser was sent there to sign in anew; `nil` if it was not asked to, and for ID tokens of apps.
  var askedAt: UnixTime?
  /// How, `amr` (RFC 8176).
  var methods: [String] = []
  var acr: String?
  /// When a session that depends on the provider's must end, `session_expiry` (IPSIE).
  var sessionExpiry: UnixTime?
}

/// The result of a sign-in in a browser.
struct UpstreamOutcome: Sendable {
  var user: UpstreamUser
  /// The caller's text from ``UpstreamSignIn/begin(for:boundTo:parameters:at:)``.
  var context: String
  /// The ID token, for a sign-out at the provider; `nil` for OAuth providers.
  var idToken: Secret?
}

/// A sign-in at a provider that failed. The texts say why, for logs: no tokens, and nothing of a response but its error code.
enum UpstreamError: Error, Sendable, Hashable {
  /// The provider could not be reached, or could not answer. Another attempt may help.
  case unavailable(String)
  /// The provider, or its user, has refused: the code of the provider, such as `access_denied` (RFC 6749 section 4.1.2.1).
  case refused(String)
  /// The browser has no such sign-in: it took too long, or was begun in another browser.
  case noAttempt
  /// The response is not valid, or belongs to another sign-in or provider.
  case invalid(String)

  /// The code in responses and on pages.
  var code: String {
    switch self {
    case .unavailable: "upstream_unavailable"
    case .refused: "upstream_refused"
    case .noAttempt, .invalid: "upstream_invalid"
    }
  }

  init(_ error: SessionError) {
    self =
      switch error {
      case .requestFailed(.configuration(let response), _): .refused(UpstreamError.shown(response.error ?? ""))
      case .requestFailed(.network(let failure), _): .unavailable("\(failure)")
      case .requestFailed(.server(let response), _): .unavailable("the provider returned \(response.status)")
      case .refused(let code, _): .refused(UpstreamError.shown(code))
      case .invalidResponse(let why): .invalid(why)
      case .unsupported(let feature): .unavailable("the provider does not offer \(feature)")
      case .requestFailed, .signedOut, .sessionEnded, .noRefreshToken, .storage, .storageOutdated, .tokenRejected,
        .presence, .redirect, .contentFailed, .cancelled:
        .unavailable(error.code)
      }
  }

  static func mapping<Success: Sendable>(
    _ step: () async throws(SessionError) -> Success
  ) async throws(UpstreamError) -> Success {
    do throws(SessionError) { return try await step() } catch { throw UpstreamError(error) }
  }

  /// A code of strangers, as far as a log can show it.
  private static func shown(_ code: String) -> String {
    let text = code.utf8.prefix(64).filter { (33...126).contains($0) }
    return text.isEmpty ? "no code" : String(decoding: text, as: UTF8.self)
  }
}
#endif
