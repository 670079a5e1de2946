import Foundation
package import HandstampCore

/// An authorization server's verdict on an access token.
package enum TokenVerdict: Sendable, Hashable {
  case accepted, refused
  /// The server offers no way to ask, or not to this client.
  case unknown
}

extension OAuthBackend {
  /// Asks the server whether it accepts `token`: at its userinfo endpoint (OpenID Connect Core 1.0 section 5.3), otherwise by
  /// introspection (RFC 7662).
  ///
  /// - Throws: ``SessionError/requestFailed(_:retryAfter:)`` without a response, and for one that does not
  ///   concern the token, such as 429 and 503.
  @concurrent package func verdict(on token: AccessToken) async throws(SessionError) -> TokenVerdict {
    let metadata = try await metadata()
    if let endpoint = metadata.userInfoEndpoint {
      let verdict = try await userInfoVerdict(on: token, at: endpoint)
      if verdict != .unknown { return verdict }
    }
    guard let endpoint = metadata.introspectionEndpoint else { return .unknown }
    let response = try await post([("token", token.secret), ("token_type_hint", Secret("access_token"))], to: endpoint)
    return try OAuthBackend.introspectionVerdict(response)
  }

  private func userInfoVerdict(
    on token: AccessToken, at endpoint: String
  ) async throws(SessionError) -> TokenVerdict {
    let response = try await send("GET", to: endpoint, with: token.secret)
    switch response.status {
    // The page of a captive portal is not user information. Some servers sign their response (section 5.3.2).
    case 200:
      let isSigned = response.header("Content-Type")?.lowercased().hasPrefix("application/jwt") == true
      if isSigned || UserInfo(response, client.traits) != nil { return .accepted }
      let error = response.decoded(TokenRefusal.self)?.error
      return error.map(client.traits.tokenRefusals.contains) == true ? .refused : .unknown
    // A token without this scope is not meant for this endpoint, and servers report that differently.
    case 401: return asksForUser ? .refused : .unknown
    case 429, 500...: throw .requestFailed(.server(.init(status: response.status)), retryAfter: response.retryDelay())
    default: return .unknown
    }
  }

  private static func introspectionVerdict(_ response: TransportResponse) throws(SessionError) -> TokenVerdict {
    struct Introspection: Decodable { var active: Bool }
    switch response.status {
    case 200:
      let found = try? JSONDecoder().decode(Introspection.self, from: Data(response.body))
      return found.map { $0.active ? .accepted : .refused } ?? .unknown
    case 429, 500...: throw .requestFailed(.server(.init(status: response.status)), retryAfter: response.retryDelay())
    // Many servers introspect only for resource servers (section 2.1).
    default: return .unknown
    }
  }
}
