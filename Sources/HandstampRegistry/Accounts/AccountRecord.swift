public import HandstampCore

/// One person's account.
public struct AccountRecord: Sendable, Hashable {
  public let id: AccountID
  /// Nothing for an account that has none, such as a guest's.
  public var email: EmailAddress?
  /// The most bytes of a ``username``.
  public static let maxUsername = 200

  /// The name that others see. Not unique. Control characters are taken out, and what is too long is cut.
  public var username: String { didSet { username = username.displayable(limit: AccountRecord.maxUsername) } }
  /// The encoded hash of the password (`$argon2id$…`). Nothing when the account has no password.
  public var passwordHash: Secret?
  public let createdAt: UnixTime
  /// When the account was closed; nothing while it is open. Its address stays taken.
  public var closedAt: UnixTime?
  /// One more with every write.
  public var revision: Int64

  public init(
    id: AccountID, email: EmailAddress?, username: String, passwordHash: Secret?, createdAt: UnixTime,
    closedAt: UnixTime? = nil, revision: Int64 = 0
  ) {
    self.id = id
    self.email = email
    self.username = username.displayable(limit: AccountRecord.maxUsername)
    self.passwordHash = passwordHash
    self.createdAt = createdAt
    self.closedAt = closedAt
    self.revision = revision
  }
}
