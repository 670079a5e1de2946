public import HandstampCore
import HandstampSupport

/// A passkey of an account (WebAuthn Level 3 section 4, _credential record_). Nothing in it is secret.
///
/// The registry stores it, and knows nothing of signatures: who verifies them, and makes the values, is the server.
public struct PasskeyRecord: Sendable, Hashable, Identifiable {
  /// How many passkeys an account may have.
  public static let most = 20

  /// The credential ID that the authenticator has chosen, in base64url without padding.
  public let id: String
  public internal(set) var account: AccountID
  /// A `COSE_Key` (RFC 9052 section 7), as received.
  public let publicKey: [UInt8]
  /// The authenticator's signature counter at the last use; 0 for a passkey without one.
  public var signCount: UInt32
  /// Whether it may be copied to other devices. Never changes, except that the first use of one from another system may tell.
  public var isBackupEligible: Bool
  /// Whether it was copied at the last use.
  public var isBackedUp: Bool
  /// How clients reach the authenticator, such as `internal`.
  public let transports: [String]
  /// The name that its owner sees.
  public let name: String
  public let createdAt: UnixTime
  /// The name that its authenticator has for the account, if the passkey was made in another system; `nil` for the server's own.
  public var userHandle: [UInt8]?
  /// `nil` if it was never used.
  public var lastUsedAt: UnixTime?
  /// That of the stored item.
  var revision: Int64 = 0

  public init(
    id: String, account: AccountID, publicKey: [UInt8], signCount: UInt32, isBackupEligible: Bool, isBackedUp: Bool,
    transports: [String], name: String, createdAt: UnixTime
  ) {
    self.id = id
    self.account = account
    self.publicKey = publicKey
    self.signCount = signCount
    self.isBackupEligible = isBackupEligible
    self.isBackedUp = isBackedUp
    self.transports = transports
    self.name = name.displayable(limit: AccountRecord.maxUsername)
    self.createdAt = createdAt
  }

  var item: StoredItem {
    StoredItem(
      id: StoredItemID(.passkey, id), kind: .passkey, subject: account.rawValue, payload: PayloadCoding.text(self),
      createdAt: createdAt, expiresAt: createdAt.advanced(by: StoredItem.forever),
      revision: revision)
  }
}

extension PasskeyRecord: ItemPayload {
  package var fields: [String: String?] {
    [
      "id": id, "account": account.rawValue, "key": Base64URL.encode(publicKey), "count": String(signCount),
      "eligible": isBackupEligible ? "1" : nil, "backed": isBackedUp ? "1" : nil,
      "transports": transports.joined(separator: " "), "name": name, "created": String(createdAt.milliseconds),
      "used": lastUsedAt.map { String($0.milliseconds) }, "handle": userHandle.map { Base64URL.encode($0) },
    ]
  }

  package init?(fields: [String: String]) {
    guard let id = fields["id"], let account = fields["account"],
      let key = fields["key"].flatMap({ Base64URL.decode($0) }), let count = fields["count"].flatMap({ UInt32($0) }),
      let transports = fields["transports"], let name = fields["name"], let created = fields.time("created")
    else { return nil }
    self.init(
      id: id, account: AccountID(account), publicKey: key, signCount: count,
      isBackupEligible: fields["eligible"] != nil, isBackedUp: fields["backed"] != nil,
      transports: transports.split(separator: " ").map(String.init), name: name, createdAt: created)
    lastUsedAt = fields.time("used")
    userHandle = fields["handle"].flatMap { Base64URL.decode($0) }
  }
}
