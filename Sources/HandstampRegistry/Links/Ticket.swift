import Crypto
public import HandstampCore

/// What the bearer of a mailed secret may do, once and for a while. The store has the secret's hash alone.
public struct Ticket: Sendable, Hashable, Identifiable {
  public enum Purpose: String, Sendable, Hashable, Codable, CaseIterable {
    /// Setting a new password for an account.
    case passwordReset = "password_reset"
    /// Opening an account with an address that a mail was sent to.
    case signUp = "sign_up"
    /// Making a full account of a guest's, with an address that a mail was sent to.
    case upgrade
    /// Nothing more: that a value was seen before, so that it counts once.
    case nonce
    /// A code that a browser brings an app (RFC 6749 section 4.1.2).
    case authorizationCode = "authorization_code"
    /// A code that was used: who brings it again has copied it. The subject is the session that came of it.
    case usedCode = "used_code"
    /// What a device waits with (RFC 8628 section 3.2).
    case deviceCode = "device_code"
    /// What a person types for a device.
    case userCode = "user_code"
    /// A browser that somebody signed in with.
    case webSession = "web_session"
  }

  public let id: TicketID
  public let purpose: Purpose
  /// Whom it is about, for ``RegistryChange/voidTickets(_:subject:)``.
  public let subject: String
  public let account: AccountID?
  public let email: EmailAddress?
  public let username: String
  public let passwordHash: Secret?
  /// What else belongs to it, in a form of its purpose's own.
  public let payload: String
  public private(set) var createdAt: UnixTime
  /// From then on it is good for nothing.
  public private(set) var expiresAt: UnixTime

  public init(
    id: TicketID, purpose: Purpose, subject: String, account: AccountID? = nil, email: EmailAddress? = nil,
    username: String = "", passwordHash: Secret? = nil, payload: String = "", createdAt: UnixTime, expiresAt: UnixTime
  ) {
    self.id = id
    self.purpose = purpose
    self.subject = subject
    self.account = account
    self.email = email
    self.username = username.displayable(limit: AccountRecord.maxUsername)
    self.passwordHash = passwordHash
    self.payload = payload
    self.createdAt = createdAt
    self.expiresAt = expiresAt
  }
}

extension Ticket {
  /// The ticket after its times were moved, if it was made in `span`.
  func moved(_ span: ClosedRange<UnixTime>, by distance: Duration) -> Ticket {
    guard span.contains(createdAt) else { return self }
    var ticket = self
    ticket.createdAt = createdAt.advanced(by: distance)
    ticket.expiresAt = expiresAt.advanced(by: distance)
    return ticket
  }
}

/// The SHA-256 of a secret, of its purpose and its form: a secret of one purpose is none of another.
public struct TicketID: Sendable, Hashable, Comparable {
  public static let count = 32
  public let bytes: [UInt8]

  /// Nothing unless there are exactly 32.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == TicketID.count else { return nil }
    self.bytes = Array(bytes)
  }

  /// Of a secret with at least 128 random bits: a hash without salt says nothing about it.
  public init(of secret: Secret, purpose: Ticket.Purpose) {
    var hash = SHA256()
    hash.update(data: Array("hsl1 \(purpose.rawValue) ".utf8))
    secret.withExposedBytes { hash.update(bufferPointer: $0) }
    bytes = Array(hash.finalize())
  }

  public static func < (left: TicketID, right: TicketID) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// The secret of a mail.
public struct LinkSecret: Sendable, Hashable {
  /// No genuine text is longer, in bytes; nothing longer is hashed.
  public static let maxLength = 64
  private static let prefix = "hsl1."

  public let secret: Secret

  /// 256 bits of `random`: pass a cryptographic source. The prefix is our own, so that secret scanners find leaks.
  public init(from random: inout some RandomNumberGenerator) {
    secret = Secret(LinkSecret.prefix + Base64URL.encode(randomBytes(32, from: &random)))
  }

  /// What somebody presents; nothing for a text that is none of ours.
  public init?(presented: Secret) {
    guard presented.count <= LinkSecret.maxLength,
      presented.withExposedBytes({ $0.starts(with: LinkSecret.prefix.utf8) })
    else { return nil }
    secret = presented
  }
}
