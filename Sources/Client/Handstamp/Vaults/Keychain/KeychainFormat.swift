import Crypto
import HandstampCore

/// The data of a keychain item, byte by byte; numbers are big-endian. The keychain encrypts it; the checksum reveals
/// damage and items of another account.
///
/// | bytes | content |
/// |---|---|
/// | 8 + 2 + 2 | the ``FormatMark``, `HSTKEYCH` |
/// | 8 | the first bytes of the SHA-256 of the account ID and everything that follows |
/// | 8 | the revision |
/// | n | the fields of the entry |
enum KeychainFormat {
  private static let mark = FormatMark("HSTKEYCH")
  private static let headerCount = 20

  static func encode(_ entry: VaultEntry, account: AccountID) -> [UInt8] {
    FieldWriter.withBytes(capacity: entry.fieldCapacity, write: entry.write) { fields in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(headerCount + 8 + fields.count)
      bytes += mark.bytes
      let revision = entry.revision.octets
      bytes += sum(revision, fields[...], account: account)
      bytes += revision
      bytes += fields
      return bytes
    }
  }

  /// - Throws: ``VaultError/corrupt`` if the bytes were changed or belong to another account,
  ///   ``VaultError/newerFormat(_:)`` for another format.
  static func decode(_ bytes: [UInt8], account: AccountID) throws(VaultError) -> VaultEntry {
    try mark.check(bytes)
    guard bytes.count >= headerCount + 8 else { throw .corrupt }
    let revision = Array(bytes[headerCount..<headerCount + 8])
    let fields = bytes[(headerCount + 8)...]
    guard sum(revision, fields, account: account).elementsEqual(bytes[12..<headerCount]) else { throw .corrupt }
    let entry = fields.withUnsafeBytes { fields in
      UInt64(octets: revision).flatMap { VaultEntry(revision: $0, fields: fields) }
    }
    guard let entry else { throw .corrupt }
    return entry
  }

  private static func sum(_ revision: [UInt8], _ fields: ArraySlice<UInt8>, account: AccountID) -> [UInt8] {
    var hash = SHA256()
    // The length comes first, so that no two pairs of account and content yield the same bytes.
    let name = Array(account.rawValue.utf8)
    hash.update(data: withUnsafeBytes(of: UInt64(name.count).bigEndian) { Array($0) })
    hash.update(data: name)
    hash.update(data: revision)
    fields.withUnsafeBytes { hash.update(bufferPointer: $0) }
    return Array(hash.finalize().prefix(8))
  }
}
