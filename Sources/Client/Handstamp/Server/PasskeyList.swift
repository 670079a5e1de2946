import Foundation
public import HandstampCore
import HandstampSupport

/// The passkeys of an account at Handstamp's own server, see ``SessionManager/passkeys()``.
public struct PasskeyList: Sendable, Hashable {
  /// A passkey, on whichever device.
  public struct Passkey: Sendable, Hashable, Identifiable {
    /// The credential ID, in base64url without padding.
    public let id: String
    /// The name of the password manager or of the device that it was added on.
    public let name: String
    /// `nil` if it was never used.
    public let lastUsedAt: UnixTime?
    package let createdAt: UnixTime

    package init(id: String, name: String, createdAt: UnixTime, lastUsedAt: UnixTime? = nil) {
      self.id = id
      self.name = name
      self.createdAt = createdAt
      self.lastUsedAt = lastUsedAt
    }
  }

  /// The oldest first.
  public let passkeys: [Passkey]
  /// The domain that they belong to (_RP ID_).
  package let domain: String
  /// The account as credential managers know it (_user handle_).
  package let user: [UInt8]

  package init(passkeys: [Passkey], domain: String, user: [UInt8]) {
    self.passkeys = passkeys
    self.domain = domain
    self.user = user
  }

  /// Reads the response of `/v1/passkeys`.
  init(_ response: TransportResponse) throws(SessionError) {
    let body = try response.content(Body.self, else: "malformed list of passkeys")
    guard let user = Base64URL.decode(body.user_handle) else { throw .invalidResponse("malformed list of passkeys") }
    let passkeys = body.passkeys.map { item in
      Passkey(
        id: item.id, name: item.name, createdAt: UnixTime(milliseconds: item.created_at_ms),
        lastUsedAt: item.last_used_at_ms.map { UnixTime(milliseconds: $0) })
    }
    self.init(passkeys: passkeys, domain: body.rp_id, user: user)
  }
}

private struct Body: Decodable {
  struct Item: Decodable {
    var id: String
    var name: String
    var created_at_ms: Int64
    var last_used_at_ms: Int64?
  }
  var rp_id: String
  var user_handle: String
  var passkeys: [Item]
}
