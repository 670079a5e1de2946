import Foundation
import HandstampCore
import HandstampSupport

/// The signed-in user, from the ID token of an OpenID Connect server.
///
/// The signature is not verified: the token comes directly from the server's token endpoint over TLS, which is sufficient
/// (OpenID Connect Core 1.0 section 3.1.3.7, item 6). Never use it with a token from another source.
struct IdentityToken: Sendable, Hashable {
  let profile: Profile

  /// - Parameters:
  ///   - nonce: the nonce that was sent; `nil` for a flow without one.
  ///   - served: the server's clock, from its response. The device's own may be wrong, and is not used.
  init(
    _ text: String, issuer: String, client: String, nonce: String?, served: UnixTime?
  ) throws(SessionError) {
    guard let claims = Claims(text) else { throw .invalidResponse("not a valid ID token") }
    try claims.check(issuer: issuer, client: client)
    // If no nonce was sent, none is expected; otherwise exactly that one.
    guard nonce == nil || claims.nonce == nonce else {
      throw .invalidResponse("the ID token belongs to another sign-in")
    }
    if let served, UnixTime(seconds: Int64(max(0, min(claims.exp, 1e12)))) <= served {
      throw .invalidResponse("the ID token has expired")
    }
    profile = try claims.profile
  }

  /// The token in the answer to a refresh. Its age does not count: some servers send that of the sign-in again. `nil` if it cannot be
  /// read, because it is encrypted, for example: then it contradicts nothing.
  init?(refreshed text: String, issuer: String, client: String) throws(SessionError) {
    guard let claims = Claims(text) else { return nil }
    try claims.check(issuer: issuer, client: client)
    profile = try claims.profile
  }

  private struct Claims: Decodable {
    var iss: String
    var sub: String
    var aud: Audience
    var exp: Double
    var azp: String?
    var nonce: String?
    var displayName: String?

    private enum CodingKeys: String, CodingKey { case iss, sub, aud, exp, azp, nonce, name, preferred_username, email }

    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
        let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload))
      else { return nil }
      self = claims
    }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      iss = try values.decode(String.self, forKey: .iss)
      sub = try values.decode(String.self, forKey: .sub)
      aud = try values.decode(Audience.self, forKey: .aud)
      guard let seconds = values.number(.exp) else {
        throw DecodingError.keyNotFound(
          CodingKeys.exp, .init(codingPath: decoder.codingPath, debugDescription: "no exp"))
      }
      exp = seconds
      azp = values.word(.azp)
      nonce = values.word(.nonce)
      displayName = values.word(.name) ?? values.word(.preferred_username) ?? values.word(.email)
    }

    /// Audiences that the issuer names beside this client in a token from its own endpoint are its own business; an `azp` that names
    /// another client is not.
    func check(issuer: String, client: String) throws(SessionError) {
      guard iss == issuer else { throw .invalidResponse("the ID token is from another issuer") }
      guard aud.list.contains(client), azp ?? client == client else {
        throw .invalidResponse("the ID token is for another client")
      }
    }

    var profile: Profile {
      get throws(SessionError) {
        guard AccountID(sub).namesSomebody else { throw .invalidResponse("the ID token has no subject") }
        return Profile(id: AccountID(sub), name: displayName ?? sub)
      }
    }
  }

  private enum Audience: Decodable {
    case one(String)
    case several([String])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let one = try? container.decode(String.self) {
        self = .one(one)
      } else {
        self = .several(try container.decode([String].self))
      }
    }

    var list: [String] {
      switch self {
      case .one(let text): [text]
      case .several(let list): list
      }
    }
  }
}

/// The user, from the userinfo endpoint (OpenID Connect Core 1.0 section 5.3.2).
struct UserInfo: Decodable {
  let profile: Profile

  private enum CodingKeys: String, CodingKey { case sub, name, preferred_username, email }

  init?(_ response: TransportResponse) {
    guard let info = response.decoded(UserInfo.self), info.profile.id.namesSomebody else { return nil }
    self = info
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    let sub = try values.decode(String.self, forKey: .sub)
    let name = values.word(.name) ?? values.word(.preferred_username) ?? values.word(.email)
    profile = Profile(id: AccountID(sub), name: name ?? sub)
  }
}

extension AccountID {
  /// Whether it can identify a user. The standard allows at most 255 bytes (OpenID Connect Core 1.0 section 2); slightly longer
  /// IDs are accepted, control characters are not.
  var namesSomebody: Bool {
    !rawValue.isEmpty && rawValue.utf8.count <= 1024 && rawValue.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
  }
}
