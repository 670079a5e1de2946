#if Server
import HandstampRegistry

/// The scope and resource that a token request asks for: less than was granted, or another of the client's APIs (RFC 6749
/// section 6, RFC 8707 section 2.2).
struct TokenScopeRequest: Sendable {
  private let scope: String?
  private let resource: String?
  private let issuer: String
  private let audiences: [String]
  /// The scopes that the client is configured with; `nil` for the server's own app.
  private let scopes: [String]?

  /// - Parameter scope: the requested scope; only a refresh has one.
  /// - Throws: `invalid_target` if the form names several resources.
  init(
    _ form: FormFields, of client: ConfiguredClient?, at issuer: String, scope: String? = nil
  ) throws(OAuthError) {
    self.scope = scope
    resource = try form.resource()
    self.issuer = issuer
    audiences = client?.audiences ?? []
    scopes = client?.scopes
  }

  /// The refusal of a request that asks for more. Without a scope in it, only the API of the session can be the reason.
  private var refusal: GrantRefusal { resource != nil || scope == nil ? .invalidTarget : .invalidScope }

  /// Returns the grant of the new token: the session's own, or less.
  ///
  /// - Parameter client: the session's grant; `nil` for the server's own app.
  /// - Throws: if the session was not granted this.
  func narrowed(_ client: SessionClient?) throws(GrantRefusal) -> SessionClient? {
    let lost = lostScopes(of: client)
    guard scope != nil || resource != nil || !lost.isEmpty || hasLostAudience(client) else { return client }
    guard let client else {
      // The server's own app has no scopes and only one API.
      guard scope == nil, resource == issuer else { throw refusal }
      return nil
    }
    guard !hasLostAudience(client) else { throw refusal }
    let granted = client.scope.split(separator: " ")
    var asked: [Substring] = []
    for scope in scope?.split(separator: " ") ?? granted where !asked.contains(scope) { asked.append(scope) }
    // Libraries repeat the scopes of their first request, of which those were left out that the client may not request.
    if let scopes { asked.removeAll { !scopes.contains(String($0)) && !granted.contains($0) } }
    guard asked.allSatisfy({ granted.contains($0) }) else { throw refusal }
    asked.removeAll { lost.contains($0) }
    // None of those that were asked for is left.
    guard !asked.isEmpty || scope == nil || granted.isEmpty else { throw refusal }
    let audience = resource ?? client.audience
    if let resource, resource != client.audience ?? issuer {
      guard client.audience == nil, audiences.contains(resource) else { throw refusal }
    }
    return SessionClient(
      id: client.id, scope: asked.joined(separator: " "), audience: audience == issuer ? nil : audience)
  }
}

extension TokenScopeRequest {
  /// The scopes that the operator has taken from the client since the session began.
  private func lostScopes(of client: SessionClient?) -> Set<Substring> {
    guard let scopes, let client else { return [] }
    return Set(client.scope.split(separator: " ")).filter { !scopes.contains(String($0)) }
  }

  private func hasLostAudience(_ client: SessionClient?) -> Bool {
    guard scopes != nil, let audience = client?.audience else { return false }
    return !audiences.contains(audience)
  }
}

extension FormFields {
  /// Returns the requested API (RFC 8707), or `nil` if the form names none.
  ///
  /// - Throws: `invalid_target` for several: a token of this server is for one API.
  func resource() throws(OAuthError) -> String? {
    let resources = resources
    guard resources.count <= 1 else {
      throw OAuthError("invalid_target", description: "request a token for one resource at a time")
    }
    return resources.first
  }
}
#endif
