#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampWebAuthn

/// Handstamp's own form: one JSON object for each account.
extension ImportedAccount {
  init(handstamp fields: ImportFields) throws(ImportError) {
    self.init()
    id = try fields.text("id")
    email = try fields.text("email")
    emailVerifiedAt = try fields.time("email_verified_at")
    isEmailVerified = try fields.flag("email_verified") ?? (emailVerifiedAt != nil)
    if case .string(let text)? = fields["name"] { name = text }
    if let text = try fields.text("locale") {
      // Some systems write `en_US` (OpenID Connect Core 1.0 section 5.1).
      locale = LanguageTag(rawValue: text.replacing("_", with: "-"))
      guard locale != nil else { throw ImportError(.invalidField, field: "locale") }
    }
    createdAt = try fields.time("created_at")
    disabledAt = try fields.time("disabled_at")
    isDisabled = try fields.flag("disabled") ?? (disabledAt != nil)
    groups = fields.texts("groups")
    identity = try fields.object("identity").externalIdentity
    for other in fields.objects("identities") {
      guard let identity = try other.externalIdentity else { throw ImportError(.invalidField, field: "identities") }
      add(
        Identity(
          identity: identity, label: try other.text("label") ?? "", createdAt: try other.time("created_at"),
          lastUsedAt: try other.time("last_used_at")))
    }
    if let identity { add(Identity(identity: identity)) }
    let app = fields.object("totp")
    if let text = try app.secret("secret") {
      guard let secret = TOTPSecret(text: text) else { throw ImportError(.invalidField, field: "totp") }
      totp = MovingTOTP(secret)
      totp?.createdAt = try app.time("created_at")
      totp?.lastUsedAt = try app.time("last_used_at")
      totp?.step = try app.integer("last_step") ?? 0
    } else if fields["totp"] != nil {
      // Without it, the password alone would be enough.
      throw ImportError(.invalidField, field: "totp")
    }
    recoveryCodes = fields.texts("recovery_code_hashes")
    guard recoveryCodes.count <= RecoveryCode.count, recoveryCodes.allSatisfy(RecoveryCode.isHash) else {
      throw ImportError(.invalidField, field: "recovery_code_hashes")
    }
    for key in fields.objects("passkeys") { passkeys.append(try Passkey(handstamp: key)) }
    passwordHash = try fields.secret("password_hash")
    passwordChangedAt = try fields.time("password_changed_at")
  }
}

extension ArrivingAccount {
  /// The account in that form, with all secrets that it has.
  var line: [UInt8] {
    var json = JSONText(reserving: 512)
    if keepsID { json.add("id", record.id.rawValue) }
    AccountMembers.moving.add(record, to: &json)
    if !groups.isEmpty { json.add("groups", groups) }
    if !identities.isEmpty { json.add("identities", identities.map(\.described)) }
    let keys = passkeys.compactMap(\.described)
    if !keys.isEmpty { json.add("passkeys", keys) }
    if let totp {
      var app = JSONText()
      app.add("secret", totp.secret.text.withExposed { $0 })
      app.add("created_at", ifPresent: totp.createdAt?.moment)
      app.add("last_used_at", ifPresent: totp.lastUsedAt?.moment)
      app.add("last_step", totp.step)
      json.add("totp", app)
    }
    if !recoveryCodes.isEmpty { json.add("recovery_code_hashes", recoveryCodes) }
    return json.finished + [10]
  }
}

extension ImportFields {
  fileprivate var externalIdentity: ExternalIdentity? {
    get throws(ImportError) {
      guard let issuer = try text("issuer"), let subject = try text("subject") else { return nil }
      return ExternalIdentity(issuer: issuer, subject: subject)
    }
  }
}

extension ExternalIdentity {
  var described: JSONText { JSONText([("issuer", issuer), ("subject", subject)]) }
}

extension LinkedIdentity {
  fileprivate var described: JSONText {
    var json = identity.described
    if !label.isEmpty { json.add("label", label) }
    json.add("created_at", createdAt.moment)
    json.add("last_used_at", ifPresent: lastUsedAt?.moment)
    return json
  }
}

extension ImportedAccount.Passkey {
  init(handstamp fields: ImportFields) throws(ImportError) {
    guard let id = try fields.bytes("id"), let publicKey = try fields.bytes("public_key") else {
      throw ImportError(.invalidField, field: "passkeys")
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
}

extension PasskeyRecord {
  /// With the handle that authenticators have for the account here, which another ID would change; `nil` without one.
  fileprivate var described: JSONText? {
    guard let handle = userHandle ?? (try? PasskeyService.handle(of: account))?.bytes else { return nil }
    var json = JSONText()
    json.add("id", id)
    json.add("public_key", Base64URL.encode(publicKey))
    json.add("user_handle", Base64URL.encode(handle))
    json.add("sign_count", Int64(signCount))
    json.add("backup_eligible", isBackupEligible)
    json.add("backed_up", isBackedUp)
    json.add("transports", transports)
    json.add("name", name)
    json.add("created_at", createdAt.moment)
    json.add("last_used_at", ifPresent: lastUsedAt?.moment)
    return json
  }
}

extension UnixTime {
  /// RFC 3339 in UTC, to the millisecond.
  var moment: String {
    description.dropLast() + "." + padded(milliseconds - seconds * 1000, to: 3) + "Z"
  }
}
#endif
