import Foundation
import HandstampCore

/// Who signed in, as an OpenID Connect server says in its ID token.
///
/// The signature is not looked at: the token came straight from the server's token endpoint over TLS, which is as good (OpenID
/// Connect Core 1.0 section 3.1.3.7, item 6). Such a token must come from nowhere else.
struct IdentityToken: Sendable, Hashable {
  let profile: Profile

  /// - Parameters:
  ///   - nonce: the one that was sent; nothing for a flow without one.
  ///   - served: the server's clock, as its answer says it. A device's own may be wrong, and is not asked.
  init(
    _ text: String, issuer: String, client: String, nonce: String?, served: UnixTime?
  ) throws(SessionError) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
      let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload))
    else { throw .invalidAnswer("an ID token that is none") }
    guard claims.iss == issuer else { throw .invalidAnswer("the ID token is of another issuer") }
    let audience = claims.aud.list
    guard audience.contains(client), audience.count == 1 || claims.azp == client, claims.azp ?? client == client else {
      throw .invalidAnswer("the ID token is for another client")
    }
    // Without a nonce sent none is expected; with one, exactly that.
    guard nonce == nil || claims.nonce == nonce else { throw .invalidAnswer("the ID token is of another sign-in") }
    if let served, claims.exp.isFinite, UnixTime(seconds: Int64(max(0, min(claims.exp, 1e12)))) <= served {
      throw .invalidAnswer("the ID token is over")
    }
    guard AccountID(claims.sub).namesSomebody else { throw .invalidAnswer("an ID token about nobody") }
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

/// Who somebody is, as the userinfo endpoint says (OpenID Connect Core 1.0 section 5.3.2).
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
  /// Whether it can be a person's. The standard has 255 bytes at most (OpenID Connect Core 1.0 section 2); some more are let
  /// pass, and no control character.
  var namesSomebody: Bool {
    !rawValue.isEmpty && rawValue.utf8.count <= 1024 && rawValue.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
  }
}
