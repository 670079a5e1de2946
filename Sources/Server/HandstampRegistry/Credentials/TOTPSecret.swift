import Crypto
public import HandstampCore
import HandstampSupport

/// The secret that an authenticator app shares with the server, for one-time passwords by time (RFC 6238): HMAC-SHA-1, six digits,
/// steps of 30 s, which is all that most apps know.
public struct TOTPSecret: Sendable, Hashable {
  /// In bytes (RFC 4226 section 4, R6, recommends 160 bits).
  public static let count = 20
  public static let digits = 6
  /// In seconds.
  public static let period: Int64 = 30
  /// How many steps before and after the present one count: clocks differ, and people type slowly (RFC 6238 section 5.2).
  static let tolerance: Int64 = 1

  let secret: Secret

  /// - Parameter bytes: RFC 4226 asks for at least 16.
  package init(bytes: some Collection<UInt8>) { secret = Secret(bytes: bytes) }

  init(from random: inout some RandomNumberGenerator) {
    self.init(bytes: randomBytes(TOTPSecret.count, from: &random))
  }

  /// The step that a time is in.
  package static func step(at time: UnixTime) -> Int64 { max(0, time.seconds) / period }

  /// Returns the one-time password of a step (RFC 4226 section 5.3).
  ///
  /// - Parameter digits: at most 9.
  package func code(at step: Int64, digits: Int = TOTPSecret.digits) -> String {
    let key = secret.withExposedBytes { SymmetricKey(data: $0) }
    let mac = Array(HMAC<Insecure.SHA1>.authenticationCode(for: bigEndian(UInt64(clamping: step)), using: key))
    let offset = Int(mac.last ?? 0) & 15
    let number = mac.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    let text = String(Int(number) % (0..<digits).reduce(1) { power, _ in power * 10 })
    return String(repeating: "0", count: digits - text.count) + text
  }

  /// The digits of a one-time password as it was typed: without any, it is none, and no attempt.
  package static func digits(of typed: String) -> String { typed.typed(in: "0123456789") }

  /// Returns the step around `now` whose password was typed; `nil` if there is none.
  ///
  /// - Parameter wall: another time that it may be.
  func step(of typed: String, at now: UnixTime, or wall: UnixTime?) -> Int64? {
    step(of: typed, at: now) ?? wall.flatMap { step(of: typed, at: $0) }
  }

  func step(of typed: String, at now: UnixTime) -> Int64? {
    let code = Array(TOTPSecret.digits(of: typed).utf8)
    let present = TOTPSecret.step(at: now)
    var found: Int64?
    // Each is compared, so that the time does not tell which one it was.
    for step in max(0, present - TOTPSecret.tolerance)...(present + TOTPSecret.tolerance)
    where constantTimeEqual(Array(self.code(at: step).utf8), code) { found = step }
    return found
  }

  /// RFC 4648 section 6.
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  /// The secret as it is typed into an app: base32 without padding.
  public var text: Secret {
    let alphabet = TOTPSecret.alphabet
    return secret.withExposedBytes { bytes in
      var (letters, held, bits) = ([UInt8](), 0, 0)
      for byte in bytes {
        (held, bits) = (held << 8 & 0xFFFF | Int(byte), bits + 8)
        while bits >= 5 {
          bits -= 5
          letters.append(alphabet[held >> bits & 31])
        }
      }
      if bits > 0 { letters.append(alphabet[held << (5 - bits) & 31]) }
      return Secret(bytes: letters)
    }
  }

  /// Reads ``text``; case, spaces and padding do not matter. `nil` unless it is base32 of 16 to 64 bytes.
  package init?(text: Secret) {
    let bytes: [UInt8]? = text.withExposedBytes { letters in
      var (bytes, held, bits) = ([UInt8](), 0, 0)
      for letter in letters where letter != UInt8(ascii: "=") && letter != UInt8(ascii: " ") {
        let capital = (0x61...0x7A).contains(letter) ? letter - 0x20 : letter
        guard let value = TOTPSecret.alphabet.firstIndex(of: capital) else { return nil }
        (held, bits) = (held << 5 & 0xFFF | value, bits + 5)
        guard bits >= 8 else { continue }
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: held >> bits))
      }
      return (16...64).contains(bytes.count) ? bytes : nil
    }
    guard let bytes else { return nil }
    self.init(bytes: bytes)
  }

  /// The address that apps read from a QR code (Google Authenticator's Key URI Format).
  ///
  /// - Parameters:
  ///   - issuer: the name of the service.
  ///   - name: the name of the account there.
  public func uri(issuer: String, name: String) -> Secret {
    // A colon separates the two.
    let (issuer, name) = (issuer.replacing(":", with: " "), name.replacing(":", with: " "))
    let label = PercentEncoding.encode(issuer) + ":" + PercentEncoding.encode(name)
    return text.withExposed {
      Secret("otpauth://totp/\(label)?secret=\($0)&issuer=\(PercentEncoding.encode(issuer))")
    }
  }
}

/// An authenticator app on its way from one server to another: its secret is not sealed.
package struct MovingTOTP: Sendable, Hashable {
  package let secret: TOTPSecret
  /// `nil` if it is not known.
  package var createdAt: UnixTime?
  package var lastUsedAt: UnixTime?
  /// The step of the last password that was accepted.
  package var step: Int64 = 0

  package init(_ secret: TOTPSecret) { self.secret = secret }
}

/// The authenticator app of an account. Its secret is sealed with a master key, so that the database alone does not give it away.
public struct TOTPRecord: Sendable, Hashable {
  public let account: AccountID
  public let createdAt: UnixTime
  /// `nil` if it was imported, and not used since.
  public var lastUsedAt: UnixTime?
  /// The step of the last password that was accepted: none counts twice (RFC 6238 section 5.2).
  var step: Int64
  var sealed: String
  /// That of the stored item.
  var revision: Int64 = 0

  /// How long a secret stays sealed with the same key: then it is sealed anew, with the one that is current.
  static let sealLife = Duration.seconds(7 * 86_400)

  func item(now: UnixTime) -> StoredItem {
    StoredItem(
      id: StoredItemID(.totp, account.rawValue), kind: .totp, subject: account.rawValue,
      payload: PayloadCoding.text(self),
      createdAt: createdAt, dueAt: now.advanced(by: TOTPRecord.sealLife),
      expiresAt: createdAt.advanced(by: StoredItem.forever), revision: revision)
  }
}

extension TOTPRecord: ItemPayload {
  package var fields: [String: String?] {
    [
      "account": account.rawValue, "created": String(createdAt.milliseconds), "step": String(step), "sealed": sealed,
      "used": lastUsedAt.map { String($0.milliseconds) },
    ]
  }

  package init?(fields: [String: String]) {
    guard let account = fields["account"], let created = fields.time("created"),
      let step = fields["step"].flatMap({ Int64($0) }), let sealed = fields["sealed"]
    else { return nil }
    self.init(
      account: AccountID(account), createdAt: created, lastUsedAt: fields.time("used"), step: step, sealed: sealed)
  }
}
