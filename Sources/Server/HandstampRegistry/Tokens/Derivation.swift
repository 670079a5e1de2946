import Crypto
import HandstampCore

/// The cryptographic functions behind tokens.
enum Derivation {
  /// The first half of HKDF-SHA-256 (RFC 5869 section 2.2) without salt; the same for everything derived from a key.
  static func extract(_ master: Secret) -> SymmetricKey {
    let input = master.withExposedBytes { SymmetricKey(data: $0) }
    return SymmetricKey(data: HKDF<SHA256>.extract(inputKeyMaterial: input, salt: [UInt8]()))
  }

  /// A key whose share of HMAC is computed once, not once per message.
  struct PreparedKey: Sendable {
    private let start: HMAC<SHA256>

    init(_ key: SymmetricKey) { start = HMAC(key: key) }

    func mac(of message: [UInt8]) -> HMAC<SHA256>.MAC {
      var hmac = start
      hmac.update(data: message)
      return hmac.finalize()
    }
  }

  /// The second half of HKDF (section 2.3); `purpose` and `context` form the info.
  static func key(
    from extracted: SymmetricKey, for purpose: TokenMint.Purpose, context: [UInt8], size: Int
  ) -> SymmetricKey {
    HKDF<SHA256>.expand(
      pseudoRandomKey: extracted, info: Array(purpose.rawValue.utf8) + context, outputByteCount: size)
  }

  /// HMAC-SHA-256 under a key derived for one purpose and, if given, one session, truncated to 16 bytes (RFC 2104 section 5). The key is that of
  /// ``key(from:for:context:size:)`` with 32 bytes: the only block of its output (RFC 5869 section 2.3).
  static func mac(
    of message: [UInt8], extracted: PreparedKey, for purpose: TokenMint.Purpose, session: SessionBytes? = nil
  ) -> [UInt8] {
    let block = extracted.mac(of: Array(purpose.rawValue.utf8) + (session?.bytes ?? []) + [1])
    return Array(PreparedKey(SymmetricKey(data: block)).mac(of: message).prefix(16))
  }

  /// The first eight bytes of SHA-256.
  static func mark(of secret: Secret) -> UInt64 {
    let digest = secret.withExposedBytes { SHA256.hash(data: $0) }
    return digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Returns the eight bytes of a number, the most significant first.
func bigEndian(_ number: UInt64) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
}
