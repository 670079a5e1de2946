import HandstampCore
import HandstampSupport

extension OAuthBackend {
  /// Asks for a token of the client itself.
  ///
  /// - Parameter fields: the grant, without scope and resources.
  /// - Throws: ``SessionError/refused(code:detail:)``, ``SessionError/requestFailed(_:retryAfter:)``, or
  ///   ``SessionError/invalidResponse(_:)``.
  func ownTokens(_ fields: [(String, Secret)]) async throws(SessionError) -> TokenSet {
    let metadata = try await metadata()
    var fields = fields
    if !client.scopes.isEmpty { fields.append(("scope", Secret(client.scopes.joined(separator: " ")))) }
    for resource in client.resources { fields.append(("resource", Secret(resource))) }
    for (name, value) in client.parameters.sorted(by: { $0.key < $1.key })
    where !fields.contains(where: { $0.0 == name }) {
      fields.append((name, Secret(value)))
    }
    let response = try await post(fields, to: metadata.tokenEndpoint)
    guard case .tokens(let found) = EndpointWord(response) else {
      throw SessionError(asking: response, at: time.now())
    }
    return try checked(found, of: metadata).tokens
  }
}
