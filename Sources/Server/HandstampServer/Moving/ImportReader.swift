#if Server
import Foundation
public import HandstampCore
import HandstampSupport

/// The systems whose exports can be read.
public enum ImportFormat: String, Sendable, Hashable, CaseIterable {
  /// JSON lines, as ``Administration/exportAccounts(withSecrets:_:)`` writes them.
  case handstamp
  /// `auth.users` of GoTrue (Supabase), as JSON lines, a JSON array or CSV, also joined with `auth.identities`.
  case gotrue
  /// The JSON of a realm, with its users.
  case keycloak
  /// The JSON of `firebase auth:export`.
  case firebase
  /// The JSON lines of a bulk user export, or of an export of password hashes.
  case auth0
  /// Identities of Ory Kratos, as JSON lines or a JSON array, with their credentials.
  case kratos
  /// The JSON of `django-admin dumpdata`, also as JSON lines.
  case django
  /// The users of Devise, as JSON lines, a JSON array or CSV.
  case devise

  /// The name of the member of one JSON object that has the accounts; `nil` for formats that are lists.
  var container: String? { self == .keycloak || self == .firebase ? "users" : nil }

  /// Whether it also comes as CSV, with a header.
  var hasTables: Bool { self == .gotrue || self == .devise }
}

/// The parameters of the password hashes of a Firebase project, which its console shows, and no export has.
public struct FirebaseHashing: Sendable, Hashable {
  /// The project's secret: with it and the hashes, passwords can be guessed.
  public var signerKey: Secret
  public var saltSeparator: [UInt8]
  public var rounds: Int64
  public var memoryCost: Int64

  public init(signerKey: Secret, saltSeparator: [UInt8], rounds: Int64, memoryCost: Int64) {
    self.signerKey = signerKey
    self.saltSeparator = saltSeparator
    self.rounds = rounds
    self.memoryCost = memoryCost
  }

  /// Reads the `hash_config` that the console shows, or JSON with the same names; `nil` if a parameter is missing.
  public init?(configuration text: String) {
    let letters = text.split { " \t\r\n,:{}\"'".contains($0) }.map(String.init)
    func value(_ name: String) -> String? {
      letters.firstIndex(of: name).flatMap { letters.indices.contains($0 + 1) ? letters[$0 + 1] : nil }
    }
    guard let key = value("base64_signer_key").flatMap(ImportFields.bytes), !key.isEmpty,
      let separator = value("base64_salt_separator").flatMap(ImportFields.bytes),
      let rounds = value("rounds").flatMap({ Int64($0) }), let cost = value("mem_cost").flatMap({ Int64($0) })
    else { return nil }
    self.init(signerKey: Secret(bytes: key), saltSeparator: separator, rounds: rounds, memoryCost: cost)
  }
}

/// Reads the records of one export, in order.
struct ImportReader {
  let options: ImportOptions
  /// Django's groups, which users name by their keys.
  var groupNames: [String: String] = [:]

  /// `nil` for a record that is no account, such as a group.
  mutating func account(_ fields: ImportFields) throws(ImportError) -> ImportedAccount? {
    var account = try read(fields)
    account?.resolveProviders(options.issuers)
    return account
  }

  private mutating func read(_ fields: ImportFields) throws(ImportError) -> ImportedAccount? {
    switch options.format {
    case .handstamp: try ImportedAccount(handstamp: fields)
    case .gotrue: try ImportedAccount(gotrue: fields)
    case .keycloak: try ImportedAccount(keycloak: fields)
    case .firebase: try ImportedAccount(firebase: fields, hashing: options.firebase)
    case .auth0: try ImportedAccount(auth0: fields)
    case .kratos: try ImportedAccount(kratos: fields)
    case .django: try django(fields)
    case .devise: try ImportedAccount(devise: fields)
    }
  }

  private mutating func django(_ fields: ImportFields) throws(ImportError) -> ImportedAccount? {
    if let name = try fields.object("fields").text("name"), try fields.text("model") == "auth.group" {
      if let key = try fields.text("pk") { groupNames[key] = name }
      return nil
    }
    return try ImportedAccount(django: fields, groupNames: groupNames)
  }
}

extension ImportedAccount {
  /// The columns that the tables of web frameworks have in common.
  init(table fields: ImportFields) throws(ImportError) {
    self.init()
    id = try fields.text("id")
    email = try fields.text("email")
    name = try fields.fullName(or: "username")
    createdAt = try fields.time("created_at")
  }
}

extension ImportFields {
  /// `name`, or the first and last name, or what another field has; `nil` without any.
  func fullName(
    _ first: String = "first_name", _ last: String = "last_name", or other: String
  ) throws(ImportError) -> String? {
    if let name = try text("name") { return name }
    switch (try text(first), try text(last)) {
    case (let given?, let family?): return given + " " + family
    case (let name?, nil), (nil, let name?): return name
    case (nil, nil): return try text(other)
    }
  }
}

/// Encodings of password hashes, as ``PasswordHashes`` reads them.
enum ImportedHash {
  static func pbkdf2(_ digest: String, iterations: Int64, salt: [UInt8], hash: [UInt8]) -> Secret {
    Secret("$pbkdf2-\(digest)$i=\(iterations),l=\(hash.count)$\(base64(salt))$\(base64(hash))")
  }

  /// - Parameter cost: N, a power of two.
  static func scrypt(cost: Int64, _ size: Int64, _ lanes: Int64, salt: [UInt8], hash: [UInt8]) -> Secret {
    Secret("$scrypt$ln=\(cost.trailingZeroBitCount),r=\(size),p=\(lanes)$\(base64(salt))$\(base64(hash))")
  }

  static func firebase(cost: Int64, rounds: Int64, salt: [UInt8], hash: [UInt8], separator: [UInt8], key: [UInt8])
    -> Secret
  {
    let parts = [salt, hash, separator, key].map(base64).joined(separator: "$")
    return Secret("$firescrypt$ln=\(cost),r=\(rounds),p=1$\(parts)")
  }

  static func salted(_ digest: String, salt: [UInt8], hash: [UInt8]) -> Secret {
    Secret("$\(digest)$pf=\(base64(Array("{SALT}{PASSWORD}".utf8)))$\(base64(salt))$\(base64(hash))")
  }

  /// Without padding.
  static func base64(_ bytes: [UInt8]) -> String {
    String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
  }
}
#endif
