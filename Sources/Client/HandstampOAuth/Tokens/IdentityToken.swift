import Foundation
import HandstampCore
import HandstampSupport

/// The signed-in user, from the ID token of an OpenID Connect server.
///
/// The signature is not verified: the token comes directly from the server's token endpoint over TLS, which is sufficient
/// (OpenID Connect Core 1.0 section 3.1.3.7, item 6). Never use it with a token from another source.
struct IdentityToken: Sendable, Hashable {
  let profile: Profile
  /// Whether the token has a name for the user; if not, the profile is named like its ID.
  let hasName: Bool
  /// `exp`.
  private let end: UnixTime

  /// - Parameters:
  ///   - nonce: the nonce that was sent; `nil` for a flow without one.
  ///   - served: the server's clock, from its response. The device's own may be wrong, and is not used.
  init(
    _ text: String, from server: ServerMetadata, client: String, nonce: String?, served: UnixTime?
  ) throws(SessionError) {
    guard let claims = Claims(text) else { throw .invalidResponse("not a valid ID token") }
    try claims.check(server, client: client)
    // If no nonce was sent, none is expected; otherwise exactly that one (section 3.1.3.7, item 11).
    guard nonce == nil || claims.nonce != nil else {
      throw .invalidResponse("the ID token lacks the nonce that was sent with the request")
    }
    guard nonce == nil || claims.nonce == nonce else {
      throw .invalidResponse("the ID token belongs to another sign-in")
    }
    end = claims.end
    if let served, end <= served { throw .invalidResponse("the ID token has expired") }
    profile = try claims.profile
    hasName = claims.displayName != nil
  }

  /// The token in the response to a refresh. Its age does not count: some servers send that of the sign-in again. `nil` if it cannot be
  /// read, because it is encrypted, for example: then it contradicts nothing.
  init?(refreshed text: String, from server: ServerMetadata, client: String) throws(SessionError) {
    guard let claims = Claims(text) else { return nil }
    try claims.check(server, client: client)
    end = claims.end
    profile = try claims.profile
    hasName = claims.displayName != nil
  }

  /// The token for the session; `nil` if it has expired, or could not stand in a header.
  func idToken(_ text: String, at now: UnixTime) -> IDToken? {
    let secret = Secret(text)
    guard end > now, secret.isToken, secret.count <= 256 << 10 else { return nil }
    return IDToken(secret, expiresIn: end.since(now))
  }

  private struct Claims {
    let iss: String
    let sub: String
    /// `aud`, which names one client or several.
    let audiences: [String]
    /// `exp`.
    let end: UnixTime
    let azp: String?
    let nonce: String?
    /// The user's tenant, at Microsoft.
    let tid: String?
    let displayName: String?

    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
        let members = try? JSONDecoder().decode([String: Member].self, from: Data(payload)),
        case .text(let iss) = members["iss"], case .text(let sub) = members["sub"], let aud = members["aud"],
        let seconds = members["exp"]?.number
      else { return nil }
      (self.iss, self.sub) = (iss, sub)
      switch aud {
      case .text(let one): audiences = [one]
      case .list(let several): audiences = several
      case .flag, .whole, .fraction, .object, .other: return nil
      }
      end = UnixTime(seconds: Int64(max(0, min(seconds, 1e12))))
      azp = members["azp"]?.word
      nonce = members["nonce"]?.word
      tid = members["tid"]?.word
      displayName = ["name", "preferred_username", "email"].lazy.compactMap { members[$0]?.word }.first { $0.isShown }
    }

    /// Audiences that the issuer names beside this client in a token from its own endpoint are its own business; an `azp` that names
    /// another client is not.
    func check(_ server: ServerMetadata, client: String) throws(SessionError) {
      // Without a tenant of its own, a token of several tenants' issuer could be any one's.
      guard server.isNamed(iss, tenant: tid ?? "") else {
        throw .invalidResponse("the ID token is from another issuer")
      }
      guard audiences.contains(client), azp ?? client == client else {
        let names = audiences.contains(client) ? [azp ?? ""] : audiences
        throw .invalidResponse("the ID token is for another client, \(names.quoted); this client is \"\(client)\"")
      }
    }

    var profile: Profile {
      get throws(SessionError) {
        guard AccountID(sub).namesSomebody else { throw .invalidResponse("the ID token has no subject") }
        return Profile(id: AccountID(sub), name: displayName ?? sub)
      }
    }
  }
}

extension [String] {
  /// The first ones for a message, without control characters.
  fileprivate var quoted: String {
    prefix(3).map { "\"" + $0.unicodeScalars.prefix(100).map { $0.value < 32 ? "?" : String($0) }.joined() + "\"" }
      .joined(separator: ", ")
  }
}

extension AccountID {
  /// Whether it can identify a user. The standard allows at most 255 bytes (OpenID Connect Core 1.0 section 2); slightly longer
  /// IDs are accepted, control characters are not.
  var namesSomebody: Bool {
    !rawValue.isEmpty && rawValue.utf8.count <= 1024 && rawValue.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
  }
}
