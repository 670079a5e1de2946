#if Server
import CHandstampArgon2
import CHandstampLibraries
import Crypto
import HandstampCore
import HandstampSupport
import _CryptoExtras

/// An encoded password hash of another system, with parameters within ``PasswordHashLimits``.
enum ForeignHash {
  enum Digest: Substring { case sha1, sha256, sha512 }

  case bcrypt(String)
  case argon2(String, isHybrid: Bool)
  case pbkdf2(Digest, iterations: Int, salt: [UInt8], hash: [UInt8])
  case scrypt(ScryptCost, salt: [UInt8], hash: [UInt8])
  /// The salt is followed by the separator.
  case firebase(ScryptCost, salt: [UInt8], hash: [UInt8], signerKey: [UInt8])
  case salted(Digest, SaltTemplate, salt: [UInt8], hash: [UInt8])

  struct ScryptCost {
    var rounds: Int
    var blockSize: Int
    var parallelism: Int
  }

  init(_ encoded: String) throws(PasswordHashError) {
    guard encoded.utf8.count <= PasswordHashLimits.encoded else { throw .invalid("length") }
    guard encoded.utf8.allSatisfy({ (33...126).contains($0) }) else { throw .invalid("character") }
    let parts = encoded.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count > 1, parts[0].isEmpty else { throw .unknownForm }
    let (scheme, rest) = (parts[1], Array(parts.dropFirst(2)))
    switch scheme {
    case "2a", "2b", "2y": self = .bcrypt(try ForeignHash.bcrypt(encoded, rest))
    case "argon2i", "argon2id":
      try ForeignHash.checkArgon2(rest)
      self = .argon2(encoded, isHybrid: scheme == "argon2id")
    case "scrypt":
      guard rest.count == 3 else { throw .invalid("number of parts") }
      let cost = try ScryptCost(rest[0])
      self = .scrypt(cost, salt: try bytes(rest[1], "salt"), hash: try bytes(rest[2], "hash", 16...128))
    case "firescrypt":
      guard rest.count == 5 else { throw .invalid("number of parts") }
      let cost = try ScryptCost(rest[0], isLogarithm: true)
      let salt = try bytes(rest[1], "salt") + bytes(rest[3], "salt separator", 0...PasswordHashLimits.part)
      let key = try bytes(rest[4], "signer key", 16...PasswordHashLimits.part)
      self = .firebase(cost, salt: salt, hash: try bytes(rest[2], "hash", key.count...key.count), signerKey: key)
    default:
      let name = scheme.hasPrefix("pbkdf2-") ? scheme.dropFirst(7) : scheme
      guard let digest = Digest(rawValue: name) else { throw .unknownForm }
      guard rest.count == 3 else { throw .invalid("number of parts") }
      let salt = try bytes(rest[1], "salt")
      guard name != scheme else {
        let template = try SaltTemplate(encoded: rest[0])
        let hash = try bytes(rest[2], "hash", digest.count...digest.count)
        self = .salted(digest, template, salt: salt, hash: hash)
        return
      }
      let hash = try bytes(rest[2], "hash", 16...256)
      let numbers = try PasswordHashNumbers(rest[0])
      guard numbers["l"].map({ $0 == hash.count }) ?? true else { throw .invalid("l") }
      let iterations = try numbers.required("i", most: PasswordHashLimits.iterations)
      // Each block of output is computed by itself.
      guard iterations * ((hash.count + digest.count - 1) / digest.count) <= PasswordHashLimits.iterations else {
        throw .tooCostly("i", limit: UInt64(PasswordHashLimits.iterations))
      }
      self = .pbkdf2(digest, iterations: iterations, salt: salt, hash: hash)
    }
  }

  private static func bcrypt(_ encoded: String, _ rest: [Substring]) throws(PasswordHashError) -> String {
    guard rest.count == 2, rest[0].utf8.count == 2, rest[0].utf8.allSatisfy(\.isDigit), let cost = Int(rest[0]),
      cost >= 4
    else { throw .invalid("cost") }
    guard cost <= PasswordHashLimits.bcryptCost else {
      throw .tooCostly("cost", limit: UInt64(PasswordHashLimits.bcryptCost))
    }
    let isDigits = rest[1].utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }
    guard rest[1].utf8.count == 53, isDigits else { throw .invalid("salt or hash") }
    return encoded
  }

  private static func checkArgon2(_ rest: [Substring]) throws(PasswordHashError) {
    // Version 16 has no field of it.
    let hasVersion = rest.first?.hasPrefix("v=") ?? false
    let fields = Array(rest.dropFirst(hasVersion ? 1 : 0))
    guard fields.count == 3 else { throw .invalid("number of parts") }
    guard !hasVersion || rest[0] == "v=19" || rest[0] == "v=16" else { throw .invalid("v") }
    let numbers = try PasswordHashNumbers(fields[0])
    let memory = try numbers.required("m", most: Int(PasswordHashLimits.argon2Memory))
    let lanes = try numbers.required("p", most: Int(PasswordHashLimits.argon2Lanes))
    let passes = try numbers.required("t", most: Int(PasswordHashLimits.argon2Work))
    // libargon2 reads this order alone, and no padding.
    guard memory >= 8 * lanes, fields[0] == "m=\(memory),t=\(passes),p=\(lanes)" else { throw .invalid("parameters") }
    guard !fields[1].contains("="), !fields[2].contains("=") else { throw .invalid("padding") }
    guard UInt64(memory) * UInt64(passes) <= PasswordHashLimits.argon2Work else {
      throw .tooCostly("m × t", limit: PasswordHashLimits.argon2Work)
    }
    _ = try bytes(fields[1], "salt", 8...PasswordHashLimits.part)
    _ = try bytes(fields[2], "hash", 16...PasswordHashLimits.part)
  }
}

extension ForeignHash.Digest {
  /// In bytes.
  var count: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }
}

extension ForeignHash.ScryptCost {
  /// - Parameter isLogarithm: whether `ln` is always a logarithm.
  fileprivate init(_ text: Substring, isLogarithm: Bool = false) throws(PasswordHashError) {
    let numbers = try PasswordHashNumbers(text)
    let cost = try numbers.required("ln", most: PasswordHashLimits.scryptMemory)
    blockSize = try numbers.required("r", most: PasswordHashLimits.scryptMemory)
    parallelism = try numbers.required("p", most: PasswordHashLimits.scryptWork)
    let limit = PasswordHashLimits.scryptMemory
    if isLogarithm || cost < 64 {
      guard cost <= limit.trailingZeroBitCount else { throw .tooCostly("ln × r", limit: UInt64(limit)) }
      rounds = 1 << cost
    } else {
      rounds = cost
    }
    guard rounds > 1, rounds.nonzeroBitCount == 1, rounds.trailingZeroBitCount < 16 * blockSize else {
      throw .invalid("ln")
    }
    // No product overflows: each factor is below 2^24. Each lane has a block of its own.
    guard (rounds + parallelism) * blockSize <= limit else { throw .tooCostly("ln × r", limit: UInt64(limit)) }
    guard rounds * blockSize * parallelism <= PasswordHashLimits.scryptWork else {
      throw .tooCostly("ln × r × p", limit: UInt64(PasswordHashLimits.scryptWork))
    }
  }
}

/// The numbers of a part such as `i=1000,l=32`.
struct PasswordHashNumbers {
  private var values: [Substring: Int] = [:]

  init(_ text: Substring) throws(PasswordHashError) {
    for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
      let sides = pair.split(separator: "=", omittingEmptySubsequences: false)
      guard sides.count == 2, sides[1].utf8.allSatisfy(\.isDigit), values[sides[0]] == nil else {
        throw .invalid("parameters")
      }
      // A number of any length is one over the limit.
      guard !sides[1].isEmpty else { throw .invalid(String(sides[0].prefix(4))) }
      values[sides[0]] = Int(sides[1]) ?? .max
    }
  }

  subscript(name: Substring) -> Int? { values[name] }

  func required(_ name: Substring, most: Int) throws(PasswordHashError) -> Int {
    guard let value = values[name], value > 0 else { throw .invalid(String(name)) }
    guard value <= most else { throw .tooCostly(String(name), limit: UInt64(most)) }
    return value
  }
}

/// How a salt and a password are put together before they are hashed.
struct SaltTemplate {
  private enum Piece { case text([UInt8]), salt, password }
  private let pieces: [Piece]

  fileprivate init(encoded: Substring) throws(PasswordHashError) {
    guard encoded.hasPrefix("pf=") else { throw .invalid("pf") }
    var rest = try bytes(encoded.dropFirst(3), "pf")[...]
    var pieces: [Piece] = []
    let marks: [([UInt8], Piece)] = [(Array("{SALT}".utf8), .salt), (Array("{PASSWORD}".utf8), .password)]
    var text: [UInt8] = []
    while let byte = rest.first {
      if let (mark, piece) = marks.first(where: { rest.starts(with: $0.0) }) {
        pieces += [.text(text), piece]
        text = []
        rest = rest.dropFirst(mark.count)
      } else {
        text.append(byte)
        rest = rest.dropFirst()
      }
    }
    self.pieces = pieces + [.text(text)]
    guard pieces.contains(where: { if case .password = $0 { true } else { false } }) else { throw .invalid("pf") }
  }

  func filled(salt: [UInt8], password: [UInt8]) -> [UInt8] {
    pieces.flatMap { piece in
      switch piece {
      case .text(let text): text
      case .salt: salt
      case .password: password
      }
    }
  }
}

/// Decodes base64, with or without padding.
private func bytes(
  _ text: Substring, _ part: String, _ range: ClosedRange<Int> = 1...PasswordHashLimits.part
) throws(PasswordHashError) -> [UInt8] {
  var digits = Array(text.utf8)
  while digits.last == UInt8(ascii: "="), digits.count > text.utf8.count - 2 { digits.removeLast() }
  guard !digits.contains(where: { "-_=".utf8.contains($0) }),
    let bytes = ImportFields.bytes(String(decoding: digits, as: UTF8.self)), range.contains(bytes.count)
  else { throw .invalid(part) }
  return bytes
}

extension ForeignHash {
  /// Returns whether a password matches. Blocks for the work that the hash requires.
  func matches(_ password: Secret) throws(PasswordHashError) -> Bool {
    switch self {
    case .bcrypt(let encoded): return try matchesBcrypt(password, encoded)
    case .argon2(let encoded, let isHybrid):
      let code = password.withExposedBytes {
        argon2_verify(encoded, $0.baseAddress, $0.count, isHybrid ? Argon2_id : Argon2_i)
      }
      guard code != ARGON2_VERIFY_MISMATCH.rawValue else { return false }
      guard code == ARGON2_OK.rawValue else { throw .failed(code: code) }
      return true
    case .pbkdf2, .scrypt, .firebase, .salted: return try matchesDerived(password)
    }
  }

  /// A null byte ends the password, and 72 bytes of it count, as where the hash was made.
  private func matchesBcrypt(_ password: Secret, _ encoded: String) throws(PasswordHashError) -> Bool {
    let phrase = password.withExposedBytes { bytes in
      Secret(bytes: Array(bytes.prefix { $0 != 0 }.prefix(72)) + [0])
    }
    let code = phrase.withExposedBytes { bytes in
      encoded.withCString { hs_crypt_matches(bytes.bindMemory(to: CChar.self).baseAddress, $0) }
    }
    switch code {
    case 1: return true
    case 0: return false
    case -1: throw .needsLibcrypt
    default: throw .invalid("setting")
    }
  }

  private func matchesDerived(_ password: Secret) throws(PasswordHashError) -> Bool {
    // To HMAC, which PBKDF2 and scrypt begin with, an empty key is one of zeros; CryptoExtras takes none.
    let typed = password.withExposedBytes { Array($0) }
    let key = typed.isEmpty ? [0] : typed
    do {
      switch self {
      case .bcrypt, .argon2: return false
      case .pbkdf2(let digest, let iterations, let salt, let hash):
        let derived = try KDF.Insecure.PBKDF2.deriveKey(
          from: key, salt: salt, using: digest.function, outputByteCount: hash.count, unsafeUncheckedRounds: iterations)
        return constantTimeEqual(derived.bytes, hash)
      case .scrypt(let cost, let salt, let hash):
        return constantTimeEqual(try cost.key(of: key, salt: salt, count: hash.count).bytes, hash)
      case .firebase(let cost, let salt, let hash, let signerKey):
        let derived = try cost.key(of: key, salt: salt, count: 32)
        let nonce = try AES._CTR.Nonce(nonceBytes: [UInt8](repeating: 0, count: 16))
        return constantTimeEqual(Array(try AES._CTR.encrypt(signerKey, using: derived, nonce: nonce)), hash)
      case .salted(let digest, let template, let salt, let hash):
        return constantTimeEqual(digest.hash(template.filled(salt: salt, password: typed)), hash)
      }
    } catch {
      // CryptoExtras fails for lack of memory alone: the parameters were checked.
      throw .failed(code: ARGON2_MEMORY_ALLOCATION_ERROR.rawValue)
    }
  }
}

extension ForeignHash.Digest {
  fileprivate var function: KDF.Insecure.PBKDF2.HashFunction {
    switch self {
    case .sha1: .insecureSHA1
    case .sha256: .sha256
    case .sha512: .sha512
    }
  }

  fileprivate func hash(_ bytes: [UInt8]) -> [UInt8] {
    switch self {
    case .sha1: Array(Insecure.SHA1.hash(data: bytes))
    case .sha256: Array(SHA256.hash(data: bytes))
    case .sha512: Array(SHA512.hash(data: bytes))
    }
  }
}

extension ForeignHash.ScryptCost {
  fileprivate func key(of password: [UInt8], salt: [UInt8], count: Int) throws -> SymmetricKey {
    try KDF.Scrypt.deriveKey(
      from: password, salt: salt, outputByteCount: count, rounds: rounds, blockSize: blockSize, parallelism: parallelism
    )
  }
}

extension SymmetricKey {
  fileprivate var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
#endif
