#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

extension FormerSessions {
  /// Token exchange (RFC 8693 section 2.1).
  static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"
  static let refreshTokenType = "urn:ietf:params:oauth:token-type:refresh_token"
  static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
}

extension FormFields {
  /// The former system's refresh token.
  func formerToken() throws(OAuthError) -> Secret {
    guard self["subject_token_type"] == FormerSessions.refreshTokenType else {
      throw .invalidRequest("subject_token_type must be \(FormerSessions.refreshTokenType)")
    }
    guard self["actor_token"] == nil else { throw .invalidRequest("there are no actor tokens here") }
    guard let token = self["subject_token"].map({ Secret($0) }), token.isToken, token.count <= FormerToken.longest
    else {
      throw .invalidRequest("subject_token is missing or malformed")
    }
    return token
  }

  /// The session that the form asks for: an OAuth client's, with the scopes that it may have, or one of the server's own app, which
  /// describes its device.
  func formerOrigin(
    _ client: ConfiguredClient?, thumbprint: String?, isKeyed: Bool, at issuer: String
  ) throws -> FormerOrigin {
    guard let client else {
      let names = ["device_id", "device_name", "device_platform"].map { self[$0] ?? "" }
      guard names.allSatisfy(\.isLabel) else {
        throw OAuthError.invalidRequest("device_id, device_name and device_platform must be 1 to 200 characters")
      }
      let device = DeviceInfo(id: DeviceID(names[0]), name: names[1], platform: names[2])
      return FormerOrigin(SessionStart(device: device, thumbprint: thumbprint))
    }
    guard client.flows.contains(.former) else { throw OAuthError("unauthorized_client") }
    guard let scope = client.granted(self["scope"])?.scope else { throw OAuthError("invalid_scope") }
    let audience = try resource()
    guard audience.map({ $0 == issuer || client.audiences.contains($0) }) ?? true else {
      throw OAuthError("invalid_target")
    }
    return FormerOrigin(
      SessionStart(device: .none, kind: isKeyed ? .keyed : .plain, thumbprint: thumbprint),
      client: SessionClient(id: client.id, scope: scope, audience: audience == issuer ? nil : audience),
      clientName: client.name)
  }
}
#endif
