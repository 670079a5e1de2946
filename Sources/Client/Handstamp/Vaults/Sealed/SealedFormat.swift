import Crypto
import HandstampCore
import HandstampSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A vault file, or another sealed file beside it, byte by byte; numbers are big-endian.
///
/// | bytes | content |
/// |---|---|
/// | 8 + 2 + 2 | the ``FormatMark``, `HSTVAULT` |
/// | 1 | the derivation of the sealing key: 1 is HKDF-SHA-256 (RFC 5869) of the vault's key |
/// | 8 | the key's ID, a value derived from the key, to distinguish another key from broken bytes |
/// | 16 | the salt of HKDF |
/// | 8 | the revision; 0 in other files |
/// | 12 | the nonce |
/// | 4 | the first bytes of the SHA-256 of everything before, to distinguish a damaged header from another key |
/// | n + 16 | the fields of the entry, or the content, sealed with ChaCha20-Poly1305 (RFC 8439) |
///
/// The whole header and the account ID are authenticated, and the purpose of other files.
enum SealedFormat {
  static let headerCount = 61
  /// Larger files are corrupt: a session with 32 tombstones takes a hundredth of this.
  static let sizeLimit = 4 << 20
  private static let mark = FormatMark("HSTVAULT")
  private static let derivation: UInt8 = 1

  /// The header, before anything is authenticated.
  struct Header {
    var keyID: [UInt8]
    var salt: [UInt8]
    var revision: UInt64
    var nonce: [UInt8]

    init(_ bytes: [UInt8]) throws(VaultError) {
      try mark.check(bytes)
      guard bytes.count >= headerCount + 16, check(bytes[..<57]).elementsEqual(bytes[57..<61]) else { throw .corrupt }
      guard bytes[12] == derivation else {
        throw .newerFormat("this version of the program does not know how the vault is sealed")
      }
      keyID = Array(bytes[13..<21])
      salt = Array(bytes[21..<37])
      revision = bytes[37..<45].reduce(0) { $0 << 8 | UInt64($1) }
      nonce = Array(bytes[45..<57])
    }

    /// Returns `key`, if the file was sealed with it.
    func matching(_ key: SealingKey?) throws(VaultError) -> SealingKey {
      guard let key else { throw VaultKey.missing }
      guard keyID == key.id else { throw .wrongKey("the key belongs to another vault") }
      return key
    }
  }

  /// The file that is sealed, which decides its key.
  enum Content {
    case vault(AccountID)
    case file(purpose: String, AccountID)

    var info: String {
      switch self {
      case .vault: "handstamp vault file"
      case .file(let purpose, _): "handstamp sealed file " + purpose
      }
    }

    /// Authenticated after the header.
    var name: [UInt8] {
      switch self {
      case .vault(let account): Array(account.rawValue.utf8)
      case .file(let purpose, let account): Array(purpose.utf8) + [0] + Array(account.rawValue.utf8)
      }
    }
  }

  /// Seals `entry` with a new salt and a new nonce.
  static func seal(_ entry: VaultEntry, account: AccountID, key: SealingKey) throws(VaultError) -> [UInt8] {
    try FieldWriter.withBytes(capacity: entry.fieldCapacity, write: entry.write) { fields throws(VaultError) in
      try seal(copy fields, revision: entry.revision, of: .vault(account), key: key)
    }
  }

  static func seal(
    _ bytes: [UInt8], revision: UInt64 = 0, of content: Content, key: SealingKey
  ) throws(VaultError) -> [UInt8] {
    let (salt, nonce) = (randomBytes(16), randomBytes(12))
    var file = mark.bytes + [derivation]
    file += key.id + salt + revision.octets + nonce
    file += check(file[...])
    do {
      let box = try ChaChaPoly.seal(
        bytes, using: key.derived(salt: salt, for: content.info), nonce: ChaChaPoly.Nonce(data: nonce),
        authenticating: file + content.name)
      return file + box.ciphertext + box.tag
    } catch {
      throw .unavailable("sealing failed")
    }
  }

  /// Opens a file that was sealed for `content`. Throws ``VaultError/corrupt`` if any byte was changed. A damaged header is corrupt,
  /// whatever the key. Another key than the file's is ``VaultError/wrongKey``.
  ///
  /// - Parameter read: Returns `nil` if the bytes, which are wiped afterwards, are not what is expected.
  static func open<Value>(
    _ file: [UInt8], of content: Content, key: SealingKey?, _ read: (UInt64, UnsafeRawBufferPointer) -> Value?
  ) throws(VaultError) -> Value {
    let header = try Header(file)
    let key = try header.matching(key)
    let body = file[headerCount...]
    do {
      let box = try ChaChaPoly.SealedBox(
        nonce: ChaChaPoly.Nonce(data: header.nonce), ciphertext: body.dropLast(16), tag: body.suffix(16))
      var bytes = try ChaChaPoly.open(
        box, using: key.derived(salt: header.salt, for: content.info),
        authenticating: Array(file[..<headerCount]) + content.name)
      defer { bytes.withUnsafeMutableBytes { wipe($0) } }
      if let value = bytes.withUnsafeBytes({ read(header.revision, $0) }) { return value }
    } catch {
      throw .corrupt
    }
    throw .corrupt
  }

  static func check(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    Array(SHA256.hash(data: bytes).prefix(4))
  }
}

/// The first twelve bytes of what is stored: eight letters, the number of the format, and its complement, so that a flipped bit is
/// damage and not another format.
struct FormatMark {
  let bytes: [UInt8]

  /// The mark of format 1, the only one.
  init(_ letters: String) { bytes = Array(letters.utf8) + [0, 1, 255, 254] }

  /// - Throws: ``VaultError/newerFormat(_:)`` for another number, which no write then changes; ``VaultError/corrupt`` for other letters.
  func check(_ stored: [UInt8]) throws(VaultError) {
    guard stored.count >= bytes.count, stored.starts(with: bytes[..<8]) else { throw .corrupt }
    let number = UInt16(stored[8]) << 8 | UInt16(stored[9])
    guard number == ~(UInt16(stored[10]) << 8 | UInt16(stored[11])), number > 0 else { throw .corrupt }
    guard stored.starts(with: bytes) else {
      throw .newerFormat("another version of the program stored this, in format \(number)")
    }
  }
}

/// The key of a vault, from which the key of each file is derived.
struct SealingKey {
  static let byteCount = 32
  private let key: SymmetricKey
  /// Identifies the key without revealing it.
  let id: [UInt8]

  /// Returns `nil` for fewer than 32 bytes: HKDF cannot strengthen a weak key.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= SealingKey.byteCount else { return nil }
    key = SymmetricKey(data: bytes)
    let derived = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: key, info: Array("handstamp vault key id".utf8), outputByteCount: 8)
    id = derived.withUnsafeBytes { Array($0) }
  }

  /// The key of an account's audit log, which reveals nothing about the keys of files.
  func auditKey(for account: AccountID) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: key, info: Array("handstamp audit log ".utf8) + Array(account.rawValue.utf8),
      outputByteCount: 32)
  }

  func derived(salt: [UInt8], for purpose: String) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: salt, info: Array(purpose.utf8), outputByteCount: 32)
  }
}
