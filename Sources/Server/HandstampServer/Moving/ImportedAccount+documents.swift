#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

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
