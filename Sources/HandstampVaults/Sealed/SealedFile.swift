import Crypto
package import HandstampCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An account's file beside its vault, sealed with AES-GCM (NIST SP 800-38D) under a key that is derived from the vault's. It
/// is for its owner alone, is replaced in one step, and what is written is on the disk when a call returns.
///
/// | bytes | what |
/// |---|---|
/// | 8 | `HSTSEAL1` |
/// | 8 | which key |
/// | 16 | the salt of HKDF-SHA-256 (RFC 5869), drawn anew for every write |
/// | 12 + n + 16 | nonce, content, tag; the header, the purpose and the account are authenticated |
package struct SealedFile: Sendable {
  private static let magic = Array("HSTSEAL1".utf8)
  private static let headerCount = 32

  private let vault: SealedFileVault
  private let purpose: String
  private let name: String
  private let limit: Int

  /// - Parameters:
  ///   - vault: whose folder and key it shares.
  ///   - purpose: the file's ending, and part of what it is sealed by.
  ///   - limit: files with more bytes are none of ours.
  package init(beside vault: SealedFileVault, account: AccountID, purpose: String, limit: Int) {
    self.vault = SealedFileVault(in: vault.place, account: account, key: vault.key)
    self.purpose = purpose
    self.limit = limit
    name = VaultFiles.digest(of: account) + "." + purpose
  }

  /// What the file holds; nothing when there is none.
  ///
  /// - Throws: ``VaultTrouble/corrupt`` for bytes that were changed, ``VaultTrouble/unavailable(_:)`` for a key that is missing
  ///   or another.
  package func read() throws(VaultTrouble) -> [UInt8]? {
    guard let folder = try vault.place.open(), let file = try folder.open(name, flags: O_RDONLY) else { return nil }
    let bytes = try file.readAll(limit: limit)
    guard bytes.count <= limit, bytes.count > SealedFile.headerCount, bytes.starts(with: SealedFile.magic) else {
      throw .corrupt
    }
    guard let key = try vault.key.load(for: folder) else { throw VaultKey.missing }
    guard bytes[8..<16].elementsEqual(key.id) else { throw .unavailable("the key does not belong to this file") }
    let header = Array(bytes[..<SealedFile.headerCount])
    do {
      let box = try AES.GCM.SealedBox(combined: bytes[SealedFile.headerCount...])
      return Array(
        try AES.GCM.open(
          box, using: key.derived(salt: Array(header[16...]), for: "handstamp sealed file " + purpose),
          authenticating: authenticated(header)))
    } catch {
      throw .corrupt
    }
  }

  /// The same, for a process that may still have to ask for the key: a passphrase, or a desktop's secret store.
  @concurrent package func readAsking() async throws(VaultTrouble) -> [UInt8]? {
    try await vault.key.find()
    return try read()
  }

  /// Replaces the file's content, and asks for the key before, which is made where there is none yet.
  @concurrent package func writeAsking(_ content: [UInt8]) async throws(VaultTrouble) {
    let folder = try vault.place.openOrMake()
    try await vault.key.find()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    try await vault.key.make(for: folder)
    try write(content)
  }

  /// Replaces the file's content. A crash at any instant leaves the former or the new one.
  package func write(_ content: [UInt8]) throws(VaultTrouble) {
    let folder = try vault.place.openOrMake()
    let names = try folder.names()
    vault.excludeFromBackups(folder, names: names)
    let isSealed = names.contains { $0 == name || $0.hasSuffix(VaultFiles.vaultEnding) }
    let key = try vault.key.settle(for: folder, isNeeded: isSealed)
    var random = SystemRandomNumberGenerator()
    let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    let header = SealedFile.magic + key.id + salt
    let sealed: [UInt8]
    do {
      let box = try AES.GCM.seal(
        content, using: key.derived(salt: salt, for: "handstamp sealed file " + purpose),
        authenticating: authenticated(header))
      sealed = header + Array(box.nonce) + box.ciphertext + box.tag
    } catch {
      throw .unavailable("sealing failed")
    }
    // Of one name: there is one writer, and what one that died had begun is in its way.
    let partial = name + "-new"
    try folder.remove(partial)
    do throws(VaultTrouble) {
      let file = try folder.create(partial)
      try file.write(sealed, attempt: "writing \(purpose)")
      try file.sync(attempt: "syncing \(purpose)")
      try folder.rename(partial, to: name)
    } catch {
      try? folder.remove(partial)
      throw error
    }
    try folder.sync(attempt: "syncing the folder of \(purpose)")
  }

  /// Removes the file and all that is left of it.
  package func remove() throws(VaultTrouble) {
    guard let folder = try vault.place.open() else { return }
    for found in try folder.names() where found == name || found.hasPrefix(name + "-") { try folder.remove(found) }
    try folder.sync(attempt: "syncing the folder of \(purpose)")
  }

  /// Gives a file that cannot be read another name, so that nothing is lost.
  package func setAside() throws(VaultTrouble) {
    guard let folder = try vault.place.open() else { return }
    let names = try folder.names()
    var number = 1
    while names.contains("\(name)-corrupt-\(number)") { number += 1 }
    try folder.rename(name, to: "\(name)-corrupt-\(number)")
    try folder.sync(attempt: "syncing the folder of \(purpose)")
  }

  /// The right to write, for one process at a time; the kernel takes it back from one that dies. Nothing when another has it.
  @concurrent package func own() async throws(VaultTrouble) -> (any FlightLock)? {
    let folder = try vault.place.openOrMake()
    try await vault.key.find()
    let lock = try LockFile(name + ".lock", in: folder)
    return try await lock.take(until: .now, pauses: .inFlight) ? lock : nil
  }

  private func authenticated(_ header: [UInt8]) -> [UInt8] {
    header + Array(purpose.utf8) + [0] + Array(vault.account.rawValue.utf8)
  }
}
