#if Server
import HandstampCore
import HandstampRegistry

/// The body of `POST /v1/sign-in/anonymous`.
struct GuestBody: JSONBody {
  var device: DeviceInfo
  var key: RotationKey?

  init(_ fields: JSONFields) throws(ProblemError) {
    device = try fields.device()
    key = try fields.rotationKey()
  }
}

/// The body of `POST /v1/sign-up/confirm`.
struct ConfirmBody: JSONBody {
  var token: Secret
  var password: Secret
  var device: DeviceInfo
  var key: RotationKey?

  init(_ fields: JSONFields) throws(ProblemError) {
    token = try fields.secret("token")
    password = try fields.secret("password")
    device = try fields.device()
    key = try fields.rotationKey()
  }
}

/// The body of `POST /v1/password`.
struct PasswordBody: JSONBody {
  var current: Secret
  var new: Secret
  var endOthers: Bool

  init(_ fields: JSONFields) throws(ProblemError) {
    current = try fields.secret("current")
    new = try fields.secret("new")
    endOthers = try fields.flag("end_others")
  }
}

/// The body of `DELETE /v1/me`. Accounts without a password send none.
struct DeletionBody: JSONBody {
  var password: Secret?

  init(_ fields: JSONFields) throws(ProblemError) {
    password = try fields.optionalText("password").map { Secret($0) }
  }
}

/// The body of `POST /v1/reauthenticate`: a password, or a token of another identity provider with its nonce.
struct ReauthenticationBody: JSONBody {
  enum Proof: Sendable {
    /// The code is the one-time password that the account may ask for.
    case password(Secret, code: Secret?)
    /// `AuthenticationResponseJSON`.
    case passkey(String)
    /// Of the provider with that ID; of Apple, if it is `nil`.
    case identity(token: Secret, nonce: String, provider: String?)
  }
  var proof: Proof

  init(_ fields: JSONFields) throws(ProblemError) {
    if fields.contains("id_token") {
      proof = .identity(
        token: try fields.secret("id_token"), nonce: try fields.text("nonce"),
        provider: try fields.optionalText("provider"))
    } else if fields.contains("passkey") {
      proof = .passkey(try fields.text("passkey"))
    } else {
      proof = .password(try fields.secret("password"), code: try fields.optionalText("code").map { Secret($0) })
    }
  }
}

/// The body of `POST /v1/password-reset`.
struct ResetBody: JSONBody {
  var email: EmailAddress

  init(_ fields: JSONFields) throws(ProblemError) {
    email = try fields.email()
  }
}

/// The body of `POST /v1/password-reset/confirm`.
struct ResetConfirmBody: JSONBody {
  var token: Secret
  var password: Secret
  /// Whether passkeys, recovery codes, consents and known devices stay.
  var keepsOthers: Bool

  init(_ fields: JSONFields) throws(ProblemError) {
    token = try fields.secret("token")
    password = try fields.secret("new_password")
    keepsOthers = fields.contains("keep_passkeys") ? try fields.flag("keep_passkeys") : false
  }
}

/// The body of `PATCH /v1/sessions/{id}`.
struct NameBody: JSONBody {
  var name: String

  init(_ fields: JSONFields) throws(ProblemError) {
    name = try fields.name("name")
  }
}

/// The body of `PUT /v1/device/push-token`: at most 4096 bytes of printable ASCII, or null.
struct PushTokenBody: JSONBody {
  static let longest = 4096
  var token: Secret?

  init(_ fields: JSONFields) throws(ProblemError) {
    // Null must be explicit; a missing field is an error.
    if fields.isNull("token") { return }
    let text = try fields.text("token")
    let isPrintable = text.utf8.allSatisfy { (33...126).contains($0) }
    guard (1...PushTokenBody.longest).contains(text.utf8.count), isPrintable else {
      throw .invalidRequest("token: must be 1 to \(PushTokenBody.longest) printable ASCII characters, or null.")
    }
    token = Secret(text)
  }
}

/// The body of `POST /v1/sign-in/apple`.
struct AppleBody: JSONBody {
  var idToken: Secret
  var nonce: String
  var device: DeviceInfo
  /// For a new account. Apple gives the app the name only once.
  var username: String?
  var key: RotationKey?

  init(_ fields: JSONFields) throws(ProblemError) {
    idToken = try fields.secret("id_token")
    nonce = try fields.text("nonce")
    device = try fields.device()
    username = fields.contains("username") ? try fields.name("username") : nil
    key = try fields.rotationKey()
  }
}

/// The body of `POST /v1/sign-in/provider`: that of Apple's, and the provider's ID.
struct ProviderBody: JSONBody {
  var provider: String
  var token: AppleBody

  init(_ fields: JSONFields) throws(ProblemError) {
    provider = try fields.text("provider")
    token = try AppleBody(fields)
  }
}
#endif
