#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampWebAuthn

/// The account of a person in another system: the one value that the reader of each format makes.
struct ImportedAccount: Sendable, Hashable {
  /// Its ID there. `nil` draws a new one.
  var id: String?
  var email: String?
  var isEmailVerified = false
  var emailVerifiedAt: UnixTime?
  /// `nil` uses the part of the address before the `@`.
  var name: String?
  var createdAt: UnixTime?
  var isDisabled = false
  var disabledAt: UnixTime?
  /// A disabled account that is enabled again at this time is not disabled after it.
  var disabledUntil: UnixTime?
  var groups: [String] = []
  /// That of the account's record.
  var identity: ExternalIdentity?
  /// All that are known, also that of the record.
  var identities: [Identity] = []
  /// Identities whose provider the export calls by a name, see ``resolveProviders(_:)``.
  var named: [NamedIdentity] = []
  var totp: MovingTOTP?
  /// Hashes of unused recovery codes, which hold for the ID alone.
  var recoveryCodes: [String] = []
  var passkeys: [Passkey] = []
  /// In an encoding that ``PasswordHashes`` knows.
  var passwordHash: Secret?
  var passwordChangedAt: UnixTime?
  /// The kinds of facts that have no place here, such as `totp`.
  var left: Set<String> = []

  struct Passkey: Sendable, Hashable {
    var id: [UInt8]
    /// A `COSE_Key`.
    var publicKey: [UInt8]
    /// The account's name in the authenticator. `nil` is that of this server's accounts.
    var userHandle: [UInt8]?
    var signCount: UInt32 = 0
    var isBackupEligible = false
    var isBackedUp = false
    var transports: [String] = []
    var name = ""
    var createdAt: UnixTime?
    var lastUsedAt: UnixTime?
  }

  struct Identity: Sendable, Hashable {
    var identity: ExternalIdentity
    /// How the provider calls the user.
    var label = ""
    var createdAt: UnixTime?
    var lastUsedAt: UnixTime?
  }

  struct NamedIdentity: Sendable, Hashable {
    var provider: String
    var subject: String
    var label: String
  }

  init() {}

  mutating func add(provider: String, subject: String?, label: String? = nil) {
    named.append(NamedIdentity(provider: provider, subject: subject ?? "", label: label ?? ""))
  }

  /// Keeps the identities at providers whose issuers are known; the rest is left.
  ///
  /// - Parameter issuers: by the names of the export.
  mutating func resolveProviders(_ issuers: [String: String]) {
    for other in named {
      let known: String? =
        switch other.provider {
        case "google", "google.com", "google-oauth2": "https://accounts.google.com"
        case "apple", "apple.com": "https://appleid.apple.com"
        default: nil
        }
      guard let issuer = issuers[other.provider] ?? known, !other.subject.isEmpty else {
        left.insert("identity")
        continue
      }
      let new = ExternalIdentity(issuer: issuer, subject: other.subject)
      add(Identity(identity: new, label: other.label))
      identity = identity ?? new
    }
    named = []
  }

  /// Adds an identity, unless it is there.
  mutating func add(_ new: Identity) {
    if !identities.contains(where: { $0.identity == new.identity }) { identities.append(new) }
  }
}

extension ImportedAccount {
  /// Returns the account as it would be stored here, and the kinds of facts that have no place.
  func arriving(
    in registry: Registry, at now: UnixTime
  ) throws(ImportError) -> (account: ArrivingAccount, left: Set<String>) {
    let address = try self.address
    guard address != nil || !identities.isEmpty else { throw ImportError(.noAddress) }
    if let id, !((1...255).contains(id.utf8.count) && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }) {
      throw ImportError(.invalidID)
    }
    guard identities.allSatisfy(\.identity.isStorable) else { throw ImportError(.invalidField, field: "identity") }
    let drawn = registry.arriving(email: address, username: "", at: now)
    var record = AccountRecord(
      id: id.map { AccountID($0) } ?? drawn.id, email: address, username: "", passwordHash: nil,
      createdAt: min(createdAt ?? now, now))
    let shown = name.flatMap { $0.isEmpty || $0.isShown ? $0 : nil }
    record.username = shown ?? address.map { String($0.typed.prefix { $0 != "@" }) } ?? ""
    // An account without an address is known by one.
    record.identity = identity ?? (address == nil ? identities.first?.identity : nil)
    if isEmailVerified, let email, EmailAddress(verified: email) != nil {
      record.emailConfirmedAt = min(emailVerifiedAt ?? record.createdAt, now)
    }
    if isDisabled, disabledUntil.map({ $0 > now }) ?? true { record.closedAt = min(disabledAt ?? now, now) }
    if let passwordHash {
      do throws(PasswordHashError) { try PasswordHashes.check(passwordHash) } catch { throw ImportError(error) }
      record.passwordHash = passwordHash
    }
    record.credentialsChangedAt = passwordChangedAt.map { min($0, now) }
    guard passkeys.count <= PasskeyRecord.most else { throw ImportError(.invalidField, field: "passkeys") }
    let keys = passkeys.compactMap { $0.record(of: record) }
    let named = Set(groups.filter { Registry.isGroup($0) })
    guard named.count <= Registry.mostGroups else { throw ImportError(.invalidField, field: "groups") }
    var account = ArrivingAccount(
      record, keepsID: id != nil, passkeys: keys, groups: named.sorted(),
      identities: identities.prefix(LinkedIdentity.most).map { $0.link(to: record) })
    account.totp = totp
    account.recoveryCodes = id == nil ? [] : recoveryCodes
    return (
      account,
      left.union(keys.count == passkeys.count ? [] : ["passkey"])
        .union(groups.allSatisfy { named.contains($0) } ? [] : ["group"])
        .union(identities.count <= LinkedIdentity.most ? [] : ["identity"])
        .union(account.recoveryCodes == recoveryCodes ? [] : ["recovery_code"])
    )
  }

  private var address: EmailAddress? {
    get throws(ImportError) {
      guard let email, !email.isEmpty else { return nil }
      guard let address = EmailAddress(new: email) else { throw ImportError(.invalidAddress) }
      return address
    }
  }
}

extension ImportedAccount.Identity {
  fileprivate func link(to account: AccountRecord) -> LinkedIdentity {
    var link = LinkedIdentity(identity, of: account.id, label: label, at: createdAt ?? account.createdAt)
    link.lastUsedAt = lastUsedAt
    return link
  }
}

extension ImportedAccount.Passkey {
  /// `nil` if the ID, the key or the handle is not one that this server can use.
  fileprivate func record(of account: AccountRecord) -> PasskeyRecord? {
    guard let id = CredentialID(id), (try? COSEKey(publicKey)) != nil else { return nil }
    var record = PasskeyRecord(
      id: id.text, account: account.id, publicKey: publicKey, signCount: signCount, isBackupEligible: isBackupEligible,
      isBackedUp: isBackedUp, transports: transports, name: name, createdAt: createdAt ?? account.createdAt)
    record.lastUsedAt = lastUsedAt
    if let userHandle {
      guard let handle = UserHandle(foreign: userHandle) else { return nil }
      record.userHandle = handle.bytes
    }
    return record
  }
}

extension ImportError {
  fileprivate init(_ refusal: PasswordHashError) {
    switch refusal {
    case .unknownForm, .invalid, .busy, .failed: self.init(.hashUnknown, field: "password_hash")
    case .tooCostly: self.init(.hashTooCostly, field: "password_hash")
    case .needsLibcrypt: self.init(.hashNeedsLibcrypt, field: "password_hash")
    }
  }
}
#endif
