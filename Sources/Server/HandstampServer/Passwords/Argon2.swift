#if Server
import CHandstampArgon2
public import HandstampCore
import HandstampSupport

/// The cost parameters of a password hash with Argon2id (RFC 9106).
public struct Argon2Parameters: Sendable, Hashable {
  /// Memory in KiB, at least 8 per lane.
  public var memory: UInt32
  /// Passes over the memory.
  public var passes: UInt32
  /// Lanes.
  public var lanes: UInt32

  public init(memory: UInt32, passes: UInt32, lanes: UInt32) {
    self.memory = memory
    self.passes = passes
    self.lanes = lanes
  }

  /// 19 MiB, two passes, one lane: the first choice of OWASP's password storage cheat sheet. About 16 ms.
  public static let recommended = Argon2Parameters(memory: 19 * 1024, passes: 2, lanes: 1)
  /// Minimal cost. For tests only.
  public static let forTests = Argon2Parameters(memory: 8, passes: 1, lanes: 1)

  /// The parameters of an encoded hash; `nil` if it is not one of Argon2id.
  init?(encoded: String) {
    let parts = encoded.split(separator: "$")
    guard parts.count == 5, parts[0] == "argon2id", parts[1] == "v=19",
      let numbers = try? PasswordHashNumbers(parts[2]), let memory = numbers["m"].flatMap({ UInt32(exactly: $0) }),
      let passes = numbers["t"].flatMap({ UInt32(exactly: $0) }),
      let lanes = numbers["p"].flatMap({ UInt32(exactly: $0) })
    else { return nil }
    self.init(memory: memory, passes: passes, lanes: lanes)
  }

  static let saltLength = 16
  static let hashLength = 32

  /// Returns the hash of `password` with a random salt, in the encoded form `$argon2id$v=19$m=…`. Blocks until done.
  ///
  /// - Throws: ``PasswordHashError/failed(code:)`` if the memory cannot be allocated.
  public func hash(_ password: Secret) throws(PasswordHashError) -> String {
    let salt = randomBytes(Argon2Parameters.saltLength)
    let length = argon2_encodedlen(
      passes, memory, lanes, UInt32(salt.count), UInt32(Argon2Parameters.hashLength), Argon2_id)
    var encoded = [CChar](repeating: 0, count: length)
    let code = password.withExposedBytes { bytes in
      argon2id_hash_encoded(
        passes, memory, lanes, bytes.baseAddress, bytes.count, salt, salt.count, Argon2Parameters.hashLength, &encoded,
        length)
    }
    guard code == ARGON2_OK.rawValue else { throw .failed(code: code) }
    return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Returns whether `password` matches `encoded`. Blocks for the work that `encoded` requires.
  ///
  /// - Throws: ``PasswordHashError/failed(code:)`` if the memory cannot be allocated, or `encoded` is not a valid encoded hash.
  public static func verify(_ password: Secret, against encoded: String) throws(PasswordHashError) -> Bool {
    let code = password.withExposedBytes { argon2id_verify(encoded, $0.baseAddress, $0.count) }
    switch code {
    case ARGON2_OK.rawValue: return true
    case ARGON2_VERIFY_MISMATCH.rawValue: return false
    default: throw .failed(code: code)
    }
  }
}

/// A password was not hashed, or an encoded hash is not accepted.
public enum PasswordHashError: Error, Sendable, Hashable {
  /// The queue is full: try again later.
  case busy
  /// Hashing failed with this code of the library, such as for lack of memory.
  case failed(code: Int32)
  /// The encoded hash has none of the forms of ``PasswordHashes``.
  case unknownForm
  /// A part of the encoded hash is missing or not valid, such as `salt`.
  case invalid(String)
  /// A part of the encoded hash asks for more work or memory than the limit allows.
  case tooCostly(String, limit: UInt64)
  /// bcrypt needs libxcrypt, which this machine does not have.
  case needsLibcrypt
}

extension PasswordHashError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .busy: "too many passwords are being hashed"
    case .failed(let code): "Argon2: \(String(cString: argon2_error_message(code)))"
    case .unknownForm: "unknown form of password hash"
    case .invalid(let part): "password hash: invalid \(part)"
    case .tooCostly(let part, let limit): "password hash: \(part) over the limit of \(limit)"
    case .needsLibcrypt: "password hash needs libcrypt"
    }
  }
}
#endif
