#if Server
import CHandstampArgon2
import CHandstampLibraries
import Crypto
import HandstampCore
import HandstampSupport
import _CryptoExtras

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
