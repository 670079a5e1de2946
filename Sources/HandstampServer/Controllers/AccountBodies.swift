#if Server
import HandstampCore
import HandstampRegistry

/// The body of `POST /v1/sign-in/anonymous`.
struct GuestBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case device }
  var device: DeviceInfo

  init(from decoder: any Decoder) throws {
    try GuestBody.refuseUnknownFields(decoder)
    device = try decoder.container(keyedBy: Fields.self).decode(DeviceBody.self, forKey: .device).info
  }
}

/// The body of `POST /v1/sign-up/confirm`.
struct ConfirmBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case token, device }
  var token: Secret
  var device: DeviceInfo

  init(from decoder: any Decoder) throws {
    try ConfirmBody.refuseUnknownFields(decoder)
    let fields = try decoder.container(keyedBy: Fields.self)
    token = try fields.secret(.token)
    device = try fields.decode(DeviceBody.self, forKey: .device).info
  }
}

/// The body of `POST /v1/password`.
struct PasswordBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable {
    case current, new
    case endOthers = "end_others"
  }
  var current: Secret
  var new: Secret
  var endOthers: Bool

  init(from decoder: any Decoder) throws {
    try PasswordBody.refuseUnknownFields(decoder)
    let fields = try decoder.container(keyedBy: Fields.self)
    current = try fields.secret(.current)
    new = try fields.secret(.new)
    endOthers = try fields.decode(Bool.self, forKey: .endOthers)
  }
}

/// The body of `DELETE /v1/me`. Accounts without a password send none.
struct DeletionBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case password }
  var password: Secret?

  init(from decoder: any Decoder) throws {
    try DeletionBody.refuseUnknownFields(decoder)
    let fields = try decoder.container(keyedBy: Fields.self)
    password = try fields.decodeIfPresent(String.self, forKey: .password).map { Secret($0) }
  }
}

/// The body of `POST /v1/password-reset`.
struct ResetBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case email }
  var email: EmailAddress

  init(from decoder: any Decoder) throws {
    try ResetBody.refuseUnknownFields(decoder)
    email = try decoder.container(keyedBy: Fields.self).email(.email)
  }
}

/// The body of `POST /v1/password-reset/confirm`.
struct ResetConfirmBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable {
    case token
    case password = "new_password"
  }
  var token: Secret
  var password: Secret

  init(from decoder: any Decoder) throws {
    try ResetConfirmBody.refuseUnknownFields(decoder)
    let fields = try decoder.container(keyedBy: Fields.self)
    token = try fields.secret(.token)
    password = try fields.secret(.password)
  }
}

/// The body of `PATCH /v1/sessions/{id}`.
struct NameBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case name }
  var name: String

  init(from decoder: any Decoder) throws {
    try NameBody.refuseUnknownFields(decoder)
    name = try decoder.container(keyedBy: Fields.self).name(.name)
  }
}

/// The body of `PUT /v1/device/push-token`: at most 4096 bytes of printable ASCII, or null.
struct PushTokenBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case token }
  static let longest = 4096
  var token: Secret?

  init(from decoder: any Decoder) throws {
    try PushTokenBody.refuseUnknownFields(decoder)
    // Null must be explicit; a missing field is an error.
    guard let text = try decoder.container(keyedBy: Fields.self).decode(String?.self, forKey: .token) else { return }
    let isPrintable = text.utf8.allSatisfy { (33...126).contains($0) }
    guard (1...PushTokenBody.longest).contains(text.utf8.count), isPrintable else {
      throw Problem.invalidRequest("token: must be 1 to \(PushTokenBody.longest) printable ASCII characters, or null.")
    }
    token = Secret(text)
  }
}

/// The body of `POST /v1/sign-in/apple`.
struct AppleBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable {
    case idToken = "id_token"
    case nonce, device, username
  }
  var idToken: Secret
  var nonce: String
  var device: DeviceInfo
  /// For a new account. Apple gives the app the name only once.
  var username: String?

  init(from decoder: any Decoder) throws {
    try AppleBody.refuseUnknownFields(decoder)
    let fields = try decoder.container(keyedBy: Fields.self)
    idToken = try fields.secret(.idToken)
    nonce = try fields.decode(String.self, forKey: .nonce)
    device = try fields.decode(DeviceBody.self, forKey: .device).info
    username = fields.contains(.username) ? try fields.name(.username) : nil
  }
}

extension KeyedDecodingContainer where Key: CodingKey {
  func secret(_ key: Key) throws -> Secret { Secret(try decode(String.self, forKey: key)) }
}
#endif
