public import HandstampCore
import HandstampSupport

/// A user's account.
public struct AccountRecord: Sendable, Hashable {
  public let id: AccountID
  /// `nil` for an account without an address, such as a guest account.
  public var email: EmailAddress?
  /// When the owner last showed to read the mails to ``email``; `nil` if that was never shown.
  public var emailConfirmedAt: UnixTime?
  /// The user's identity at another identity provider. Unique among accounts.
  public var identity: ExternalIdentity?
  /// The maximum length of a ``username``, in bytes.
  public static let maxUsername = 200

  /// The display name. Not unique. Control characters are removed, and long names are truncated.
  public var username: String { didSet { username = username.displayable(limit: AccountRecord.maxUsername) } }
  /// The encoded hash of the password (`$argon2id$…`). `nil` if the account has no password, such as one with passkeys alone.
  public var passwordHash: Secret?
  public let createdAt: UnixTime
  /// When the password was last changed or reset; `nil` if it never was.
  public var credentialsChangedAt: UnixTime?
  /// When the account was closed; `nil` while it is open. A closed account keeps its address, a deleted one has none.
  public var closedAt: UnixTime?
  /// The language that the owner wants to read, as the claim `locale`; `nil` if none was chosen.
  public var locale: LanguageTag?
  /// Incremented by every write.
  public var revision: Int64

  public init(
    id: AccountID, email: EmailAddress?, identity: ExternalIdentity? = nil, username: String, passwordHash: Secret?,
    createdAt: UnixTime, credentialsChangedAt: UnixTime? = nil, closedAt: UnixTime? = nil,
    emailConfirmedAt: UnixTime? = nil, locale: LanguageTag? = nil, revision: Int64 = 0
  ) {
    self.id = id
    self.email = email
    self.identity = identity
    self.username = username.displayable(limit: AccountRecord.maxUsername)
    self.passwordHash = passwordHash
    self.createdAt = createdAt
    self.credentialsChangedAt = credentialsChangedAt
    self.closedAt = closedAt
    self.emailConfirmedAt = emailConfirmedAt
    self.locale = locale
    self.revision = revision
  }

  /// Whether the account can be used.
  public enum State: String, Sendable, Hashable, CaseIterable {
    case active
    /// Closed, with an address or identity: it can be opened again.
    case disabled
    /// Closed without either, so that there is no way into it any more.
    case deleted
  }

  public var state: State { closedAt == nil ? .active : isGuest ? .deleted : .disabled }

  /// How long after a password was removed a mailed code may set another: long enough for the owner to undo what a stranger did.
  static let removalGrace = Duration.seconds(7 * 86_400)

  /// Whether a mailed code may set a password: not if the account signs in at another provider, nor if the owner has removed the
  /// password for good, and signs in with passkeys.
  func mayReset(with passkeys: [PasskeyRecord], at now: UnixTime) -> Bool {
    guard passwordHash == nil else { return true }
    guard identity == nil, email != nil else { return false }
    // Before the address was confirmed, a stranger may have set up the passkeys.
    return passkeys.isEmpty || emailConfirmedAt == nil
      || (credentialsChangedAt.map { now.since($0) < AccountRecord.removalGrace } ?? true)
  }

  /// Takes over the facts about the person that the account lacks, and returns their names for the audit log. A language is not among them:
  /// the owner may have removed it.
  mutating func fill(from imported: AccountRecord) -> [String] {
    let previous = self
    if username.isEmpty { username = imported.username }
    emailConfirmedAt = emailConfirmedAt ?? imported.emailConfirmedAt
    return [
      ("name", username != previous.username), ("confirmation", emailConfirmedAt != previous.emailConfirmedAt),
    ].filter(\.1).map(\.0)
  }

  /// Whether the account's sessions are the only way into it: there is no address or identity to sign in with again.
  public var isGuest: Bool { email == nil && identity == nil }
}

/// A language, with a script or a region where they matter, such as `de` or `pt-BR` (BCP 47).
public struct LanguageTag: RawRepresentable, Sendable, Hashable {
  public let rawValue: String

  /// Returns `nil` unless the text is a tag by its form (RFC 5646 section 2.1), in at most 35 bytes (section 4.4.1): a language of letters,
  /// and subtags of up to 8 letters and digits, the last of which is more than one.
  public init?(rawValue: String) {
    let subtags = rawValue.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard rawValue.utf8.count <= 35, let language = subtags.first, language.allSatisfy(\.isLetter),
      subtags.allSatisfy({ (1...8).contains($0.count) && $0.allSatisfy(\.isAlphanumeric) }),
      language.count > 1, subtags.last?.count != 1
    else { return nil }
    self.rawValue = rawValue
  }
}

/// A user as identified by another identity provider. Never an email address, which can be reassigned.
public struct ExternalIdentity: Sendable, Hashable {
  /// The `iss` of the provider's tokens.
  public let issuer: String
  /// The `sub` of the provider's tokens.
  public let subject: String

  public init(issuer: String, subject: String) {
    self.issuer = issuer
    self.subject = subject
  }

  /// Whether every store can hold it: without control characters, of which databases refuse some, and cut a text at others. A subject has
  /// at most 255 bytes (OpenID Connect Core 1.0 section 2).
  package var isStorable: Bool {
    (1...2048).contains(issuer.utf8.count) && (1...255).contains(subject.utf8.count)
      && (issuer + subject).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  /// Issuer and subject as one unambiguous string, for a store's index.
  public var key: String { "\(issuer.utf8.count):\(issuer)\(subject)" }

  /// Parses a ``key``.
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
