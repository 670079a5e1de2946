import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A passphrase's files, while its lock is held.
struct PassphraseFiles {
  static let name = "passphrase.key"
  static let lock = "passphrase.lock"
  private static let new = "passphrase.key-new"

  let folder: PosixFile

  /// Nothing when none has been set.
  func load() throws(PassphraseError) -> PassphraseFormat.Header? {
    let file = try stored { () throws(VaultTrouble) -> [UInt8]? in
      guard let file = try folder.open(PassphraseFiles.name, flags: O_RDONLY) else { return nil }
      guard try file.status().mode & 0o077 == 0 else {
        throw .unavailable("the passphrase's file is open to others: its mode should be 0600")
      }
      return try file.readAll(limit: PassphraseFormat.count)
    }
    guard let file else { return nil }
    return try PassphraseFormat.Header(file)
  }

  /// The key that the vaults here have, or a new one where there are none.
  func keyToSeal() throws(PassphraseError) -> Secret {
    let key = try stored { () throws(VaultTrouble) -> Secret? in
      if let key = try KeyFile(beside: folder).loadSecret() { return key }
      let isNeeded = try folder.names().contains {
        $0.hasSuffix(VaultFiles.vaultEnding) || $0.hasSuffix(VaultFiles.auditEnding)
      }
      if isNeeded { return nil }
      var random = SystemRandomNumberGenerator()
      var bytes = (0..<SealingKey.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      defer { wipe(&bytes) }
      return Secret(bytes: bytes)
    }
    guard let key else { throw .otherKey }
    return key
  }

  /// Replaces the file in one step; it is on the disk when this returns.
  func store(_ key: Secret, _ passphrase: Secret, cost: PassphraseCost) async throws(PassphraseError) {
    let sealed = try await derived { () throws(PassphraseError) in
      try PassphraseText.withBytes(of: passphrase) { text throws(PassphraseError) in
        var bytes = key.withExposedBytes { Array($0) }
        defer { wipe(&bytes) }
        return try PassphraseFormat.seal(bytes, with: text, cost: cost)
      }
    }
    try stored { () throws(VaultTrouble) in
      // Only ever made under the lock: it is of a process that died.
      try folder.remove(PassphraseFiles.new)
      let file = try folder.create(PassphraseFiles.new)
      do throws(VaultTrouble) {
        try file.write(sealed, attempt: "writing the sealed key")
        try file.sync(attempt: "syncing the sealed key")
        try folder.rename(PassphraseFiles.new, to: PassphraseFiles.name)
      } catch {
        try? folder.remove(PassphraseFiles.new)
        throw error
      }
      try folder.sync(attempt: "syncing the vault's folder")
    }
  }

  /// It is gone from the disk when this returns.
  func remove() throws(PassphraseError) {
    try stored { () throws(VaultTrouble) in
      try folder.remove(PassphraseFiles.name)
      try folder.sync(attempt: "syncing the vault's folder")
    }
  }

  /// The key file beside the vaults must not stay beside its sealed copy.
  func removeKeyFile(ifItHolds key: Secret? = nil) throws(PassphraseError) {
    try stored { () throws(VaultTrouble) in
      let file = KeyFile(beside: folder)
      guard let found = try file.loadSecret(), key == nil || key == found else { return }
      try file.remove()
    }
  }

  private func stored<Result>(_ body: () throws(VaultTrouble) -> Result) throws(PassphraseError) -> Result {
    do throws(VaultTrouble) { return try body() } catch { throw .storage(error) }
  }
}
