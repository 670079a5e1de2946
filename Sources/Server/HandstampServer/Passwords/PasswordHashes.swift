#if Server
import CHandstampLibraries
public import HandstampCore
import HandstampSupport

/// Password hashes that other systems have made, in encoded form.
///
/// | form | made by |
/// |---|---|
/// | `$2a$`, `$2b$`, `$2y$` | bcrypt |
/// | `$argon2i$`, `$argon2id$` | Argon2 (RFC 9106) |
/// | `$pbkdf2-sha1$i=,l=$salt$hash`, also `sha256` and `sha512` | PBKDF2 (RFC 8018) |
/// | `$scrypt$ln=,r=,p=$salt$hash` | scrypt (RFC 7914); `ln` is N, or its binary logarithm below 64 |
/// | `$firescrypt$ln=,r=,p=$salt$hash$separator$key` | Firebase, whose signer key scrypt encrypts; `ln` is `mem_cost` |
/// | `$sha1$pf=$salt$hash`, also `sha256` and `sha512` | salted SHA; `pf` is a template with `{SALT}` and `{PASSWORD}` |
///
/// Salts, hashes, keys and templates are in base64, with or without padding. The next sign-in replaces them by Argon2id.
public enum PasswordHashes {
  /// Returns if an encoded hash has one of the forms and is not too costly to verify. Verifies nothing.
  ///
  /// - Throws: the reason for which it is refused. It contains nothing of the hash.
  public static func check(_ encoded: Secret) throws(PasswordHashError) {
    if case .bcrypt = try encoded.withExposed({ text throws(PasswordHashError) in try ForeignHash(text) }) {
      guard hs_crypt_is_available() == 1 else { throw .needsLibcrypt }
    }
  }

  /// Returns whether `password` matches `encoded`. Blocks for the work that `encoded` requires.
  ///
  /// - Parameter own: the parameters of new hashes. The limits do not hold for hashes with at most these.
  /// - Throws: ``PasswordHashError``, also for what ``check(_:)`` refuses: a store can be written by others.
  static func verify(
    _ password: Secret, against encoded: Secret, own: Argon2Parameters
  ) throws(PasswordHashError) -> Bool {
    try encoded.withExposed { text throws(PasswordHashError) in
      if let stored = Argon2Parameters(encoded: text), stored.memory <= own.memory, stored.passes <= own.passes,
        stored.lanes <= own.lanes
      {
        return try Argon2Parameters.verify(password, against: text)
      }
      return try ForeignHash(text).matches(password)
    }
  }

  /// Returns whether a password may be hashed anew after it has matched. bcrypt reads 72 bytes, and some forms end a password at a null
  /// byte: it may differ from the user's in the rest, or be the beginning of it, and must not replace it.
  static func isReplaceable(_ encoded: Secret, by password: Secret) -> Bool {
    let isBcrypt = encoded.withExposed { $0.hasPrefix("$2") }
    return password.withExposedBytes { bytes in !bytes.contains(0) && (!isBcrypt || bytes.count < 72) }
  }
}

/// The most work that a hash may ask for. Strangers who know an address cause it with each attempt, and a thread of
/// ``PasswordPool`` does nothing else meanwhile: each of these takes some seconds at most.
enum PasswordHashLimits {
  /// Of bcrypt, as a binary logarithm: 2 s. Frameworks use 10 to 12.
  static let bcryptCost = 15
  /// In KiB: 256 MiB, which each thread may need at once. Libraries use 64 MiB at most.
  static let argon2Memory: UInt32 = 256 * 1024
  /// Memory in KiB times passes: 2 s.
  static let argon2Work: UInt64 = 2 * 1024 * 1024
  /// libargon2 starts a thread for each.
  static let argon2Lanes: UInt32 = 16
  /// Iterations times blocks of output: 5 s. OWASP advises 1.4 million for SHA-1 at most.
  static let iterations = 10_000_000
  /// N times r, of which each takes 128 bytes: 256 MiB.
  static let scryptMemory = 2 * 1024 * 1024
  /// N times r times p: 2 s. OWASP advises 1 million.
  static let scryptWork = 4 * 1024 * 1024
  /// Bytes of a salt, a hash or a key.
  static let part = 1024
  /// Bytes of all.
  static let encoded = 4096
}
#endif
