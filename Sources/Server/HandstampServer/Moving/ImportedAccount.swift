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
  var locale: LanguageTag?
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
    record.locale = locale
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

/// Systems whose exports are documents of their own.
extension ImportedAccount {
  /// One of the `users` of a realm (`UserRepresentation`).
  init(keycloak fields: ImportFields) throws(ImportError) {
    guard fields["serviceAccountClientId"] == nil else { throw ImportError(.noPerson) }
    self.init()
    id = try fields.text("id")
    email = try fields.text("email")
    isEmailVerified = try fields.flag("emailVerified") ?? false
    name = try fields.fullName("firstName", "lastName", or: "username")
    createdAt = try fields.time("createdTimestamp")
    isDisabled = try fields.flag("enabled") == false
    groups = fields.texts("groups").map { $0.hasPrefix("/") ? String($0.dropFirst()) : $0 }
    for other in fields.objects("federatedIdentities") {
      if let provider = try other.text("identityProvider"), let subject = try other.text("userId") {
        add(provider: provider, subject: subject, label: try other.text("userName"))
      }
    }
    for credential in fields.objects("credentials") { try add(keycloak: credential) }
  }

  private mutating func add(keycloak credential: ImportFields) throws(ImportError) {
    let (data, secret) = (credential.object("credentialData"), credential.object("secretData"))
    switch try credential.text("type") {
    case "password"?: passwordHash = try ImportedAccount.keycloakHash(data, secret)
    case "webauthn"?, "webauthn-passwordless"?:
      guard let key = try data.bytes("credentialId"), let publicKey = try data.bytes("credentialPublicKey") else {
        throw ImportError(.invalidField, field: "credentialData")
      }
      var passkey = Passkey(id: key, publicKey: publicKey)
      // The bytes of the user's ID.
      passkey.userHandle = id.map { Array($0.utf8) }
      passkey.signCount = UInt32(clamping: try data.integer("counter") ?? 0)
      passkey.transports = data.texts("transports").map { $0.lowercased() }
      passkey.name = try credential.text("userLabel") ?? ""
      passkey.createdAt = try credential.time("createdDate")
      passkeys.append(passkey)
    case "otp"?, "totp"?, "hotp"?: left.insert("totp")
    case let type: left.insert(type ?? "credential")
    }
  }

  private static func keycloakHash(_ data: ImportFields, _ secret: ImportFields) throws(ImportError) -> Secret {
    let more = data.object("additionalParameters")
    guard let hash = try secret.bytes("value"), let iterations = try data.integer("hashIterations") else {
      throw ImportError(.hashUnknown, field: "credentials")
    }
    let salt = try secret.bytes("salt") ?? []
    switch try data.text("algorithm") {
    case "pbkdf2"?: return ImportedHash.pbkdf2("sha1", iterations: iterations, salt: salt, hash: hash)
    case "pbkdf2-sha256"?: return ImportedHash.pbkdf2("sha256", iterations: iterations, salt: salt, hash: hash)
    case "pbkdf2-sha512"?: return ImportedHash.pbkdf2("sha512", iterations: iterations, salt: salt, hash: hash)
    case "argon2"?:
      let version = more.texts("version").first == "1.0" ? 16 : 19
      guard let type = more.texts("type").first, let memory = more.texts("memory").first,
        let lanes = more.texts("parallelism").first
      else { throw ImportError(.hashUnknown, field: "credentials") }
      let parts = "\(ImportedHash.base64(salt))$\(ImportedHash.base64(hash))"
      return Secret("$argon2\(type)$v=\(version)$m=\(memory),t=\(iterations),p=\(lanes)$\(parts)")
    default: throw ImportError(.hashUnknown, field: "credentials")
    }
  }

  /// One of the `users` of `firebase auth:export`.
  init(firebase fields: ImportFields, hashing: FirebaseHashing?) throws(ImportError) {
    self.init()
    id = try fields.text("localId")
    email = try fields.text("email")
    isEmailVerified = try fields.flag("emailVerified") ?? false
    name = try fields.text("displayName")
    createdAt = try fields.time("createdAt")
    isDisabled = try fields.flag("disabled") ?? false
    if try fields.text("phoneNumber") != nil { left.insert("phone") }
    if fields["mfaInfo"] != nil { left.insert("second_factor") }
    for other in fields.objects("providerUserInfo") {
      guard let provider = try other.text("providerId"), provider != "password", provider != "phone" else { continue }
      add(
        provider: provider, subject: try other.text("rawId"), label: try other.text("email", "displayName"))
    }
    guard let hash = try fields.bytes("passwordHash"), !hash.isEmpty else { return }
    guard let hashing, let salt = try fields.bytes("salt") else {
      throw ImportError(.hashIncomplete, field: "passwordHash")
    }
    passwordHash = hashing.signerKey.withExposedBytes { key in
      ImportedHash.firebase(
        cost: hashing.memoryCost, rounds: hashing.rounds, salt: salt, hash: hash, separator: hashing.saltSeparator,
        key: Array(key))
    }
  }

  /// A line of a bulk user export, or of an export of password hashes, whose ID has no prefix.
  init(auth0 fields: ImportFields) throws(ImportError) {
    self.init()
    id = try fields.text("user_id", "Id")
    if id == nil, let own = try fields.object("_id").text("$oid") { id = "auth0|" + own }
    email = try fields.text("email", "Email")
    isEmailVerified = try fields.flag("email_verified", "Email Verified") ?? false
    // Auth0 fills in the address where there is no name.
    let given = try fields.fullName("given_name", "family_name", or: "Name")
    name = given == email ? nil : given
    createdAt = try fields.time("created_at", "Created At")
    isDisabled = try fields.flag("blocked") ?? false
    if try fields.text("phone_number") != nil { left.insert("phone") }
    if fields["multifactor"] != nil { left.insert("second_factor") }
    for other in fields.objects("identities") {
      guard let provider = try other.text("provider"), provider != "auth0" else { continue }
      let data = other.object("profileData")
      add(provider: provider, subject: try other.text("user_id"), label: try data.text("email", "name"))
    }
    passwordHash = try fields.secret("passwordHash", "password_hash")
  }

  /// An identity of Ory Kratos, with the configurations of its credentials.
  init(kratos fields: ImportFields) throws(ImportError) {
    self.init()
    let (traits, credentials) = (fields.object("traits"), fields.object("credentials"))
    let addresses = fields.objects("verifiable_addresses")
    id = try fields.text("id")
    email = try traits.text("email")
    for address in addresses {
      guard try address.text("via") != "sms", let value = try address.text("value") else { continue }
      // Without the usual trait, the first address that is verified.
      let isVerified = try address.flag("verified") ?? false
      if email == nil && isVerified { email = value }
      guard email.map({ EmailAddress.key(of: $0) }) == EmailAddress.key(of: value) else { continue }
      isEmailVerified = isVerified
      emailVerifiedAt = try address.time("verified_at")
    }
    if addresses.count > 1 { left.insert("address") }
    let parts = traits.object("name")
    name = try parts.isEmpty ? traits.fullName(or: "username") : parts.fullName("first", "last", or: "given_name")
    createdAt = try fields.time("created_at")
    isDisabled = try fields.text("state") == "inactive"
    passwordHash = try credentials.object("password").object("config").secret("hashed_password")
    for kind in ["passkey", "webauthn"] {
      let config = credentials.object(kind).object("config")
      let handle = try config.bytes("user_handle")
      for key in config.objects("credentials") { try add(kratos: key, handle: handle) }
    }
    for identifier in credentials.object("oidc").texts("identifiers") {
      let parts = identifier.split(separator: ":", maxSplits: 1).map(String.init)
      if parts.count == 2 { add(provider: parts[0], subject: parts[1]) } else { left.insert("identity") }
    }
    for kind in ["totp", "lookup_secret", "code", "profile"] where credentials[kind] != nil { left.insert(kind) }
  }

  private mutating func add(kratos key: ImportFields, handle: [UInt8]?) throws(ImportError) {
    guard let id = try key.bytes("id"), let publicKey = try key.bytes("public_key") else {
      throw ImportError(.invalidField, field: "credentials")
    }
    var passkey = Passkey(id: id, publicKey: publicKey)
    passkey.userHandle = handle
    passkey.signCount = UInt32(clamping: try key.object("authenticator").integer("sign_count") ?? 0)
    passkey.isBackupEligible = try key.object("flags").flag("backup_eligible") ?? false
    passkey.isBackedUp = try key.object("flags").flag("backup_state") ?? false
    passkey.name = try key.text("display_name") ?? ""
    passkey.createdAt = try key.time("added_at")
    passkeys.append(passkey)
  }
}
#endif
