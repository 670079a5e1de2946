#if Server
import HandstampCore
import HandstampOAuth
import HandstampRegistry
import HandstampSupport

extension UpstreamSignIn {
  /// The user of an OpenID provider. An address and a name that the ID token leaves out are asked for.
  func user(
    _ answer: TokenResponseBody, nonce: String, _ backend: OAuthBackend, at time: ServerClock.Reading
  ) async throws(UpstreamError) -> UpstreamUser {
    guard let token = answer.id_token else { throw .invalid("the response has no ID token") }
    let claims = try await claims(
      of: Secret(token), for: [provider.clientID], nonce: nonce, as: .plain, backend, at: time)
    var user = UpstreamUser(claims, of: provider)
    guard user.email == nil || user.name == nil, let endpoint = try? await backend.metadata().userInfoEndpoint,
      // The token alone says who the user is, so a failure costs only these two.
      let response = try? await backend.resource(at: endpoint, with: answer.access_token),
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
    do throws(TokenError) { return try await tokens.verify(token, nonce: nonce, at: time) } catch {
      guard case .keysUnavailable(let cause) = error else { throw .invalid("the ID token is not valid") }
      throw .unavailable(cause)
    }
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
#endif
