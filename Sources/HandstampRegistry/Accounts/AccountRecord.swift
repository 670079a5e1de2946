public import HandstampCore

/// One person's account.
public struct AccountRecord: Sendable, Hashable {
  public let id: AccountID
  /// Nothing for an account that has none, such as a guest's.
  public var email: EmailAddress?
  /// Whom another identity provider says that the account is of. Two accounts never have the same.
  public var identity: ExternalIdentity?
  /// The most bytes of a ``username``.
  public static let maxUsername = 200

  /// The name that others see. Not unique. Control characters are taken out, and what is too long is cut.
  public var username: String { didSet { username = username.displayable(limit: AccountRecord.maxUsername) } }
  /// The encoded hash of the password (`$argon2id$…`). Nothing when the account has no password.
  public var passwordHash: Secret?
  public let createdAt: UnixTime
  /// When the account was closed; nothing while it is open. A closed account keeps its address, a deleted one has none.
  public var closedAt: UnixTime?
  /// One more with every write.
  public var revision: Int64

  public init(
    id: AccountID, email: EmailAddress?, identity: ExternalIdentity? = nil, username: String, passwordHash: Secret?,
    createdAt: UnixTime, closedAt: UnixTime? = nil, revision: Int64 = 0
  ) {
    self.id = id
    self.email = email
    self.identity = identity
    self.username = username.displayable(limit: AccountRecord.maxUsername)
    self.passwordHash = passwordHash
    self.createdAt = createdAt
    self.closedAt = closedAt
    self.revision = revision
  }

  /// Whether nothing but its sessions leads to this account: nobody can sign in to it a second time.
  public var isGuest: Bool { email == nil && identity == nil }
}

/// Somebody, as another identity provider names them: never an address, which may change hands.
public struct ExternalIdentity: Sendable, Hashable {
  /// The `iss` of the provider's tokens.
  public let issuer: String
  /// The `sub` of the provider's tokens.
  public let subject: String

  public init(issuer: String, subject: String) {
    self.issuer = issuer
    self.subject = subject
  }

  /// Both in one text that no other pair makes, for a store's index.
  public var key: String { "\(issuer.utf8.count):\(issuer)\(subject)" }

  /// Reads a ``key``.
  public init?(key: String) {
    guard let colon = key.utf8.firstIndex(of: UInt8(ascii: ":")), let size = Int(key[..<colon]), size >= 0 else {
      return nil
    }
    let rest = key.utf8[key.utf8.index(after: colon)...]
    guard size <= rest.count, let issuer = String(rest.prefix(size)), let subject = String(rest.dropFirst(size)) else {
      return nil
    }
    self.init(issuer: issuer, subject: subject)
  }
}
