#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry

/// The body of `POST /v1/sign-up`.
struct SignUpBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case email, password, username, device }

  var email: EmailAddress
  var password: Secret
  var username: String
  var device: DeviceInfo

  init(from decoder: any Decoder) throws {
    let fields = try SignUpBody.fields(of: decoder)
    email = try fields.email(.email)
    username = try fields.name(.username)
    password = try fields.secret(.password)
    device = try fields.device(.device)
  }
}

/// The body of `POST /v1/sign-in`.
struct SignInBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case email, password, device }

  var email: EmailAddress
  var password: Secret
  var device: DeviceInfo

  init(from decoder: any Decoder) throws {
    let fields = try SignInBody.fields(of: decoder)
    email = try fields.email(.email)
    password = try fields.secret(.password)
    device = try fields.device(.device)
  }
}

/// A client's description of its device. Shown to the account's owner and not trusted.
struct DeviceBody: StrictlyDecodable {
  enum Fields: String, CodingKey, CaseIterable { case id, name, platform }

  var info: DeviceInfo

  init(from decoder: any Decoder) throws {
    let fields = try DeviceBody.fields(of: decoder)
    info = DeviceInfo(
      id: DeviceID(try fields.name(.id)), name: try fields.name(.name), platform: try fields.name(.platform))
  }
}

/// The requirements for passwords: only their length (NIST SP 800-63B section 3.1.1.2, OWASP ASVS 6.2.1 and 6.2.5), in code
/// points, exactly as received.
enum PasswordRule {
  static let lengths = 8...1024

  /// Checks a new password.
  static func check(new password: Secret) throws(Problem) {
    guard lengths.contains(length(of: password)) else {
      throw Problem(
        .badRequest, "weak_password", "The password does not meet the requirements",
        detail: "Use \(lengths.lowerBound) to \(lengths.upperBound) characters.")
    }
  }

  /// Checks a password for sign-in: one that no account can have is not worth a hash. Reveals nothing about any account.
  static func check(attempt password: Secret) throws(Problem) {
    guard length(of: password) <= lengths.upperBound else { throw .invalidRequest("The password is too long.") }
  }

  private static func length(of password: Secret) -> Int {
    password.withExposedBytes { bytes in bytes.count { $0 & 0xC0 != 0x80 } }
  }
}

extension KeyedDecodingContainer where Key: CodingKey {
  /// Decodes a display name: 1 to 200 characters, without control characters.
  func name(_ key: Key) throws -> String {
    let text = try decode(String.self, forKey: key)
    guard (1...200).contains(text.unicodeScalars.count), text.isPrintable else {
      throw Problem.invalidRequest("\(key.stringValue): must be 1 to 200 characters, without control characters.")
    }
    return text
  }

  func device(_ key: Key) throws -> DeviceInfo { try decode(DeviceBody.self, forKey: key).info }

  func email(_ key: Key) throws -> EmailAddress {
    let text = try decode(String.self, forKey: key)
    guard text.isPrintable, let address = EmailAddress(text) else {
      throw Problem.invalidRequest("\(key.stringValue): not a valid email address.")
    }
    return address
  }
}

extension String {
  fileprivate var isPrintable: Bool {
    unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: scalar == "\u{200D}"
      default: true
      }
    }
  }
}
#endif
