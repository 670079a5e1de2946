import Crypto
import HandstampCore

/// The three functions of cryptography that tokens are made with.
enum Derivation {
  /// HKDF-SHA-256 (RFC 5869) without salt; `purpose` and `context` make the info.
  static func key(from master: Secret, purpose: String, context: [UInt8], size: Int) -> [UInt8] {
    let input = master.withExposedBytes { SymmetricKey(data: $0) }
    let key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: input, info: Array(purpose.utf8) + context, outputByteCount: size)
    return key.withUnsafeBytes { Array($0) }
  }

  /// HMAC-SHA-256 under a key derived for one purpose and one session, truncated to 16 bytes (RFC 2104 section 5).
  static func mac(of message: [UInt8], master: Secret, purpose: String, session: SessionBytes) -> [UInt8] {
    let key = key(from: master, purpose: purpose, context: session.bytes, size: 32)
    let code = HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key))
    return Array(code.prefix(16))
  }

  /// The first eight bytes of SHA-256.
  static func mark(of secret: Secret) -> UInt64 {
    let digest = secret.withExposedBytes { SHA256.hash(data: $0) }
    return digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Bytes of a source of randomness, eight at a time.
func randomBytes(_ count: Int, from random: inout some RandomNumberGenerator) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + 7)
  while bytes.count < count { bytes.append(contentsOf: bigEndian(random.next() as UInt64)) }
  bytes.removeLast(bytes.count - count)
  return bytes
}

/// The eight bytes of a number, the most significant first.
func bigEndian(_ number: UInt64) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
}
