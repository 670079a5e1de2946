#if Server
import HandstampCore
import HandstampRegistry

/// The body of `POST /v1/sign-in/anonymous`.
struct GuestBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable { case device, rotation_key }
  var device: DeviceInfo
  var key: RotationKey?

  init(from decoder: any Decoder) throws {
    let fields = try GuestBody.fields(of: decoder)
    device = try fields.device(.device)
    key = try fields.rotationKey(.rotation_key)
  }
}

/// The body of `POST /v1/sign-up/confirm`.
struct ConfirmBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable { case token, password, device, rotation_key }
  var token: Secret
  var password: Secret
  var device: DeviceInfo
  var key: RotationKey?

  init(from decoder: any Decoder) throws {
    let fields = try ConfirmBody.fields(of: decoder)
    token = try fields.secret(.token)
    password = try fields.secret(.password)
    device = try fields.device(.device)
    key = try fields.rotationKey(.rotation_key)
  }
}

/// The body of `POST /v1/password`.
struct PasswordBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable {
    case current, new
    case endOthers = "end_others"
  }
  var current: Secret
  var new: Secret
  var endOthers: Bool

  init(from decoder: any Decoder) throws {
    let fields = try PasswordBody.fields(of: decoder)
    current = try fields.secret(.current)
    new = try fields.secret(.new)
    endOthers = try fields.decode(Bool.self, forKey: .endOthers)
  }
}

/// The body of `DELETE /v1/me`. Accounts without a password send none.
struct DeletionBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable { case password }
  var password: Secret?

  init(from decoder: any Decoder) throws {
    let fields = try DeletionBody.fields(of: decoder)
    password = try fields.optionalText(.password).map { Secret($0) }
  }
}

/// The body of `POST /v1/reauthenticate`: a password, or a token of another identity provider with its nonce.
struct ReauthenticationBody: JSONBody {
  enum Fields: String, CodingKey {
    case password
    case idToken = "id_token"
    case nonce, passkey
  }
  enum Proof: Sendable {
    case password(Secret)
    /// `AuthenticationResponseJSON`.
    case passkey(String)
    case identity(token: Secret, nonce: String)
  }
  var proof: Proof

  init(from decoder: any Decoder) throws {
    let fields = try ReauthenticationBody.fields(of: decoder)
    if fields.contains(.idToken) {
      proof = .identity(token: try fields.secret(.idToken), nonce: try fields.decode(String.self, forKey: .nonce))
    } else if fields.contains(.passkey) {
      proof = .passkey(try fields.decode(String.self, forKey: .passkey))
    } else {
      proof = .password(try fields.secret(.password))
    }
  }
}

/// The body of `POST /v1/password-reset`.
struct ResetBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable { case email }
  var email: EmailAddress

  init(from decoder: any Decoder) throws {
    email = try ResetBody.fields(of: decoder).email(.email)
  }
}

/// The body of `POST /v1/password-reset/confirm`.
struct ResetConfirmBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable {
    case token
    case password = "new_password"
    case keepsOthers = "keep_passkeys"
  }
  var token: Secret
  var password: Secret
  /// Whether passkeys, recovery codes, consents and known devices stay.
  var keepsOthers: Bool

  init(from decoder: any Decoder) throws {
    let fields = try ResetConfirmBody.fields(of: decoder)
    token = try fields.secret(.token)
    password = try fields.secret(.password)
    keepsOthers = fields.contains(.keepsOthers) ? try fields.decode(Bool.self, forKey: .keepsOthers) : false
  }
}

/// The body of `PATCH /v1/sessions/{id}`.
struct NameBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable { case name }
  var name: String

  init(from decoder: any Decoder) throws {
    name = try NameBody.fields(of: decoder).name(.name)
  }
}

/// The body of `PUT /v1/device/push-token`: at most 4096 bytes of printable ASCII, or null.
struct PushTokenBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable { case token }
  static let longest = 4096
  var token: Secret?

  init(from decoder: any Decoder) throws {
    // Null must be explicit; a missing field is an error.
    guard let text = try PushTokenBody.fields(of: decoder).decode(String?.self, forKey: .token) else { return }
    let isPrintable = text.utf8.allSatisfy { (33...126).contains($0) }
    guard (1...PushTokenBody.longest).contains(text.utf8.count), isPrintable else {
      throw Problem.invalidRequest("token: must be 1 to \(PushTokenBody.longest) printable ASCII characters, or null.")
    }
    token = Secret(text)
  }
}

/// The body of `POST /v1/sign-in/apple`.
struct AppleBody: JSONBody {
  enum Fields: String, CodingKey, CaseIterable {
    case idToken = "id_token"
    case nonce, device, username, rotation_key
  }
  var idToken: Secret
  var nonce: String
  var device: DeviceInfo
  /// For a new account. Apple gives the app the name only once.
  var username: String?
  var key: RotationKey?

  init(from decoder: any Decoder) throws {
    let fields = try AppleBody.fields(of: decoder)
    idToken = try fields.secret(.idToken)
    nonce = try fields.decode(String.self, forKey: .nonce)
    device = try fields.device(.device)
    username = fields.contains(.username) ? try fields.name(.username) : nil
    key = try fields.rotationKey(.rotation_key)
  }
}

extension KeyedDecodingContainer where Key: CodingKey {
  func secret(_ key: Key) throws -> Secret { Secret(try decode(String.self, forKey: key)) }

  /// `nil` if the field is missing; `null` is refused, as the OpenAPI document says.
  func optionalText(_ key: Key) throws -> String? { contains(key) ? try decode(String.self, forKey: key) : nil }
}
#endif
