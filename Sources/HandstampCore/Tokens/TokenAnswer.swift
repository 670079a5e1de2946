/// The response of a token endpoint (RFC 6749 section 5.1), with the additions of Handstamp's server and of others.
package struct TokenAnswer: Decodable, Sendable {
  package struct Person: Decodable, Sendable {
    package var id: AccountID
    package var name: String
    package var is_anonymous: Bool?
  }
  package var access_token: String
  package var token_type: String
  /// From zero to 30 years; `nil` if it is missing or not such a number.
  package var expires_in: Duration?
  package var refresh_token: String?
  package var scope: String?
  package var id_token: String?
  /// Handstamp's addition, as the next three.
  package var session_id: SessionID?
  package var revocation_handle: String?
  package var profile: Person?
  /// Whether the request's rotation key was used.
  package var handstamp_rotation_key: Bool?

  private enum CodingKeys: String, CodingKey {
    case access_token, token_type, expires_in, refresh_token, scope, id_token, session_id, revocation_handle, profile
    case handstamp_rotation_key
  }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    access_token = try values.decode(String.self, forKey: .access_token)
    token_type = try values.decode(String.self, forKey: .token_type)
    // Some servers write the number as a string. A value that is not a number is ignored.
    let seconds =
      (try? values.decodeIfPresent(Double.self, forKey: .expires_in))
      ?? (try? values.decodeIfPresent(String.self, forKey: .expires_in)).flatMap { Double($0) }
    expires_in = seconds.flatMap { $0.isFinite && $0 >= 0 ? .seconds(min($0, 1e9)) : nil }
    refresh_token = try values.decodeIfPresent(String.self, forKey: .refresh_token)
    scope = try? values.decodeIfPresent(String.self, forKey: .scope)
    id_token = try? values.decodeIfPresent(String.self, forKey: .id_token)
    // Other servers may use these names differently.
    session_id = try? values.decodeIfPresent(SessionID.self, forKey: .session_id)
    revocation_handle = try? values.decodeIfPresent(String.self, forKey: .revocation_handle)
    profile = try? values.decodeIfPresent(Person.self, forKey: .profile)
    handstamp_rotation_key = try? values.decodeIfPresent(Bool.self, forKey: .handstamp_rotation_key)
  }

  /// Whether every token may stand in a header: printable ASCII without spaces (RFC 6750 section 2.1). Other characters could
  /// break out of it.
  package var hasValidTokens: Bool {
    [access_token, refresh_token, revocation_handle].compactMap { $0 }.allSatisfy { Secret($0).isToken }
  }

  /// The response without Handstamp's additions.
  package var withoutAdditions: TokenAnswer {
    var answer = self
    answer.session_id = nil
    answer.revocation_handle = nil
    answer.profile = nil
    answer.handstamp_rotation_key = nil
    return answer
  }

  package var tokens: TokenSet {
    TokenSet(
      access: AccessToken(access_token), expiresIn: expires_in, refresh: refresh_token.map { RefreshToken($0) })
  }
}

/// An error of RFC 6749 section 5.2.
package struct TokenRefusal: Decodable, Sendable {
  package var error: String
  /// Handstamp's addition: `superseded`.
  package var error_code: String?
  package var error_description: String?
  /// Handstamp's addition: an ``EndReason``.
  package var reason: String?
}
