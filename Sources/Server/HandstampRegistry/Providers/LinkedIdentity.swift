public import HandstampCore
import HandstampSupport

/// A user of another identity provider who may sign in to an account. Belongs to one account at most.
public struct LinkedIdentity: Sendable, Hashable {
  /// How many an account may have.
  public static let most = 10

  public let identity: ExternalIdentity
  public let account: AccountID
  /// The provider's ID in the configuration; empty for one that was imported, or made again after a restore.
  public let provider: String
  /// How the provider calls the user: an address or a name. For the owner to read; it may be another by now.
  public let label: String
  public let createdAt: UnixTime
  /// `nil` if it was imported, or an administrator added it, and not used since.
  public var lastUsedAt: UnixTime?
  /// That of the stored item.
  var revision: Int64 = 0

  package init(
    _ identity: ExternalIdentity, of account: AccountID, provider: String = "", label: String = "",
    at createdAt: UnixTime
  ) {
    self.identity = identity
    self.account = account
    self.provider = provider
    self.label = label.displayable(limit: AccountRecord.maxUsername)
    self.createdAt = createdAt
  }

  /// Names the link on its owner's page. Tells nothing about the user.
  public var id: String { Base64URL.encode(StoredItemID(identity).bytes) }

  package var item: StoredItem {
    StoredItem(
      id: StoredItemID(identity), kind: .identity, subject: account.rawValue, payload: PayloadCoding.text(self),
      createdAt: createdAt, expiresAt: createdAt.advanced(by: StoredItem.forever), revision: revision)
  }
}

extension StoredItemID {
  /// The same for all accounts, so that an identity belongs to one.
  init(_ identity: ExternalIdentity) { self.init(.identity, identity.issuer, identity.subject) }
}

extension LinkedIdentity: ItemPayload {
  package var fields: [String: String?] {
    [
      "issuer": identity.issuer, "subject": identity.subject, "account": account.rawValue, "provider": provider,
      "label": label, "created": String(createdAt.milliseconds), "used": lastUsedAt.map { String($0.milliseconds) },
    ]
  }

  package init?(fields: [String: String]) {
    guard let issuer = fields["issuer"], let subject = fields["subject"], let account = fields["account"],
      let provider = fields["provider"], let label = fields["label"], let created = fields.time("created")
    else { return nil }
    self.init(
      ExternalIdentity(issuer: issuer, subject: subject), of: AccountID(account), provider: provider, label: label,
      at: created)
    lastUsedAt = fields.time("used")
  }
}

/// A sign-in at another identity provider whose response was verified.
public struct IdentityProof: Sendable, Hashable {
  public var identity: ExternalIdentity
  /// The provider's ID in the configuration.
  public var provider: String
  /// See ``LinkedIdentity/label``.
  public var label: String
  public var methods: AuthenticationMethods
  /// The provider's ID of its session (`sid`), if it has one.
  public var session: String?
  /// When the user signed in there; `nil` if the provider does not say.
  public var authenticatedAt: UnixTime?
  /// See ``UpstreamSession/askedAt``.
  package var askedAt: UnixTime?
  /// When a session that begins by it ends at the latest (IPSIE `session_expiry`).
  public var latestExpiry: UnixTime?
  /// Its own mark, if it could be presented again: it counts once.
  public var nonce: OneTimeTokenRecord?

  public init(
    _ identity: ExternalIdentity, provider: String, label: String, methods: AuthenticationMethods = [.federated],
    session: String? = nil, authenticatedAt: UnixTime? = nil, latestExpiry: UnixTime? = nil,
    nonce: OneTimeTokenRecord? = nil
  ) {
    self.identity = identity
    self.provider = provider
    self.label = label
    self.methods = methods
    self.session = session
    self.authenticatedAt = authenticatedAt
    self.latestExpiry = latestExpiry
    self.nonce = nonce
  }
}

/// The result of linking or unlinking an identity.
public enum IdentityChange: Sendable, Hashable {
  case done(LinkedIdentity)
  /// Another account has it. Nothing changed.
  case taken
  /// The account has ``LinkedIdentity/most``. Nothing changed.
  case tooMany
  /// It is the only way into the account. Nothing changed.
  case isLast
  /// The account has no such identity.
  case unknown
}
