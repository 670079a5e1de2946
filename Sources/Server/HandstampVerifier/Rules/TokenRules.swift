#if Verifier
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// The rules for an access token of RFC 9068 (section 4) besides its signature. Pure: the caller has the time and the key.
struct TokenRules: Sendable {
  let issuer: String
  let audiences: Set<String>
  let algorithms: Set<JWSAlgorithm>
  let leeway: Duration
  let firstPartyClients: Set<String>

  /// Checks what the header says, before any key is looked up.
  func check(_ header: JWSHeader) throws(AccessError) {
    guard algorithms.contains(header.algorithm) else { throw .tokenInvalid(.algorithm) }
    guard let type = header.type, TokenRules.isAccessToken(type) else { throw .tokenInvalid(.type) }
  }

  /// Media types compare without case, and may have their prefix (RFC 7515 section 4.1.9).
  private static func isAccessToken(_ type: String) -> Bool {
    // The spelling of nearly all tokens.
    if type == "at+jwt" { return true }
    let type = type.lowercased()
    return type == "at+jwt" || type == "application/at+jwt"
  }

  /// Returns the identity in a payload whose signature was verified.
  ///
  /// - Parameter published: the issuer as its metadata spells it; `nil` if that was not asked for.
  func identity(in payload: [UInt8], at now: UnixTime, from published: String? = nil) throws(AccessError)
    -> TokenIdentity
  {
    guard let json = JSONValue(payload), case .object = json else { throw .tokenInvalid(.claims) }
    guard let issuer = json["iss"]?.string else { throw .tokenInvalid(.claims) }
    // Bytes: `==` on strings treats other spellings of a character as the same.
    guard published?.utf8.elementsEqual(issuer.utf8) ?? self.issuer.isIssuer(published: issuer) else {
      throw .tokenInvalid(.issuer)
    }
    let audiences = try TokenRules.audiences(json["aud"])
    guard audiences.contains(where: { one in self.audiences.contains { $0.isIssuer(published: one) } }) else {
      throw .tokenInvalid(.audience)
    }
    guard let subject = json["sub"]?.string, !subject.isEmpty, let client = json["client_id"]?.string,
      let id = json["jti"]?.string, let end = TokenRules.time(json["exp"]), let start = TokenRules.time(json["iat"])
    else { throw .tokenInvalid(.claims) }
    let session = try TokenRules.optional(json["sid"]) { $0.string }
    let scope = try TokenRules.optional(json["scope"]) { $0.string }
    let proven = try TokenRules.optional(json["auth_time"], TokenRules.time)
    let acr = try TokenRules.optional(json["acr"]) { $0.string }
    let methods = try TokenRules.optional(json["amr"]) { $0.array?.compactMap(\.string) } ?? []
    let earliest = try TokenRules.optional(json["nbf"], TokenRules.time)
    let thumbprint = try TokenRules.thumbprint(json["cnf"])
    guard now < end.advanced(by: leeway) else { throw .tokenExpired(at: end) }
    if let earliest, now.advanced(by: leeway) < earliest { throw .tokenInvalid(.notYetValid) }
    return TokenIdentity(
      issuer: issuer, subject: subject, clientID: client, audiences: audiences,
      scopes: scope?.split(separator: " ").map(String.init) ?? [],
      hasAllScopes: scope == nil && firstPartyClients.contains(client), sessionID: session, tokenID: id,
      issuedAt: start, expiresAt: end, authenticatedAt: proven, acr: acr, methods: methods,
      keyThumbprint: thumbprint, claims: payload)
  }

  /// A string, or a list of strings (RFC 7519 section 4.1.3).
  private static func audiences(_ member: JSONValue?) throws(AccessError) -> [String] {
    if let one = member?.string { return [one] }
    guard let several = member?.array else { throw .tokenInvalid(.claims) }
    var audiences: [String] = []
    for value in several {
      guard let text = value.string else { throw .tokenInvalid(.claims) }
      audiences.append(text)
    }
    return audiences
  }

  /// The seconds of a `NumericDate`, rounded down, as long as they are in some century near this one.
  private static func time(_ member: JSONValue?) -> UnixTime? {
    guard let seconds = member?.number, seconds >= 0, seconds < 1e11 else { return nil }
    return UnixTime(seconds: Int64(seconds))
  }

  /// A claim that is there must have its type.
  private static func optional<Value>(
    _ member: JSONValue?, _ read: (JSONValue) -> Value?
  ) throws(AccessError) -> Value? {
    guard let member else { return nil }
    guard let value = read(member) else { throw .tokenInvalid(.claims) }
    return value
  }

  /// A token that is bound in a way that this verifier cannot check must not be accepted as if it were not bound.
  private static func thumbprint(_ member: JSONValue?) throws(AccessError) -> String? {
    guard let member else { return nil }
    guard case .object(let confirmation) = member, confirmation.count == 1, let thumbprint = confirmation["jkt"]?.string
    else { throw .tokenInvalid(.binding) }
    return thumbprint
  }
}
#endif
