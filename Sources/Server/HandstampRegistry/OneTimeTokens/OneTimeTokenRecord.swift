import Crypto
public import HandstampCore
import HandstampSupport

/// The stored record of a one-time token. The store holds only the token's hash.
public struct OneTimeTokenRecord: Sendable, Hashable, Identifiable {
  public enum Purpose: String, Sendable, Hashable, Codable, CaseIterable {
    /// Sets a new password for an account.
    case passwordReset = "password_reset"
    /// Creates an account with the address that the mail was sent to.
    case signUp = "sign_up"
    /// Turns a guest account into a full one, with the address that the mail was sent to.
    case upgrade
    /// Changes the address of an account to the one that the mail was sent to.
    case emailChange = "email_change"
    /// Shows that who has it reads the mails to an account's address.
    case ownerProof = "owner_proof"
    /// Records that a nonce was used, so that it is accepted only once.
    case nonce
    /// An authorization code (RFC 6749 section 4.1.2).
    case authorizationCode = "authorization_code"
    /// A used authorization or device code; presenting it again, with what belongs to it, means that both were copied, unless it is
    /// the same request. The subject is the session it created.
    case usedCode = "used_code"
    /// The code that a waiting device polls with (RFC 8628 section 3.2).
    case deviceCode = "device_code"
    /// The code that the user types for a device.
    case userCode = "user_code"
    /// An authorization request that a client has sent beforehand (RFC 9126).
    case pushedRequest = "pushed_request"
  }

  public let id: OneTimeTokenID
  public let purpose: Purpose
  /// The subject, such as an account, that ``RegistryChange/voidOneTimeTokens(_:subject:)`` selects by.
  public let subject: String
  public let account: AccountID?
  public let email: EmailAddress?
  public let username: String
  /// Further data, in a format specific to the purpose.
  public let payload: String
  public private(set) var createdAt: UnixTime
  /// The first instant at which the token is no longer valid.
  public private(set) var expiresAt: UnixTime

  public init(
    id: OneTimeTokenID, purpose: Purpose, subject: String, account: AccountID? = nil, email: EmailAddress? = nil,
    username: String = "", payload: String = "", createdAt: UnixTime, expiresAt: UnixTime
  ) {
    self.id = id
    self.purpose = purpose
    self.subject = subject
    self.account = account
    self.email = email
    self.username = username.displayable(limit: AccountRecord.maxUsername)
    self.payload = payload
    self.createdAt = createdAt
    self.expiresAt = expiresAt
  }

  /// The record that a nonce was used: as long as it is stored, nothing that needs the same nonce succeeds.
  ///
  /// - Parameters:
  ///   - nonce: in any form, which is the same at each use.
  ///   - expiry: when the nonce is refused without this record.
  public init(usedNonce nonce: String, of subject: String = "", at now: UnixTime, until expiry: UnixTime) {
    self.init(
      id: OneTimeTokenID(of: Secret(nonce), purpose: .nonce), purpose: .nonce, subject: subject, createdAt: now,
      expiresAt: expiry)
  }
}

extension OneTimeTokenRecord {
  /// The record with its times moved if it was created in the span.
  func moved(by shift: TimeShift) -> OneTimeTokenRecord {
    guard shift.span.contains(createdAt) else { return self }
    var record = self
    record.createdAt = createdAt.advanced(by: shift.distance)
    record.expiresAt = expiresAt.advanced(by: shift.distance)
    return record
  }
}

/// The SHA-256 of a one-time token together with its purpose and format, so that a token is valid for one purpose only.
public struct OneTimeTokenID: Sendable, Hashable, Comparable {
  public static let count = 32
  public let bytes: [UInt8]

  /// Returns `nil` unless there are exactly 32 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == OneTimeTokenID.count else { return nil }
    self.bytes = Array(bytes)
  }

  /// - Parameter secret: at least 128 random bits, so that a hash without salt reveals nothing. Only a user code has fewer.
  public init(of secret: Secret, purpose: OneTimeTokenRecord.Purpose) {
    var hash = SHA256()
    hash.update(data: Array("hsl1 \(purpose.rawValue) ".utf8))
    secret.withExposedBytes { hash.update(bufferPointer: $0) }
    bytes = Array(hash.finalize())
  }

  public static func < (left: OneTimeTokenID, right: OneTimeTokenID) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

/// A one-time token, such as the code in a mail.
public struct OneTimeToken: Sendable, Hashable {
  /// The maximum length of a genuine token, in bytes; longer input is not hashed.
  public static let maxLength = 64
  private static let prefix = "hsl1."

  public let secret: Secret

  /// Draws 256 bits from `random`, which must be a cryptographic source. The prefix lets secret scanners find leaked tokens.
  public init(from random: inout some RandomNumberGenerator) {
    secret = Secret(OneTimeToken.prefix + Base64URL.encode(randomBytes(32, from: &random)))
  }

  /// A token as presented by a client; `nil` if it does not have the format of one.
  public init?(presented: Secret) {
    guard presented.count <= OneTimeToken.maxLength,
      presented.withExposedBytes({ $0.starts(with: OneTimeToken.prefix.utf8) })
    else { return nil }
    secret = presented
  }

  /// A token as a person typed or pasted it, alone, in a link of `issuer`, or in one of the operator's `template` for mails. What no
  /// token has is ignored, such as line ends.
  package init?(typed: Secret, at issuer: String, template: String? = nil) {
    let isOfToken = { (byte: UInt8) in byte.isAlphanumeric || "-_.".utf8.contains(byte) }
    let text = typed.withExposed { typed -> String? in
      let typed = String(typed.prefix(4096))
      guard let rest = template.flatMap({ typed.pasted(by: $0) }) else { return typed.pasted("token", at: issuer) }
      return String(decoding: rest.utf8.prefix(while: isOfToken), as: UTF8.self)
    }
    let bytes = (text ?? "").utf8.filter(isOfToken)
    // A full stop ends the sentence.
    self.init(presented: Secret(bytes: bytes.prefix(bytes.last == UInt8(ascii: ".") ? bytes.count - 1 : bytes.count)))
  }
}
