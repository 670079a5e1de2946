#if Server
import HandstampCore
import HandstampSupport

/// Systems whose exports are rows of their table of users.
extension ImportedAccount {
  /// A row of `auth.users` (GoTrue, `internal/models/user.go`), also with the person's rows of `auth.identities`.
  init(gotrue fields: ImportFields) throws(ImportError) {
    guard try fields.flag("is_anonymous") != true, try fields.time("deleted_at") == nil else {
      throw ImportError(.noPerson)
    }
    try self.init(table: fields)
    let data = fields.object("raw_user_meta_data")
    name = try data.text("full_name", "name") ?? name
    emailVerifiedAt = try fields.time("email_confirmed_at", "confirmed_at")
    isEmailVerified = emailVerifiedAt != nil
    if let end = try fields.text("banned_until") {
      isDisabled = true
      if end != "infinity" { disabledUntil = try fields.time("banned_until") }
    }
    if try fields.text("phone") != nil { left.insert("phone") }
    // Rows of `auth.identities` (`internal/models/identity.go`), which a query has joined, or the admin API has.
    for other in try fields.list("identities") {
      guard let provider = try other.text("provider"), provider != "email", provider != "phone" else { continue }
      let data = other.object("identity_data")
      // Earlier versions have no `provider_id`.
      let subject = try other.text("provider_id")
      add(provider: provider, subject: try data.text("sub") ?? subject, label: try data.text("email", "name"))
    }
    if let hash = try fields.text("encrypted_password") { passwordHash = try ImportedAccount.gotrueHash(hash) }
  }

  /// bcrypt, Argon2, or Firebase's scrypt in GoTrue's own encoding (`internal/crypto/password.go`).
  private static func gotrueHash(_ text: String) throws(ImportError) -> Secret {
    guard text.hasPrefix("$fbscrypt$") else { return Secret(text) }
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 5 else { throw ImportError(.hashUnknown, field: "encrypted_password") }
    let pairs = parts[2].split(separator: ",").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    let values = Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
    guard let cost = values["n"].flatMap({ Int64($0) }), let rounds = values["r"].flatMap({ Int64($0) }),
      let separator = values["ss"].flatMap(ImportFields.bytes), let key = values["sk"].flatMap(ImportFields.bytes),
      let salt = ImportFields.bytes(String(parts[3])), let hash = ImportFields.bytes(String(parts[4]))
    else { throw ImportError(.hashUnknown, field: "encrypted_password") }
    return ImportedHash.firebase(cost: cost, rounds: rounds, salt: salt, hash: hash, separator: separator, key: key)
  }

  /// A row of the users of Devise.
  init(devise fields: ImportFields) throws(ImportError) {
    try self.init(table: fields)
    emailVerifiedAt = try fields.time("confirmed_at")
    isEmailVerified = emailVerifiedAt != nil
    if try fields.text("otp_secret", "encrypted_otp_secret") != nil { left.insert("totp") }
    if try fields.text("unconfirmed_email") != nil { left.insert("address") }
    if let provider = try fields.text("provider"), let subject = try fields.text("uid"), provider != "email" {
      // The name of OmniAuth's strategy.
      add(provider: provider == "google_oauth2" ? "google" : provider, subject: subject)
    }
    passwordHash = try fields.secret("encrypted_password")
  }

  /// An object of `dumpdata`: one of `auth.user`, or of a model in its place.
  ///
  /// - Returns: `nil` for objects of other models.
  init?(django object: ImportFields, groupNames: [String: String]) throws(ImportError) {
    let fields = object.object("fields")
    guard try object.text("model") != nil else { throw ImportError(.invalidField, field: "model") }
    guard fields["password"] != nil, fields["email"] != nil || fields["username"] != nil else { return nil }
    self.init()
    id = try object.text("pk")
    let username = try fields.text("username")
    email = try fields.text("email") ?? (username?.contains("@") == true ? username : nil)
    name = try fields.fullName(or: "username")
    createdAt = try fields.time("date_joined", "created_at")
    isDisabled = try fields.flag("is_active") == false
    for group in fields["groups"]?.array ?? [] {
      // A key, or with --natural-foreign a list with the name.
      let name =
        group.array?.first?.string ?? (group.integer.map(String.init) ?? group.string).flatMap { groupNames[$0] }
      if let name { groups.append(name) } else { left.insert("group") }
    }
    if let hash = try fields.text("password") { passwordHash = try ImportedAccount.djangoHash(hash) }
  }

  /// `nil` for a password that nothing matches, as Django writes one.
  private static func djangoHash(_ text: String) throws(ImportError) -> Secret? {
    guard !text.hasPrefix("!") else { return nil }
    let parts = text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
    switch (parts.first, parts.count) {
    case ("argon2", _): return Secret(String(text.dropFirst("argon2".count)))
    case ("bcrypt", _): return Secret(String(text.dropFirst("bcrypt$".count)))
    case ("pbkdf2_sha256", 4), ("pbkdf2_sha1", 4):
      guard let iterations = Int64(parts[1]), let hash = ImportFields.bytes(parts[3]) else { break }
      return ImportedHash.pbkdf2(
        parts[0] == "pbkdf2_sha1" ? "sha1" : "sha256", iterations: iterations, salt: Array(parts[2].utf8), hash: hash)
    case ("scrypt", 6):
      guard let cost = Int64(parts[1]), cost > 0, cost & (cost - 1) == 0, let size = Int64(parts[3]),
        let lanes = Int64(parts[4]), let hash = ImportFields.bytes(parts[5])
      else { break }
      return ImportedHash.scrypt(cost: cost, size, lanes, salt: Array(parts[2].utf8), hash: hash)
    case ("sha1", 3):
      guard let hash = Hexadecimal.bytes(parts[2].utf8) else { break }
      return ImportedHash.salted("sha1", salt: Array(parts[1].utf8), hash: hash)
    default: break
    }
    throw ImportError(.hashUnknown, field: "password")
  }
}
#endif
