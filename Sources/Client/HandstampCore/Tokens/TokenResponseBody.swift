/// The response of a token endpoint (RFC 6749 section 5.1), with the additions of Handstamp's server and of others.
package struct TokenResponseBody: Decodable, Sendable {
  private struct Person: Decodable {
    var id: AccountID
    var name: String
    var is_anonymous: Bool?
  }
  package var access_token: String
  /// `nil` if it is missing, which RFC 6749 does not allow.
  package var token_type: String?
  /// Up to 30 years; `nil` if it is missing or not a positive number.
  package var expires_in: Duration?
  package var refresh_token: String?
  package var scope: String?
  package var id_token: String?
  /// Handstamp's addition, as the next three.
  package var session_id: SessionID?
  package var revocation_handle: String?
  package var profile: Profile?
  /// Whether the request's rotation key was used.
  package var handstamp_rotation_key: Bool?

  private enum CodingKeys: String, CodingKey {
    case access_token, token_type, expires_in, refresh_token, scope, id_token, session_id, revocation_handle, profile
    case handstamp_rotation_key, authed_user
  }

  package init(from decoder: any Decoder) throws {
    var values = try decoder.container(keyedBy: CodingKeys.self)
    // Slack puts all that belongs to the user's token there.
    if values.word(.access_token) == nil,
      let user = try? values.nestedContainer(keyedBy: CodingKeys.self, forKey: .authed_user)
    {
      values = user
    }
    guard let access = values.word(.access_token) else {
      throw DecodingError.keyNotFound(
        CodingKeys.access_token, .init(codingPath: decoder.codingPath, debugDescription: "no access_token"))
    }
    access_token = access
    token_type = values.word(.token_type)
    // With zero, such servers mean that they do not say.
    expires_in = values.number(.expires_in).flatMap { $0 > 0 ? .seconds(min($0, 1e9)) : nil }
    refresh_token = values.word(.refresh_token)
    scope = values.word(.scope)
    id_token = values.word(.id_token)
    // Other servers may use these names differently.
    session_id = values.word(.session_id).map { SessionID($0) }
    revocation_handle = values.word(.revocation_handle)
    let person = try? values.decodeIfPresent(Person.self, forKey: .profile)
    profile = person.map { Profile(id: $0.id, name: $0.name, isAnonymous: $0.is_anonymous ?? false) }
    handstamp_rotation_key = try? values.decodeIfPresent(Bool.self, forKey: .handstamp_rotation_key)
  }

  /// The error of a response without a type.
  package static let lacksType = "the response has no token_type, which RFC 6749 requires"

  /// Whether a text may be sent in a form as a refresh token: printable ASCII with spaces (RFC 6749 appendix A.17).
  package static func isRefreshToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (32...126).contains($0) }
  }

  /// Whether every token may stand where it is sent: in a header printable ASCII without spaces (RFC 6750 section 2.1), because other
  /// characters could break out of it.
  package var hasValidTokens: Bool {
    [access_token, revocation_handle].compactMap { $0 }.allSatisfy { Secret($0).isToken }
      && refresh_token.map(TokenResponseBody.isRefreshToken) ?? true
  }

  /// The response without Handstamp's additions.
  package var withoutAdditions: TokenResponseBody {
    var body = self
    body.session_id = nil
    body.revocation_handle = nil
    body.profile = nil
    body.handstamp_rotation_key = nil
    return body
  }

  package var tokens: TokenSet {
    TokenSet(
      access: AccessToken(access_token), expiresIn: expires_in, refresh: refresh_token.map { RefreshToken($0) })
  }
}

/// An error of RFC 6749 section 5.2, with whatever status, and whatever stands beside it.
package struct TokenRefusal: Decodable, Sendable {
  package var error: String
  /// Handstamp's addition: `superseded`.
  package var error_code: String?
  package var error_description: String?
  /// Handstamp's addition: an ``EndReason``.
  package var reason: String?
  /// Handstamp's addition: the name of the provider where the session ended.
  package var provider: String?
  /// Microsoft's addition to `invalid_grant`, such as `consent_required`.
  package var suberror: String?
  /// The interval of further polling, in seconds, which some servers name beside `slow_down`.
  package var interval: Double?

  private enum CodingKeys: String, CodingKey {
    case error, error_code, error_description, reason, provider, suberror, interval
  }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    guard let error = values.word(.error) else {
      throw DecodingError.keyNotFound(
        CodingKeys.error, .init(codingPath: decoder.codingPath, debugDescription: "no error"))
    }
    self.error = error
    error_code = values.word(.error_code)
    error_description = values.word(.error_description)
    reason = values.word(.reason)
    provider = values.word(.provider)
    suberror = values.word(.suberror)
    interval = values.number(.interval)
  }
}

extension KeyedDecodingContainer {
  /// A member as servers write it: `nil` if it is missing, `null`, empty or of another type.
  package func word(_ key: Key) -> String? {
    (try? decodeIfPresent(String.self, forKey: key)).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// A number, also one that is written as a text; `nil` for anything else.
  package func number(_ key: Key) -> Double? {
    let number =
      (try? decodeIfPresent(Double.self, forKey: key))
      ?? (try? decodeIfPresent(String.self, forKey: key)).flatMap { Double($0) }
    return number.flatMap { $0.isFinite ? $0 : nil }
  }
}
