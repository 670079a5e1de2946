import Crypto
import HandstampCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A vault file, byte by byte; numbers are big-endian.
///
/// | bytes | what |
/// |---|---|
/// | 8 | `HSTVAULT` |
/// | 2 + 2 | the version of the format, and its complement: a flipped bit is no newer version |
/// | 1 | how the sealing key comes about: 1 is HKDF-SHA-256 (RFC 5869) of the vault's key |
/// | 8 | which key: a value derived from it, so that a foreign key is told from broken bytes |
/// | 16 | the salt of HKDF |
/// | 8 | the revision |
/// | 12 | the nonce |
/// | 4 | the first bytes of SHA-256 of all before: damage to the header is told from a foreign key |
/// | n + 16 | the fields of the entry, sealed with ChaCha20-Poly1305 (RFC 8439) |
///
/// All of the header and the account's id are authenticated. Versions to come keep the first twelve bytes.
enum SealedFormat {
  static let version: UInt16 = 1
  static let headerCount = 61
  /// Files above this are none of ours: a session with 32 tombstones has a hundredth of it.
  static let sizeLimit = 4 << 20
  private static let magic = Array("HSTVAULT".utf8)
  private static let derivation: UInt8 = 1

  /// What the header says, before anything is authenticated.
  struct Header {
    var keyID: [UInt8]
    var salt: [UInt8]
    var revision: UInt64
    var nonce: [UInt8]

    init(_ bytes: [UInt8]) throws(VaultTrouble) {
      guard bytes.count >= 12, bytes.starts(with: magic) else { throw .corrupt }
      let version = UInt16(bytes[8]) << 8 | UInt16(bytes[9])
      let complement = UInt16(bytes[10]) << 8 | UInt16(bytes[11])
      guard version == ~complement, version > 0 else { throw .corrupt }
      guard version == SealedFormat.version else {
        throw .unavailable("a newer version of the program wrote this vault, in format \(version)")
      }
      guard bytes.count >= headerCount + 16, check(bytes[..<57]).elementsEqual(bytes[57..<61]) else { throw .corrupt }
      guard bytes[12] == derivation else {
        throw .unavailable("this vault is sealed in a way that this version of the program does not know")
      }
      keyID = Array(bytes[13..<21])
      salt = Array(bytes[21..<37])
      revision = bytes[37..<45].reduce(0) { $0 << 8 | UInt64($1) }
      nonce = Array(bytes[45..<57])
    }
  }

  /// Seals `entry`; every call draws a new salt and a new nonce.
  static func seal(_ entry: VaultEntry, account: AccountID, key: SealingKey) throws(VaultTrouble) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    let nonce = (0..<12).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    var file = magic
    for number in [version, ~version] { file += [UInt8(number >> 8), UInt8(number & 255)] }
    file.append(derivation)
    file += key.id + salt
    for shift in stride(from: 56, through: 0, by: -8) {
      file.append(UInt8(truncatingIfNeeded: entry.revision >> shift))
    }
    file += nonce
    file += check(file[...])
    let header = file
    do {
      try FieldWriter.withBytes(capacity: entry.fieldCapacity, write: entry.write) { fields throws in
        let box = try ChaChaPoly.seal(
          copy fields, using: key.derived(salt: salt), nonce: ChaChaPoly.Nonce(data: nonce),
          authenticating: header + Array(account.rawValue.utf8))
        file += box.ciphertext
        file += box.tag
      }
    } catch {
      throw .unavailable("sealing failed")
    }
    return file
  }

  /// Opens what ``seal(_:account:key:)`` made. Bytes that were changed anywhere are ``VaultTrouble/corrupt``.
  static func open(_ file: [UInt8], account: AccountID, key: SealingKey) throws(VaultTrouble) -> VaultEntry {
    let header = try Header(file)
    guard header.keyID == key.id else { throw .unavailable("the key does not belong to this vault") }
    let body = file[headerCount...]
    do {
      let box = try ChaChaPoly.SealedBox(
        nonce: ChaChaPoly.Nonce(data: header.nonce), ciphertext: body.dropLast(16), tag: body.suffix(16))
      var fields = try ChaChaPoly.open(
        box, using: key.derived(salt: header.salt),
        authenticating: Array(file[..<headerCount]) + Array(account.rawValue.utf8))
      defer { fields.withUnsafeMutableBytes { wipe($0) } }
      let entry = fields.withUnsafeBytes { VaultEntry(revision: header.revision, fields: $0) }
      if let entry { return entry }
    } catch {
      throw .corrupt
    }
    throw .corrupt
  }

  static func check(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    Array(SHA256.hash(data: bytes).prefix(4))
  }
}

/// The key of a vault, from which each file's own is derived.
struct SealingKey {
  static let byteCount = 32
  private let key: SymmetricKey
  /// Names the key and does not give it away.
  let id: [UInt8]

  /// Nothing for fewer than 32 bytes: HKDF makes a strong key of a strong one only.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= SealingKey.byteCount else { return nil }
    key = SymmetricKey(data: bytes)
    let derived = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: key, info: Array("handstamp vault key id".utf8), outputByteCount: 8)
    id = derived.withUnsafeBytes { Array($0) }
  }

  /// The key of an account's audit log. It says nothing about the keys of files.
  func auditKey(for account: AccountID) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: key, info: Array("handstamp audit log ".utf8) + Array(account.rawValue.utf8),
      outputByteCount: 32)
  }

  func derived(salt: [UInt8], for purpose: String = "handstamp vault file") -> SymmetricKey {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: salt, info: Array(purpose.utf8), outputByteCount: 32)
  }
}
