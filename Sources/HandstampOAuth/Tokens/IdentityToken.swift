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
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
      let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload))
    else { throw .invalidResponse("not a valid ID token") }
    guard claims.iss == issuer else { throw .invalidResponse("the ID token is from another issuer") }
    let audience = claims.aud.list
    guard audience.contains(client), audience.count == 1 || claims.azp == client, claims.azp ?? client == client else {
      throw .invalidResponse("the ID token is for another client")
    }
    // If no nonce was sent, none is expected; otherwise exactly that one.
    guard nonce == nil || claims.nonce == nonce else {
      throw .invalidResponse("the ID token belongs to another sign-in")
    }
    if let served, claims.exp.isFinite, UnixTime(seconds: Int64(max(0, min(claims.exp, 1e12)))) <= served {
      throw .invalidResponse("the ID token has expired")
    }
    guard AccountID(claims.sub).namesSomebody else { throw .invalidResponse("the ID token has no subject") }
    profile = Profile(id: AccountID(claims.sub), name: claims.displayName ?? claims.sub)
  }

  private struct Claims: Decodable {
    var iss: String
    var sub: String
    var aud: Audience
    var exp: Double
    var azp: String?
    var nonce: String?
    var name: String?
    var preferred_username: String?
    var email: String?
    var displayName: String? { name ?? preferred_username ?? email }
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
  var sub: String
  var name: String?
  var preferred_username: String?
  var email: String?

  init?(_ body: [UInt8]) {
    guard let info = try? JSONDecoder().decode(UserInfo.self, from: Data(body)), AccountID(info.sub).namesSomebody
    else { return nil }
    self = info
  }

  var profile: Profile { Profile(id: AccountID(sub), name: name ?? preferred_username ?? email ?? sub) }
}

extension AccountID {
  /// Whether it can identify a user. The standard allows at most 255 bytes (OpenID Connect Core 1.0 section 2); slightly longer
  /// IDs are accepted, control characters are not.
  var namesSomebody: Bool {
    !rawValue.isEmpty && rawValue.utf8.count <= 1024 && rawValue.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
  }
}
