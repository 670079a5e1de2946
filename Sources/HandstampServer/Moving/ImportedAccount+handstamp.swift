#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampWebAuthn

/// Handstamp's own form: one JSON object for each account.
extension ImportedAccount {
  init(handstamp fields: ImportFields) throws(ImportRefusal) {
    self.init()
    id = try fields.text("id")
    email = try fields.text("email")
    emailVerifiedAt = try fields.time("email_verified_at")
    isEmailVerified = try fields.flag("email_verified") ?? (emailVerifiedAt != nil)
    if case .string(let text)? = fields["name"] { name = text }
    createdAt = try fields.time("created_at")
    disabledAt = try fields.time("disabled_at")
    isDisabled = try fields.flag("disabled") ?? (disabledAt != nil)
    groups = fields.texts("groups")
    let provider = fields.object("identity")
    if let issuer = try provider.text("issuer"), let subject = try provider.text("subject") {
      identity = ExternalIdentity(issuer: issuer, subject: subject)
    }
    for key in fields.objects("passkeys") { passkeys.append(try Passkey(handstamp: key)) }
    passwordHash = try fields.secret("password_hash")
    passwordChangedAt = try fields.time("password_changed_at")
  }

  init(_ account: AccountRecord, passkeys keys: [PasskeyRecord], groups: [String], withHash: Bool) {
    self.init()
    id = account.id.rawValue
    email = account.email?.typed
    (isEmailVerified, emailVerifiedAt) = (account.emailConfirmedAt != nil, account.emailConfirmedAt)
    name = account.username
    createdAt = account.createdAt
    (isDisabled, disabledAt) = (account.closedAt != nil, account.closedAt)
    self.groups = groups
    identity = account.identity
    passkeys = keys.compactMap { Passkey($0) }
    passwordHash = withHash ? account.passwordHash : nil
    passwordChangedAt = account.credentialsChangedAt
  }

  var line: [UInt8] {
    var json = JSONText(reserving: 512)
    json.add("id", ifPresent: id)
    json.add("email", ifPresent: email)
    json.add("email_verified", isEmailVerified)
    json.add("email_verified_at", ifPresent: emailVerifiedAt?.moment)
    json.add("name", ifPresent: name)
    json.add("created_at", ifPresent: createdAt?.moment)
    json.add("disabled", isDisabled)
    json.add("disabled_at", ifPresent: disabledAt?.moment)
    if !groups.isEmpty { json.add("groups", groups) }
    if let identity {
      var provider = JSONText()
      provider.add("issuer", identity.issuer)
      provider.add("subject", identity.subject)
      json.add("identity", provider)
    }
    if !passkeys.isEmpty { json.add("passkeys", passkeys.map(\.described)) }
    json.add("password_hash", ifPresent: passwordHash?.withExposed { $0 })
    json.add("password_changed_at", ifPresent: passwordChangedAt?.moment)
    return json.finished + [10]
  }
}

extension ImportedAccount.Passkey {
  init(handstamp fields: ImportFields) throws(ImportRefusal) {
    guard let id = try fields.bytes("id"), let publicKey = try fields.bytes("public_key") else {
      throw ImportRefusal(.invalidField, field: "passkeys")
    }
    self.init(id: id, publicKey: publicKey)
    userHandle = try fields.bytes("user_handle")
    signCount = UInt32(clamping: try fields.integer("sign_count") ?? 0)
    isBackupEligible = try fields.flag("backup_eligible") ?? false
    isBackedUp = try fields.flag("backed_up") ?? false
    transports = fields.texts("transports")
    name = try fields.text("name") ?? ""
    createdAt = try fields.time("created_at")
    lastUsedAt = try fields.time("last_used_at")
  }

  /// With the handle that authenticators have for the account here, which another ID would change.
  init?(_ record: PasskeyRecord) {
    guard let id = Base64URL.decode(record.id),
      let handle = record.userHandle ?? (try? PasskeyService.handle(of: record.account))?.bytes
    else { return nil }
    self.init(id: id, publicKey: record.publicKey)
    userHandle = handle
    signCount = record.signCount
    (isBackupEligible, isBackedUp) = (record.isBackupEligible, record.isBackedUp)
    (transports, name) = (record.transports, record.name)
    (createdAt, lastUsedAt) = (record.createdAt, record.lastUsedAt)
  }

  fileprivate var described: JSONText {
    var json = JSONText()
    json.add("id", Base64URL.encode(id))
    json.add("public_key", Base64URL.encode(publicKey))
    json.add("user_handle", ifPresent: userHandle.map { Base64URL.encode($0) })
    json.add("sign_count", Int64(signCount))
    json.add("backup_eligible", isBackupEligible)
    json.add("backed_up", isBackedUp)
    json.add("transports", transports)
    json.add("name", name)
    json.add("created_at", ifPresent: createdAt?.moment)
    json.add("last_used_at", ifPresent: lastUsedAt?.moment)
    return json
  }
}

extension UnixTime {
  /// RFC 3339 in UTC, to the millisecond.
  fileprivate var moment: String {
    description.dropLast() + "." + padded(milliseconds - seconds * 1000, to: 3) + "Z"
  }
}
#endif
