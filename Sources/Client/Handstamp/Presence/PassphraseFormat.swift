import Crypto
package import HandstampCore
import HandstampSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The work and memory that one attempt takes (scrypt, RFC 7914): 2^n rounds of 1 KiB each.
package struct PassphraseCost: Sendable, Hashable {
  /// The binary logarithm of scrypt's N.
  package let rounds: UInt8
  /// scrypt's r.
  package static let blockSize: UInt8 = 8

  package init(rounds: UInt8) { self.rounds = rounds }

  /// 32 MiB, about a tenth of a second.
  package static let light = PassphraseCost(rounds: 15)
  /// 128 MiB, some tenths of a second; recommended by OWASP.
  package static let standard = PassphraseCost(rounds: 17)
}

/// A key derivation for passphrases: the passphrase as bytes, the salt, the cost. Returns 32 bytes.
package typealias PassphraseStretch =
  @Sendable (_ passphrase: borrowing [UInt8], _ salt: [UInt8], _ cost: PassphraseCost) throws(PassphraseError) -> Secret

/// The file that holds a vault key sealed with a passphrase; numbers are big-endian.
///
/// | bytes | content |
/// |---|---|
/// | 8 | `HSTPASS1` |
/// | 4 | 1 for scrypt, log2 N, r, p |
/// | 16 | the salt |
/// | 12 | the nonce |
/// | 32 + 16 | the key, sealed with ChaCha20-Poly1305 under scrypt and HKDF of the passphrase; all before is authenticated |
/// | 4 | the first bytes of the SHA-256 of everything before, to distinguish a damaged file from a wrong passphrase |
///
/// A newer version has another digit in its mark, and ends in the same way.
enum PassphraseFormat {
  static let count = 92
  /// That of a newer version may be longer.
  static let sizeLimit = 1 << 10
  private static let magic = Array("HSTPASS1".utf8)
  private static let scrypt: UInt8 = 1
  /// 2^18 rounds take 256 MiB, the most that a file may demand.
  private static let rounds = 10...18 as ClosedRange<UInt8>

  /// The parts of a file that are readable without deriving a key.
  struct Header: Sendable, Hashable {
    var cost: PassphraseCost
    var file: [UInt8]

    init(_ file: [UInt8]) throws(PassphraseError) {
      guard file.starts(with: magic.dropLast()), file.count > 11,
        SealedFormat.check(file.dropLast(4)).elementsEqual(file.suffix(4))
      else { throw .damaged }
      guard file[7] == magic[7] else {
        throw .storage(.newerFormat("a newer version of the program sealed this key"))
      }
      guard file.count == count else { throw .damaged }
      guard file[8] == scrypt, rounds.contains(file[9]), file[10] == PassphraseCost.blockSize, file[11] == 1 else {
        throw .storage(.newerFormat("this version of the program does not know how the key is sealed"))
      }
      cost = PassphraseCost(rounds: file[9])
      self.file = file
    }
  }

  static func seal(
    _ key: borrowing [UInt8], with passphrase: borrowing [UInt8], cost: PassphraseCost, stretch: PassphraseStretch
  ) throws(PassphraseError) -> [UInt8] {
    var file = magic + [scrypt, cost.rounds, PassphraseCost.blockSize, 1] + randomBytes(28)
    do {
      let box = try ChaChaPoly.seal(
        copy key, using: try derive(passphrase, salt: Array(file[12..<28]), cost: cost, stretch: stretch),
        nonce: ChaChaPoly.Nonce(data: file[28..<40]), authenticating: file)
      file += box.ciphertext
      file += box.tag
    } catch {
      throw .storage(.unavailable("sealing failed"))
    }
    return file + SealedFormat.check(file[...])
  }

  /// Returns the key. Throws ``PassphraseError/wrong`` if the passphrase does not open it. The tag is compared in
  /// constant time.
  static func open(
    _ header: Header, with passphrase: borrowing [UInt8], stretch: PassphraseStretch
  ) throws(PassphraseError) -> Secret {
    let file = header.file
    let wrapping = try derive(passphrase, salt: Array(file[12..<28]), cost: header.cost, stretch: stretch)
    do {
      let box = try ChaChaPoly.SealedBox(
        nonce: ChaChaPoly.Nonce(data: file[28..<40]), ciphertext: file[40..<72], tag: file[72..<88])
      var bytes = try ChaChaPoly.open(box, using: wrapping, authenticating: file[..<40])
      defer { bytes.withUnsafeMutableBytes { wipe($0) } }
      return Secret(bytes: bytes)
    } catch {
      throw .wrong
    }
  }

  private static func derive(
    _ passphrase: borrowing [UInt8], salt: [UInt8], cost: PassphraseCost, stretch: PassphraseStretch
  ) throws(PassphraseError) -> SymmetricKey {
    let stretched = try stretch(passphrase, salt, cost)
    return HKDF<SHA256>.deriveKey(
      inputKeyMaterial: stretched.withExposedBytes { SymmetricKey(data: $0) },
      info: Array("handstamp passphrase".utf8), outputByteCount: 32)
  }
}
